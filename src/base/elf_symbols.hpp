// SPDX-License-Identifier: Apache-2.0
// What a program or library file says of the names in it.
#pragma once
#include <link.h>

#include <string>
#include <string_view>

#include "base/callback.hpp"

namespace shoal {

/// Calls `see` with each entry of a file's own table of symbols, or, where it has been stripped of that, of the one
/// that it shows to others. Not at all for what is no such file. Whatever the file says of itself is looked at first.
void each_symbol(const char* path, const Callback<const ElfW(Sym) &, std::string_view>& see);

/// A symbol as its source spells it. C's stay as they are: "f" is no type.
std::string demangled(const std::string& symbol);

}  // namespace shoal
