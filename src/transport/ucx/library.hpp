// SPDX-License-Identifier: Apache-2.0
// libucp, loaded when it is first asked for: a program runs where UCX is not installed.
#pragma once
#include <ucp/api/ucp.h>

#include <string>

namespace shoal {

// clang-format off
#define SHOAL_UCP_FUNCTIONS(X) \
  X(ucp_config_read) X(ucp_config_modify) X(ucp_config_release) X(ucp_init_version) X(ucp_cleanup) \
  X(ucp_worker_create) X(ucp_worker_destroy) X(ucp_worker_query) X(ucp_worker_release_address) \
  X(ucp_worker_progress) X(ucp_worker_get_efd) X(ucp_worker_arm) X(ucp_worker_signal) \
  X(ucp_worker_set_am_recv_handler) X(ucp_ep_create) X(ucp_ep_close_nbx) X(ucp_ep_flush_nbx) \
  X(ucp_ep_rkey_unpack) X(ucp_am_send_nbx) X(ucp_put_nbx) X(ucp_get_nbx) X(ucp_mem_map) X(ucp_mem_unmap) \
  X(ucp_rkey_pack) X(ucp_rkey_buffer_release) X(ucp_rkey_destroy) X(ucp_request_check_status) \
  X(ucp_request_free) X(ucs_status_string)
// clang-format on

/// The functions that are used, by their own names: `ucp.ucp_put_nbx(...)`.
struct UcpFunctions {
#define SHOAL_UCP_MEMBER(name) decltype(&::name) name = nullptr;
  SHOAL_UCP_FUNCTIONS(SHOAL_UCP_MEMBER)
#undef SHOAL_UCP_MEMBER
};

/// The same for all of the process. @throws Error{unsupported} saying what to install
const UcpFunctions& load_ucp();

}  // namespace shoal
