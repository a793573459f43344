// SPDX-License-Identifier: Apache-2.0
// Several threads of PE 0, each with a context of its own, at SHMEM_THREAD_MULTIPLE.
#include <pthread.h>
#include <shmem.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

/// `body(thread, count)` on each of `threads` threads at once; the seconds from the first that starts to the last that
/// ends. They may use all of the PE's processors, whatever the PE itself is pinned to.
template <class Body>
Loop on_threads(const World& w, std::size_t threads, Body body) {
  return [&w, threads, body](long count) {
    std::atomic<std::size_t> ready{0};
    std::vector<double> starts(threads), ends(threads);
    std::vector<std::thread> crew;
    for (std::size_t t = 0; t < threads; ++t)
      crew.emplace_back([&, t] {
        pthread_setaffinity_np(pthread_self(), sizeof w.allowed, &w.allowed);
        ready.fetch_add(1, std::memory_order_acq_rel);
        while (ready.load(std::memory_order_acquire) < threads) ::sched_yield();
        starts[t] = seconds();
        body(t, count);
        ends[t] = seconds();
      });
    for (std::thread& thread : crew) thread.join();
    return *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());
  };
}

using Contexts = std::vector<shmem_ctx_t>;

Contexts make_contexts(std::size_t threads) {
  Contexts contexts(threads, SHMEM_CTX_INVALID);
  for (shmem_ctx_t& ctx : contexts)
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) != 0) ctx = SHMEM_CTX_DEFAULT;
  return contexts;
}

void destroy(const Contexts& contexts) {
  for (shmem_ctx_t ctx : contexts)
    if (ctx != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(ctx);
}

constexpr std::size_t kApart = 256;  // bytes between the words of two threads

Case put(World& w, std::size_t threads) {
  const Contexts contexts = make_contexts(threads);
  return {.loop = on_threads(w, threads,
                             [&w, contexts](std::size_t t, long count) {
                               for (long i = 0; i < count; ++i)
                                 shmem_ctx_putmem(contexts[t], w.dest + t * kApart, w.source, 8, w.peer);
                               shmem_ctx_quiet(contexts[t]);
                             }),
          .limits = {{"plain stores by as many threads",
                      on_threads(w, threads,
                                 [to = w.on(w.dest, w.peer), from = w.source](std::size_t t, long count) {
                                   for (long i = 0; i < count; ++i) copy(to + t * kApart, from, 8);
                                   full_fence();
                                 })}},
          .operations = static_cast<double>(threads),
          .finish = [contexts] { destroy(contexts); }};
}

Case get(World& w, std::size_t threads) {
  const Contexts contexts = make_contexts(threads);
  return {.loop = on_threads(w, threads,
                             [&w, contexts](std::size_t t, long count) {
                               for (long i = 0; i < count; ++i)
                                 shmem_ctx_getmem(contexts[t], w.dest + t * kApart, w.source, 8, w.peer);
                             }),
          .limits = {{"plain loads by as many threads",
                      on_threads(w, threads,
                                 [to = w.dest, from = w.on(w.source, w.peer)](std::size_t t, long count) {
                                   for (long i = 0; i < count; ++i) copy(to + t * kApart, from, 8);
                                 })}},
          .operations = static_cast<double>(threads),
          .finish = [contexts] { destroy(contexts); }};
}

Case atomic(World& w, std::size_t threads) {
  const Contexts contexts = make_contexts(threads);
  const auto word = [](char* base, std::size_t t) { return reinterpret_cast<std::uint64_t*>(base + t * kApart); };
  return {.loop = on_threads(w, threads,
                             [&w, contexts, word](std::size_t t, long count) {
                               for (long i = 0; i < count; ++i)
                                 use(shmem_ctx_uint64_atomic_fetch_add(contexts[t], word(w.dest, t), 1, w.peer));
                             }),
          .limits = {{"atomic adds by as many threads",
                      on_threads(w, threads,
                                 [to = w.on(w.dest, w.peer), word](std::size_t t, long count) {
                                   for (long i = 0; i < count; ++i)
                                     use(__atomic_fetch_add(word(to, t), 1, __ATOMIC_SEQ_CST));
                                 })}},
          .operations = static_cast<double>(threads),
          .finish = [contexts] { destroy(contexts); }};
}

}  // namespace

std::vector<Test> thread_tests() {
  constexpr const char* kThreads = "threads";
  return {
      {"thread-put", kThreads, Who::pe0, By::threads, Space::one,
       "ctx_putmem of 8 B, a context a thread; rate of all threads", put},
      {"thread-get", kThreads, Who::pe0, By::threads, Space::one,
       "ctx_getmem of 8 B, a context a thread; rate of all threads", get},
      {"thread-fetch_add", kThreads, Who::pe0, By::threads, Space::one,
       "ctx_atomic_fetch_add, a word and a context a thread; rate of all threads", atomic},
  };
}

}  // namespace shoal::perf
