// SPDX-License-Identifier: Apache-2.0
// Bandwidth in one direction and in both, message rates, and random access.
#include <shmem.h>

#include <algorithm>
#include <cstdio>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

constexpr long kWindow = 64;  // operations between two quiets

template <class Operation>
Loop windowed(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) {
      operation();
      if (i % kWindow == kWindow - 1) shmem_quiet();
    }
    shmem_quiet();
  });
}

/// The same by plain copies: a fence where the other has its quiet.
Loop copies(char* to, const char* from, std::size_t size) {
  return timed([=](long count) {
    for (long i = 0; i < count; ++i) {
      copy(to, from, size);
      if (i % kWindow == kWindow - 1) full_fence();
    }
    full_fence();
  });
}

Case moving(Loop loop, Loop limit, std::size_t size, int at_once) {
  return {.loop = std::move(loop),
          .limits = {{at_once > 1 ? "copies by all of them at once" : "copies", std::move(limit)}},
          .bytes = static_cast<double>(size) * at_once,
          .operations = static_cast<double>(at_once)};
}

Loop put_loop(World& w, std::size_t size, int pe) {
  return windowed([to = w.dest, from = w.source, size, pe] { shmem_putmem(to, from, size, pe); });
}
Loop get_loop(World& w, std::size_t size, int pe) {
  return windowed([to = w.dest, from = w.source, size, pe] { shmem_getmem(to, from, size, pe); });
}
Loop put_limit(World& w, std::size_t size, int pe) { return copies(w.on(w.dest, pe), w.source, size); }
Loop get_limit(World& w, std::size_t size, int pe) { return copies(w.dest, w.on(w.source, pe), size); }

/// PEs that have a partner; one PE alone is its own.
int paired(const World& w) { return w.n == 1 ? 1 : w.n / 2 * 2; }

Case put_bw(World& w, std::size_t size) {
  return moving(put_loop(w, size, w.peer), put_limit(w, size, w.peer), size, 1);
}
Case get_bw(World& w, std::size_t size) {
  return moving(get_loop(w, size, w.peer), get_limit(w, size, w.peer), size, 1);
}

Case put_nbi_bw(World& w, std::size_t size) {
  return moving(windowed([to = w.dest, from = w.source, size, pe = w.peer] { shmem_putmem_nbi(to, from, size, pe); }),
                put_limit(w, size, w.peer), size, 1);
}
Case get_nbi_bw(World& w, std::size_t size) {
  return moving(windowed([to = w.dest, from = w.source, size, pe = w.peer] { shmem_getmem_nbi(to, from, size, pe); }),
                get_limit(w, size, w.peer), size, 1);
}

Case put_bidir(World& w, std::size_t size) {
  return moving(put_loop(w, size, w.peer), put_limit(w, size, w.peer), size, paired(w));
}
Case get_bidir(World& w, std::size_t size) {
  return moving(get_loop(w, size, w.peer), get_limit(w, size, w.peer), size, paired(w));
}

Case put_rate(World& w, std::size_t) { return moving(put_loop(w, 8, w.next), put_limit(w, 8, w.next), 8, w.n); }
Case get_rate(World& w, std::size_t) { return moving(get_loop(w, 8, w.next), get_limit(w, 8, w.next), 8, w.n); }

/* ---- random access: every PE xors random words of random PEs' tables ---- */

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

/// A number in [0, n) from the upper half of `bits`.
int choose(std::uint64_t bits, int n) { return static_cast<int>(((bits >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

struct Target {
  int first, number;  // chosen PE c of `number` is (first + c) mod n
};

/// `count` updates; each is `apply(PE, word of its table, bits)`.
template <class Apply>
void update(const World& w, Random& random, Target target, long count, Apply apply) {
  Random here = random;  // in registers
  const int n = w.n;
  const std::uint64_t mask = w.table_words - 1;
  for (long i = 0; i < count; ++i) {
    const std::uint64_t bits = here.next();
    int pe = target.first + choose(bits, target.number);
    if (pe >= n) pe -= n;
    apply(pe, bits & mask, bits);
  }
  random = here;
}

void update_by_shmem(const World& w, Random& random, Target target, long count) {
  update(w, random, target, count, [table = w.table](int pe, std::uint64_t word, std::uint64_t bits) {
    shmem_uint64_atomic_xor(&table[word], bits, pe);
  });
  shmem_quiet();
}

/// Xor is its own inverse: the same updates twice leave nothing behind, unless one was lost.
void verify(World& w, Target target) {
  std::fill_n(w.table, w.table_words, 0);
  shmem_barrier_all();
  for (int round = 0; round < 2; ++round) {
    Random random{0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(w.me + 7)};
    update_by_shmem(w, random, target, 20000);
    shmem_barrier_all();
  }
  const auto wrong = std::count_if(w.table, w.table + w.table_words, [](std::uint64_t word) { return word != 0; });
  if (wrong != 0) {
    std::fprintf(stderr, "shoal-perf: PE %d: gups: %ld words of the table are wrong: updates were lost\n", w.me,
                 static_cast<long>(wrong));
    shmem_global_exit(1);
  }
}

Case random_access(World& w, Target target) {
  const std::uint64_t seed = 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(w.me + 1);
  std::vector<std::uint64_t*> tables;
  for (int pe = 0; pe < w.n; ++pe) tables.push_back(w.on(w.table, pe));
  // The generators go on from sample to sample, so each Loop keeps its own.
  return {.loop =
              [&w, target, random = Random{seed}](long count) mutable {
                const double start = seconds();
                update_by_shmem(w, random, target, count);
                return seconds() - start;
              },
          .limits = {{"plain loop of atomics over the same tables",
                      [&w, target, tables, random = Random{seed}](long count) mutable {
                        const double start = seconds();
                        update(w, random, target, count,
                               [all = tables.data()](int pe, std::uint64_t word, std::uint64_t bits) {
                                 __atomic_fetch_xor(&all[pe][word], bits, __ATOMIC_RELAXED);
                               });
                        full_fence();
                        return seconds() - start;
                      }}},
          .operations = static_cast<double>(w.n),
          .finish = [&w, target] { verify(w, target); }};
}

Case gups(World& w, std::size_t) { return random_access(w, {0, w.n}); }
Case gups_remote(World& w, std::size_t) { return random_access(w, {(w.me + 1) % w.n, std::max(w.n - 1, 1)}); }

}  // namespace

std::vector<Test> rate_tests() {
  constexpr const char* kBandwidth = "bandwidth";
  return {
      {"put-bw", kBandwidth, Who::pe0, By::bytes, Space::one, "putmem, a quiet every 64", put_bw},
      {"get-bw", kBandwidth, Who::pe0, By::bytes, Space::one, "getmem, a quiet every 64", get_bw},
      {"put_nbi-bw", kBandwidth, Who::pe0, By::bytes, Space::one, "putmem_nbi, a quiet every 64", put_nbi_bw},
      {"get_nbi-bw", kBandwidth, Who::pe0, By::bytes, Space::one, "getmem_nbi, a quiet every 64", get_nbi_bw},
      {"put-bidir", kBandwidth, Who::pairs, By::bytes, Space::one, "putmem in both directions at once", put_bidir},
      {"get-bidir", kBandwidth, Who::pairs, By::bytes, Space::one, "getmem in both directions at once", get_bidir},
      {"put-rate", "rate", Who::all, By::once, Space::one,
       "each PE puts 8 B to the next, a quiet every 64; rate of all", put_rate},
      {"get-rate", "rate", Who::all, By::once, Space::one, "each PE gets 8 B from the next; rate of all", get_rate},
      {"gups", "gups", Who::all, By::once, Space::one,
       "atomic_xor of random words of random PEs, oneself included; rate of all", gups},
      {"gups-remote", "gups", Who::all, By::once, Space::one,
       "atomic_xor of random words of random other PEs; rate of all", gups_remote},
  };
}

}  // namespace shoal::perf
