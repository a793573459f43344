// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace shoal {

/// `text` as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD.
std::string json_string(const std::string& text);

}  // namespace shoal
