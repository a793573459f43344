// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace pagerank {

/// Calls `name` with the package name of each relation in the text of a Depends or Provides field, e.g. `libc6` and
/// `mail-server` for "libc6:any (>= 2.34) [amd64], exim4 <!nocheck> | mail-server": alternatives count like separate
/// relations, and versions, architectures and build profiles are left out. Calls `bad` with each relation that isn't
/// of this form.
void for_each_relation(std::string_view field, const std::function<void(std::string_view)>& name,
                       const std::function<void(std::string_view)>& bad);

}  // namespace pagerank
