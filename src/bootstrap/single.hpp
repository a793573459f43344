// SPDX-License-Identifier: Apache-2.0
// A program started without any launcher: a job of one PE.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace shoal {

std::unique_ptr<Bootstrap> make_single_bootstrap();

}  // namespace shoal
