// SPDX-License-Identifier: Apache-2.0
// Contexts, waiting, atomics, locks, meetings of two and semaphores.
#include <atomic>
#include <random>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/futex.hpp"
#include "comm/atomics.hpp"
#include "comm/lock.hpp"
#include "comm/wait_set.hpp"
#include "thread_job.hpp"

namespace shoal::test {
namespace {

TEST(Context, PutsAndGetsReachEveryPeerAndNothingElse) {
  run_job(4, {}, [](Job& job) {
    int* words = allocate<int>(job, 16);
    for (int i = 0; i < 16; ++i) words[i] = -1;
    barrier(job);
    const int right = (job.me() + 1) % 4;
    const int values[3] = {job.me(), 10 + job.me(), 20 + job.me()};
    job.world().put(words + 4, values, sizeof values, right, "test");
    job.world().p(words + 9, 100 + job.me(), right, "test");
    barrier(job);
    const int left = (job.me() + 3) % 4;
    for (int i = 0; i < 16; ++i) {
      const int expected = i >= 4 && i < 7 ? left + 10 * (i - 4) : i == 9 ? 100 + left : -1;
      ASSERT_EQ(words[i], expected) << "word " << i;
    }
    int back[3] = {};
    job.world().get(back, words + 4, sizeof back, right, "test");
    EXPECT_EQ(back[2], values[2]);
    EXPECT_EQ(job.world().g(words + 9, right, "test"), 100 + job.me());
    barrier(job);
  });
}

TEST(Context, NothingToCopyIsNoAccessWhateverTheAddress) {
  run_job(2, {}, [](Job& job) {
    void* const nowhere = nullptr;
    job.world().put(nowhere, nullptr, 0, 1, "test");
    job.world().get(nowhere, nullptr, 0, 0, "test");
    job.world().put_strided(nullptr, nullptr, 1, 1, 1, 0, 4, 1, "test");
    job.world().get_strided(nullptr, nullptr, 1, 1, 0, 5, 4, 1, "test");
  });
}

// Around the bounds of each way of copying, at every distance from a vector's start, apart and overlapping.
TEST(Copy, EveryLengthAndAlignment) {
  constexpr std::size_t kRoom = 256, kMost = tuned::kSlowStringCopyBytes + 2 * kRoom;
  std::mt19937 random(std::random_device{}());
  std::vector<char> source(kMost + 2 * kRoom), dest(source.size()), want(source.size());
  for (char& c : source) c = static_cast<char>(random());
  const auto check = [&](std::size_t bytes, std::size_t to, std::size_t from) {
    std::fill(dest.begin(), dest.end(), '\x5a');
    want = dest;
    copy_shared(dest.data() + to, source.data() + from, bytes);
    std::memcpy(want.data() + to, source.data() + from, bytes);
    ASSERT_EQ(dest, want) << bytes << " bytes from " << from << " to " << to;
  };
  for (const std::size_t bound : {tuned::kVectorCopyBytes, tuned::kMostVectorCopyBytes, tuned::kSlowStringCopyBytes}) {
    for (const std::size_t bytes : {bound - 1, bound, bound + 1, bound + 63, bound + 191}) {
      for (int i = 0; i < 40; ++i) check(bytes, random() % kRoom, random() % kRoom);
    }
  }
  for (std::size_t to = 0; to < 64; ++to) check(tuned::kVectorCopyBytes + random() % 300, to, random() % 64);
  for (int i = 0; i < 200; ++i) {
    const std::size_t bytes = tuned::kVectorCopyBytes + random() % 3000, to = random() % 500, from = random() % 500;
    dest = want = source;
    copy_shared(dest.data() + to, dest.data() + from, bytes);
    std::memmove(want.data() + to, want.data() + from, bytes);
    ASSERT_EQ(dest, want) << bytes << " overlapping bytes from " << from << " to " << to;
  }
}

TEST(Wait, EveryWayOfUpdatingWakesASleeper) {
  // Each round the waiter is given time to fall asleep (it publishes that it left its spin phase), then is woken another way.
  run_job(2, {}, [](Job& job) {
    std::uint64_t* word = allocate<std::uint64_t>(job, 1);
    *word = 0;
    barrier(job);
    Doorbell& sleeper = job.world().domain().controls[1].doorbell();
    for (std::uint64_t round = 1; round <= 40; ++round) {
      if (job.me() == 1) {
        EXPECT_EQ(wait_until(job.world(), word, SHMEM_CMP_EQ, round, "test"), round);
      } else {
        const std::uint64_t deadline = now_ns() + 5'000'000'000;
        while (sleeper.user_sleepers.load() == 0 && now_ns() < deadline) std::this_thread::yield();
        ASSERT_LT(now_ns(), deadline) << "the waiter never slept";
        switch (round % 5) {
          case 0: job.world().p(word, round, 1, "test"); break;  // no bell: the bound wakes it
          case 1: job.world().put(word, &round, sizeof round, 1, "test"); job.world().quiet(); break;
          case 2: atomic_update<Swap>(job.world(), word, round, 1, "test"); break;
          case 3: job.world().signal(word, round, SHMEM_SIGNAL_SET, 1, "test"); break;
          default: job.world().signal(word, 1, SHMEM_SIGNAL_ADD, 1, "test"); break;
        }
      }
      barrier(job);
    }
  });
}

/// What a wake-up takes at least: the kernel's own, on a word of one's own.
std::atomic<std::uint32_t> bare[2];
void raise_bare(std::atomic<std::uint32_t>& word, std::uint64_t value) {
  word.store(static_cast<std::uint32_t>(value));
  futex_wake_all(word);
}
void await_bare(std::atomic<std::uint32_t>& word, std::uint64_t value) {
  for (std::uint32_t seen = word.load(); seen < value; seen = word.load()) futex_wait(word, seen, 1'000'000'000);
}

TEST(Wait, NoWakeUpIsLostInManyHandovers) {
  for (auto& word : bare) word = 0;
  run_job(2, {"SHOAL_SPIN=0"}, [](Job& job) {
    std::uint64_t* word = allocate<std::uint64_t>(job, 1);
    *word = 0;
    barrier(job);
    const int other = 1 - job.me();
    // A lost wake-up costs up to a millisecond, where a bare one, measured in turn, takes microseconds; or as long, when
    // the machine is busy.
    std::uint64_t took = 0, bare_took = 0;
    for (std::uint64_t i = 1; i <= 20'000;) {
      const std::uint64_t start = now_ns(), end = i + 500;
      for (std::uint64_t k = i; k < end; ++k) {
        if (job.me() == 0) job.world().signal(word, k, SHMEM_SIGNAL_SET, other, "test");
        wait_until(job.world(), word, SHMEM_CMP_GE, k, "test");
        if (job.me() == 1) job.world().signal(word, k, SHMEM_SIGNAL_SET, other, "test");
      }
      const std::uint64_t middle = now_ns();
      for (; i < end; ++i) {
        if (job.me() == 0) raise_bare(bare[other], i);
        await_bare(bare[job.me()], i);
        if (job.me() == 1) raise_bare(bare[other], i);
      }
      took += middle - start;
      bare_took += now_ns() - middle;
    }
    EXPECT_LT(took, 10 * bare_took + 2'000'000'000u);
    barrier(job);
  });
}

TEST(Wait, PublishesTheCallOnceItStopsSpinning) {
  StatusMapping status = StatusMapping::create(1);
  StatusWriter(status.record(0)).set(Phase::running, "", "");
  LocalWorld world(1);
  const auto bootstrap = world.join(0);
  JobSetup setup;
  setup.bootstrap = bootstrap.get();
  setup.options = options_with({"SHMEM_SYMMETRIC_SIZE=1m"});
  setup.status = &status;
  auto job = Job::start(std::move(setup));
  long* word = allocate<long>(*job, 1);
  *word = 0;
  std::thread waiter([&] { wait_until(job->world(), word, SHMEM_CMP_GE, 7L, "shmem_long_wait_until"); });
  const std::uint64_t deadline = now_ns() + 5'000'000'000;
  while (read_status(*status.record(0)).phase != Phase::waiting && now_ns() < deadline) std::this_thread::yield();
  const Status seen = read_status(*status.record(0));
  std::atomic_ref<long>(*word).store(7);
  waiter.join();
  EXPECT_EQ(seen.call, "shmem_long_wait_until");
  EXPECT_EQ(seen.detail, "heap + 0x0, >= 7");
  EXPECT_EQ(read_status(*status.record(0)).phase, Phase::running);
  job->stop();
}

TEST(Locks, ExcludeEachOther) {
  run_job(5, {}, [](Job& job) {
    long* locks = allocate<long>(job, 3);
    long* counters = allocate<long>(job, 3);  // plain: only the lock protects them
    for (int i = 0; i < 3; ++i) locks[i] = counters[i] = 0;
    barrier(job);
    std::mt19937 random(static_cast<unsigned>(job.me()));
    for (int i = 0; i < 600; ++i) {
      const int which = static_cast<int>(random() % 3);
      if (random() % 4 == 0) {
        while (test_lock(job.world(), locks + which, "test") != 0) std::this_thread::yield();
      } else {
        set_lock(job.world(), locks + which, "test");
      }
      long* shared = reinterpret_cast<long*>(job.world().at(counters + which, sizeof(long), 0, "test"));
      *shared = *shared + 1;
      clear_lock(job.world(), locks + which, "test");
    }
    barrier(job);
    const long counted = counters[0] + counters[1] + counters[2];
    EXPECT_EQ(counted, job.me() == 0 ? 5 * 600 : 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(locks[i], 0) << "a free lock is all zero";
    barrier(job);
  });
}

TEST(PairSync, OrdersWhatEitherDidBefore) {
  for (const char* start : {"SHOAL_COUNTER_START=0", "SHOAL_COUNTER_START=-2"})
    run_job(4, {start}, [](Job& job) {
      int* words = allocate<int>(job, 4);
      barrier(job);
      for (int round = 1; round <= 200; ++round)
        for (int distance = 1; distance < 4; ++distance) {
          const int partner = job.me() ^ distance;
          *reinterpret_cast<int*>(job.world().at(words + job.me(), sizeof(int), partner, "test")) = round;
          job.pair_sync().meet(job.world(), partner, "test");
          ASSERT_EQ(words[partner], round);
          job.pair_sync().meet(job.world(), partner, "test");
        }
    });
}

TEST(Semaphores, HandOutExactlyWhatWasPosted) {
  std::atomic<int> taken{0};
  run_job(4, {}, [&](Job& job) {
    std::int64_t* count = allocate<std::int64_t>(job, 1);
    *count = 0;
    barrier(job);
    if (job.me() == 0) {
      for (int i = 0; i < 300; ++i) atomic_update<FetchAdd>(job.world(), count, std::int64_t{1}, 2, "test");
    } else {
      for (int i = 0; i < 100; ++i) {
        semaphore_wait(job.world(), count, 2, "test");
        taken.fetch_add(1);
      }
    }
    barrier(job);
    EXPECT_FALSE(semaphore_try(job.world(), count, 2, "test"));
    barrier(job);
  });
  EXPECT_EQ(taken.load(), 300);
}

TEST(Semaphores, OneWaitTakesOneHoweverItWasWoken) {
  run_job(3, {"SHOAL_SPIN=0"}, [](Job& job) {
    std::int64_t* count = allocate<std::int64_t>(job, 1);
    *count = 0;
    barrier(job);
    const int right = (job.me() + 1) % 3;
    for (int lap = 0; lap < 300; ++lap) {  // one token round a ring
      if (job.me() != 0 || lap > 0) semaphore_wait(job.world(), count, job.me(), "test");
      atomic_update<FetchAdd>(job.world(), count, std::int64_t{1}, right, "test");
    }
    barrier(job);
    EXPECT_EQ(job.world().g(count, 0, "test"), 1) << "the token";
    barrier(job);
  });
}

}  // namespace
}  // namespace shoal::test
