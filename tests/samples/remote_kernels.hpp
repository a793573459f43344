// SPDX-License-Identifier: Apache-2.0
// Kernels as printed in an article on such libraries, unaltered. In the first one only one PE comes to the meeting: remote.cpp shows
// what is said then.
#include "shmem.h"
#include "device/gm2gm.h"

// Device侧kernel：执行远程内存写入
__global__ void remote_write_kernel(
    aclshmemx_team_t team,
    void* local_buffer,
    void* remote_buffer,
    size_t data_size,
    int32_t peer_rank
) {
    int32_t my_rank = aclshmemx_team_global_rank(team);
    int32_t team_size = aclshmemx_team_size(team);
    
    if (my_rank == peer_rank) {
        // 从本地缓冲区写入远程内存
        aclshmemx_gm2gm_put(
            team,
            remote_buffer,      // 目标地址
            local_buffer,      // 源地址
            data_size,        // 数据大小
            peer_rank        // 目标设备排名
        );
        
        // 等待远程写入完成
        aclshmemx_team_sync(team);
    }
}

// Device侧kernel：执行远程内存读取
__global__ void remote_read_kernel(
    aclshmemx_team_t team,
    void* local_buffer,
    void* remote_buffer,
    size_t data_size,
    int32_t peer_rank
) {
    int32_t my_rank = aclshmemx_team_global_rank(team);
    
    // 从远程内存读取到本地缓冲区
    aclshmemx_gm2gm_get(
        local_buffer,        // 目标地址（本地）
        remote_buffer,    // 源地址（远程）
        data_size,      // 数据大小
        peer_rank       // 源设备排名
    );
    
    // 等待读取完成
    aclshmemx_team_sync(team);
}
