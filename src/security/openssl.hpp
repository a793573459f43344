// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shoal {

/// To be called before anything else of OpenSSL, which would free at exit what threads of the library still use.
void keep_openssl() noexcept;

}  // namespace shoal
