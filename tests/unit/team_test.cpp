// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "thread_job.hpp"

namespace shoal::test {
namespace {

TEST(Triplet, AcceptsWhatNamesDistinctMembersWithoutWrapAround) {
  for (int n = 1; n <= 6; ++n)
    for (int start = -2; start <= n + 1; ++start)
      for (int stride = -n - 1; stride <= n + 1; ++stride)
        for (int size = -1; size <= n + 1; ++size) {
          bool legal = size >= 1 && size <= n && start >= 0 && start < n;
          for (int i = 0; legal && i < size; ++i) {
            const int member = start + i * stride;
            legal = member >= 0 && member < n && (i == 0 || stride != 0);
          }
          EXPECT_EQ(valid_triplet(start, stride, size, n), legal) << start << " " << stride << " " << size << " of " << n;
        }
}

TEST(Team, RandomSplitsOfSplitsAgreeWithAModel) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(strf("seed %u", seed));
  run_job(6, {}, [&](Job& job) {
    for (unsigned round = 0; round < 60; ++round) {
      std::mt19937 random(seed + round);  // the same on all PEs: they draw the same program
      std::vector<std::vector<int>> model{{0, 1, 2, 3, 4, 5}};
      std::vector<std::unique_ptr<Team>> teams;
      Team* parent = &job.world_team();
      for (int depth = 0; depth < 3 && parent != nullptr; ++depth) {
        const std::vector<int> from = model.back();
        const int n = static_cast<int>(from.size());
        const int start = static_cast<int>(random() % static_cast<unsigned>(n)), stride = static_cast<int>(random() % 5) - 2,
                  size = 1 + static_cast<int>(random() % static_cast<unsigned>(n));
        bool ok = false;
        auto team = parent->split_strided(start, stride, size, 0, "test", ok);
        ASSERT_EQ(ok, valid_triplet(start, stride, size, n));
        if (!ok) continue;
        std::vector<int> members;
        for (int i = 0; i < size; ++i) members.push_back(from[static_cast<size_t>(start + i * stride)]);
        const auto mine = std::find(members.begin(), members.end(), job.me());
        ASSERT_EQ(team != nullptr, mine != members.end());
        if (team == nullptr) break;
        ASSERT_EQ(team->size(), size);
        ASSERT_EQ(team->rank(), mine - members.begin());
        for (int i = 0; i < size; ++i) ASSERT_EQ(team->world_pe(i), members[static_cast<size_t>(i)]);
        team->sync("test");
        model.push_back(members);
        teams.push_back(std::move(team));
        parent = teams.back().get();
      }
      while (!teams.empty()) {
        teams.back()->sync("test");
        teams.pop_back();
      }
      barrier(job);
    }
  });
}

TEST(Team, SlotsRunOutOnAllAlikeAndAreReused) {
  run_job(3, {}, [](Job& job) {
    for (int round = 0; round < 2; ++round) {
      std::vector<std::unique_ptr<Team>> teams;
      for (bool ok = true; ok;) {
        auto team = job.world_team().split_strided(0, 1, 3, 0, "test", ok);
        EXPECT_EQ(ok, team != nullptr);
        if (ok) teams.push_back(std::move(team));
      }
      EXPECT_EQ(teams.size(), static_cast<size_t>(kTeamSlots - 3));
      EXPECT_GE(teams.size(), 1024u);
      teams.back()->sync("test");
      for (auto& team : teams) team->sync("test");
      barrier(job);
    }
  });
}

TEST(Team, DisjointTeamsOfOneSplitWorkAtTheSameTime) {
  run_job(8, {}, [](Job& job) {
    std::vector<int> mine;
    for (int pe = job.me() % 2; pe < 8; pe += 2) mine.push_back(pe);
    bool ok = false;
    auto team = job.world_team().split(mine, 0, "test", ok);
    ASSERT_TRUE(ok);
    int* word = allocate<int>(job, 1);
    *word = 0;
    barrier(job);
    for (int i = 1; i <= 200; ++i) {
      const int right = team->world_pe((team->rank() + 1) % team->size());
      *reinterpret_cast<int*>(job.world().at(word, sizeof(int), right, "test")) = i;
      team->sync("test");
      ASSERT_EQ(*word, i);
      team->sync("test");
    }
    barrier(job);
  });
}

TEST(SymmetricHeap, GivesEqualOffsetsAndSurvivesExhaustion) {
  run_job(3, {}, [](Job& job) {
    std::uintptr_t* offsets = allocate<std::uintptr_t>(job, 64);
    const auto base = reinterpret_cast<std::uintptr_t>(offsets);
    std::vector<void*> blocks;
    for (int i = 0; i < 50; ++i) {
      blocks.push_back(allocate<char>(job, static_cast<size_t>(1 + i * 37)));
      offsets[i] = reinterpret_cast<std::uintptr_t>(blocks.back()) - base;
    }
    EXPECT_EQ(allocate<char>(job, std::size_t{1} << 40), nullptr);
    EXPECT_EQ(allocate<char>(job, SIZE_MAX - 5), nullptr);
    barrier(job);
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(job.world().g(offsets + i, (job.me() + 1) % 3, "test"), offsets[i]);
    for (void* block : blocks) job.heap().free(job.world_team(), block, "test");
    EXPECT_NE(allocate<char>(job, 4 << 20), nullptr);
  });
}

/// Blocks of `bytes` bytes, each followed by as much room again, as in a guarded heap.
struct Guarded {
  explicit Guarded(std::size_t count, std::size_t bytes = 64) {
    const std::size_t step = 2 * ((bytes + 63) / 64 * 64);
    EXPECT_LE(count * step + 128, memory.size());
    for (std::size_t i = 0; i < count; ++i) guard.allocated(blocks.emplace_back(heap + i * step), bytes);
  }
  std::string damage(bool all = true, const void* always = nullptr) const {
    return guard.damage(all, always).value_or("");
  }
  std::vector<char> memory = std::vector<char>(1 << 20);
  char* const heap = memory.data() + 64;
  SegmentTable segments;
  HeapGuard guard{segments};
  std::vector<char*> blocks;
};

TEST(HeapGuard, AFreedBlockIsLookedAtHoweverManyThereAre) {
  Guarded some(3 * HeapGuard::kLooked);
  char* const far = some.blocks[2 * HeapGuard::kLooked + 10];
  far[64] = 1;
  EXPECT_EQ(some.damage(false), "");
  EXPECT_NE(some.damage(false, far), "");
  EXPECT_NE(some.damage(), "");
}

TEST(HeapGuard, WhatWasWrittenBetweenTwoBlocksIsToldOfItsBlock) {
  // Of two blocks with 64 bytes between them, and of 8 bytes with 120 between them.
  const struct {
    std::size_t bytes;
    int from, to;  // written, from the first one's start
    const char* told;
  } cases[] = {{64, 64, 72, "at HEAP was written past its end, at bytes 64 to 71"},
               {64, 64, 127, "at HEAP was written past its end, at bytes 64 to 126"},
               {64, 120, 128, "at NEXT was written before its start, at bytes -8 to -1"},
               {64, 127, 128, "at NEXT was written before its start, at byte -1"},
               {64, 65, 128, "at NEXT was written before its start, at bytes -63 to -1"},
               {64, 90, 91, "between the block of 64 bytes at HEAP and the block of 64 bytes at NEXT were written, at byte 90 of the former and at byte -38 of the latter"},
               {64, 64, 128, "between the block of 64 bytes at HEAP and the block of 64 bytes at NEXT were written, at bytes 64 to 127"},
               {8, 60, 61, "at HEAP was written past its end, at byte 60"},
               {8, 68, 69, "between the block of 8 bytes at HEAP and the block of 8 bytes at NEXT were written, at byte 68"},
               {8, 72, 73, "at NEXT was written before its start, at byte -56"},
               {8, 8, 100, "at HEAP was written past its end, at bytes 8 to 99"},
               {64, -1, 0, "at HEAP was written before its start, at byte -1"}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.told);
    Guarded two(2, one.bytes);
    ASSERT_EQ(two.damage(), "");
    std::fill(two.heap + one.from, two.heap + one.to, '\0');
    std::string wanted = one.told;
    for (const auto& [name, block] : {std::pair("HEAP", two.blocks[0]), std::pair("NEXT", two.blocks[1])})
      if (const auto at = wanted.find(name); at != std::string::npos)
        wanted.replace(at, 4, two.segments.place(block));
    EXPECT_NE(two.damage().find(wanted), std::string::npos) << two.damage();
  }
}

}  // namespace
}  // namespace shoal::test
