// SPDX-License-Identifier: Apache-2.0
// A kernel as printed in an article on such libraries, unaltered.
#include "shmem.h"
#include "device/team.h"

// 通算融合kernel：矩阵乘法 + Allreduce
__global__ void matmul_allreduce_kernel(
    aclshmemx_team_t team,
    const float* matrix_a,     // 输入矩阵A
    const float* matrix_b,   // 输入矩阵B
    float* matrix_c,         // 输出矩阵C
    float* reduce_buffer,     // 用于Allreduce的缓冲区
    int32_t M,                // 矩阵A的行数
    int32_t N,               // 矩阵B的列数
    int32_t K                // 矩阵A的列数/矩阵B的行数
) {
    int32_t my_rank = aclshmemx_team_global_rank(team);
    int32_t team_size = aclshmemx_team_size(team);
    
    // 本地矩阵乘法计算（每个设备计算部分结果）
    int32_t local_M = M / team_size;
    int32_t start_row = my_rank * local_M;
    
    for (int32_t i = start_row; i < start_row + local_M; i++) {
        for (int32_t j = 0; j < N; j++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < K; k++) {
                sum += matrix_a[i * K + k] * matrix_b[k * N + j];
            }
            matrix_c[i * N + j] = sum;
            reduce_buffer[i * N + j] = sum;
        }
    }
    
    // 将本地结果拷贝到reduce_buffer用于Allreduce
    // 这里使用Allreduce进行梯度同步
    aclshmemx_allreduce(
        team,
        reduce_buffer,        // 输入输出缓冲区
        matrix_c,            // 最终结果输出
        M * N,               // 元素数量
        ACLSHMEMX_SUM,       // 归约操作
        ACLSHMEMX_FLOAT32   // 数据类型
    );
    
    // 等待Allreduce完成
    aclshmemx_team_sync(team);
}
