// SPDX-License-Identifier: Apache-2.0
// Which variable of the program lies where.
#pragma once
#include <cstdint>
#include <string>

namespace shoal {

/// "name", "name + 0x10" within it, or "" where the program's table of symbols has none. The first call reads that
/// table. Thread safe.
std::string variable_at(std::uintptr_t address);

}  // namespace shoal
