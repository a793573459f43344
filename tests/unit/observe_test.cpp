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

}  // namespace
}  // namespace shoal::test
