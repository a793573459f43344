// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/protocol.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace shoal::store {

Type answer_to(Type request) {
  return request == Type::allgather ? Type::gathered : request == Type::barrier ? Type::released : Type::goodbye;
}

const char* name_of(Type type) {
  switch (type) {
    case Type::hello: return "hello";
    case Type::allgather: return "allgather";
    case Type::barrier: return "barrier";
    case Type::leave: return "leave";
    case Type::abort: return "abort";
    case Type::exiting: return "exiting";
    case Type::join: return "join";
    case Type::done: return "done";
    case Type::inquiry: return "inquiry";
    case Type::report: return "report";
    case Type::welcome: return "welcome";
    case Type::gathered: return "gathered";
    case Type::released: return "released";
    case Type::goodbye: return "goodbye";
    case Type::error: return "error";
    case Type::start: return "start";
    case Type::finished: return "finished";
    case Type::end: return "end";
    case Type::inquired: return "inquired";
    case Type::reported: return "reported";
  }
  return "unknown";
}

Bytes join_parts(const std::vector<std::span<const std::byte>>& parts, std::uint32_t limit) {
  const auto alike = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.data() == b.data() || std::equal(a.begin(), a.end(), b.begin()));
  };
  std::vector<Run> runs;
  std::vector<std::span<const std::byte>> different;
  size_t total = sizeof(std::uint32_t);
  for (const auto& part : parts) {
    if (!different.empty() && alike(different.back(), part)) {
      ++runs.back().parts;
      continue;
    }
    runs.push_back({static_cast<std::uint32_t>(part.size()), 1});
    different.push_back(part);
    total += sizeof(Run) + part.size();
  }
  if (total > limit)
    throw Error(Code::invalid_argument,
                strf("an allgather of %zu bytes: at most %u can be exchanged at once", total, limit));
  Bytes payload(total);
  auto at = payload.begin();
  const auto append = [&](std::span<const std::byte> bytes) { at = std::copy(bytes.begin(), bytes.end(), at); };
  const auto count = static_cast<std::uint32_t>(runs.size());
  append(std::as_bytes(std::span(&count, 1)));
  append(std::as_bytes(std::span(runs)));
  for (const auto& part : different) append(part);
  return payload;
}

std::vector<std::span<const std::byte>> split_parts(std::span<const std::byte> payload, size_t count) {
  std::uint32_t runs = 0;
  if (payload.size() >= sizeof runs) std::memcpy(&runs, payload.data(), sizeof runs);
  size_t at = sizeof runs + runs * sizeof(Run);
  if (payload.size() < at || runs > count) throw Error(Code::launcher, "malformed frame: gathered is too short");
  std::vector<std::span<const std::byte>> parts;
  parts.reserve(count);
  for (size_t i = 0; i < runs; ++i) {
    Run run;
    std::memcpy(&run, payload.data() + sizeof runs + i * sizeof run, sizeof run);
    if (payload.size() - at < run.bytes) throw Error(Code::launcher, "malformed frame: gathered is too short");
    if (run.parts > count - parts.size()) throw Error(Code::launcher, "malformed frame: gathered is of too many PEs");
    parts.insert(parts.end(), run.parts, payload.subspan(at, run.bytes));
    at += run.bytes;
  }
  if (parts.size() != count) throw Error(Code::launcher, "malformed frame: gathered is of too few PEs");
  if (at != payload.size()) throw Error(Code::launcher, "malformed frame: gathered is too long");
  return parts;
}

void take_fixed(const Frame& frame, void* fixed, size_t bytes) {
  if (frame.payload.size() < bytes)
    throw Error(Code::launcher, strf("malformed frame: %s of %zu bytes", name_of(frame.type), frame.payload.size()));
  std::memcpy(fixed, frame.payload.data(), bytes);
}

Bytes make_frame(Type type, std::span<const std::byte> payload, std::uint32_t limit) {
  if (payload.size() > limit)
    throw Error(Code::invalid_argument,
                strf("%s of %zu bytes: at most %u can be exchanged at once", name_of(type), payload.size(), limit));
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

std::uint32_t FrameReader::peek_type() const {
  std::uint32_t type = 0;
  if (buffer_.size() - start_ >= sizeof type) std::memcpy(&type, buffer_.data() + start_, sizeof type);
  return type;
}

bool FrameReader::ready() const {
  const std::size_t rest = buffer_.size() - start_;
  Header header;
  if (rest < sizeof header) return false;
  std::memcpy(&header, buffer_.data() + start_, sizeof header);
  return header.length > limit_ || rest - sizeof header >= header.length;
}

std::optional<Frame> FrameReader::next() {
  if (!ready()) return std::nullopt;
  const auto rest = std::span<const std::byte>(buffer_).subspan(start_);
  Header header;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.length > limit_)
    throw Error(Code::launcher,
                strf("malformed frame: type %u, length %u (at most %u)", header.type, header.length, limit_));
  const auto payload = rest.subspan(sizeof header, header.length);
  start_ += sizeof header + header.length;
  return Frame{static_cast<Type>(header.type), Bytes(payload.begin(), payload.end())};
}

}  // namespace shoal::store
