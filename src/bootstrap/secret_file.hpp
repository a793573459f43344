// SPDX-License-Identifier: Apache-2.0
// How a launcher hands the job's secret to its PEs: a sealed memory file that they inherit. Like their channel,
// whatever a PE starts inherits it, too; nobody else can open it, and it is in no memory that a core dump shows.
#pragma once
#include <optional>

#include "base/options.hpp"
#include "base/unique_fd.hpp"
#include "security/secret.hpp"

namespace shoal {

/// Close-on-exec, to be inherited under the name SHOAL_SECRET_FD. @throws Error{system}
UniqueFd make_secret_file(const Secret& secret);
/// What SHOAL_SECRET_FD names; nothing when it is not set. @throws Error{launcher} when it is no such file
std::optional<Secret> inherited_secret(const Options::Environment& environment);

}  // namespace shoal
