/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The older place of shmemx.h. OpenSHMEM 1.6, section "Deprecated API", "Header Directory: mpp".
#include <shmemx.h>
