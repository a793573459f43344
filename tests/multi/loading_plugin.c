// SPDX-License-Identifier: Apache-2.0
// A library that loading_programs.c loads.
void in_constructor(void);  // the program's
__attribute__((constructor)) static void begin(void) { in_constructor(); }
