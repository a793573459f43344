/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The older place of shmem.h. OpenSHMEM 1.6, section "Deprecated API", "Header Directory: mpp".
#include <shmem.h>
