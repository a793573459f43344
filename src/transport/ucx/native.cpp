// SPDX-License-Identifier: Apache-2.0
// What travels by UCX's own puts and gets: remote keys, and what they order.
#include <algorithm>
#include <cstring>
#include <span>

#include "transport/ucx/ucx_transport.hpp"

namespace shoal {

using wire::Frame;
using wire::KeyedRange;
using wire::Type;

namespace {

constexpr std::size_t kWorthWaiting = 64 * 1024;

}  // namespace

// Keys

/// The key for a place, or null: then a message must do. The first who needs a key asks for it, and goes on without,
/// unless what it has to move is so much that the key is worth waiting for.
const RemoteKey* UcxTransport::key_for(UcxPeer& peer, const Far& place, std::size_t bytes) noexcept {
  std::size_t i = 0;
  while (i < peer.keys.size() && peer.keys[i].key != place.key) ++i;
  if (i == peer.keys.size()) {
    peer.keys.push_back({place.key});
    append(peer, {Type::ask_key, 0, 0, 0, place.key, 0, 0}, nullptr, 0);
  }
  RemoteKey& key = peer.keys[i];
  if (!key.answered && bytes > kWorthWaiting) wait_until(peer, [&] { return key.answered; });
  // What does not fit is refused, and logged, by the target.
  const bool fits = key.rkey != nullptr && place.offset <= key.bytes && bytes <= key.bytes - place.offset;
  return fits ? &key : nullptr;
}

void UcxTransport::on_key(UcxPeer& peer, const Frame& frame, const char* behind) noexcept {
  const auto found =
      std::find_if(peer.keys.begin(), peer.keys.end(), [&](const RemoteKey& key) { return key.key == frame.key; });
  if (found == peer.keys.end() || found->answered || peer.ep == nullptr) return;  // detached since
  KeyedRange range;
  std::memcpy(&range, behind, sizeof range);
  ucp_rkey_h rkey = nullptr;
  if (frame.bytes != 0 && ucp_.ucp_ep_rkey_unpack(peer.ep, behind + sizeof range, &rkey) != UCS_OK) rkey = nullptr;
  *found = {frame.key, true, rkey, range.base, range.bytes};
}

const UcxTransport::Region* UcxTransport::region(int from, std::uint32_t key) noexcept {
  const std::span<char> memory = target_.region(from, key);  // empty for who may not
  if (memory.empty()) return nullptr;
  for (const Region& region : regions_)
    if (region.key == key) return &region;
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.address = memory.data();
  params.length = memory.size();
  params.flags = UCP_MEM_MAP_NONBLOCK;  // pages that nobody touches need not be there, where the network can do that
  ucp_mem_h handle = nullptr;
  if (ucp_.ucp_mem_map(context_, &params, &handle) != UCS_OK) return nullptr;
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (ucp_.ucp_rkey_pack(context_, handle, &packed, &bytes) != UCS_OK || bytes > kPiece) {
    ucp_.ucp_mem_unmap(context_, handle);
    return nullptr;
  }
  regions_.push_back({key,
                      handle,
                      reinterpret_cast<std::uint64_t>(memory.data()),
                      memory.size(),
                      {static_cast<const char*>(packed), bytes}});
  ucp_.ucp_rkey_buffer_release(packed);
  return &regions_.back();
}

/// Not while a message is handled: to register memory can take long.
void UcxTransport::answer_keys() noexcept {
  while (!asked_.empty()) {
    const auto [pe, key] = asked_.back();
    asked_.pop_back();
    const Region* there = region(pe, key);
    if (there == nullptr) {
      const KeyedRange none{};
      append(peer(pe), {Type::key, 0, 0, 0, key, 0, 0}, &none, sizeof none);
      continue;
    }
    const KeyedRange range{there->base, there->bytes};
    append(peer(pe), {Type::key, 0, 0, 0, key, 0, there->packed.size()}, &range, sizeof range, there->packed.data(),
           there->packed.size());
  }
}

void UcxTransport::detach(std::uint32_t key) noexcept {
  const Owning owning(owner_);
  if (context_ == nullptr) return;
  for (UcxPeer* peer : opened_)
    std::erase_if(peer->keys, [&](const RemoteKey& known) {
      if (known.key == key && known.rkey != nullptr) ucp_.ucp_rkey_destroy(known.rkey);
      return known.key == key;
    });
  std::erase_if(regions_, [&](const Region& region) {
    if (region.key == key) ucp_.ucp_mem_unmap(context_, region.memory);
    return region.key == key;
  });
}

// Order

/// Asks whether all before it is done.
void UcxTransport::confirm(UcxPeer& peer, Tally& tally) noexcept {
  await(peer, nullptr, 0, tally);
  request(peer, {Type::get, 0, 0, 0, 0, 0, 0}, nullptr, 0);
  leave(peer, false);
}

/// Asks UCX to say when the puts so far have arrived, and all gets. @param tally  if not null, counted up and down
void UcxTransport::flush_puts(UcxPeer& peer, Tally* tally) noexcept {
  if (tally == nullptr && peer.flushing == peer.puts) return;  // asked already
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = this;
  param.cb.send = [](void* request, ucs_status_t status, void* self) {
    auto& transport = *static_cast<UcxTransport*>(self);
    const Note note = note_of(request);
    transport.ucp_.ucp_request_free(request);
    if (status != UCS_OK) return transport.broke(*note.peer, status);
    note.peer->flushed = std::max(note.peer->flushed, note.upto);
    if (note.tally != nullptr) note.tally->left.fetch_sub(1, std::memory_order_release);
  };
  const ucs_status_ptr_t request = ucp_.ucp_ep_flush_nbx(peer.ep, &param);
  if (UCS_PTR_IS_ERR(request)) return broke(peer, UCS_PTR_STATUS(request));
  peer.flushing = peer.puts;
  if (!UCS_PTR_IS_PTR(request)) {
    peer.flushed = peer.puts;
    return;
  }
  note_of(request) = {&peer, tally, peer.puts, nullptr};
  if (tally != nullptr) tally->left.fetch_add(1, std::memory_order_relaxed);
}

/// Waits until native puts have arrived, until messages are done.
void UcxTransport::settle(UcxPeer& peer, bool puts, bool messages) noexcept {
  Tally tally;
  if (messages && peer.unconfirmed()) confirm(peer, tally);
  if (puts && peer.unflushed()) flush_puts(peer, &tally);
  if (peer.broken) lost(peer);  // nothing may be left to wait for
  wait_until(peer, [&] { return tally.done(); });
}

// Operations

void UcxTransport::put_native(UcxPeer& peer, const RemoteKey& key, std::uint64_t offset, const char* from,
                              std::size_t bytes) noexcept {
  const std::uint64_t fences = fences_.load(std::memory_order_relaxed);
  settle(peer, peer.put_fence != fences, peer.message_fence != fences);
  send(peer, true);  // what is gathered must not wait for this
  if (!peer.unflushed()) peer.put_fence = fences;
  connect(peer);
  const ucp_request_param_t param{};
  const ucs_status_ptr_t request = ucp_.ucp_put_nbx(peer.ep, from, bytes, key.base + offset, key.rkey, &param);
  ++peer.puts;
  if (UCS_PTR_IS_ERR(request)) {
    broke(peer, UCS_PTR_STATUS(request));
    lost(peer);
  }
  if (!UCS_PTR_IS_PTR(request)) return;
  wait_until(peer, [&] { return ucp_.ucp_request_check_status(request) != UCS_INPROGRESS; });
  const ucs_status_t status = ucp_.ucp_request_check_status(request);
  ucp_.ucp_request_free(request);
  if (status != UCS_OK) {
    broke(peer, status);
    lost(peer);
  }
}

void UcxTransport::get_native(UcxPeer& peer, const RemoteKey& key, std::uint64_t offset, char* to, std::size_t bytes,
                              Tally& tally) noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = this;
  param.cb.send = [](void* request, ucs_status_t status, void* self) {
    auto& transport = *static_cast<UcxTransport*>(self);
    const Note note = note_of(request);
    transport.ucp_.ucp_request_free(request);
    --note.peer->gets_in_flight;
    if (status != UCS_OK) return transport.broke(*note.peer, status);
    note.tally->left.fetch_sub(1, std::memory_order_release);
  };
  const ucs_status_ptr_t request = ucp_.ucp_get_nbx(peer.ep, to, bytes, key.base + offset, key.rkey, &param);
  if (UCS_PTR_IS_ERR(request)) {
    broke(peer, UCS_PTR_STATUS(request));
    lost(peer);
  }
  if (!UCS_PTR_IS_PTR(request)) return;
  note_of(request) = {&peer, &tally, 0, nullptr};
  ++peer.gets_in_flight;
  tally.left.fetch_add(1, std::memory_order_relaxed);
  thread_.given();
}

}  // namespace shoal
