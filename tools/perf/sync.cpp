// SPDX-License-Identifier: Apache-2.0
// Order, barriers, locks and semaphores.
#include <shmem.h>
#include <shmemx.h>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

template <class Operation>
Loop repeat(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) operation();
  });
}

Case fence(World&, std::size_t) {
  return {.loop = repeat([] { shmem_fence(); }), .limits = {{"release fence", repeat([] {
                                                               __atomic_thread_fence(__ATOMIC_RELEASE);
                                                               keep();
                                                             })}}};
}

Case quiet(World&, std::size_t) {
  return {.loop = repeat([] { shmem_quiet(); }), .limits = {{"full fence", repeat([] { full_fence(); })}}};
}

Loop meetings(World& w) {
  return repeat([&w] { w.meet(); });
}
constexpr const char* kMeeting = "barrier of plain flags";

Case barrier_all(World& w, std::size_t) {
  return {.loop = repeat([] { shmem_barrier_all(); }), .limits = {{kMeeting, meetings(w)}}};
}

Case sync_all(World& w, std::size_t) {
  return {.loop = repeat([] { shmem_sync_all(); }), .limits = {{kMeeting, meetings(w)}}};
}

Case team_sync(World& w, std::size_t) {
  return {.loop = repeat([] { shmem_team_sync(SHMEM_TEAM_WORLD); }), .limits = {{kMeeting, meetings(w)}}};
}

Case sync_pe(World& w, std::size_t) {
  auto loop = timed([&w](long count) {
    for (long i = 0; i < count; ++i) shmemx_sync_pe(w.peer);
  });
  std::uint64_t* flag = w.word(World::flag_line);
  auto limit = timed([=, &w, there = w.on(flag, w.peer)](long count) {
    for (long i = 0; i < count; ++i) {
      const std::uint64_t value = ++w.sequence;
      store_release(there, value);
      w.await(flag, value);
    }
  });
  return {.loop = loop, .limits = {{"exchange of flags", limit}}};
}

/* ---- locks: against a ticket lock on PE 0, the plainest fair one ---- */

struct TicketLock {
  std::uint64_t *next, *serving;
};

TicketLock ticket_lock(World& w) { return {w.on(w.word(World::raw_lock_line), 0), w.on(w.word(World::tail_line), 0)}; }

Loop ticket_turns(World& w) {
  return repeat([&w, lock = ticket_lock(w)] {
    const std::uint64_t mine = __atomic_fetch_add(lock.next, 1, __ATOMIC_ACQUIRE);
    w.await(lock.serving, mine);
    store_release(lock.serving, mine + 1);
  });
}

Loop lock_turns(World& w) {
  return repeat([lock = reinterpret_cast<long*>(w.word(World::lock_line))] {
    shmem_set_lock(lock);
    shmem_clear_lock(lock);
  });
}

Case lock(World& w, std::size_t) { return {.loop = lock_turns(w), .limits = {{"plain ticket lock", ticket_turns(w)}}}; }

Case lock_contended(World& w, std::size_t) {
  return {.loop = lock_turns(w),
          .limits = {{"plain ticket lock", ticket_turns(w)}},
          .operations = static_cast<double>(w.n),
          .most = 1L << 18};
}

Case lock_test(World& w, std::size_t) {
  auto loop = repeat([lock = reinterpret_cast<long*>(w.word(World::lock_line))] {
    if (shmem_test_lock(lock) == 0) shmem_clear_lock(lock);
  });
  return {.loop = loop, .limits = {{"plain ticket lock", ticket_turns(w)}}};
}

Case semaphore(World& w, std::size_t) {
  auto* sem = reinterpret_cast<shmemx_sem_t*>(w.word(World::signal_line) + 8);
  auto loop = repeat([sem, pe = w.peer] {
    shmemx_sem_post(sem, pe);
    shmemx_sem_wait(sem, pe);
  });
  auto limit = repeat([there = w.on(w.word(World::atomic_line), w.peer)] {
    full_fence();
    __atomic_fetch_add(there, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(there, 1, __ATOMIC_SEQ_CST);
  });
  return {.loop = loop, .limits = {{"full fence, two atomic adds", limit}}};
}

}  // namespace

std::vector<Test> sync_tests() {
  constexpr const char *kOrder = "order", *kSync = "sync", *kLocks = "locks";
  const auto row = [](const char* name, const char* group, Who who, const char* about,
                      Case (*make)(World&, std::size_t)) {
    return Test{name, group, who, By::once, Space::one, about, make};
  };
  return {
      row("fence", kOrder, Who::pe0, "fence with nothing under way", fence),
      row("quiet", kOrder, Who::pe0, "quiet with nothing under way", quiet),
      row("barrier_all", kSync, Who::all, "barrier_all", barrier_all),
      row("sync_all", kSync, Who::all, "sync_all", sync_all),
      row("team_sync", kSync, Who::all, "team_sync of the world", team_sync),
      {"sync-pe", kSync, Who::pair, By::once, Space::one, "shmemx_sync_pe of PEs 0 and 1", sync_pe, 2},
      row("lock", kLocks, Who::pe0, "set_lock, clear_lock; nobody else wants it", lock),
      row("lock-test", kLocks, Who::pe0, "test_lock, clear_lock; nobody else wants it", lock_test),
      row("lock-contended", kLocks, Who::all, "set_lock, clear_lock by all PEs at once; rate of all", lock_contended),
      row("sem", kLocks, Who::pe0, "shmemx_sem_post, shmemx_sem_wait on PE 1", semaphore),
  };
}

}  // namespace shoal::perf
