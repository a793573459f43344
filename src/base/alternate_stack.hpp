// SPDX-License-Identifier: Apache-2.0
// A stack for the handler of a crash: the thread may have used up its own.
#pragma once
#include <signal.h>

#include <cstddef>
#include <optional>

#include "base/guarded_memory.hpp"

namespace shoal {

/// The calling thread has one for as long as this lives. Not where it has one already. The program's handlers that ask
/// for one run there, too, and what they use beyond it is not somebody else's.
class AlternateStack final {
 public:
  AlternateStack() noexcept {
    if ((now().ss_flags & SS_DISABLE) == 0) return;
    memory_.emplace(kBytes);
    stack_t stack = {};
    stack.ss_sp = memory_->data();
    stack.ss_size = kBytes;
    if (stack.ss_sp != nullptr) ::sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    if (memory_ && now().ss_sp == memory_->data()) ::sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 256 * 1024;
  static stack_t now() noexcept {
    stack_t stack = {};
    ::sigaltstack(nullptr, &stack);
    return stack;
  }
  std::optional<GuardedMemory> memory_;
};

}  // namespace shoal
