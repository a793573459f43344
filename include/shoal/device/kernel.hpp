// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel API, all of it. docs/device.md tells the model.
#pragma once

#include "collectives.hpp"  // IWYU pragma: export
#include "core.hpp"         // IWYU pragma: export
#include "gm2gm.hpp"        // IWYU pragma: export
#include "group.hpp"        // IWYU pragma: export
#include "numbers.hpp"      // IWYU pragma: export
#include "ub2gm.hpp"        // IWYU pragma: export
#include "view.hpp"         // IWYU pragma: export
