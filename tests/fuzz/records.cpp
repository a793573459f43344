// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.hpp"
#include "base/state_report.hpp"
#include "base/status_page.hpp"
#include "base/verdict.hpp"
#include "observe/profile.hpp"
#include "observe/race_analysis.hpp"
#include "targets.hpp"

namespace shoal::fuzz {
namespace {

void profile(std::string_view input) {
  try {
    Profile read(3);
    read.add(std::string(input));
    read.as_text();
    read.as_html("x");
  } catch (const Error& error) {
    require(error.code() == Code::peer, "refused for another reason than it may");
  }
}
std::vector<std::string> profile_seeds() {
  Profile good(3);
  good.row("shmem_put") = {10, 1000, 5.0, 0.0};
  good.link(0, 2) = {3, 4};
  Profile read(3);
  read.add(good.pack());
  require(read.pack() == good.pack(), "a profile is not what it was packed from");
  return {good.pack(), Profile(3).pack()};
}

void race_log(std::string_view input) {
  try {
    find_races({RaceLog::unpack(std::string(input)), RaceLog()}, [](std::uint64_t, std::uint64_t) {});
  } catch (const Error& error) {
    require(error.code() == Code::peer, "refused for another reason than it may");
  }
}
std::vector<std::string> race_log_seeds() {
  RaceLog log;
  log.names = {"shmem_putmem", "shmem_barrier_all"};
  log.sites = log.places = {0x1234};
  log.groups = {{RaceGroup::kTeam, 0, {0, 1}}};
  RaceEvent put{};
  put.begin_ns = 10;
  put.end_ns = 20;
  put.writes = 1;
  put.pe = 1;
  put.remote = {0, 0, 128, 64, 0};
  RaceEvent meeting{};
  meeting.begin_ns = 30;
  meeting.end_ns = 40;
  meeting.kind = static_cast<std::uint8_t>(CallKind::meeting);
  meeting.pe = -1;
  meeting.name = 1;
  log.events = {put, meeting, put};
  require(RaceLog::unpack(log.pack()).pack() == log.pack(), "notes are not what they were packed from");
  return {log.pack(), RaceLog().pack()};
}

void state_report(std::string_view input) {
  try {
    const StateReport report = unpack_states(input, 3);
    require(report.first >= 0 && static_cast<std::size_t>(report.first) + report.pes.size() <= 3, "PEs that there are not");
    explain(report.pes, report.now_ns);
  } catch (const Error& error) {
    require(error.code() == Code::peer, "refused for another reason than it may");
  }
}
std::vector<std::string> state_report_seeds() {
  PeState waits, ended;
  waits.status = {.phase = Phase::waiting, .since_ns = 5, .pid = 7, .call = "shmem_barrier_all", .detail = "PE 0 of a team of 3 PEs"};
  waits.status.wait.kind = WaitKind::meeting;
  waits.status.members.add(2);
  ended.ended = "exited with status 0";
  const std::vector<PeState> both{waits, ended};
  const std::string bytes = pack_states(1, both, 9);
  const StateReport read = unpack_states(bytes, 3);
  require(pack_states(read.first, read.pes, read.now_ns) == bytes, "a report is not what it was packed from");
  return {bytes, pack_states(0, {}, 0)};
}

constexpr std::size_t kPes = 4;

/// Records one after the other: a PE may write anything to its own.
void status_page(std::string_view input) {
  static std::vector<StatusRecord> records(kPes);
  std::string bytes(input.substr(0, kPes * sizeof(StatusRecord)));
  bytes.resize(kPes * sizeof(StatusRecord));
  std::vector<PeState> states;
  for (std::size_t pe = 0; pe < kPes; ++pe) {
    std::memcpy(static_cast<void*>(&records[pe]), bytes.data() + pe * sizeof(StatusRecord), sizeof(StatusRecord));
    records[pe].sequence = 0;  // else every look waits for a writer
    states.push_back({read_status(records[pe])});
    describe(states.back().status, 1'000'000'000);
  }
  require(explain(states, 1'000'000'000).size() <= kMostVerdicts, "too many verdicts");
  find_deadlock(states, 1'000'000'000, 1);
  require(find_standstill(states, 1'000'000'000, 1).size() <= kMostVerdicts, "too many verdicts");
}
std::vector<std::string> status_page_seeds() {
  std::vector<std::string> seeds;
  for (const WaitKind kind : {WaitKind::meeting, WaitKind::value, WaitKind::lock, WaitKind::successor, WaitKind::pair, WaitKind::semaphore}) {
    std::string page;
    for (std::size_t pe = 0; pe < kPes; ++pe) {
      StatusRecord record{};
      record.fields.phase = pe == 3 ? Phase::closing : Phase::waiting;
      record.fields.pid = 1;
      std::strcpy(record.fields.call, "shmem_barrier_all");
      record.fields.wait.kind = kind;
      record.fields.wait.peer = static_cast<std::int32_t>((pe + 1) % 3);
      record.fields.wait.meeting = pe / 2;
      for (int member = 0; member < 3; ++member) record.fields.members.add(member);
      page += std::string(reinterpret_cast<const char*>(&record), sizeof record);
    }
    seeds.push_back(page);
  }
  return seeds;
}

}  // namespace

const std::vector<Target> kRecords{{"profile", profile, profile_seeds}, {"race_log", race_log, race_log_seeds}, {"state_report", state_report, state_report_seeds}, {"status_page", status_page, status_page_seeds}};

}  // namespace shoal::fuzz
