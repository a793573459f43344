// SPDX-License-Identifier: Apache-2.0
#include "base/state_report.hpp"

#include <cstring>
#include <type_traits>

#include "base/error.hpp"

// A report is a Head, and for each PE a Fixed and its texts: call, detail, ended, stopped, in this order.
namespace shoal {
namespace {

struct Head {
  std::uint64_t now_ns;
  std::int32_t first, count;  ///< the number of the first PE in the job, and of PEs that follow
};

struct Fixed {
  std::uint64_t since_ns, seen, polls;
  Phase phase;
  std::int32_t pid;
  Others others;
  std::uint32_t call, detail, ended, stopped;  // bytes
  std::uint32_t unused;
  Wait wait;
  Members members;
};
static_assert(sizeof(Head) == 16 && sizeof(Fixed) == 56 + sizeof(Wait) + sizeof(Members));

constexpr std::size_t kLongestText = 4096;

template <typename Plain>
void append(std::string& bytes, const Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

[[noreturn]] void refuse() { throw Error(Code::peer, "malformed report of what the PEs of another node do"); }

std::string_view take(std::string_view& bytes, std::size_t count) {
  if (count > bytes.size()) refuse();
  const std::string_view part = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return part;
}

template <typename Plain>
Plain take(std::string_view& bytes) {
  Plain value;
  std::memcpy(&value, take(bytes, sizeof value).data(), sizeof value);
  return value;
}

/// Shown to the user: no byte of it may control a terminal.
std::string take_text(std::string_view& bytes, std::size_t count) {
  if (count > kLongestText) refuse();
  std::string text(take(bytes, count));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

}  // namespace

std::string pack_states(int first, std::span<const PeState> pes, std::uint64_t now) {
  std::string bytes;
  append(bytes, Head{now, first, static_cast<std::int32_t>(pes.size())});
  for (const PeState& pe : pes) {
    const Status& status = pe.status;
    const std::string texts[] = {status.call.substr(0, kLongestText), status.detail.substr(0, kLongestText),
                                 pe.ended.substr(0, kLongestText), pe.stopped.substr(0, kLongestText)};
    const auto length = [&](int i) { return static_cast<std::uint32_t>(texts[i].size()); };
    append(bytes, Fixed{.since_ns = status.since_ns,
                        .seen = status.seen,
                        .polls = status.polls,
                        .phase = status.phase,
                        .pid = status.pid,
                        .others = status.others,
                        .call = length(0),
                        .detail = length(1),
                        .ended = length(2),
                        .stopped = length(3),
                        .unused = 0,
                        .wait = status.wait,
                        .members = status.members});
    for (const std::string& text : texts) bytes += text;
  }
  return bytes;
}

StateReport unpack_states(std::string_view bytes, int total) {
  const Head head = take<Head>(bytes);
  if (head.first < 0 || head.count < 0 || head.first > total || head.count > total - head.first) refuse();
  StateReport report{head.first, head.now_ns, {}};
  for (int i = 0; i < head.count; ++i) {
    const auto fixed = take<Fixed>(bytes);
    if (fixed.phase > Phase::closing || fixed.wait.kind > WaitKind::semaphore || fixed.others > Others::store) refuse();
    PeState& pe = report.pes.emplace_back();
    pe.status = {.phase = fixed.phase,
                 .since_ns = fixed.since_ns,
                 .pid = fixed.pid,
                 .call = take_text(bytes, fixed.call),
                 .detail = take_text(bytes, fixed.detail),
                 .wait = fixed.wait,
                 .members = fixed.members,
                 .seen = fixed.seen,
                 .others = fixed.others,
                 .polls = fixed.polls};
    pe.ended = take_text(bytes, fixed.ended);
    pe.stopped = take_text(bytes, fixed.stopped);
  }
  if (!bytes.empty()) refuse();
  return report;
}

}  // namespace shoal
