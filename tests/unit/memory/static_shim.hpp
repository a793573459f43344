/* SPDX-License-Identifier: Apache-2.0 */
/* src/memory/static_data.hpp for the C programs of this test, out of a shared library as in real life. */
#ifndef STATIC_SHIM_HPP
#define STATIC_SHIM_HPP
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
/* The main program's range. 0, or -1 when the program isn't linked against the library `needed` (NULL: don't ask). */
int shim_find(const char* needed, void** begin, size_t* bytes);
/* Attaches to a new memory file, whose view by another mapping comes back in *view. 0, or -1: shim_error(). */
int shim_attach(char** view, unsigned patience_ms);
/* 0, or -1: shim_error(). */
int shim_detach(void);
const char* shim_error(void);
const char* shim_build_id(void);
#ifdef __cplusplus
}
#endif
#endif
