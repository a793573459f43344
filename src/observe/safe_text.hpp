// SPDX-License-Identifier: Apache-2.0
// Lines that the handler of a crash may write: whatever was interrupted, malloc and its lock, too.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shoal {

/// Text of a fixed size; what does not fit is cut. All functions are async-signal-safe, and nothing is allocated.
class SafeText final {
 public:
  SafeText& add(const char* text) noexcept;
  SafeText& add_decimal(std::uintptr_t number) noexcept { return add_number(number, 10); }
  /// With "0x" before it.
  SafeText& add_hex(std::uintptr_t number) noexcept { return add("0x").add_number(number, 16); }
  /// "program+0x1234", as addr2line takes it, of an address in the code of a program or library; else the bare address.
  SafeText& add_code(std::uintptr_t address) noexcept;
  /// To stderr, in one system call.
  void write_line() noexcept;

 private:
  SafeText& add_number(std::uintptr_t number, unsigned radix) noexcept;
  char text_[1024];
  std::size_t size_ = 0;
};

/// The word at `address`; 0 where there is no memory. Async-signal-safe.
std::uintptr_t word_at(std::uintptr_t address) noexcept;

}  // namespace shoal
