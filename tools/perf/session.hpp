// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "options.hpp"

namespace shoal::perf {

/// Symmetric heap that each of `npes` PEs needs, in bytes.
std::size_t heap_needed(const Options& options, int npes);

/// Runs the chosen tests as a PE of the job that this process is in. Returns the exit status.
int run_as_pe(const Options& options);

}  // namespace shoal::perf
