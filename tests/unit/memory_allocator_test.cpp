// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "memory/allocator.hpp"

namespace shoal {
namespace {

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();

TEST(Allocator, BlocksAreAlignedDisjointAndCounted) {
  Allocator allocator(4096);
  EXPECT_EQ(allocator.allocate(1), 0u);
  EXPECT_EQ(allocator.allocate(65), 64u);
  EXPECT_EQ(allocator.allocate(1), 192u);
  EXPECT_EQ(allocator.used(), 256u);
  EXPECT_EQ(allocator.size_of(64), 65u);
  EXPECT_FALSE(allocator.size_of(65));
  EXPECT_EQ(allocator.allocate(8, 1024), 1024u);
  EXPECT_EQ(allocator.blocks(), 4u);
}

TEST(Allocator, AlignmentBelowTheLeastIsRaisedAndNonPowersAreRefused) {
  Allocator allocator(4096);
  ASSERT_TRUE(allocator.allocate(8));
  EXPECT_EQ(allocator.allocate(8, 8), 64u);
  EXPECT_FALSE(allocator.allocate(8, 3));
  EXPECT_FALSE(allocator.allocate(8, 96));
  EXPECT_THROW(Allocator(4096, 48), Error);
  EXPECT_THROW(Allocator(4096, 0), Error);
}

TEST(Allocator, HugeAndZeroRequestsAreRefusedAndChangeNothing) {
  Allocator allocator(1 << 20);
  for (const std::size_t bytes : {std::size_t{0}, kMax, kMax - 1, kMax - 63, kMax / 2, std::size_t{(1 << 20) + 1}})
    EXPECT_FALSE(allocator.allocate(bytes)) << bytes;
  ASSERT_EQ(allocator.allocate(8, std::size_t{1} << 63), 0u);
  EXPECT_FALSE(allocator.allocate(8, std::size_t{1} << 63));
  ASSERT_TRUE(allocator.free(0));
  EXPECT_EQ(allocator.used(), 0u);
  EXPECT_EQ(allocator.largest_free(), std::size_t{1} << 20);
  EXPECT_EQ(allocator.allocate(1 << 20), 0u);
  EXPECT_FALSE(allocator.allocate(1));
  EXPECT_EQ(allocator.largest_free(), 0u);
}

TEST(Allocator, RangeNearTheTopOfTheAddressSpaceDoesNotOverflow) {
  Allocator allocator(kMax);
  const std::size_t most = kMax & ~std::size_t{63};
  EXPECT_EQ(allocator.capacity(), most);
  EXPECT_EQ(allocator.allocate(64), 0u);
  EXPECT_FALSE(allocator.allocate(most));
  EXPECT_EQ(allocator.allocate(most - 64), 64u);
  EXPECT_FALSE(allocator.resize_in_place(0, kMax));
  EXPECT_EQ(allocator.used(), most);
}

TEST(Allocator, EmptyRangeServesNothing) {
  Allocator allocator(63);
  EXPECT_EQ(allocator.capacity(), 0u);
  EXPECT_FALSE(allocator.allocate(1));
  EXPECT_FALSE(allocator.free(0));
}

TEST(Allocator, FreeingTwiceOrInsideABlockIsRefused) {
  Allocator allocator(4096);
  ASSERT_EQ(allocator.allocate(256), 0u);
  EXPECT_FALSE(allocator.free(64));
  EXPECT_TRUE(allocator.free(0));
  EXPECT_FALSE(allocator.free(0));
}

TEST(Allocator, FreedNeighboursMergeInEveryOrder) {
  const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    Allocator allocator(192);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(allocator.allocate(64));
    for (const int i : order) ASSERT_TRUE(allocator.free(static_cast<std::size_t>(i) * 64));
    EXPECT_EQ(allocator.largest_free(), 192u);
  }
}

TEST(Allocator, AlignedRequestFindsTheOnlyPlaceThatFits) {
  // Many free ranges that are long enough but start wrong, and one that starts right.
  Allocator allocator(64 * 400);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(allocator.allocate(64));
  for (std::size_t i = 1; i < 399; i += 2)
    if (i % 16 != 0) {
      ASSERT_TRUE(allocator.free(i * 64));
    }
  EXPECT_FALSE(allocator.allocate(64, 1024));
  ASSERT_TRUE(allocator.free(320 * 64));
  EXPECT_EQ(allocator.allocate(64, 1024), 320u * 64);
}

TEST(Allocator, FindKnowsTheBlockOfEachByteButNotItsPadding) {
  Allocator allocator(4096);
  ASSERT_EQ(allocator.allocate(100), 0u);
  ASSERT_EQ(allocator.allocate(10), 128u);
  ASSERT_TRUE(allocator.find(99));
  EXPECT_EQ(allocator.find(99)->offset, 0u);
  EXPECT_EQ(allocator.find(99)->bytes, 100u);
  EXPECT_FALSE(allocator.find(100));
  EXPECT_EQ(allocator.find(137)->offset, 128u);
  EXPECT_FALSE(allocator.find(138));
  EXPECT_FALSE(allocator.find(kMax));
}

TEST(Allocator, ResizeInPlaceGrowsIntoFreeSpaceOnly) {
  Allocator allocator(1024);
  ASSERT_EQ(allocator.allocate(64), 0u);
  ASSERT_EQ(allocator.allocate(64), 64u);
  EXPECT_FALSE(allocator.resize_in_place(0, 65));
  EXPECT_TRUE(allocator.resize_in_place(64, 960));
  EXPECT_FALSE(allocator.resize_in_place(64, 961));
  EXPECT_EQ(allocator.largest_free(), 0u);
  EXPECT_TRUE(allocator.resize_in_place(64, 1));
  EXPECT_EQ(allocator.size_of(64), 1u);
  EXPECT_EQ(allocator.largest_free(), 1024u - 128);
  EXPECT_FALSE(allocator.resize_in_place(64, 0));
  EXPECT_FALSE(allocator.resize_in_place(128, 1));
}

TEST(Allocator, AMillionSmallBlocksComeAndGo) {
  constexpr std::size_t kBlocks = 1'000'000;
  Allocator allocator(kBlocks * 64);
  for (std::size_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(allocator.allocate(1 + i % 64));
  EXPECT_FALSE(allocator.allocate(1));
  for (std::size_t i = 0; i < kBlocks; i += 2) ASSERT_TRUE(allocator.free(i * 64));
  for (std::size_t i = 1; i < kBlocks; i += 2) ASSERT_TRUE(allocator.free(i * 64));
  EXPECT_EQ(allocator.largest_free(), kBlocks * 64);
}

/// The obvious implementation: one owner number per unit of the range.
class Model {
 public:
  explicit Model(std::size_t units) : owner_(units, 0) {}
  bool can_place(std::size_t units, std::size_t step) const {
    for (std::size_t start = 0; start + units <= owner_.size(); start += step)
      if (is_free(start, units)) return true;
    return false;
  }
  bool is_free(std::size_t start, std::size_t units) const {
    if (start + units > owner_.size()) return false;
    for (std::size_t i = start; i < start + units; ++i)
      if (owner_[i] != 0) return false;
    return true;
  }
  void set(std::size_t start, std::size_t units, int owner) {
    for (std::size_t i = start; i < start + units; ++i) owner_[i] = owner;
  }
  std::size_t used() const {
    std::size_t count = 0;
    for (const int owner : owner_) count += owner != 0;
    return count;
  }
  std::size_t largest_free() const {
    std::size_t best = 0, run = 0;
    for (const int owner : owner_) best = std::max(best, run = owner == 0 ? run + 1 : 0);
    return best;
  }

 private:
  std::vector<int> owner_;
};

TEST(Allocator, AgreesWithABruteForceModelAndWithItsTwin) {
  std::random_device device;
  const char* const fixed = std::getenv("SHOAL_TEST_SEED");
  const std::uint64_t seed = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : device();
  SCOPED_TRACE("rerun with SHOAL_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  constexpr std::size_t kUnits = 256, kUnit = 64;
  Allocator allocator(kUnits * kUnit, kUnit), twin(kUnits * kUnit, kUnit);
  Model model(kUnits);
  std::vector<Allocator::Block> live;
  const auto units_of = [](std::size_t bytes) { return (bytes + kUnit - 1) / kUnit; };

  for (int step = 1; step <= 30'000; ++step) {
    const std::size_t action = pick(0, 9);
    if (action < 5) {
      const std::size_t bytes = pick(0, 19) == 0 ? pick(1, kUnits * kUnit + 100) : pick(1, 900);
      const std::size_t alignment = kUnit << pick(0, pick(0, 6));
      const auto offset = allocator.allocate(bytes, alignment);
      ASSERT_EQ(offset, twin.allocate(bytes, alignment));
      ASSERT_EQ(offset.has_value(), model.can_place(units_of(bytes), alignment / kUnit)) << bytes << " " << alignment;
      if (offset) {
        ASSERT_EQ(*offset % alignment, 0u);
        ASSERT_TRUE(model.is_free(*offset / kUnit, units_of(bytes)));
        model.set(*offset / kUnit, units_of(bytes), step);
        live.push_back({*offset, bytes});
      }
    } else if (live.empty()) {
      continue;
    } else if (action < 8) {
      const std::size_t index = pick(0, live.size() - 1);
      ASSERT_TRUE(allocator.free(live[index].offset));
      ASSERT_TRUE(twin.free(live[index].offset));
      model.set(live[index].offset / kUnit, units_of(live[index].bytes), 0);
      live[index] = live.back();
      live.pop_back();
    } else if (action == 8) {
      Allocator::Block& block = live[pick(0, live.size() - 1)];
      const std::size_t bytes = pick(1, 1200), had = units_of(block.bytes), wanted = units_of(bytes);
      const std::size_t start = block.offset / kUnit;
      const bool possible = wanted <= had || model.is_free(start + had, wanted - had);
      ASSERT_EQ(allocator.resize_in_place(block.offset, bytes), possible);
      ASSERT_EQ(twin.resize_in_place(block.offset, bytes), possible);
      if (possible) {
        model.set(start, had, 0);
        model.set(start, wanted, step);
        block.bytes = bytes;
      }
    } else {
      const std::size_t probe = pick(0, kUnits * kUnit);
      const auto found = allocator.find(probe);
      const auto* expected = static_cast<const Allocator::Block*>(nullptr);
      for (const auto& block : live)
        if (probe >= block.offset && probe < block.offset + block.bytes) expected = &block;
      ASSERT_EQ(found.has_value(), expected != nullptr);
      if (expected != nullptr) {
        ASSERT_EQ(found->offset, expected->offset);
      }
    }
    ASSERT_EQ(allocator.used(), model.used() * kUnit);
    ASSERT_EQ(allocator.largest_free(), model.largest_free() * kUnit);
    ASSERT_EQ(allocator.blocks(), live.size());
  }
}

}  // namespace
}  // namespace shoal
