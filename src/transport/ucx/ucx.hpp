// SPDX-License-Identifier: Apache-2.0
// The transport over UCX (RDMA, RoCE, TCP), for fabrics that the user trusts. libucp is loaded when it is asked for.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace shoal {

struct UcxSettings {
  std::string interface;      ///< a device of UCX's: "eth1", "mlx5_0:1"; "": any, or what UCX_NET_DEVICES says
  int silence_s = 10;         ///< a machine that says nothing for so long is gone
  std::size_t gather = 4096;  ///< puts of up to so many bytes travel in messages, larger ones by UCX's own put
  bool network_only = true;   ///< not by memory that PEs of one machine could share
};

/// Does nothing where UCX can be had. @throws Error{unsupported} otherwise, with what to install
void require_ucx();

/// @param target  outlives the transport. @throws Error, of require_ucx() too
std::unique_ptr<Transport> make_ucx(int me, int n_pes, const UcxSettings& settings, Target& target);

}  // namespace shoal
