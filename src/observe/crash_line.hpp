// SPDX-License-Identifier: Apache-2.0
// SHOAL_CHECK=1: where in the program a PE crashes.
#pragma once

namespace shoal {

/// While this lives, the first crash of the process is told with the line of the program, and goes on then as it would
/// have: it ends the process by the same signal, with a core dump at the same place. Nothing is told of a child that
/// the process forks. Signals that somebody else handles are left alone, and so is every signal where another one of
/// these lives.
class CrashLine final {
 public:
  explicit CrashLine(int pe) noexcept;
  ~CrashLine();
  /// The calling thread may use up its stack, and that is told, too. So may the one that makes this.
  static void prepare_thread() noexcept;
  CrashLine(const CrashLine&) = delete;
  CrashLine& operator=(const CrashLine&) = delete;

 private:
  bool active_;
};

}  // namespace shoal
