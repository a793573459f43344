/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the declarations of a chapter; shmem/end.h closes them. No include guard: used once by each chapter.
 * pshmem.h defines SHMEM_DECLARE_PSHMEM and reads the chapters (again) to declare the pshmem_ names. */
#ifdef SHMEM_DECLARE_PSHMEM
#define SHMEM_FN(name) pshmem_##name
#define SHMEM_LEGACY_FN(name) p##name
#else
#define SHMEM_FN(name) shmem_##name
#define SHMEM_LEGACY_FN(name) name
#endif
#ifdef __cplusplus
extern "C" {
#endif
