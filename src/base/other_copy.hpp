// SPDX-License-Identifier: Apache-2.0
// A process must have one libshoal: two would know nothing of each other's job.
#pragma once
#include <string>

namespace shoal {

/// The file of another libshoal that this process has loaded, by the name that it was loaded by; "" if there is none.
std::string other_copy();
/// The file of the libshoal that this code is in.
std::string this_copy();

}  // namespace shoal
