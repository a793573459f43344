// SPDX-License-Identifier: Apache-2.0
// Messages by UCX itself between the two PEs of bench/nodes.cpp, set up as the library sets it up: what its small
// operations over UCX cannot be quicker than.
#pragma once
#include <shmem.h>
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

class BareUcx {
 public:
  explicit BareUcx(int other) {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    check(ucp_config_modify(config, "TX_SEG_SIZE", "64k"), "ucp_config_modify");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    ucp_context_h context = nullptr;
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    check(ucp_worker_create(context, &worker, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.arg = this;
    handler.cb = [](void* self, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
      ++static_cast<BareUcx*>(self)->come_;
      return UCS_OK;
    };
    check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
    ucp_worker_attr_t about{};
    about.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    about.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
    check(ucp_worker_query(worker_, &about), "ucp_worker_query");
    static char address[4096];
    if (about.address_length > sizeof address) check(UCS_ERR_BUFFER_TOO_SMALL, "the worker's address");
    shmem_putmem(address, about.address, about.address_length, other);
    shmem_barrier_all();
    ucp_ep_params_t peer{};
    peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    peer.address = reinterpret_cast<const ucp_address_t*>(address);
    peer.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    check(ucp_ep_create(worker_, &peer, &peer_), "ucp_ep_create");
  }
  // Nothing is closed: the processes end.

  void send(const void* from, std::size_t bytes) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    const ucs_status_ptr_t sent = ucp_am_send_nbx(peer_, 0, nullptr, 0, from, bytes, &param);
    if (!UCS_PTR_IS_PTR(sent)) return check(UCS_PTR_STATUS(sent), "ucp_am_send_nbx");
    while (ucp_request_check_status(sent) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(sent);
  }
  /// Waits for the next message.
  void receive(void*, std::size_t) {
    for (++awaited_; come_ < awaited_;) ucp_worker_progress(worker_);
  }

 private:
  static void check(ucs_status_t status, const char* what) {
    if (status == UCS_OK) return;
    std::fprintf(stderr, "nodes: %s: %s\n", what, ucs_status_string(status));
    shmem_global_exit(1);
  }
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h peer_ = nullptr;
  unsigned long come_ = 0, awaited_ = 0;
};
