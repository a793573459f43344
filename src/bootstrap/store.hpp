// SPDX-License-Identifier: Apache-2.0
// The PE's side of the channel to its launcher. The other side is StoreServer.
#pragma once
#include <memory>
#include <optional>

#include "bootstrap/bootstrap.hpp"

namespace shoal {

/// Says hello over the inherited Unix stream socket `fd` (not owned: a later session, of this process or of another one
/// of the same PE, uses it again) and waits for the welcome. `life_fd` is what watch() watches; -1: watch() does
/// nothing. `secret` is the job's. A forked child may destroy the object and may abort (it then ends alone); everything
/// else it does throws.
/// @throws Error{launcher} when nobody answers, or the answer is a refusal
std::unique_ptr<Bootstrap> make_store_bootstrap(int fd, int rank, int size, int life_fd = -1,
                                                std::optional<Secret> secret = std::nullopt);

}  // namespace shoal
