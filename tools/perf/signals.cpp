// SPDX-License-Identifier: Apache-2.0
// Signals and waiting.
#include <shmem.h>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

constexpr const char* kTrip = "a cache line's trip";

/// PE 0 sends, PE 1 answers; `send(value)` makes the other's word `value`, `receive(value)` waits for it.
template <class Send, class Receive>
Loop ping_pong(World& w, Send send, Receive receive) {
  return timed([&w, send, receive](long count) {
    for (long i = 0; i < count; ++i) {
      const std::uint64_t value = ++w.sequence;
      if (w.me == 0) {
        send(value);
        receive(value);
      } else {
        receive(value);
        send(value);
      }
    }
  });
}

/// The same by plain stores and loads; up to 64 bytes count as travelling with the flag.
Loop plain_ping_pong(World& w, std::size_t size) {
  std::uint64_t* flag = w.word(World::flag_line);
  return ping_pong(
      w,
      [=, there = w.on(flag, w.peer), to = w.on(w.dest, w.peer), from = w.source](std::uint64_t value) {
        if (size > 64) copy(to, from, size);
        store_release(there, value);
      },
      [=, &w](std::uint64_t value) { w.await(flag, value); });
}

Case half(Loop loop, Loop limit, const char* name, std::size_t size = 0) {
  return {
      .loop = std::move(loop), .limits = {{name, std::move(limit)}}, .bytes = static_cast<double>(size), .scale = 0.5};
}

Case signal_pingpong(World& w, std::size_t size) {
  std::uint64_t* word = w.word(World::signal_line);
  auto loop = ping_pong(
      w,
      [=, &w](std::uint64_t value) {
        shmem_putmem_signal(w.dest, w.source, size, word, value, SHMEM_SIGNAL_SET, w.peer);
      },
      [=](std::uint64_t value) { shmem_signal_wait_until(word, SHMEM_CMP_EQ, value); });
  return half(loop, plain_ping_pong(w, size), size > 64 ? "copy + a cache line's trip" : kTrip, size);
}

Case wait_pingpong(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::signal_line);
  auto loop = ping_pong(
      w, [word, pe = w.peer](std::uint64_t value) { shmem_uint64_p(word, value, pe); },
      [=](std::uint64_t value) { shmem_uint64_wait_until(word, SHMEM_CMP_EQ, value); });
  return half(loop, plain_ping_pong(w, 8), kTrip);
}

Case atomic_pingpong(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::signal_line);
  auto loop = ping_pong(
      w, [word, pe = w.peer](std::uint64_t value) { shmem_uint64_atomic_set(word, value, pe); },
      [=](std::uint64_t value) { shmem_uint64_wait_until(word, SHMEM_CMP_EQ, value); });
  return half(loop, plain_ping_pong(w, 8), kTrip);
}

/// Eight words wait, one after the other is written.
Case any_pingpong(World& w, std::size_t) {
  std::uint64_t* words = w.word(World::signal_line);
  auto loop = ping_pong(
      w, [=, &w](std::uint64_t value) { shmem_uint64_p(&words[value % 8], value, w.peer); },
      [=](std::uint64_t value) { use(shmem_uint64_wait_until_any(words, 8, nullptr, SHMEM_CMP_EQ, value)); });
  return half(loop, plain_ping_pong(w, 8), kTrip);
}

Case all_pingpong(World& w, std::size_t) {
  std::uint64_t* words = w.word(World::signal_line);
  auto loop = ping_pong(
      w,
      [=, &w](std::uint64_t value) {
        for (int k = 0; k < 8; ++k) shmem_uint64_p(&words[k], value, w.peer);
      },
      [=](std::uint64_t value) { shmem_uint64_wait_until_all(words, 8, nullptr, SHMEM_CMP_EQ, value); });
  return half(loop, plain_ping_pong(w, 8), kTrip);
}

Case put_signal(World& w, std::size_t size) {
  std::uint64_t* word = w.word(World::signal_line);
  auto loop = timed([=, &w](long count) {
    for (long i = 0; i < count; ++i) {
      shmem_putmem_signal(w.dest, w.source, size, word, 0, SHMEM_SIGNAL_SET, w.peer);
      shmem_quiet();
    }
  });
  auto limit = timed([=, there = w.on(word, w.peer), to = w.on(w.dest, w.peer), from = w.source](long count) {
    for (long i = 0; i < count; ++i) {
      copy(to, from, size);
      store_release(there, 0);
      full_fence();
    }
  });
  return {.loop = loop, .limits = {{"copy + store + full fence", limit}}, .bytes = static_cast<double>(size)};
}

Case signal_set(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::signal_line);
  auto loop = timed([word, pe = w.peer](long count) {
    for (long i = 0; i < count; ++i) shmem_signal_set(word, 0, pe);
    shmem_quiet();
  });
  auto limit = timed([there = w.on(word, w.peer)](long count) {
    for (long i = 0; i < count; ++i) {
      store_release(there, 0);
      keep();
    }
    full_fence();
  });
  return {.loop = loop, .limits = {{"plain store", limit}}};
}

Case signal_add(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::atomic_line);
  auto loop = timed([word, pe = w.peer](long count) {
    for (long i = 0; i < count; ++i) shmem_signal_add(word, 1, pe);
    shmem_quiet();
  });
  auto limit = timed([there = w.on(word, w.peer)](long count) {
    for (long i = 0; i < count; ++i) {
      __atomic_fetch_add(there, 1, __ATOMIC_SEQ_CST);
      keep();
    }
  });
  return {.loop = loop, .limits = {{"atomic add", limit}}};
}

Loop plain_loads(const std::uint64_t* word) {
  return timed([word](long count) {
    for (long i = 0; i < count; ++i) use(__atomic_load_n(word, __ATOMIC_ACQUIRE));
  });
}

Case signal_fetch(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::atomic_line);
  return {.loop = timed([word](long count) {
            for (long i = 0; i < count; ++i) use(shmem_signal_fetch(word));
          }),
          .limits = {{"plain load", plain_loads(word)}}};
}

Case wait_ready(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::atomic_line);
  return {.loop = timed([word](long count) {
            for (long i = 0; i < count; ++i) shmem_uint64_wait_until(word, SHMEM_CMP_GE, 0);
          }),
          .limits = {{"plain load", plain_loads(word)}}};
}

Case wait_test(World& w, std::size_t) {
  std::uint64_t* word = w.word(World::atomic_line);
  return {.loop = timed([word](long count) {
            for (long i = 0; i < count; ++i) use(shmem_uint64_test(word, SHMEM_CMP_LT, 0));
          }),
          .limits = {{"plain load", plain_loads(word)}}};
}

}  // namespace

std::vector<Test> signal_tests() {
  constexpr const char *kSignals = "signals", *kWaits = "waits";
  return {
      {"signal-put_signal", kSignals, Who::pe0, By::bytes, Space::one, "putmem_signal, then quiet", put_signal},
      {"signal-pingpong", kSignals, Who::pair, By::bytes, Space::one, "putmem_signal to and fro; half a round trip",
       signal_pingpong, 2},
      {"signal-set", kSignals, Who::pe0, By::once, Space::one, "signal_set, many, one quiet", signal_set},
      {"signal-add", kSignals, Who::pe0, By::once, Space::one, "signal_add, many, one quiet", signal_add},
      {"signal-fetch", kSignals, Who::pe0, By::once, Space::one, "signal_fetch of one's own word", signal_fetch},
      {"wait-pingpong", kWaits, Who::pair, By::once, Space::one,
       "uint64_p and wait_until to and fro; half a round trip", wait_pingpong, 2},
      {"wait-atomic_pingpong", kWaits, Who::pair, By::once, Space::one, "atomic_set and wait_until to and fro; half",
       atomic_pingpong, 2},
      {"wait-any_pingpong", kWaits, Who::pair, By::once, Space::one,
       "p of one of 8 words and wait_until_any to and fro; half", any_pingpong, 2},
      {"wait-all_pingpong", kWaits, Who::pair, By::once, Space::one, "p of 8 words and wait_until_all to and fro; half",
       all_pingpong, 2},
      {"wait-ready", kWaits, Who::pe0, By::once, Space::one, "wait_until that is true already", wait_ready},
      {"wait-test", kWaits, Who::pe0, By::once, Space::one, "test that is false", wait_test},
  };
}

}  // namespace shoal::perf
