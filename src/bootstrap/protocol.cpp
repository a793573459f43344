// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/protocol.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace shoal::store {

const char* name_of(Type type) {
  switch (type) {
    case Type::hello: return "hello";
    case Type::allgather: return "allgather";
    case Type::barrier: return "barrier";
    case Type::leave: return "leave";
    case Type::abort: return "abort";
    case Type::exiting: return "exiting";
    case Type::welcome: return "welcome";
    case Type::gathered: return "gathered";
    case Type::released: return "released";
    case Type::goodbye: return "goodbye";
    case Type::error: return "error";
  }
  return "unknown";
}

Bytes make_frame(Type type, std::span<const std::byte> payload, std::uint32_t limit) {
  if (payload.size() > limit)
    throw Error(Code::invalid_argument, strf("%s of %zu bytes: at most %u can be exchanged at once", name_of(type),
                                             payload.size(), limit));
  const Header header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(payload.size())};
  Bytes frame(sizeof header + payload.size());
  std::memcpy(frame.data(), &header, sizeof header);
  std::copy(payload.begin(), payload.end(), frame.begin() + sizeof header);
  return frame;
}

Bytes make_text_frame(Type type, std::int32_t number, const std::string& text) {
  const size_t length = std::min<size_t>(text.size(), kMaxReason);
  Bytes payload(sizeof number + length);
  std::memcpy(payload.data(), &number, sizeof number);
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), payload.begin() + sizeof number,
                 [](char c) { return static_cast<std::byte>(c); });
  return make_frame(type, payload, kMaxRequest);
}

NumberedText read_text(std::span<const std::byte> payload) {
  NumberedText result{};
  if (payload.size() < sizeof result.number || payload.size() > sizeof result.number + kMaxReason)
    throw Error(Code::launcher, strf("malformed frame: a number and a text in %zu bytes", payload.size()));
  std::memcpy(&result.number, payload.data(), sizeof result.number);
  const auto text = payload.subspan(sizeof result.number);
  result.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return result;
}

void FrameReader::feed(std::span<const std::byte> bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(start_));
  start_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> FrameReader::next() {
  const auto rest = std::span<const std::byte>(buffer_).subspan(start_);
  Header header;
  if (rest.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.length > limit_)
    throw Error(Code::launcher, strf("malformed frame: type %u, length %u (at most %u)", header.type, header.length, limit_));
  if (rest.size() - sizeof header < header.length) return std::nullopt;
  const auto payload = rest.subspan(sizeof header, header.length);
  start_ += sizeof header + header.length;
  return Frame{static_cast<Type>(header.type), Bytes(payload.begin(), payload.end())};
}

}  // namespace shoal::store
