// SPDX-License-Identifier: Apache-2.0
// What stands in for the transport where the build found no UCX.
#include "base/error.hpp"
#include "transport/ucx/ucx.hpp"

namespace shoal {

void require_ucx() {
  throw Error(
      Code::unsupported,
      "SHOAL_TRANSPORT=ucx: this libshoal was built without UCX. Install its headers (Debian: libucx-dev) and build "
      "Shoal again, or use SHOAL_TRANSPORT=tls or tcp");
}

std::unique_ptr<Transport> make_ucx(int, int, const UcxSettings&, Target&) {
  require_ucx();
  return nullptr;
}

}  // namespace shoal
