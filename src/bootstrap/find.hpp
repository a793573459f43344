// SPDX-License-Identifier: Apache-2.0
// Which launcher started this process, if any.
#pragma once
#include <memory>

#include "base/options.hpp"
#include "bootstrap/bootstrap.hpp"

namespace shoal {

/// shoalrun (SHOAL_PE, SHOAL_NPES, SHOAL_STORE_FD): joins its job. Nobody: a job of one PE.
/// @throws Error{invalid_option} when those variables make no sense; Error{launcher} when another launcher says that there are
/// several PEs (each of them would believe to be PE 0 of 1), or when shoalrun does not answer
std::unique_ptr<Bootstrap> find_bootstrap(const Options::Environment& environment);

/// The PE that shoalrun started this process as, for messages of a process that is in no job; -1 when it didn't.
int launched_as(const Options::Environment& environment) noexcept;

}  // namespace shoal
