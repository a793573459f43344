// SPDX-License-Identifier: Apache-2.0
// A program as printed in an article on such libraries, unaltered: init, a heap, memory from it.
#include "shmem.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char* argv[]) {
    // 初始化SHMEM库，配置属性
    aclshmemx_init_attr_t init_attr;
    init_attr.thread_mode = ACLSHMEMX_THREAD_SINGLE;
    init_attr.tls_enabled = true;
    init_attr.log_level = ACLSHMEMX_LOG_INFO;
    
    int32_t ret = aclshmemx_init_attr(&init_attr, 0, NULL);
    if (ret != 0) {
        printf("Initialization failed with error code: %d\n", ret);
        return -1;
    }
    
    // 创建内存堆，指定大小和对齐方式
    aclshmemx_heap_attr_t heap_attr;
    heap_attr.heap_size = 1024 * 1024 * 1024; // 1GB
    heap_attr.alignment = 4096;
    
    aclshmemx_heap_t heap;
    ret = aclshmemx_create_heap(&heap_attr, &heap);
    if (ret != 0) {
        printf("Heap creation failed with error code: %d\n", ret);
        aclshmemx_finalize(0, NULL);
        return -1;
    }
    
    // 分配共享内存
    void* shared_buffer = NULL;
    ret = aclshmemx_malloc(heap, 1024 * 1024, &shared_buffer);
    if (ret != 0) {
        printf("Memory allocation failed with error code: %d\n", ret);
        aclshmemx_destroy_heap(heap, 0, NULL);
        aclshmemx_finalize(0, NULL);
        return -1;
    }
    
    printf("SHMEM initialized successfully, buffer at: %p\n", shared_buffer);
    
    // 清理资源
    aclshmemx_free(shared_buffer);
    aclshmemx_destroy_heap(heap, 0, NULL);
    aclshmemx_finalize(0, NULL);
    
    return 0;
}
