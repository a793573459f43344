// SPDX-License-Identifier: Apache-2.0
// Profiles and traces: what is counted and timed, and how the pieces of a trace become one.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ticks.hpp"
#include "base/trace_file.hpp"
#include "observe/race_progress.hpp"
#include "observe/recorder.hpp"
#include "observe/trace_writer.hpp"

namespace shoal::test {
namespace {

/// Counts one call that takes `ticks`, as a shortcut and the recorder do it.
void count(CallCounts& counts, const char* name, std::size_t bytes, std::uint64_t ticks) {
  if (counts.count(name, 0, bytes, false) != nullptr) return;
  const bool first = counts.row(name).name == nullptr;
  CallCount& row = first ? counts.add_row(name) : counts.row(name);
  const bool small = !first && bytes < CallCounts::kTimedBytes;
  row.add(small ? row.timing_of_small() : CallCount::Timing::for_itself, bytes, ticks);
}

constexpr char kPut[] = "shmem_putmem";

TEST(CallCount, TimesOfSmallAndLargeCallsAreNotMixed) {
  CallCounts counts(1, 0);
  for (int i = 0; i < 6400; ++i) {
    count(counts, kPut, 8, 10);
    if (i % 64 == 0) count(counts, kPut, 1 << 20, 100'000);
  }
  const CallCount& row = counts.row(kPut);
  EXPECT_EQ(row.count(), 6500u);
  EXPECT_EQ(row.bytes, 6400u * 8 + (100ull << 20));
  EXPECT_DOUBLE_EQ(row.ticks(), 6400 * 10 + 100 * 100'000);
}

TEST(CallCount, ALargeCallNeverStandsForSmallOnes) {
  CallCounts counts(1, 0);
  for (int i = 0; i < 1000; ++i) {
    count(counts, kPut, 1 << 20, 100'000);
    count(counts, kPut, 8, 10);
  }
  EXPECT_DOUBLE_EQ(counts.row(kPut).ticks(), 1000 * 10 + 1000 * 100'000);
}

TEST(CallCount, TheFirstCallStandsForItselfOnly) {
  CallCounts counts(1, 0);
  count(counts, kPut, 8, 1'000'000);  // opens a connection
  for (int i = 0; i < 50; ++i) count(counts, kPut, 8, 10);
  EXPECT_DOUBLE_EQ(counts.row(kPut).ticks(), 1'000'000 + 50 * 10);
}

TEST(CallCount, SizesThatTakeTurnsAreTimedAlike) {
  CallCounts counts(1, 0);
  double all = 0;
  for (std::uint64_t i = 0; i < 64 * 1000; ++i) {
    const std::uint64_t ticks = 10 + 100 * (i % 64);
    count(counts, kPut, 8, ticks);
    all += static_cast<double>(ticks);
  }
  EXPECT_NEAR(counts.row(kPut).ticks() / all, 1, 0.05);
}

TEST(CallCount, RowsGrowWithTheRoutinesThatAreCalled) {
  CallCounts counts(1, 0);
  const std::vector<char> names(5000);  // the address is the name
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t n = 0; n <= i % 3; ++n) count(counts, &names[i], 8, 10);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(counts.row(&names[i]).name, &names[i]);
    ASSERT_EQ(counts.row(&names[i]).count(), i % 3 + 1);
  }
  CallCounts few(1, 0);
  for (std::size_t i = 0; i < 16; ++i) count(few, &names[i], 8, 10);
  EXPECT_LE(few.rows.size() * sizeof(CallCount), 16'384u);
}

class Told final {
 public:
  Told(Recorder& recorder, const Call& call) : recorder_(recorder), call_(call) { recorder_.begin(call_); }
  ~Told() { recorder_.end(call_); }

 private:
  Recorder& recorder_;
  const Call call_;
};

Domain two_pes() {
  Domain domain;
  domain.n_pes = 2;
  return domain;
}

TEST(Recorder, WhatACallIsMadeOfCountsAsBytesOnly) {
  const Domain domain = two_pes();
  Recorder recorder(domain, nullptr, nullptr, nullptr);
  for (int i = 0; i < 3; ++i) {
    const Told outer(recorder, {"shmem_set_lock", CallKind::lock});
    for (int k = 0; k < 2; ++k)
      const Told inner(recorder, {"shmem_set_lock", CallKind::atomic, 1, nullptr, nullptr, 4});
  }
  const Told after(recorder, {"shmem_int_atomic_add", CallKind::atomic, 1, nullptr, nullptr, 4});
  const Profile profile = recorder.profile();
  EXPECT_EQ(profile.rows().at("shmem_set_lock").count, 3u);
  EXPECT_EQ(profile.rows().at("shmem_set_lock").bytes, 0u);
  EXPECT_EQ(profile.rows().at("shmem_set_lock").waiting_ns, profile.rows().at("shmem_set_lock").ns);
  EXPECT_EQ(profile.link(0, 1).bytes, 24u);
  EXPECT_EQ(profile.link(0, 1).count, 0u);
  EXPECT_EQ(profile.rows().count("shmem_int_atomic_add"), 0u);  // not over yet
}

TEST(Profile, AddsUpWhatEachPePacked) {
  Profile one(2), all(2);
  one.row("shmem_putmem") = {10, 1000, 5.0, 1.0};
  one.link(0, 1) = {0, 24};  // bytes of calls that are none by themselves
  for (int i = 0; i < 2; ++i) all.add(one.pack());
  EXPECT_EQ(all.rows().at("shmem_putmem").count, 20u);
  EXPECT_EQ(all.rows().at("shmem_putmem").waiting_ns, 2.0);
  EXPECT_EQ(all.link(0, 1).bytes, 48u);
  EXPECT_NE(all.as_text().find(" 48\n"), std::string::npos) << all.as_text();
}

TEST(RaceProgress, IsToldWhereItTakesLongAndThenSeldom) {
  constexpr std::uint64_t kStart = 1000, kPause = 10'000'000'000;
  RaceProgress progress(kStart, kPause), always(kStart, 0);
  const auto after = [&](std::uint64_t ns, std::uint64_t done) {
    return progress.line("search", done, 200, kStart + ns);
  };
  EXPECT_EQ(after(RaceProgress::kFirstNs - 1, 100), "");
  EXPECT_EQ(after(RaceProgress::kFirstNs, 100), "race: search: 50 % done after 2 s");
  EXPECT_EQ(after(RaceProgress::kFirstNs + kPause - 1, 110), "");
  EXPECT_EQ(after(RaceProgress::kFirstNs + kPause, 180), "race: search: 90 % done after 12 s");
  for (std::uint64_t done : {50u, 100u})
    EXPECT_EQ(always.line("search", done, 200, kStart),
              strf("race: search: %d %% done after 0 s", static_cast<int>(done / 2)));
}

class Trace : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/shoal-trace-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    file_ = folder_ + "/t.json";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A piece with one call of `ticks`, from its first moment on; 0: it has not come back.
  void write_piece(int pe, const char* machine, std::uint64_t first_ticks, std::uint64_t first_ns,
                   std::uint64_t last_ticks, std::uint64_t last_ns, std::uint64_t ticks) {
    TraceHeader header{};
    header.magic = kTraceMagic;
    header.size = sizeof(TraceEvent);
    header.first_ticks = first_ticks;
    header.first_ns = first_ns;
    header.last_ticks = last_ticks;
    header.last_ns = last_ns;
    std::strncpy(header.machine, machine, sizeof header.machine - 1);
    header.events = header.room = 1;
    std::string bytes(kTraceEventsAt + sizeof(TraceEvent), '\0');
    std::memcpy(bytes.data(), static_cast<const void*>(&header), sizeof header);
    std::memcpy(bytes.data() + kTraceNamesAt, "call", 5);
    const TraceEvent event{first_ticks, ticks == 0 ? 0 : first_ticks + ticks, 0, -1, 0, 0};
    std::memcpy(bytes.data() + kTraceEventsAt, &event, sizeof event);
    std::ofstream(trace_piece(file_, pe), std::ios::binary) << bytes;
  }
  std::string merged(int n_pes) {
    EXPECT_EQ(merge_trace(file_, n_pes), n_pes);
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder_, file_;
};

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST_F(Trace, APeThatMeasuredNothingHasTheRateOfItsMachine) {
  write_piece(0, "a", 100, 5000, 100, 5000, 4 * kSecond);  // was killed before it looked at the clock again
  write_piece(1, "a", 100, 5000, 100 + 400 * kSecond, 5000 + 100 * kSecond, 4 * kSecond);
  write_piece(2, "b", 100, 5000, 100 + 20, 5000 + 1000, 2 * kSecond);  // too short a time to tell
  write_piece(3, "b", 100, 5000, 100 + 200 * kSecond, 5000 + 100 * kSecond, 2 * kSecond);
  const std::string text = merged(4);
  for (int pe = 0; pe < 4; ++pe)
    EXPECT_NE(text.find("\"pid\":" + std::to_string(pe) + ",\"tid\":0,\"ts\":0.000,\"dur\":1000000.000"),
              std::string::npos)
        << text;
}

TEST_F(Trace, WhereNoPeHasMeasuredThisMachineDoes) {
  const std::uint64_t second = static_cast<std::uint64_t>(1e9 / ns_per_tick());
  write_piece(0, "a", 100, 5000, 100, 5000, second);
  const std::string text = merged(1);
  const std::size_t at = text.find("\"dur\":");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NEAR(std::stod(text.substr(at + 6)), 1e6, 1e5);
}

TEST_F(Trace, ACallThatWasUnderWayLastsToTheLastMomentKnown) {
  write_piece(0, "a", 100, 5000, 100 + 2 * kSecond, 5000 + 2 * kSecond, 0);
  const std::string text = merged(1);
  EXPECT_NE(text.find("\"ts\":0.000,\"dur\":2000000.000,\"args\":{\"bytes\":0,\"unfinished\":true}"), std::string::npos)
      << text;
}

TEST_F(Trace, OfWhoIsKilledKnowsTheClock) {
  const TraceWriter writer(file_, 0, 1, "a");
  const auto header = [&] {
    std::vector<char> bytes(sizeof(TraceHeader));
    std::ifstream(trace_piece(file_, 0), std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::uint64_t last_ns, first_ns;
    std::memcpy(&last_ns, bytes.data() + offsetof(TraceHeader, last_ns), sizeof last_ns);
    std::memcpy(&first_ns, bytes.data() + offsetof(TraceHeader, first_ns), sizeof first_ns);
    return last_ns - first_ns;
  };
  const std::uint64_t by = now_ns() + 60 * kSecond;
  while (header() == 0 && now_ns() < by) std::this_thread::yield();
  EXPECT_NE(header(), 0u);
}

/// What two processes that begin at once share.
struct Meeting {
  std::atomic<int> arrived{0}, writers{0};
  std::atomic<bool> late{false};
  void meet(int times) {
    arrived.fetch_add(1);
    for (const std::uint64_t by = now_ns() + 60 * kSecond; arrived.load() < 2 * times && !late.load();) {
      if (now_ns() >= by) late.store(true);
      std::this_thread::yield();
    }
  }
};

TEST_F(Trace, OfTwoJobsThatBeginAtOnceOneAtMostHasIt) {
  constexpr int kRounds = 500;
  void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Meeting& shared = *new (memory) Meeting;
  const pid_t other = ::fork();
  int most = 0;
  for (int round = 0, met = 0; round < kRounds && !shared.late.load(); ++round) {
    shared.meet(++met);
    std::unique_ptr<TraceWriter> mine;
    try {
      mine = std::make_unique<TraceWriter>(file_, 0, 1, "a");
      shared.writers.fetch_add(1);
    } catch (const Error&) {
    }
    shared.meet(++met);
    if (other != 0) most = std::max(most, shared.writers.exchange(0));
    mine.reset();
    shared.meet(++met);
  }
  if (other == 0) ::_exit(0);
  ::waitpid(other, nullptr, 0);
  EXPECT_FALSE(shared.late.load());
  EXPECT_EQ(most, 1);
  ::munmap(memory, sizeof(Meeting));
}

TEST_F(Trace, GoesOnWhereRoomIsThereOnTheSecondLook) {
  TraceWriter writer(file_, 0, 1, "a");
  constexpr std::uint64_t kTwoSteps = 8192;
  std::filesystem::resize_file(trace_piece(file_, 0), kTraceEventsAt + kTwoSteps / 2 * sizeof(TraceEvent));
  for (std::uint64_t taken = 0; taken < kTwoSteps;) {  // what was cut off cannot be touched, until it is asked for
    const std::span<TraceEvent> some = writer.take();
    ASSERT_FALSE(some.empty()) << taken;
    some.back().begin = 1;
    taken += some.size();
  }
}

TEST_F(Trace, OfAPeThatStillRunsMayBecomeShorter) {
  write_piece(0, "a", 100, 5000, 100 + kSecond, 5000 + kSecond, kSecond);
  TraceHeader header{};
  std::ifstream(trace_piece(file_, 0), std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  header.events = header.room = 1'000'000;  // as they were before the rest was cut off
  std::fstream(trace_piece(file_, 0), std::ios::binary | std::ios::in | std::ios::out)
      .write(reinterpret_cast<const char*>(&header), sizeof header);
  EXPECT_NE(merged(1).find("\"dur\":1000000.000"), std::string::npos);
}

TEST_F(Trace, TellsWhyCallsAreMissing) {
  for (const auto& [error, why] : {std::pair{0, "it was full"}, std::pair{EIO, "Input/output error"}}) {
    write_piece(0, "a", 100, 5000, 100 + kSecond, 5000 + kSecond, kSecond);
    TraceHeader header{};
    std::ifstream(trace_piece(file_, 0), std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
    header.lost = 7;
    header.error = error;
    std::fstream(trace_piece(file_, 0), std::ios::binary | std::ios::in | std::ios::out)
        .write(reinterpret_cast<const char*>(&header), sizeof header);
    EXPECT_NE(merged(1).find(strf("7 later calls are not in this trace: %s\"", why)), std::string::npos);
  }
}

TEST_F(Trace, MayHaveMorePiecesThanFilesMayBeOpen) {
  constexpr rlim_t kFiles = 64;
  constexpr int kPes = 200;
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < kPes + kFiles) GTEST_SKIP() << "the limit cannot be raised here";
  for (int pe = 0; pe < kPes; ++pe) write_piece(pe, "a", 100, 5000, 100 + kSecond, 5000 + kSecond, kSecond);
  const rlimit low{kFiles, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_FALSE(is_written(file_, kPes));
  EXPECT_NO_THROW(merged(kPes));
  rlimit after;
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, kFiles);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Trace, ThatCannotBeWrittenLeavesWhatWasThere) {
  write_piece(0, "a", 100, 5000, 100 + kSecond, 5000 + kSecond, kSecond);
  std::ofstream(file_) << "before";
  std::filesystem::create_directory(file_ + ".unfinished");  // nothing can be written there
  EXPECT_THROW(merge_trace(file_, 1), Error);
  std::ifstream in(file_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "before");
  EXPECT_TRUE(std::filesystem::exists(trace_piece(file_, 0)));
}

}  // namespace
}  // namespace shoal::test
