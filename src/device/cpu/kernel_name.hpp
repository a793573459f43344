// SPDX-License-Identifier: Apache-2.0
// The name of a function by its address, from the symbol table of the file that it was loaded from: needed only for
// messages, so looked up then. Takes no lock and no memory from the heap: a crashed thread may call it.
#pragma once
#include <cstddef>

namespace shoal {

/// "ring", "(anonymous namespace)::ring", or "0x55d0..." where the file has no symbols. Always ends in a NUL.
void kernel_name(const void* address, char* out, std::size_t size) noexcept;

/// The qualified name in a mangled one, without its parameters.
void readable_name(const char* mangled, char* out, std::size_t size) noexcept;

}  // namespace shoal
