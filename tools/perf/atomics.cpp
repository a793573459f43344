// SPDX-License-Identifier: Apache-2.0
// Atomic memory operations on one 8-byte word of the peer; those that return nothing end with one quiet a sample.
#include <shmem.h>
#include <shmemx.h>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

constexpr int kOrder = __ATOMIC_SEQ_CST;

template <class Operation>
Loop repeat(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) {
      operation();
      keep();
    }
  });
}

template <class Operation>
Loop repeat_quiet(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) operation();
    shmem_quiet();
  });
}

/// Without a result: `operation` and `plain` take the word.
template <class Operation, class Plain>
Case silent(World& w, Operation operation, Plain plain, const char* limit) {
  std::uint64_t* word = w.word(World::atomic_line);
  return {.loop = repeat_quiet([=, pe = w.peer] { operation(word, pe); }),
          .limits = {{limit, repeat([=, there = w.on(word, w.peer)] { plain(there); })}}};
}

/// With one.
template <class Operation, class Plain>
Case fetching(World& w, Operation operation, Plain plain, const char* limit) {
  std::uint64_t* word = w.word(World::atomic_line);
  return {.loop = timed([=, pe = w.peer](long count) {
            for (long i = 0; i < count; ++i) use(operation(word, pe));
          }),
          .limits = {{limit, timed([=, there = w.on(word, w.peer)](long count) {
                        for (long i = 0; i < count; ++i) use(plain(there));
                      })}}};
}

using Word = std::uint64_t;
#define SILENT(call, plain, limit)                                              \
  [](World& w, std::size_t) {                                                   \
    return silent(                                                              \
        w, [](Word* word, int pe) { call; }, [](Word* word) { plain; }, limit); \
  }
#define FETCHING(call, plain, limit)                                                          \
  [](World& w, std::size_t) {                                                                 \
    return fetching(                                                                          \
        w, [](Word* word, int pe) { return call; }, [](Word* word) { return plain; }, limit); \
  }

Word plain_compare_swap(Word* word) {
  Word expected = 0;
  __atomic_compare_exchange_n(word, &expected, 0, false, kOrder, kOrder);
  return expected;
}

/// Addition of floating-point numbers, as far as processors can: by comparing and swapping.
template <class T, class Bits>
T plain_float_add(T* target, T value) {
  auto* word = reinterpret_cast<Bits*>(target);
  Bits old = __atomic_load_n(word, __ATOMIC_RELAXED), wanted;
  T sum;
  do {
    std::memcpy(&sum, &old, sizeof sum);
    sum += value;
    std::memcpy(&wanted, &sum, sizeof sum);
  } while (!__atomic_compare_exchange_n(word, &old, wanted, false, kOrder, __ATOMIC_RELAXED));
  return sum;
}

Case float_add(World& w, std::size_t) {
  auto* target = reinterpret_cast<float*>(w.word(World::atomic_line) + 2);
  return {.loop = repeat_quiet([=, &w] { shmemx_float_atomic_add(target, 0.5f, w.peer); }),
          .limits = {{"loop of compare and swap",
                      repeat([there = w.on(target, w.peer)] { plain_float_add<float, std::uint32_t>(there, 0.5f); })}}};
}

Case double_add(World& w, std::size_t) {
  auto* target = reinterpret_cast<double*>(w.word(World::atomic_line) + 3);
  return {.loop = repeat_quiet([=, &w] { shmemx_double_atomic_add(target, 0.5, w.peer); }),
          .limits = {{"loop of compare and swap",
                      repeat([there = w.on(target, w.peer)] { plain_float_add<double, std::uint64_t>(there, 0.5); })}}};
}

Case fetch_add_nbi(World& w, std::size_t) {
  Word* word = w.word(World::atomic_line);
  static Word result;  // written until the quiet
  return {.loop = repeat_quiet([=, pe = w.peer] { shmem_uint64_atomic_fetch_add_nbi(&result, word, 1, pe); }),
          .limits = {
              {"atomic add", repeat([there = w.on(word, w.peer)] { result = __atomic_fetch_add(there, 1, kOrder); })}}};
}

/// All PEs at one word of PE 0.
Case contended(World& w, std::size_t) {
  Word* word = w.word(World::atomic_line);
  return {.loop = timed([=](long count) {
            for (long i = 0; i < count; ++i) use(shmem_uint64_atomic_fetch_add(word, 1, 0));
          }),
          .limits = {{"atomic add by all at once", timed([there = w.on(word, 0)](long count) {
                        for (long i = 0; i < count; ++i) use(__atomic_fetch_add(there, 1, kOrder));
                      })}},
          .operations = static_cast<double>(w.n)};
}

}  // namespace

std::vector<Test> atomic_tests() {
  constexpr const char* kAtomics = "atomics";
  const auto row = [](const char* name, const char* about, Case (*make)(World&, std::size_t)) {
    return Test{name, kAtomics, Who::pe0, By::once, Space::one, about, make};
  };
  return {
      row("atomic-add", "uint64_atomic_add",
          SILENT(shmem_uint64_atomic_add(word, 1, pe), __atomic_fetch_add(word, 1, kOrder), "atomic add")),
      row("atomic-inc", "uint64_atomic_inc",
          SILENT(shmem_uint64_atomic_inc(word, pe), __atomic_fetch_add(word, 1, kOrder), "atomic add")),
      row("atomic-set", "uint64_atomic_set",
          SILENT(shmem_uint64_atomic_set(word, 1, pe), __atomic_store_n(word, 1, __ATOMIC_RELAXED), "plain store")),
      row("atomic-and", "uint64_atomic_and",
          SILENT(shmem_uint64_atomic_and(word, 1, pe), __atomic_fetch_and(word, 1, kOrder), "atomic and")),
      row("atomic-or", "uint64_atomic_or",
          SILENT(shmem_uint64_atomic_or(word, 1, pe), __atomic_fetch_or(word, 1, kOrder), "atomic or")),
      row("atomic-xor", "uint64_atomic_xor",
          SILENT(shmem_uint64_atomic_xor(word, 1, pe), __atomic_fetch_xor(word, 1, kOrder), "atomic xor")),
      row("atomic-fetch", "uint64_atomic_fetch",
          FETCHING(shmem_uint64_atomic_fetch(word, pe), __atomic_load_n(word, __ATOMIC_RELAXED), "plain load")),
      row("atomic-fetch_add", "uint64_atomic_fetch_add",
          FETCHING(shmem_uint64_atomic_fetch_add(word, 1, pe), __atomic_fetch_add(word, 1, kOrder), "atomic add")),
      row("atomic-fetch_inc", "uint64_atomic_fetch_inc",
          FETCHING(shmem_uint64_atomic_fetch_inc(word, pe), __atomic_fetch_add(word, 1, kOrder), "atomic add")),
      row("atomic-fetch_and", "uint64_atomic_fetch_and",
          FETCHING(shmem_uint64_atomic_fetch_and(word, 1, pe), __atomic_fetch_and(word, 1, kOrder),
                   "loop of compare and swap")),
      row("atomic-fetch_or", "uint64_atomic_fetch_or",
          FETCHING(shmem_uint64_atomic_fetch_or(word, 1, pe), __atomic_fetch_or(word, 1, kOrder),
                   "loop of compare and swap")),
      row("atomic-fetch_xor", "uint64_atomic_fetch_xor",
          FETCHING(shmem_uint64_atomic_fetch_xor(word, 1, pe), __atomic_fetch_xor(word, 1, kOrder),
                   "loop of compare and swap")),
      row("atomic-swap", "uint64_atomic_swap",
          FETCHING(shmem_uint64_atomic_swap(word, 1, pe), __atomic_exchange_n(word, 1, kOrder), "atomic exchange")),
      row("atomic-compare_swap", "uint64_atomic_compare_swap",
          FETCHING(shmem_uint64_atomic_compare_swap(word, 0, 0, pe), plain_compare_swap(word),
                   "atomic compare and swap")),
      row("atomic-fetch_add_nbi", "uint64_atomic_fetch_add_nbi, many, one quiet", fetch_add_nbi),
      row("atomic-float_add", "shmemx_float_atomic_add", float_add),
      row("atomic-double_add", "shmemx_double_atomic_add", double_add),
      {"atomic-contended", kAtomics, Who::all, By::once, Space::one,
       "uint64_atomic_fetch_add by all PEs on one word of PE 0; rate of all", contended},
  };
}

}  // namespace shoal::perf
