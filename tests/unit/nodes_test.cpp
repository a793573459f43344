// SPDX-License-Identifier: Apache-2.0
// Jobs whose PEs are on several (pretended) nodes: who shares what, collectives against a brute-force model, and who is refused.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "coll/collectives.hpp"
#include "comm/atomics.hpp"
#include "comm/lock.hpp"
#include "comm/wait_set.hpp"
#include "thread_job.hpp"
#include "topology/node_map.hpp"
#include "ucx_support.hpp"

namespace shoal::test {
namespace {

TEST(NodeMap, PretendedNodesAreBlocksOrTakeTurnsOrAreListed) {
  EXPECT_EQ(fake_nodes("2", 5), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(fake_nodes("4", 8), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(fake_nodes("3:cyclic", 5), (std::vector<int>{0, 1, 2, 0, 1}));
  EXPECT_EQ(fake_nodes("7", 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(fake_nodes("0,5,0", 3), (std::vector<int>{0, 5, 0}));
  for (const char* wrong : {"", "0", "-1", "x", "2:blocks", "2:", "0,1", "0,1,2,3", "0,,1", "1,2,x", "3 "})
    EXPECT_THROW(fake_nodes(wrong, 3), Error) << wrong;
}

TEST(NodeMap, NodesAreNumberedByTheirFirstPe) {
  EXPECT_EQ(number_nodes({{7, 0}, {3, 0}, {7, 0}, {7, 1}, {3, 0}}), (std::vector<int>{0, 1, 0, 2, 1}));
}

/// Each layout of nodes over each transport.
class Nodes : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    if (GetParam().second == std::string("ucx")) skip_without_ucx();
  }
  void run(int n, const std::function<void(Job&)>& body) {
    run_job(n, {std::string("SHOAL_FAKE_NODES=") + GetParam().first, std::string("SHOAL_TRANSPORT=") + GetParam().second, more}, body);
  }
  std::string more;  // a further setting
};

TEST_P(Nodes, SharedTeamIsWhoCanBeMapped) {
  run(4, [](Job& job) {
    const int* word = allocate<int>(job, 1);
    const Segment& segment = *job.segments().find(reinterpret_cast<std::uintptr_t>(word), 4);
    int mapped = 0;
    for (int pe = 0; pe < 4; ++pe) {
      const bool shared = segment.peers[static_cast<std::size_t>(pe)] != nullptr;
      EXPECT_EQ(shared, job.shared_team().rank_of(pe) >= 0);
      EXPECT_EQ(shared, job.world().domain().node_of[static_cast<std::size_t>(pe)] == job.world().domain().node_of[static_cast<std::size_t>(job.me())]);
      mapped += shared;
    }
    EXPECT_EQ(mapped, job.shared_team().size());
    EXPECT_EQ(segment.peers[static_cast<std::size_t>(job.me())], reinterpret_cast<char*>(segment.base));
  });
}

TEST_P(Nodes, ReductionsAgreeWithAModelAndBitForBitWithEachOther) {
  run(4, [](Job& job) {
    const Kernels& kernels = *job.coll_tuning().kernels;
    constexpr std::size_t kMost = 200000;
    double* source = allocate<double>(job, kMost);
    double* dest = allocate<double>(job, kMost);
    double* first = allocate<double>(job, kMost);
    const auto value = [](int pe, std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i % 1000)) + pe * 0.1; };
    for (const std::size_t count : {1u, 7u, 64u, 65u, 1000u, 20001u, 200000u}) {
      for (const bool in_place : {false, true}) {
        double* from = in_place ? dest : source;
        for (std::size_t i = 0; i < count; ++i) from[i] = value(job.me(), i);
        reduce(job.world_team(), dest, from, count, kernels.at(ReduceOp::Sum, Element::F64), job.coll_tuning(), "test");
        for (std::size_t i = 0; i < count; ++i) {
          double model = 0;
          for (int pe = 0; pe < 4; ++pe) model += value(pe, i);
          ASSERT_NEAR(dest[i], model, 1e-12 * model) << i << " of " << count;
        }
        broadcast(job.world_team(), first, dest, count * sizeof(double), 0, true, "test");
        ASSERT_EQ(std::memcmp(first, dest, count * sizeof(double)), 0) << "PE 0 has other bits than PE " << job.me();
      }
    }
  });
}

TEST_P(Nodes, CollectsAndAlltoallsPutEveryBlockInItsPlace) {
  run(4, [](Job& job) {
    const int n = 4, me = job.me();
    for (const std::size_t count : {1u, 3u, 5000u}) {
      std::uint32_t* source = allocate<std::uint32_t>(job, count * 4);
      std::uint32_t* dest = allocate<std::uint32_t>(job, count * 4 * 4);
      const auto tag = [](int pe, std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::size_t>(pe) * 1000000 + i); };
      for (std::size_t i = 0; i < count * 4; ++i) source[i] = tag(me, i);
      fcollect(job.world_team(), dest, source, count * 4, "test");
      for (int pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(dest[static_cast<std::size_t>(pe) * count + i], tag(pe, i));
      alltoall(job.world_team(), dest, source, 1, 1, count, 4, "test");
      for (int pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(dest[static_cast<std::size_t>(pe) * count + i], tag(pe, static_cast<std::size_t>(me) * count + i));
      const std::size_t mine = static_cast<std::size_t>(me) * count / 3;  // PE 0 gives nothing
      collect(job.world_team(), dest, me == 0 ? nullptr : source, mine, 4, "test");
      std::size_t at = 0;
      for (int pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < static_cast<std::size_t>(pe) * count / 3; ++i) ASSERT_EQ(dest[at++], tag(pe, i));
      barrier(job);
    }
  });
}

TEST_P(Nodes, LocalAndRemoteAtomicsOnOneWordAreAtomicToEachOther) {
  run(4, [](Job& job) {
    constexpr int kRounds = 500;
    std::uint64_t* word = allocate<std::uint64_t>(job, 2);
    word[0] = word[1] = 0;
    barrier(job);
    std::uint64_t seen = 0;
    for (int i = 0; i < kRounds; ++i) seen += atomic_update<FetchAdd>(job.world(), &word[0], std::uint64_t{1}, 0, "test");
    atomic_post<FetchAdd>(job.world(), &word[1], seen, 0, "test");
    job.world().quiet();
    barrier(job);
    if (job.me() == 0) {
      const std::uint64_t all = 4 * kRounds;
      EXPECT_EQ(word[0], all);
      EXPECT_EQ(word[1], all * (all - 1) / 2) << "a value was fetched twice";
    }
  });
}

TEST_P(Nodes, LocksExcludeAcrossNodes) {
  run(4, [](Job& job) {
    long* lock = allocate<long>(job, 2);
    lock[0] = lock[1] = 0;
    barrier(job);
    for (int i = 0; i < 50; ++i) {
      set_lock(job.world(), lock, "test");
      const long value = job.world().g(&lock[1], 3, "test");
      job.world().p(&lock[1], value + 1, 3, "test");
      clear_lock(job.world(), lock, "test");
    }
    barrier(job);
    EXPECT_EQ(job.world().g(&lock[1], 3, "test"), 200);
    barrier(job);
  });
}

TEST_P(Nodes, SignalsArriveAfterTheirData) {
  run(4, [](Job& job) {
    constexpr std::size_t kWords = 3000;
    std::uint64_t* data = allocate<std::uint64_t>(job, kWords);
    std::uint64_t* signal = allocate<std::uint64_t>(job, 1);
    *signal = 0;
    barrier(job);
    std::vector<std::uint64_t> block(kWords);
    const int right = (job.me() + 1) % 4;
    for (std::uint64_t round = 1; round <= 30; ++round) {
      std::fill(block.begin(), block.end(), round);
      job.world().put_signal(data, block.data(), kWords * 8, signal, 1, static_cast<int>(SignalOp::add), right, "test");
      wait_until(job.world(), signal, SHMEM_CMP_GE, round, "test");
      for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(load_acquire(data + i), round);
      barrier(job);
    }
  });
}

using NodesDeathTest = Nodes;

/// PE 3 does what a PE would that does not keep to the rules, to PE 0 on another node; ends the process with what it is
/// told, once all is looked at.
void attack(Job& job, const char* log, int fd) {
  bool ok = false;
  auto team = job.world_team().split_strided(0, 1, 2, 0, "test", ok);  // PEs 0 and 1
  ASSERT_TRUE(ok);
  std::uintptr_t handle = 0;
  if (team != nullptr) {
    handle = job.create_heap(*team, 4096, 64, "test");
    ASSERT_NE(handle, 0u);
  }
  TeamHeap* heap = handle != 0 ? job.heaps().find(handle) : nullptr;
  auto* word = heap != nullptr ? static_cast<std::uint64_t*>(heap->heap().allocate(*team, 8, 0, "test")) : nullptr;
  std::uint32_t* shown = allocate<std::uint32_t>(job, 1);
  *shown = 0;
  if (word != nullptr) {
    *word = 5;
    *shown = job.segments().find(reinterpret_cast<std::uintptr_t>(word), 8)->key;
  }
  barrier(job);
  const std::uint32_t theirs = job.world().g(shown, 0, "test");
  std::string text;
  if (job.me() == 3) {
    Transport& transport = *job.world().domain().transport;
    const std::uint64_t evil = 666;
    transport.put({0, theirs, 0}, &evil, sizeof evil);
    transport.update({0, theirs, 0}, {AtomicOp::swap, 8, evil});
    transport.put({0, kHeapKey, job.heap().size() - 4}, &evil, sizeof evil);
    transport.put({0, kControlKey, 0}, &evil, sizeof evil);
    for (const std::uint64_t deadline = now_ns() + 20'000'000'000; std::count(text.begin(), text.end(), '\n') < 4 && now_ns() < deadline;) {
      transport.progress();
      text.assign(10000, '\0');
      text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(fd, text.data(), text.size(), 0))));
    }
    ::unlink(log);
  }
  barrier(job);
  if (word != nullptr) {
    if (*word != 5) std::_Exit(3);
    team->sync("test");
    if (job.me() == 1) job.world().p(word, std::uint64_t{6}, 0, "test");
    job.world().quiet();
    team->sync("test");
    if (job.me() == 0 && *word != 6) std::_Exit(4);
  }
  barrier(job);
  if (job.me() != 3) return barrier(job);
  if (text.find("\"pe\":0,\"who\":\"PE 3\",\"what\":\"a write of 8 bytes at offset 0 of segment ") == std::string::npos || std::count(text.begin(), text.end(), '\n') != 4) {
    std::fprintf(stderr, "%s", text.c_str());
    std::_Exit(5);
  }
  job.world().quiet();
}

TEST_P(NodesDeathTest, AHeapOfATeamIsRefusedToOthersAndTheyAreTold) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto try_it = [&] {
    char log[] = "/tmp/nodes_test.XXXXXX";
    const UniqueFd file(::mkstemp(log));
    more = std::string("SHOAL_SECURITY_LOG=") + log;
    run(4, [&](Job& job) { attack(job, log, file.get()); });
  };
  EXPECT_DEATH(try_it(), "PE 3: .*PE 0 refused to let this PE access offset 0 of segment");
}

TEST_P(Nodes, LongReductionsLeaveTheirSourcesAsTheyAreUnlessTheyAreInPlace) {
  run(4, [](Job& job) {
    constexpr std::size_t kCount = 300001;  // several pieces a leader
    auto* source = allocate<std::uint32_t>(job, kCount);
    auto* dest = allocate<std::uint32_t>(job, kCount);
    const auto value = [](int pe, std::size_t i) { return static_cast<std::uint32_t>(pe + 1) * 1000003 + static_cast<std::uint32_t>(i); };
    const Combine& sum = job.coll_tuning().kernels->at(ReduceOp::Sum, Element::U32);
    for (const bool in_place : {false, true, false}) {
      std::uint32_t* const from = in_place ? dest : source;
      for (std::size_t i = 0; i < kCount; ++i) dest[i] = 7;
      for (std::size_t i = 0; i < kCount; ++i) from[i] = value(job.me(), i);
      reduce(job.world_team(), dest, from, kCount, sum, job.coll_tuning(), "test");
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(dest[i], value(0, i) + value(1, i) + value(2, i) + value(3, i)) << i << (in_place ? " in place" : "");
        ASSERT_TRUE(in_place || source[i] == value(job.me(), i)) << i;
      }
      barrier(job);
    }
  });
}

TEST(SecurityLog, WhatStrangersSayCannotForgeALine) {
  EXPECT_EQ(json_string("plain"), "\"plain\"");
  EXPECT_EQ(json_string("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
  EXPECT_EQ(json_string("\xff\xc3"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(json_string("\xc3\xa4"), "\"\xc3\xa4\"");
}

/// 13 PEs on 11 nodes: more than exchange all at once, and no power of two.
class ManyNodes : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void run(const std::function<void(Job&)>& body) {
    run_job(13, {std::string("SHOAL_FAKE_NODES=") + GetParam().first, std::string("SHOAL_TRANSPORT=") + GetParam().second}, body);
  }
};

TEST_P(ManyNodes, ReductionsOfAnySizeAgreeWithAModelBitForBitEverywhere) {
  run([](Job& job) {
    const Kernels& kernels = *job.coll_tuning().kernels;
    constexpr std::size_t kMost = 50001;
    auto* dest = allocate<double>(job, kMost);
    auto* first = allocate<double>(job, kMost);
    const auto value = [](int pe, std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i % 1000)) + pe * 0.1; };
    for (const std::size_t count : {1u, 8u, 31u, 100u, 129u, 1000u, 50001u}) {
      for (std::size_t i = 0; i < count; ++i) dest[i] = value(job.me(), i);
      reduce(job.world_team(), dest, dest, count, kernels.at(ReduceOp::Sum, Element::F64), job.coll_tuning(), "test");
      for (std::size_t i = 0; i < count; ++i) {
        double model = 0;
        for (int pe = 0; pe < 13; ++pe) model += value(pe, i);
        ASSERT_NEAR(dest[i], model, 1e-12 * model) << i << " of " << count;
      }
      broadcast(job.world_team(), first, dest, count * sizeof(double), static_cast<int>(count % 13), true, "test");
      ASSERT_EQ(std::memcmp(first, dest, count * sizeof(double)), 0) << "others have other bits than PE " << job.me();
      barrier(job);
    }
  });
}

TEST_P(ManyNodes, SixteenBitFloatsAreRoundedNoMoreThanOnceAnExchange) {
  run([](Job& job) {
    const Kernels& kernels = *job.coll_tuning().kernels;
    constexpr std::size_t kMost = 50001;
    auto* dest = allocate<std::uint16_t>(job, kMost);
    auto* first = allocate<std::uint16_t>(job, kMost);
    const auto value = [](int pe, std::size_t i) { return static_cast<float>(1 + (static_cast<std::size_t>(pe) + i) % 7) / 8; };  // exact
    for (const std::size_t count : {1u, 100u, 129u, 1000u, 50001u}) {
      for (std::size_t i = 0; i < count; ++i) dest[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value(job.me(), i)) >> 16);
      reduce(job.world_team(), dest, dest, count, kernels.at(ReduceOp::Sum, Element::BFloat16), job.coll_tuning(), "test");
      for (std::size_t i = 0; i < count; ++i) {
        float model = 0;
        for (int pe = 0; pe < 13; ++pe) model += value(pe, i);
        const float got = std::bit_cast<float>(static_cast<std::uint32_t>(dest[i]) << 16);
        ASSERT_NEAR(got, model, 5 * model / 512) << i << " of " << count;  // a node and four exchanges, each off by 1/512 at most
      }
      broadcast(job.world_team(), first, dest, count * 2, static_cast<int>(count % 13), true, "test");
      ASSERT_EQ(std::memcmp(first, dest, count * 2), 0) << "others have other bits than PE " << job.me();
      barrier(job);
    }
  });
}

TEST_P(ManyNodes, ScansOfAnySizeAgreeWithAModel) {
#if defined(SHOAL_TSAN)
  if (std::string(GetParam().first).find("cyclic") != std::string::npos)
    GTEST_SKIP() << "ThreadSanitizer does not see that members meet over the network before dest is written";
#endif
  run([](Job& job) {
    const Combine& sum = job.coll_tuning().kernels->at(ReduceOp::Sum, Element::U64);
    constexpr std::size_t kMost = 20001;
    auto* source = allocate<std::uint64_t>(job, kMost);
    auto* dest = allocate<std::uint64_t>(job, kMost);
    const auto value = [](int pe, std::size_t i) { return static_cast<std::uint64_t>(pe + 1) * 1000003 + i; };
    for (const std::size_t count : {1u, 31u, 5000u, 20001u}) {
      for (const bool in_place : {false, true}) {
        for (const bool inclusive : {false, true}) {
          std::uint64_t* from = in_place ? dest : source;
          for (std::size_t i = 0; i < count; ++i) from[i] = value(job.me(), i);
          scan(job.world_team(), dest, from, count, sum, inclusive, "test");
          for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t model = 0;
            for (int pe = 0; pe < job.me() + inclusive; ++pe) model += value(pe, i);
            ASSERT_EQ(dest[i], model) << i << " of " << count << (inclusive ? ", inclusive" : ", exclusive");
          }
        }
      }
    }
    barrier(job);
  });
}

TEST_P(ManyNodes, BroadcastsAndCollectsReachAll) {
  run([](Job& job) {
    const auto n = static_cast<std::size_t>(job.n_pes()), me = static_cast<std::size_t>(job.me());
    constexpr std::size_t kCount = 300;
    auto* source = allocate<std::uint32_t>(job, kCount);
    auto* dest = allocate<std::uint32_t>(job, kCount * n);
    const auto tag = [](std::size_t pe, std::size_t i) { return static_cast<std::uint32_t>(pe * 1000 + i); };
    for (std::size_t i = 0; i < kCount; ++i) source[i] = tag(me, i);
    for (int root = 0; root < job.n_pes(); ++root) {
      broadcast(job.world_team(), dest, source, kCount * 4, root, true, "test");
      for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(dest[i], tag(static_cast<std::size_t>(root), i)) << "of PE " << root;
    }
    for (int round = 0; round < 3; ++round) {
      fcollect(job.world_team(), dest, source, kCount * 4, "test");
      for (std::size_t pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(dest[pe * kCount + i], tag(pe, i));
      collect(job.world_team(), dest, me == 0 ? nullptr : source, me, 4, "test");  // PE 0 gives nothing
      std::size_t at = 0;
      for (std::size_t pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < pe; ++i) ASSERT_EQ(dest[at++], tag(pe, i));
      barrier(job);
    }
  });
}

TEST_P(ManyNodes, TeamsAndTheirHeapsAgree) {
  run([](Job& job) {
    for (int round = 0; round < 3; ++round) {
      bool ok = false;
      const auto odd = job.world_team().split_strided(1, 2, 6, 0, "test", ok);
      ASSERT_TRUE(ok);
      if (odd != nullptr) {
        const std::uintptr_t handle = job.create_heap(*odd, 4096, 64, "test");
        ASSERT_NE(handle, 0u);
        auto* word = static_cast<int*>(job.heaps().find(handle)->heap().allocate(*odd, 4, 0, "test"));
        const int next = (odd->rank() + 1) % odd->size();
        job.world().p(word, job.me(), odd->world_pe(next), "test");
        job.world().quiet();
        odd->sync("test");
        EXPECT_EQ(*word, odd->world_pe((odd->rank() + odd->size() - 1) % odd->size()));
        const auto other = odd->find_other(std::uint64_t{odd->rank() == 4 ? 7u : 8u}, "test");
        ASSERT_TRUE(other.has_value());
        EXPECT_EQ(other->second, odd->rank() == 4 ? 8u : 7u);
        if (odd->rank() != 4) {
          EXPECT_EQ(other->first, odd->world_pe(4));
        }
        EXPECT_FALSE(odd->find_other(std::uint64_t{8}, "test").has_value());
        odd->sync("test");
        job.heaps().erase(handle);
      }
      barrier(job);
    }
    std::vector<std::uint64_t> words = job.world_team().gather_words(static_cast<std::uint64_t>(job.me()) * 10, "test");
    for (std::size_t pe = 0; pe < 13; ++pe) EXPECT_EQ(words[pe], pe * 10);
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, ManyNodes, testing::Values(std::pair("5", "tcp"), std::pair("11", "tcp"), std::pair("11:cyclic", "tcp"), std::pair("13", "tls")),
                         [](const auto& test) {
                           std::string name = std::string(test.param.first) + "_" + test.param.second;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });
INSTANTIATE_TEST_SUITE_P(Layouts, NodesDeathTest, testing::Values(std::pair("2", "tcp"), std::pair("4", "tls"), std::pair("2:cyclic", "ucx")),
                         [](const auto& test) { return std::string(1, test.param.first[0]) + "_" + test.param.second; });
INSTANTIATE_TEST_SUITE_P(Layouts, Nodes,
                         testing::Values(std::pair("2", "tcp"), std::pair("2:cyclic", "tls"), std::pair("4", "tls"), std::pair("0,1,0,0", "tcp"), std::pair("2:cyclic", "ucx"), std::pair("4", "ucx")),
                         [](const auto& test) {
                           std::string name = std::string(test.param.first) + "_" + test.param.second;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace shoal::test
