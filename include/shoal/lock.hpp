// SPDX-License-Identifier: Apache-2.0
/// \file
/// Locks that hold across the whole job, for std::lock_guard and its kin, and counting semaphores.
#pragma once

#include <utility>

#include "detail/owner.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

/// A symmetric long that somebody else owns, used as a lock: static, or in the heap, 0 before its first use. Fair:
/// waiters get it in order of arrival. It belongs to the PE, not to the thread, that took it.
class LockRef {
 public:
  explicit LockRef(long* word) noexcept : word_(word) {}

  void lock() { shmem_set_lock(word_); }
  [[nodiscard]] bool try_lock() { return shmem_test_lock(word_) == 0; }
  /// Completes the PE's operations on the default context first.
  void unlock() { shmem_clear_lock(word_); }

 protected:
  long* word_;
};

/// A lock of its own in the symmetric heap. Made and destroyed by all PEs, in the same order (see Array).
class Lock : public LockRef, private detail::CollectiveOwner {
 public:
  /// Collective over the world. Throws HeapExhausted.
  Lock() : LockRef(static_cast<long*>(shmem_calloc(1, sizeof(long)))) {
    if (word_ == nullptr) throw HeapExhausted(sizeof(long));
  }
  ~Lock() {
    if (word_ != nullptr && may_release()) shmem_free(word_);
  }
  Lock(Lock&& other) noexcept : LockRef(std::exchange(other.word_, nullptr)) {}
  Lock& operator=(Lock&&) = delete;
};

/// One PE's instance of a symmetric semaphore. A value, with the names of std::counting_semaphore.
class SemaphoreRef {
 public:
  SemaphoreRef(shmemx_sem_t* semaphore, int pe) noexcept : semaphore_(semaphore), pe_(pe) {}

  void acquire() const { shmemx_sem_wait(semaphore_, pe_); }
  [[nodiscard]] bool try_acquire() const { return shmemx_sem_trywait(semaphore_, pe_) == 0; }
  /// Completes the PE's operations on the default context first.
  void release() const { shmemx_sem_post(semaphore_, pe_); }
  /// Not while others wait.
  void set(std::int64_t count) const { shmemx_sem_set(semaphore_, count, pe_); }
  /// The count at some moment during the call.
  [[nodiscard]] std::int64_t value() const { return shmemx_sem_value(semaphore_, pe_); }

 private:
  shmemx_sem_t* semaphore_;
  int pe_;
};

/// A counting semaphore in the symmetric heap, an instance on each PE. Made and destroyed by all PEs, in the same
/// order.
class Semaphore : private detail::CollectiveOwner {
 public:
  /// Collective over the world: every PE's instance starts with `count`. Throws HeapExhausted.
  explicit Semaphore(std::int64_t count = 0)
      : semaphore_(static_cast<shmemx_sem_t*>(shmem_calloc(1, sizeof(shmemx_sem_t)))) {
    if (semaphore_ == nullptr) throw HeapExhausted(sizeof(shmemx_sem_t));
    if (count == 0) return;
    shmemx_sem_set(semaphore_, count, shmem_my_pe());
    shmem_barrier_all();
  }
  ~Semaphore() {
    if (semaphore_ != nullptr && may_release()) shmem_free(semaphore_);
  }
  Semaphore(Semaphore&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
  Semaphore& operator=(Semaphore&&) = delete;

  [[nodiscard]] SemaphoreRef on(int pe) const noexcept { return SemaphoreRef(semaphore_, pe); }

 private:
  shmemx_sem_t* semaphore_;
};

}  // namespace shoal::inline v1
