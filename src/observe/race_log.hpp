// SPDX-License-Identifier: Apache-2.0
// SHOAL_RACE: what each PE notes of its calls while it runs. PE 0 looks for unordered accesses in all PEs' notes at the
// end (race_analysis.hpp).
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "comm/observer.hpp"
#include "observe/plain_accesses.hpp"

namespace shoal {

/// A range of symmetric memory by names that are equal on all PEs; bytes 0: none.
struct RaceRange {
  std::uint32_t segment = 0;  ///< its key
  std::int64_t stride = 0;    ///< from start to start
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t block = 0;  ///< strided: blocks of so many bytes, else 0
  bool operator==(const RaceRange&) const = default;
};

/// After whose entry a member leaves a meeting: that of all, of the root, or of those before it.
enum class RaceFlow : std::uint8_t { from_all, from_root, from_those_before };

struct RaceEvent {
  static constexpr std::uint32_t kEveryContext = UINT32_MAX;
  std::uint64_t begin_ns, end_ns;  ///< loads and stores: from before the first of those between two calls, to after all
  std::uint8_t kind;               ///< CallKind
  std::uint8_t writes;             ///< atomic: changes the word
  std::uint8_t completes;          ///< it ends with a quiet
  std::uint8_t starts_late;        ///< its effect waits for a fence or quiet
  std::uint8_t unfinished;         ///< what it does with this PE's memory waits for a quiet
  std::uint8_t sees_none;          ///< waits and tests: the words that it has seen are told apart
  std::int32_t pe;                 ///< whose `remote`; -1: none
  RaceRange remote, local;
  std::uint32_t name, site;  ///< numbers in the log's lists
  std::uint32_t group;       ///< meetings and collectives: number in the log's list, and how often this PE has met it
  std::uint32_t meeting;
  std::int32_t root;  ///< of that group; as far as `flow` has one
  RaceFlow flow;
  std::uint32_t context;  ///< number of the one whose order and completion it belongs to, or sees to
};

/// Who meets. Threads of one PE may be in groups of the same members at once, in whatever order.
struct RaceGroup {
  static constexpr std::uint64_t kPair = 0, kTeam = 1, kActiveSet = 2;  ///< the last plus the key of pSync's segment
  std::uint64_t kind = kPair, where = 0;                                ///< a team's slot, or pSync's offset
  std::vector<std::int32_t> members = {};                               ///< their world PEs, in order
  auto operator<=>(const RaceGroup&) const = default;
};

/// One PE's notes.
struct RaceLog {
  std::vector<RaceEvent> events;
  std::vector<std::string> names;
  std::vector<std::uint64_t> sites;   ///< addresses of code, of this PE's process
  std::vector<std::uint64_t> places;  ///< of these, by numbers that are equal on all PEs
  std::vector<RaceGroup> groups;
  std::uint64_t dropped = 0;                     ///< calls that there was no room for
  std::uint64_t complete_until_ns = UINT64_MAX;  ///< when the first of them began

  std::string pack() const;
  /// @throws Error{peer} for what is none
  static RaceLog unpack(const std::string& bytes);
};

/// Thread safe; all threads of a PE count as one.
class RaceRecorder final : public Observer {
 public:
  static constexpr std::size_t kMostEvents = 400'000;
  explicit RaceRecorder(const Domain& domain);
  void begin(const Call& call) noexcept override;
  void end(const Call& call) noexcept override;
  /// A load or store of the program's own. @param site  where in the program
  void access(const void* address, std::size_t bytes, bool writes, std::uintptr_t site) noexcept;
  /// Nothing comes any more.
  void finish() noexcept;
  const RaceLog& log() const noexcept { return log_; }

 private:
  RaceRange range_of(const void* address, std::size_t bytes, std::size_t block, std::ptrdiff_t stride) const noexcept;
  RaceGroup group_of(const Group& group) const;
  template <class Key>
  static std::uint32_t number_of(std::map<Key, std::uint32_t>& numbers, std::vector<Key>& list, const Key& key);

  void note(const Call& call, std::uint64_t site);
  void add(RaceEvent& event, const std::string& name, std::uint64_t site);
  void number_places();
  bool looks_again(const RaceEvent& event) const noexcept;
  void take_accesses();

  const Domain& domain_;
  std::mutex mutex_;
  PlainAccesses accesses_;            // since the last call
  std::uint64_t accesses_since_ = 0;  // before the first of them
  RaceLog log_;
  std::map<std::string, std::uint32_t> name_numbers_;
  std::map<std::uint64_t, std::uint32_t> site_numbers_;
  std::map<RaceGroup, std::uint32_t> group_numbers_;
  std::vector<std::uint32_t> met_;  // by group
  std::map<const void*, std::uint32_t> context_numbers_;
};

}  // namespace shoal
