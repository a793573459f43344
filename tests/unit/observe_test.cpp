// SPDX-License-Identifier: Apache-2.0
// Profiles and traces: what is counted and timed, and how the pieces of a trace become one.
#include <gtest/gtest.h>

#include "observe/recorder.hpp"

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
  EXPECT_LE(few.rows.size() * sizeof(CallCount), 4096u);
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

}  // namespace
}  // namespace shoal::test
