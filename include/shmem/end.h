/* SPDX-License-Identifier: Apache-2.0 */
/* Closes what shmem/begin.h opened. */
#ifdef __cplusplus
}
#endif
#undef SHMEM_FN
#undef SHMEM_LEGACY_FN
