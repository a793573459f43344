// SPDX-License-Identifier: Apache-2.0
// A stack for the handler of a crash: the thread may have used up its own.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace shoal {

/// The calling thread has one for as long as this lives. Not where it has one already.
class AlternateStack final {
 public:
  AlternateStack() noexcept {
    if ((now().ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::malloc(kBytes);
    stack_t stack = {};
    stack.ss_sp = memory_;
    stack.ss_size = kBytes;
    if (memory_ != nullptr) ::sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    if (memory_ != nullptr && now().ss_sp == memory_) ::sigaltstack(&none, nullptr);
    std::free(memory_);
  }
  /// The calling thread has one until it ends. Not as a thread_local: where that has a destructor, its first use takes
  /// the loader's lock, so a thread would wait for whoever loads a library whose constructor waits for this thread.
  static void provide() noexcept {
    static const Key key{};
    if (!key.made || ::pthread_getspecific(key.value) != nullptr) return;
    auto* const stack = new (std::nothrow) AlternateStack;
    if (stack != nullptr && ::pthread_setspecific(key.value, stack) != 0) delete stack;
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  struct Key {
    pthread_key_t value{};
    bool made = ::pthread_key_create(&value, [](void* stack) { delete static_cast<AlternateStack*>(stack); }) == 0;
  };
  static constexpr std::size_t kBytes = 256 * 1024;  // only what is used takes memory
  static stack_t now() noexcept {
    stack_t stack = {};
    ::sigaltstack(nullptr, &stack);
    return stack;
  }
  void* memory_ = nullptr;
};

}  // namespace shoal
