// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_transport.hpp"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/quiet_signals.hpp"
#include "bootstrap/address.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kCloseNs = 2'000'000'000;
constexpr int kRoundsAtOnce = 16;  // of serving, then the thread looks whether somebody else does

/// "HOST, ADDRESS", for messages; `interface` may be one that only UCX knows.
std::string machine_text(const std::string& interface) {
  std::vector<SocketAddress> addresses = own_addresses(0, interface);
  if (addresses.empty()) addresses = own_addresses(0, "");
  return host_name() + (addresses.empty() ? "" : ", " + addresses.front().host_text());
}

std::string to_hex(const void* data, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += strf("%02x", static_cast<const unsigned char*>(data)[i]);
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

void require_ucx() { load_ucp(); }

std::unique_ptr<Transport> make_ucx(int me, int n_pes, const UcxSettings& settings, Target& target) {
  return std::make_unique<UcxTransport>(me, n_pes, settings, target);
}

UcxTransport::UcxTransport(int me, int n_pes, const UcxSettings& settings, Target& target)
    : me_(me),
      n_pes_(n_pes),
      gather_(settings.gather),
      target_(target),
      ucp_(load_ucp()),
      peers_(static_cast<std::size_t>(n_pes)) {
  const QuietSignals quiet;  // UCX has threads
  try {
    open_context(settings);
    open_worker(settings);
  } catch (...) {
    close();
    throw;
  }
}

UcxTransport::~UcxTransport() { close(); }

void UcxTransport::open_context(const UcxSettings& settings) {
  ucp_config_t* config = nullptr;
  const auto check = [&](ucs_status_t status, const std::string& what) {
    if (status == UCS_OK) return;
    if (config != nullptr) ucp_.ucp_config_release(config);
    throw Error(Code::system, strf("UCX cannot %s: %s", what.c_str(), ucp_.ucs_status_string(status)));
  };
  check(ucp_.ucp_config_read(nullptr, nullptr, &config), "read its configuration");
  const auto set = [&](const char* name, const std::string& value) {
    check(ucp_.ucp_config_modify(config, name, value.c_str()), strf("set %s to %s", name, value.c_str()));
  };
  set("MAX_EAGER_RAILS", "1");  // messages keep their order
  set("KEEPIDLE", strf("%dms", settings.silence_s * 500));
  set("KEEPINTVL", strf("%dms", settings.silence_s * 125 < 1000 ? 1000 : settings.silence_s * 125));
  set("KEEPCNT", "4");
  set("KEEPALIVE_INTERVAL", strf("%dms", settings.silence_s * 500));  // of other networks
  set("TX_SEG_SIZE", "64k");  // of TCP: eight times fewer system calls for large puts
  if (!settings.interface.empty()) set("NET_DEVICES", settings.interface);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.request_size = sizeof(Note);
  params.estimated_num_eps = static_cast<std::size_t>(n_pes_);
  check(ucp_.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_),
        settings.interface.empty() ? "start" : strf("start with SHOAL_INTERFACE=\"%s\"", settings.interface.c_str()));
  ucp_.ucp_config_release(config);
}

void UcxTransport::open_worker(const UcxSettings& settings) {
  const auto check = [&](ucs_status_t status, const char* what) {
    if (status != UCS_OK) throw Error(Code::system, strf("UCX cannot %s: %s", what, ucp_.ucs_status_string(status)));
  };
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(ucp_.ucp_worker_create(context_, &params, &worker_), "make a worker");
  check(ucp_.ucp_worker_get_efd(worker_, &event_fd_), "give an event descriptor");
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.arg = this;
  handler.cb = [](void* self, const void*, std::size_t, void* data, std::size_t bytes,
                  const ucp_am_recv_param_t* about) -> ucs_status_t {
    const bool here =
        (about->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;  // what comes otherwise is none of ours: nothing
    static_cast<UcxTransport*>(self)->on_message(static_cast<const char*>(data), here ? bytes : 0);
    return UCS_OK;
  };
  check(ucp_.ucp_worker_set_am_recv_handler(worker_, &handler), "take messages");
  ucp_worker_attr_t about{};
  about.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  about.address_flags = settings.network_only ? UCP_WORKER_ADDRESS_FLAG_NET_ONLY : 0;
  check(ucp_.ucp_worker_query(worker_, &about), "give its address");
  address_ = machine_text(settings.interface) + " " + to_hex(about.address, about.address_length);
  ucp_.ucp_worker_release_address(worker_, about.address);
}

void UcxTransport::start(std::vector<std::string> addresses) {
  for (const std::string& address : addresses) {
    const std::size_t space = address.rfind(' ');  // "<machine> <hexadecimal>"
    if (space == std::string::npos) throw Error(Code::peer, strf("\"%s\" is no address of a PE", address.c_str()));
    machines_.emplace_back(address.substr(0, space), from_hex(address.substr(space + 1)));
  }
  thread_.start();
}

void UcxTransport::close() noexcept {
  if (context_ == nullptr) return;
  leaving();
  thread_.stop();
  owner_.own();  // for good
  for (UcxPeer* peer : opened_)
    for (RemoteKey& key : peer->keys)
      if (key.rkey != nullptr) ucp_.ucp_rkey_destroy(key.rkey);
  const std::uint64_t deadline = now_ns() + kCloseNs;
  for (UcxPeer* peer : opened_) {
    if (peer->ep == nullptr) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;  // all has been said; those who are gone must not be waited for
    const ucs_status_ptr_t request = ucp_.ucp_ep_close_nbx(peer->ep, &param);
    if (!UCS_PTR_IS_PTR(request)) continue;
    while (ucp_.ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < deadline)
      ucp_.ucp_worker_progress(worker_);
    ucp_.ucp_request_free(request);
  }
  for (const Region& region : regions_) ucp_.ucp_mem_unmap(context_, region.memory);
  if (worker_ != nullptr) ucp_.ucp_worker_destroy(worker_);
  ucp_.ucp_cleanup(context_);
  context_ = nullptr;
  owner_.disown();
}

// Peers

UcxPeer& UcxTransport::peer(int pe) noexcept {
  auto& peer = peers_[static_cast<std::size_t>(pe)];
  if (peer == nullptr) {
    peer = std::make_unique<UcxPeer>(pe);
    opened_.push_back(peer.get());
  }
  return *peer;
}

void UcxTransport::connect(UcxPeer& peer) noexcept {
  if (peer.ep != nullptr) return;
  const auto& [machine, address] = machines_[static_cast<std::size_t>(peer.pe)];
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.arg = this;
  params.err_handler.cb = [](void* self, ucp_ep_h ep, ucs_status_t status) {
    auto& transport = *static_cast<UcxTransport*>(self);
    for (UcxPeer* one : transport.opened_)
      if (one->ep == ep) transport.broke(*one, status);
  };
  const ucs_status_t status = ucp_.ucp_ep_create(worker_, &params, &peer.ep);
  if (status == UCS_OK) return;
  target_.fail(strf(
      "UCX cannot connect to PE %d (on %s): %s. Name the device to use with SHOAL_INTERFACE or UCX_NET_DEVICES, and "
      "see that the nodes have a network in common that UCX knows (UCX_TLS)",
      peer.pe, machine.c_str(), ucp_.ucs_status_string(status)));
}

void UcxTransport::broke(UcxPeer& peer, const char* why) noexcept {
  if (peer.broken) return;
  peer.broken = true;
  peer.why = why;
  if (leaving_.load(std::memory_order_relaxed)) return;
  lost_.note(peer);
  nudge();  // the thread may sleep without end, and it watches what is lost
}

std::string UcxTransport::lost_text(const UcxPeer& peer) const {
  return strf("the connection to PE %d (on %s) was lost: %s", peer.pe,
              machines_[static_cast<std::size_t>(peer.pe)].first.c_str(), peer.why.c_str());
}

void UcxTransport::lost(UcxPeer& peer) noexcept {
  const std::string text = lost_text(peer);
  owner_.disown();
  lost_.wait_to_be_ended();
  target_.fail(text);
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

void UcxTransport::watch_lost() noexcept {
  if (leaving_.load(std::memory_order_relaxed)) return;
  if (const UcxPeer* const peer = lost_.due()) target_.fail(lost_text(*peer));
}

// Requests

void UcxTransport::put(const Far& to, const void* from, std::size_t bytes) noexcept {
  const Owning owning(owner_);
  UcxPeer& there = peer(to.pe);
  const RemoteKey* key = bytes <= gather_ ? nullptr : key_for(there, to, bytes);
  if (key == nullptr) return put_message(there, to, static_cast<const char*>(from), bytes);
  put_native(there, *key, to.offset, static_cast<const char*>(from), bytes);
}

void UcxTransport::get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept {
  const Owning owning(owner_);
  UcxPeer& there = peer(from.pe);
  const RemoteKey* key = key_for(there, from, bytes);
  const bool pending = there.unconfirmed() || there.unflushed();
  if (key == nullptr || (pending && bytes <= kPiece))
    return get_message(there, from, static_cast<char*>(to), bytes, tally, gather);
  settle(there, true, true);
  get_native(there, *key, from.offset, static_cast<char*>(to), bytes, tally);
}

void UcxTransport::update(const Far& word, const AtomicCall& call) noexcept {
  const Owning owning(owner_);
  UcxPeer& there = peer(word.pe);
  const wire::Operands operands{call.operand, call.compare};
  request(there, {wire::Type::update, static_cast<std::uint8_t>(call.op), call.width, 0, word.key, word.offset, 0},
          &operands, sizeof operands);
  leave(there, true);
}

void UcxTransport::raise(const Far& word, std::uint64_t value) noexcept {
  const Owning owning(owner_);
  UcxPeer& there = peer(word.pe);
  const wire::Operands operands{value, 0};
  append(there, {wire::Type::update, static_cast<std::uint8_t>(AtomicOp::swap), 8, 0, word.key, word.offset, 0},
         &operands, sizeof operands);
  leave(there, false);
}

void UcxTransport::fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept {
  const Owning owning(owner_);
  UcxPeer& there = peer(word.pe);
  const wire::Operands operands{call.operand, call.compare};
  await(there, old, call.width, tally);
  request(there, {wire::Type::fetch, static_cast<std::uint8_t>(call.op), call.width, 0, word.key, word.offset, 0},
          &operands, sizeof operands);
  leave(there, gather);
}

void UcxTransport::flush(Tally& tally) noexcept {
  const Owning owning(owner_);
  for (std::size_t i = 0; i < opened_.size(); ++i) {  // it may grow: waiting for room serves others
    UcxPeer& there = *opened_[i];
    if (there.unconfirmed()) confirm(there, tally);
    if (there.unflushed() || there.gets_in_flight != 0) flush_puts(there, &tally);
    if (there.broken) lost(there);  // nothing may be left to wait for
  }
}

// Serving

/// @return whether anything was to do
bool UcxTransport::serve_owned() noexcept {
  bool any = send_dirty();
  if (ucp_.ucp_worker_progress(worker_) != 0)
    any = touched_ = true;  // UCX says nothing of puts that have come otherwise
  answer_keys();
  any |= send_dirty();
  if (touched_) {
    touched_ = false;
    target_.wake();
  }
  return any;
}

bool UcxTransport::serve_all() noexcept {
  if (!owner_.try_own()) return false;
  const bool any = serve_owned();
  owner_.disown();
  return any;
}

/// For the thread, which must not miss who is lost while the program waits for a PE that is stopped.
bool UcxTransport::own_soon() noexcept {
  constexpr int kOwnedMs = 1;
  if (owner_.own_soon()) return true;
  ::poll(nullptr, 0, kOwnedMs);
  return false;
}

/// What an owner keeps serve_next() sends before it sleeps.
void UcxTransport::send_what_lies() noexcept {
  if (!own_soon()) return;
  serve_owned();
  owner_.disown();
}

bool UcxTransport::progress() noexcept {
  thread_.polled();
  return serve_all();
}

/// Sleeps until UCX has something to do.
void UcxTransport::sleep_armed(int timeout_ms) noexcept {
  pollfd wait{event_fd_, POLLIN, 0};
  if (ucp_.ucp_worker_arm(worker_) == UCS_OK) ::poll(&wait, 1, timeout_ms);
}

bool UcxTransport::serve_next() noexcept {
  constexpr int kLookMs = 100;
  if (!own_soon()) return false;
  bool any = serve_owned();
  const bool armed = !any && ucp_.ucp_worker_arm(worker_) == UCS_OK;  // else something has come meanwhile
  owner_.disown();
  if (!armed) return any;
  pollfd wait{event_fd_, POLLIN, 0};
  ::poll(&wait, 1, lost_.any() ? kLookMs : -1);
  bool more = true;
  for (int round = 0; more && round < kRoundsAtOnce; ++round) {
    if (!own_soon()) break;
    more = serve_owned();
    owner_.disown();  // others have their turn
    any |= more;
  }
  return any;
}

}  // namespace shoal
