// SPDX-License-Identifier: Apache-2.0
// Who uses a piece of a trace: its PE while its job runs, and whoever joins it. Such locks end with their process,
// however that ends, and are not inherited by its children. Where a file system has none, nobody is seen.
#pragma once
#include <string>

namespace shoal {

/// By the byte of the piece that is locked.
enum class TraceUse : unsigned char { written, joined };

/// Locks it for this process until that closes any descriptor of the file.
/// @return whether another process has not done so before
bool lock_piece(int fd, TraceUse use) noexcept;
/// "process 12", or "a process of another container", whose number is not known here, has; "": none but this one.
std::string user_of_piece(int fd, TraceUse use);
/// Whether that is what lies at `path` now.
bool lies_at(int fd, const std::string& path) noexcept;

}  // namespace shoal
