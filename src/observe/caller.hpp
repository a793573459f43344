// SPDX-License-Identifier: Apache-2.0
// Where in the program a call was made.
#pragma once
#include <cstdint>
#include <string>

namespace shoal {

/// The return address, outside the library, of the call that this thread is in; 0 when the stack cannot be read.
std::uintptr_t caller_address() noexcept;
/// A number for that place which is the same in all processes of the program, wherever each has its code.
std::uint64_t number_of_code(std::uintptr_t address) noexcept;
/// "file.c:12 (main)" where debug information and addr2line tell it, else "program+0x1234 (main)", as much as is known.
/// Starts a process; for messages only.
std::string describe_code(std::uintptr_t address);

}  // namespace shoal
