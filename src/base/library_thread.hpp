// SPDX-License-Identifier: Apache-2.0
// Which threads are the library's own: what they call is no call of the program's, whatever thread level it asked for.
#pragma once

namespace shoal {

/// Whether this thread was started by the library, for kernels and copies.
inline thread_local constinit bool in_library_thread __attribute__((tls_model("initial-exec"))) = false;

}  // namespace shoal
