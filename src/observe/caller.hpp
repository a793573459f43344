// SPDX-License-Identifier: Apache-2.0
// Where in the program a call was made.
#pragma once
#include <cstdint>
#include <string>

namespace shoal {

/// The return address, in the program's own code, of the call that this thread is in; 0 where there is none, or the
/// stack cannot be read. C++ headers of Shoal and of the standard library are not the program's own.
std::uintptr_t caller_address() noexcept;
/// A number for that place which is the same in all processes of the program, wherever each has its code.
std::uint64_t number_of_code(std::uintptr_t address) noexcept;
/// "file.c:12 (main)" where debug information and addr2line tell it, else "program+0x1234 (main)", as much as is known.
/// Of what was inlined there, the innermost that is in none of those headers. Starts a process; for messages only.
std::string describe_code(std::uintptr_t address);

}  // namespace shoal
