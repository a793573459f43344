// SPDX-License-Identifier: Apache-2.0
// Locks: OpenSHMEM 1.6, "Distributed Locking Routines".
#include "comm/lock.hpp"

#include "api/define.hpp"

SHOAL_API(void, set_lock, (long* lock)) { shoal::set_lock(shoal::world(), lock, "shmem_set_lock"); }
SHOAL_API(void, clear_lock, (long* lock)) { shoal::clear_lock(shoal::world(), lock, "shmem_clear_lock"); }
SHOAL_API(int, test_lock, (long* lock)) { return shoal::test_lock(shoal::world(), lock, "shmem_test_lock"); }
