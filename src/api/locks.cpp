// SPDX-License-Identifier: Apache-2.0
// Locks: OpenSHMEM 1.6, "Distributed Locking Routines".
#include "api/define.hpp"
#include "comm/lock.hpp"

using namespace shoal;

namespace {

/// Runs `body`, told to the observer as `kind` on the lock.
template <class Body>
auto with_lock(CallKind kind, long* lock, const char* call, Body&& body) noexcept {
  return watched(
      world(), [&] { return world().call_of(call, kind, -1, nullptr, lock, sizeof *lock); }, call,
      [&] { return body(world(), lock, call); });
}

}  // namespace

SHOAL_API(void, set_lock, (long* lock)) { with_lock(CallKind::lock, lock, "shmem_set_lock", shoal::set_lock); }
SHOAL_API(void, clear_lock, (long* lock)) { with_lock(CallKind::unlock, lock, "shmem_clear_lock", shoal::clear_lock); }
SHOAL_API(int, test_lock, (long* lock)) { return with_lock(CallKind::lock, lock, "shmem_test_lock", shoal::test_lock); }
