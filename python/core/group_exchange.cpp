// SPDX-License-Identifier: Apache-2.0
// Collectives that only move data: each pair of members exchanges what it has for each other, a window at a time; what
// is on the sender's heap is read there instead.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "copy.hpp"
#include "group.hpp"
#include "runtime.hpp"

namespace shoal::python {
namespace {

constexpr std::uint64_t kReadInPlaceBytes =
    16 * 1024;  // below, a message that carries the data is faster than a second one

/// Messages after the first: windows of payload, or the one that says that all was read in place.
std::uint64_t further_messages(std::uint64_t bytes, bool in_place, std::size_t window) noexcept {
  if (in_place) return 1;
  return bytes <= window ? 0 : (bytes - 1) / window;
}

}  // namespace

void Group::exchange(Kind kind, const Operand& operand, int root, const std::vector<const void*>& to,
                     const std::vector<std::uint64_t>& sends, const std::vector<void*>& from,
                     const std::vector<std::uint64_t>& expects) {
  const Turn turn(*this);
  struct Traffic {
    int member;
    const char* to;
    char* from;
    std::uint64_t sends, expects, further = 0;
    Description mine, theirs = {};
    bool source_in_place() const { return mine.source != 0; }
  };
  std::vector<Traffic> traffic;
  const auto index = [](int i) { return static_cast<std::size_t>(i); };
  int member;
  for (int step = 1; others(member, step); ++step) {
    Traffic t{member,
              static_cast<const char*>(to[index(member)]),
              static_cast<char*>(from[index(member)]),
              sends[index(member)],
              expects[index(member)],
              0,
              describe(kind, operand, 0, root, nullptr, nullptr)};
    t.mine.sends = t.sends;
    t.mine.expects = t.expects;
    if (t.sends >= kReadInPlaceBytes && peers_[index(member)].mapped != nullptr) t.mine.source = on_heap(t.to);
    traffic.push_back(t);
  }
  // A disagreement is told once all is done with the members that agree: they see nothing of it, and wait for their
  // data.
  std::string disagreement;
  const std::uint64_t own = sends[index(rank_)];
  if (own != expects[index(rank_)])
    disagreement = "PE " + std::to_string(pe(rank_)) + " sends " + std::to_string(own) +
                   " bytes to itself, but expects " + std::to_string(expects[index(rank_)]);
  else if (own != 0 && to[index(rank_)] != from[index(rank_)])
    copy_block(from[index(rank_)], to[index(rank_)], own, own >= kStreamBytes);

  const auto payload = [&](const Traffic& t, std::uint64_t message) {
    const std::uint64_t begin = message * window_;
    return t.source_in_place() || begin >= t.sends ? std::uint64_t{0}
                                                   : std::min<std::uint64_t>(window_, t.sends - begin);
  };
  for (Traffic& t : traffic) post(t.member, t.mine, t.to, payload(t, 0));
  for (Traffic& t : traffic) {
    const Message& message = take(t.member);
    t.theirs = message.description;
    if (t.theirs.bytes != 0 && t.theirs.bytes <= t.expects) copy_block(t.from, message.payload, t.theirs.bytes);
  }
  std::uint64_t rounds = 0;
  for (Traffic& t : traffic) {
    try {
      compare(t.mine, t.theirs, t.member);
    } catch (const std::invalid_argument& error) {
      if (disagreement.empty()) disagreement = error.what();
      continue;
    }
    if (t.theirs.source != 0)
      copy_block(t.from, there(t.member, t.theirs.source), t.expects, t.expects >= kStreamBytes);
    t.further = std::max(further_messages(t.sends, t.source_in_place(), window_),
                         further_messages(t.expects, t.theirs.source != 0, window_));
    rounds = std::max(rounds, t.further);
  }
  const auto send = [&](std::uint64_t round) {
    for (const Traffic& t : traffic)
      if (round <= t.further) post(t.member, Description{}, t.to + round * window_, payload(t, round));
  };
  if (ahead() != 0) send(1);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    send(round + ahead());
    for (Traffic& t : traffic) {
      if (round > t.further) continue;
      const Message& message = take(t.member);
      if (message.description.bytes != 0)
        copy_block(t.from + round * window_, message.payload, message.description.bytes, t.expects >= kStreamBytes);
    }
  }
  stream_fence();
  if (!disagreement.empty()) throw std::invalid_argument(disagreement);
}

}  // namespace shoal::python
