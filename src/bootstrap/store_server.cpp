// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/store_server.hpp"

#include <cstring>

#include "base/error.hpp"

namespace shoal {

using store::Bytes;
using store::Frame;
using store::Type;

StoreServer::StoreServer(int count, int first, int total)
    : clients_(static_cast<size_t>(count)), first_(first), total_(total) {}

void StoreServer::feed(int pe, std::span<const std::byte> bytes) {
  Client& client = clients_[static_cast<size_t>(pe)];
  if (client.broken) return;
  try {
    client.reader.feed(bytes);
    while (!client.broken) {
      std::optional<Frame> frame = client.reader.next();
      if (!frame) break;
      take(pe, std::move(*frame));
    }
  } catch (const std::exception& error) {
    break_off(pe, error.what());
  }
}

void StoreServer::take(int pe, Frame frame) {
  switch (frame.type) {
    case Type::hello: return hello(pe, frame);
    case Type::allgather:
    case Type::barrier:
    case Type::leave: return collect(pe, std::move(frame));
    case Type::abort: {
      store::NumberedText reason = store::read_text(frame.payload);
      events_.push_back({Event::Kind::aborted, pe, reason.number, std::move(reason.text)});
      return;
    }
    case Type::exiting:
      if (clients_[static_cast<size_t>(pe)].state == State::joined)
        events_.push_back({Event::Kind::exiting, pe, store::read_text(frame.payload).number});
      return;
    default:
      return break_off(
          pe, strf("malformed frame: type %u, length %zu", static_cast<unsigned>(frame.type), frame.payload.size()));
  }
}

void StoreServer::hello(int pe, const Frame& frame) {
  Client& client = clients_[static_cast<size_t>(pe)];
  store::HelloPayload payload;
  if (frame.payload.size() != sizeof payload)
    return break_off(pe, strf("malformed frame: hello of %zu bytes", frame.payload.size()));
  std::memcpy(&payload, frame.payload.data(), sizeof payload);
  if (payload.magic != store::kMagic) return break_off(pe, strf("malformed frame: hello with mark %#x", payload.magic));
  const int launcher = static_cast<int>(Code::launcher);
  if (payload.version != store::kVersion)
    return refuse(pe, launcher,
                  strf("the launcher speaks version %u of the protocol, this library version %u: use the shoalrun "
                       "that was installed with the library",
                       store::kVersion, payload.version));
  const int number = first_ + pe;
  if (payload.rank != static_cast<std::uint32_t>(number) || payload.size != static_cast<std::uint32_t>(total_))
    return refuse(pe, launcher,
                  strf("the environment says PE %u of %u, the launcher says PE %d of %d: something changed "
                       "SHOAL_PE or SHOAL_NPES",
                       payload.rank, payload.size, number, total_));
  if (client.state == State::joined)
    return refuse(pe, launcher,
                  strf("another process is PE %d already: a program that is a PE cannot start a second one in "
                       "its place before shmem_finalize",
                       number));
  client.state = State::joined;
  client.answers.push_back(std::make_shared<const Bytes>(
      store::make_frame(Type::welcome, std::as_bytes(std::span(&store::kVersion, 1)), store::kMaxReply)));
  events_.push_back({Event::Kind::joined, pe});
}

void StoreServer::collect(int pe, Frame frame) {
  Client& client = clients_[static_cast<size_t>(pe)];
  const char* name = store::name_of(frame.type);
  if (client.state != State::joined) return break_off(pe, strf("malformed session: %s before hello", name));
  if (asked_) return break_off(pe, strf("malformed session: %s before the request of before was answered", name));
  if (client.request)
    return break_off(pe,
                     strf("malformed session: %s before %s was answered", name, store::name_of(client.request->type)));
  if (frame.type != Type::allgather && !frame.payload.empty())
    return break_off(pe, strf("malformed frame: %s of %zu bytes", name, frame.payload.size()));
  for (size_t other = 0; other < clients_.size(); ++other) {
    const auto& asked = clients_[other].request;
    if (asked && asked->type != frame.type) return mismatch(pe, name, store::name_of(asked->type));
  }
  client.request = std::move(frame);
  if (++waiting_ == clients_.size()) answer_all();
}

/// Nobody can be served any more: not even those who asked for the same thing.
void StoreServer::mismatch(int pe, const char* asked, const char* others) {
  const std::string text = strf(
      "it asks for %s while other PEs ask for %s: the PEs do not run the same program, or not the same "
      "version of the library",
      asked, others);
  for (size_t other = 0; other < clients_.size(); ++other) {
    if (!clients_[other].request) continue;
    clients_[other].request.reset();
    refuse(static_cast<int>(other), static_cast<int>(Code::peer), strf("PE %d: %s", first_ + pe, text.c_str()));
  }
  waiting_ = 0;
  break_off(pe, text);
}

/// Everyone here has asked, for the same thing.
void StoreServer::answer_all() {
  const Type asked = clients_[0].request->type;
  Bytes payload;
  std::string error;
  if (asked == Type::allgather) {
    std::vector<std::span<const std::byte>> parts;
    for (const Client& client : clients_) parts.emplace_back(client.request->payload);
    try {
      payload = store::join_parts(parts, store::kMaxReply);
    } catch (const Error& too_long) {
      error = too_long.what();
    }
  }
  for (Client& client : clients_) client.request.reset();
  waiting_ = 0;
  if (!error.empty()) {
    for (size_t pe = 0; pe < clients_.size(); ++pe)
      refuse(static_cast<int>(pe), static_cast<int>(Code::launcher), error);
  } else if (total_ > size()) {
    asked_ = true;
    events_.push_back({Event::Kind::asked, 0, 0, "", asked, std::move(payload)});
  } else {
    answer(asked, payload);
  }
}

void StoreServer::answer(Type asked, std::span<const std::byte> payload) {
  asked_ = false;
  const Type type = store::answer_to(asked);
  const Answer answer = std::make_shared<const Bytes>(store::make_frame(type, payload, store::kMaxReply));
  for (size_t pe = 0; pe < clients_.size(); ++pe) {
    if (!clients_[pe].broken) clients_[pe].answers.push_back(answer);
    if (asked != Type::leave) continue;
    clients_[pe].state = State::left;
    events_.push_back({Event::Kind::left, static_cast<int>(pe)});
  }
}

void StoreServer::refuse(int pe, int code, const std::string& text) {
  clients_[static_cast<size_t>(pe)].answers.push_back(
      std::make_shared<const Bytes>(store::make_text_frame(Type::error, code, text)));
}

void StoreServer::break_off(int pe, const std::string& text) {
  clients_[static_cast<size_t>(pe)].broken = true;
  refuse(pe, static_cast<int>(Code::launcher), text);
  events_.push_back({Event::Kind::broken, pe, 1, text});
}

std::span<const std::byte> StoreServer::pending(int pe) const {
  const Client& client = clients_[static_cast<size_t>(pe)];
  if (client.answers.empty()) return {};
  return std::span(*client.answers.front()).subspan(client.sent);
}

void StoreServer::sent(int pe, size_t n) {
  Client& client = clients_[static_cast<size_t>(pe)];
  client.sent += n;
  if (client.sent < client.answers.front()->size()) return;
  client.answers.pop_front();
  client.sent = 0;
}

std::optional<StoreServer::Event> StoreServer::next_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace shoal
