// SPDX-License-Identifier: Apache-2.0
#include "channels.hpp"

#include <shmem.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "copy.hpp"
#include "runtime.hpp"

namespace shoal::python {

std::size_t Channels::payload_bytes(int n_pes) noexcept {
  // A fragment is whole cache lines, so that the header of the next one is aligned.
  const std::size_t fragment =
      (std::size_t{1} << 20) / static_cast<std::size_t>(n_pes) / sizeof(Header) * sizeof(Header);
  return std::clamp<std::size_t>(fragment, 4096, 128 * 1024) - sizeof(Header);
}

std::size_t Channels::area_bytes(int n_pes) noexcept {
  // For each other PE: a ring for what it sends here, and a line for what it says of the ring there.
  return static_cast<std::size_t>(n_pes) * (kFragments * (sizeof(Header) + payload_bytes(n_pes)) + 64);
}

Channels::Channels(Pool& pool, int n_pes, int me)
    : pool_(pool),
      n_pes_(n_pes),
      me_(me),
      payload_(payload_bytes(n_pes)),
      outgoing_(static_cast<std::size_t>(n_pes)),
      incoming_(static_cast<std::size_t>(n_pes)) {
  for (int pe = 0; pe < n_pes; ++pe) {
    for (int i = 0; i < kFragments; ++i) fragment(pe, static_cast<std::uint64_t>(i))->sequence = 0;
    *credit(pe) = 0;
  }
}

Channels::Header* Channels::fragment(int sender, std::uint64_t number) const noexcept {
  const std::size_t index = static_cast<std::size_t>(sender) * kFragments + number % kFragments;
  return reinterpret_cast<Header*>(pool_.base + index * (sizeof(Header) + payload_));
}

std::uint64_t* Channels::credit(int receiver) const noexcept {
  const std::size_t rings = static_cast<std::size_t>(n_pes_) * kFragments * (sizeof(Header) + payload_);
  return reinterpret_cast<std::uint64_t*>(pool_.base + rings + static_cast<std::size_t>(receiver) * 64);
}

bool Channels::matches(const Transfer& receive, int pe, std::uint64_t group, std::int64_t tag) noexcept {
  if (receive.group != group || receive.tag != tag) return false;
  return receive.pe == pe ||
         (receive.pe < 0 && std::find(receive.members.begin(), receive.members.end(), pe) != receive.members.end());
}

std::shared_ptr<Transfer> Channels::start(Transfer transfer) {
  const std::lock_guard guard(mutex_);
  auto shared = std::make_shared<Transfer>(std::move(transfer));
  if (closed_) {
    cut_off(*shared);
    return shared;
  }
  if (shared->sends) {
    outgoing_[static_cast<std::size_t>(shared->pe)].queue.push_back(shared);
    progress();
    return shared;
  }
  progress();
  for (int pe = 0; pe < n_pes_; ++pe)
    if (take_unexpected(*shared, pe)) {
      auto& in = incoming_[static_cast<std::size_t>(pe)];
      if (!shared->done) in.unexpected.back().taken_by = shared;
      return shared;
    }
  receives_.push_back(shared);
  progress();
  return shared;
}

/// @return whether a message from `pe` is, or will be, this receive's
bool Channels::take_unexpected(Transfer& receive, int pe) {
  Incoming& in = incoming_[static_cast<std::size_t>(pe)];
  for (auto message = in.unexpected.begin(); message != in.unexpected.end(); ++message) {
    if (message->taken_by != nullptr || !matches(receive, pe, message->group, message->tag)) continue;
    receive.pe = pe;
    if (message->arrived < message->data.size()) return true;  // the rest of it is on its way
    std::memcpy(receive.data, message->data.data(), std::min<std::uint64_t>(receive.bytes, message->data.size()));
    finish(receive, message->data.size());
    in.unexpected.erase(message);
    return true;
  }
  return false;
}

void Channels::finish(Transfer& transfer, std::uint64_t total) {
  transfer.done = true;
  if (total != transfer.bytes)
    transfer.error = "PE " + std::to_string(transfer.pe) + " sent " + std::to_string(total) + " bytes with tag " +
                     std::to_string(transfer.tag) + ", but PE " + std::to_string(me_) + " receives " +
                     std::to_string(transfer.bytes) + ": both must have the same shape and type";
}

bool Channels::progress_send(int pe, Outgoing& out) {
  bool moved = false;
  while (!out.queue.empty()) {
    Transfer& transfer = *out.queue.front();
    if (out.sent - shmem_signal_fetch(credit(pe)) >= kFragments) return moved;
    const std::uint64_t bytes = std::min<std::uint64_t>(payload_, transfer.bytes - transfer.moved);
    Header header{0, transfer.group, transfer.tag, transfer.bytes, transfer.moved, static_cast<std::uint32_t>(bytes), 0,
                  {}};
    Header* to = fragment(me_, out.sent);
    shmem_putmem(&to->group, &header.group, sizeof header - sizeof header.sequence, pe);
    if (bytes != 0) shmem_putmem(to + 1, transfer.data + transfer.moved, bytes, pe);
    shmem_fence();
    shmem_signal_set(&to->sequence, ++out.sent, pe);
    transfer.moved += bytes;
    moved = true;
    if (transfer.moved == transfer.bytes) {
      transfer.done = true;
      out.queue.pop_front();
    }
  }
  return moved;
}

void Channels::begin_message(int pe, Incoming& in, const Header& header) {
  for (auto receive = receives_.begin(); receive != receives_.end(); ++receive)
    if (matches(**receive, pe, header.group, header.tag)) {
      in.current = *receive;
      in.current->pe = pe;
      receives_.erase(receive);
      in.current_is_unexpected = false;
      return;
    }
  in.unexpected.push_back(Unexpected{header.group, header.tag, std::vector<char>(header.total), 0, nullptr});
  in.current_is_unexpected = true;
}

bool Channels::progress_receive(int pe, Incoming& in) {
  bool moved = false;
  for (;;) {
    Header* header = fragment(pe, in.read);
    if (shmem_signal_fetch(&header->sequence) != in.read + 1) return moved;
    const char* payload = reinterpret_cast<const char*>(header + 1);
    if (header->offset == 0) begin_message(pe, in, *header);
    const bool last = header->offset + header->bytes == header->total;
    if (in.current_is_unexpected) {
      Unexpected& message = in.unexpected.back();
      std::memcpy(message.data.data() + header->offset, payload, header->bytes);
      message.arrived += header->bytes;
      if (last && message.taken_by != nullptr) {
        Transfer& receive = *message.taken_by;
        std::memcpy(receive.data, message.data.data(), std::min<std::uint64_t>(receive.bytes, message.data.size()));
        finish(receive, message.data.size());
        in.unexpected.pop_back();
      }
    } else {
      Transfer& receive = *in.current;
      if (header->offset < receive.bytes)
        copy_block(receive.data + header->offset, payload,
                   std::min<std::uint64_t>(header->bytes, receive.bytes - header->offset));
      if (last) {
        finish(receive, header->total);
        in.current.reset();
      }
    }
    ++in.read;
    shmem_signal_set(credit(me_), in.read, pe);  // my line at the sender
    moved = true;
  }
}

void Channels::cut_off(Transfer& transfer) {
  transfer.done = transfer.cut_off = true;
  transfer.error = std::string(transfer.sends ? "send" : "receive") + ": shoal.finalize() ended its job";
}

void Channels::close() {
  const std::lock_guard guard(mutex_);
  closed_ = true;
  for (const Outgoing& out : outgoing_)
    for (const auto& transfer : out.queue) cut_off(*transfer);
  for (const Incoming& in : incoming_) {
    if (in.current != nullptr) cut_off(*in.current);
    for (const Unexpected& message : in.unexpected)
      if (message.taken_by != nullptr) cut_off(*message.taken_by);
  }
  for (const auto& receive : receives_) cut_off(*receive);
}

bool Channels::abandon(Transfer& transfer) {
  const std::lock_guard guard(mutex_);
  if (transfer.done) return false;
  if (transfer.sends) {
    transfer.copy.assign(transfer.data, transfer.data + transfer.bytes);
    transfer.data = transfer.copy.data();
  } else {
    receives_.remove_if([&](const auto& receive) { return receive.get() == &transfer; });
    transfer.bytes = 0;
  }
  return true;
}

void Channels::progress() {
  if (closed_) return;
  for (int pe = 0; pe < n_pes_; ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    if (!outgoing_[index].queue.empty()) progress_send(pe, outgoing_[index]);
    progress_receive(pe, incoming_[index]);
  }
}

void Channels::poll() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (guard.owns_lock()) progress();
}

bool Channels::test(Transfer& transfer) {
  const std::lock_guard guard(mutex_);
  if (!transfer.done) progress();
  return transfer.done;
}

void Channels::wait(Transfer& transfer, double timeout_seconds) {
  const std::uint64_t deadline = timeout_seconds <= 0 ? 0 : deadline_after(timeout_seconds);
  Backoff backoff(Runtime::instance().crowded(), deadline);
  while (!test(transfer))
    backoff.pause([&] {
      return std::string(transfer.sends ? "send to" : "receive from") +
             (transfer.pe < 0 ? " any PE" : " PE " + std::to_string(transfer.pe)) + " with tag " +
             std::to_string(transfer.tag) + " was not matched within " + std::to_string(timeout_seconds) + " s";
    });
  if (transfer.cut_off) throw std::runtime_error(transfer.error);
  if (!transfer.error.empty()) throw std::invalid_argument(transfer.error);
}

void Channels::wait_any(const std::vector<Transfer*>& transfers, double timeout_seconds) {
  Backoff backoff(Runtime::instance().crowded(), deadline_after(timeout_seconds));
  const auto some_done = [&] {
    const std::lock_guard guard(mutex_);
    progress();
    return std::any_of(transfers.begin(), transfers.end(), [](const Transfer* transfer) { return transfer->done; });
  };
  while (!some_done())
    backoff.pause([&] { return "no message arrived or left within " + std::to_string(timeout_seconds) + " s"; });
}

}  // namespace shoal::python
