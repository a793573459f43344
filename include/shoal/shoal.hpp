// SPDX-License-Identifier: Apache-2.0
/// \file
/// The native C++20 interface, all of it. docs/cpp-api.md has an introduction and an example.
#pragma once

#if __cplusplus < 202002L
#error "shoal/shoal.hpp needs C++20: compile with -std=c++20"
#endif

#include "array.hpp"       // IWYU pragma: export
#include "atomics.hpp"     // IWYU pragma: export
#include "context.hpp"     // IWYU pragma: export
#include "error.hpp"       // IWYU pragma: export
#include "heap.hpp"        // IWYU pragma: export
#include "job.hpp"         // IWYU pragma: export
#include "lock.hpp"        // IWYU pragma: export
#include "reductions.hpp"  // IWYU pragma: export
#include "rma.hpp"         // IWYU pragma: export
#include "signal.hpp"      // IWYU pragma: export
#include "team.hpp"        // IWYU pragma: export
#include "types.hpp"       // IWYU pragma: export
#include "wait.hpp"        // IWYU pragma: export
