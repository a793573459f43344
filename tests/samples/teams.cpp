// SPDX-License-Identifier: Apache-2.0
// A program as printed in an article on such libraries, unaltered. It never calls init, and only some members of its sub-teams
// synchronise: CMakeLists.txt makes the versions without these mistakes from it.
#include "shmem.h"
#include <stdio.h>

int main(int argc, char* argv[]) {
    // 初始化后获取默认全局通信域
    aclshmemx_team_t global_team;
    aclshmemx_team_get_default(&global_team);
    
    // 获取全局通信域的规模和当前排名
    int32_t team_size = aclshmemx_team_size(global_team);
    int32_t my_rank = aclshmemx_team_global_rank(global_team);
    
    printf("Global team size: %d, my rank: %d\n", team_size, my_rank);
    
    // 创建子通信域：将所有设备按2个一组划分
    aclshmemx_team_t sub_team;
    aclshmemx_team_split(
        global_team, 
        2,                    // 划分大小
        &sub_team
    );
    
    if (my_rank % 2 == 0) {
        int32_t sub_rank = aclshmemx_team_global_rank(sub_team);
        int32_t sub_size = aclshmemx_team_size(sub_team);
        
        // 在子通信域内执行同步
        aclshmemx_team_sync(sub_team);
        
        printf("Sub team: rank=%d, size=%d\n", sub_rank, sub_size);
    }
    
    // 清理子通信域
    aclshmemx_team_destroy(sub_team);
    
    // 反初始化
    aclshmemx_finalize(0, NULL);
    
    return 0;
}
