// SPDX-License-Identifier: Apache-2.0
#include "security/openssl.hpp"

#include <openssl/crypto.h>

namespace shoal {

void keep_openssl() noexcept { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace shoal
