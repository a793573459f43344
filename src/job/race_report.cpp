// SPDX-License-Identifier: Apache-2.0
#include "job/race_report.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "observe/caller.hpp"
#include "observe/race_analysis.hpp"
#include "observe/race_progress.hpp"
#include "topology/topology.hpp"

namespace shoal {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;  // of notes at once, below what the launcher takes

std::vector<std::string> gather(Bootstrap& bootstrap, const std::string& mine) {
  std::vector<std::string> all;
  for (const auto& bytes : bootstrap.allgather(std::as_bytes(std::span(mine))))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}

/// Says how far PE 0 has come: on stderr and, `doing`, to whoever looks at the job.
class Told final {
 public:
  Told(const Callback<const char*>& doing, std::uint64_t pause_ns) : doing_(doing), progress_(now_ns(), pause_ns) {}
  void begin(const char* what) {
    what_ = what;
    doing_(what);
  }
  void done(std::uint64_t some, std::uint64_t all) {
    const std::string line = progress_.line(what_, some, all, now_ns());
    if (line.empty()) return;
    doing_(line.c_str());  // first: who has read the line finds the same in the table
    print_line(-1, line);
  }

 private:
  const Callback<const char*>& doing_;
  RaceProgress progress_;
  const char* what_ = "";
};

/// Everyone's notes, on PE 0.
std::vector<RaceLog> gather_logs(Bootstrap& bootstrap, const RaceLog& log, Told& told) {
  const std::string mine = log.pack();
  std::vector<std::string> all(static_cast<std::size_t>(bootstrap.size()));
  std::size_t longest = 0;
  for (const std::string& size : gather(bootstrap, std::to_string(mine.size())))
    longest = std::max<std::size_t>(longest, std::stoull(size));
  for (std::size_t start = 0; start < longest; start += kChunk) {
    if (bootstrap.rank() == 0) told.done(start, longest);
    const auto parts = gather(bootstrap, start < mine.size() ? mine.substr(start, kChunk) : "");
    for (std::size_t pe = 0; pe < all.size() && bootstrap.rank() == 0; ++pe) all[pe] += parts[pe];
  }
  std::vector<RaceLog> logs;
  if (bootstrap.rank() == 0)
    for (const std::string& bytes : all) logs.push_back(RaceLog::unpack(bytes));
  return logs;
}

/// Where in the program the accesses were made: only the PEs themselves can tell. By PE and number of the place.
using Places = std::map<std::pair<int, std::uint32_t>, std::string>;
Places ask_for_places(Bootstrap& bootstrap, const std::vector<Race>& races, const std::vector<RaceLog>& logs,
                      const RaceLog& mine) {
  std::string wanted;
  for (const Race& race : races)
    for (const RaceAccess& who : {race.first, race.second})
      wanted += strf("%d %u\n", who.pe, logs[static_cast<std::size_t>(who.pe)].events[who.event].site);
  std::istringstream lines(gather(bootstrap, wanted)[0]);
  std::map<std::uint32_t, std::string> own;
  int pe = 0;
  for (std::uint32_t site = 0; lines >> pe >> site;)
    if (pe == bootstrap.rank() && site < mine.sites.size() && !own.contains(site))
      own[site] = describe_code(mine.sites[site]);
  std::string answer;
  for (const auto& [site, text] : own) answer += strf("%u %s\n", site, text.c_str());
  Places places;
  const auto answers = gather(bootstrap, answer);
  for (std::size_t from = 0; from < answers.size(); ++from) {
    std::istringstream texts(answers[from]);
    std::uint32_t site = 0;
    for (std::string text; texts >> site && std::getline(texts, text);)
      places[{static_cast<int>(from), site}] = text.substr(1);
  }
  return places;
}

bool has_too_many_blocks(const RaceRange& range) {
  return range.block != 0 && range.bytes / range.block > kMostRaceBlocks;
}

}  // namespace

int report_races(Bootstrap& bootstrap, const RaceLog& mine, const SegmentTable& segments, const RaceOptions& options,
                 const Callback<const char*>& doing) {
  if (bootstrap.size() > kMostRacePes) {
    if (bootstrap.rank() == 0)
      print_line(-1, strf("SHOAL_RACE looks at jobs of up to %d PEs, not of %d", kMostRacePes, bootstrap.size()));
    return 0;
  }
  const std::vector<std::string> clocks = gather(bootstrap, read_topology().boot_id);
  if (std::any_of(clocks.begin(), clocks.end(), [&](const std::string& one) { return one != clocks[0]; })) {
    if (bootstrap.rank() == 0)
      print_line(-1, "SHOAL_RACE looks at jobs on one machine, whose PEs have one clock: this one is on several");
    return 0;
  }
  Told told(doing, options.pause_ns);
  told.begin("collecting on PE 0 what all have noted");
  const std::vector<RaceLog> logs = gather_logs(bootstrap, mine, told);
  told.begin("looking on PE 0 for unordered accesses");
  std::vector<Race> races;
  if (!logs.empty()) races = find_races(logs, [&](std::uint64_t done, std::uint64_t all) { told.done(done, all); });
  const Places places = ask_for_places(bootstrap, races, logs, mine);
  if (bootstrap.rank() != 0) return 0;
  for (const Race& race : races) {
    const auto text_of = [&](const RaceAccess& who) {
      const RaceLog& log = logs[static_cast<std::size_t>(who.pe)];
      const RaceEvent& event = log.events[who.event];
      const auto place = places.find({who.pe, event.site});
      return strf("PE %d %s it by %s at %s", who.pe, who.writes ? "writes" : "reads", log.names[event.name].c_str(),
                  place == places.end() ? "an unknown place" : place->second.c_str());
    };
    print_line(-1, strf("race: PE %d's %s: %s, and %s; %s the two", race.target,
                        segments.place(race.segment, race.offset).c_str(), text_of(race.first).c_str(),
                        text_of(race.second).c_str(),
                        race.first.pe == race.second.pe ? "no quiet is between" : "nothing orders"));
  }
  std::size_t long_ones = 0;
  for (const RaceLog& log : logs)
    long_ones +=
        static_cast<std::size_t>(std::count_if(log.events.begin(), log.events.end(), [](const RaceEvent& event) {
          return has_too_many_blocks(event.remote) || has_too_many_blocks(event.local);
        }));
  if (long_ones != 0)
    print_line(-1, strf("race: of each of %zu strided calls with more, only the first %u blocks were looked at",
                        long_ones, kMostRaceBlocks));
  for (std::size_t pe = 0; pe < logs.size(); ++pe)
    if (logs[pe].dropped != 0)
      print_line(-1, strf("race: the last %llu calls and accesses of PE %zu were not looked at, nor what other PEs did "
                          "meanwhile: only %zu are kept",
                          static_cast<unsigned long long>(logs[pe].dropped), pe, RaceRecorder::kMostEvents));
  if (!races.empty() && options.status != 0)
    print_line(-1,
               strf("race: %zu found, so PE 0 ends with status %d if it would end with 0 (SHOAL_RACE_STATUS=0 leaves "
                    "that as it is)",
                    races.size(), options.status));
  return static_cast<int>(races.size());
}

}  // namespace shoal
