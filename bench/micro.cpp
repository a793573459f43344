// SPDX-License-Identifier: Apache-2.0
// Google Benchmark programs for what the hot paths are made of: the allocator, the way from an address to where it is mapped
// (route), and the arithmetic of reductions. One PE, no launcher: micro [--benchmark_filter=REGEX].
#include <benchmark/benchmark.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/kernels.hpp"
#include "memory/allocator.hpp"

namespace {

long static_word;

// ---- allocator ----

/// One block freed and one taken while `range(0)` are live: sizes of 64 bytes to 16 KiB, in random order.
void allocator_churn(benchmark::State& state) {
  const auto live = static_cast<std::size_t>(state.range(0));
  shoal::Allocator allocator(std::size_t{1} << 40);
  std::mt19937_64 random(1);
  const auto size = [&] { return std::size_t{64} << random() % 9; };
  std::vector<std::size_t> blocks;
  for (std::size_t i = 0; i < live; ++i) blocks.push_back(allocator.allocate(size()).value());
  for (auto _ : state) {
    std::size_t& block = blocks[random() % live];
    allocator.free(block);
    block = allocator.allocate(size()).value();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(allocator_churn)->RangeMultiplier(10)->Range(10, 1'000'000);

/// Which block an address inside one belongs to.
void allocator_find(benchmark::State& state) {
  const auto live = static_cast<std::size_t>(state.range(0));
  shoal::Allocator allocator(std::size_t{1} << 40);
  for (std::size_t i = 0; i < live; ++i) allocator.allocate(1000);
  std::mt19937_64 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(allocator.find(random() % (live * 1024)));
}
BENCHMARK(allocator_find)->RangeMultiplier(100)->Range(100, 1'000'000);

// ---- routes ----

/// A store through shmem_long_p to memory of each kind, and through a context of a team.
void route_p(benchmark::State& state, long* (*make)()) {
  long* const word = make();
  if (word == nullptr) return state.SkipWithError("no such memory here");
  for (auto _ : state) shmem_long_p(word, 1, 0);
}
BENCHMARK_CAPTURE(route_p, heap, [] { return static_cast<long*>(shmem_malloc(64)); });
BENCHMARK_CAPTURE(route_p, static_data, [] { return &static_word; });
BENCHMARK_CAPTURE(route_p, further_heap, [] {
  static shmemx_heap_t heap = SHMEMX_HEAP_INVALID;
  const shmemx_heap_attr_t attributes{.size = 1 << 20, .alignment = 64, .team = SHMEM_TEAM_WORLD};
  if (heap == SHMEMX_HEAP_INVALID && shmemx_heap_create(&attributes, &heap) != 0) return static_cast<long*>(nullptr);
  return static_cast<long*>(shmemx_heap_malloc(heap, 64));
});

void route_context_p(benchmark::State& state) {
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  if (shmem_ctx_create(0, &context) != 0) return state.SkipWithError("no context");
  long* const word = static_cast<long*>(shmem_malloc(64));
  for (auto _ : state) shmem_ctx_long_p(context, word, 1, 0);
  shmem_ctx_destroy(context);
  shmem_free(word);
}
BENCHMARK(route_context_p);

void route_fetch_add(benchmark::State& state) {
  long* const word = static_cast<long*>(shmem_malloc(64));
  for (auto _ : state) benchmark::DoNotOptimize(shmem_long_atomic_fetch_add(word, 1, 0));
  shmem_free(word);
}
BENCHMARK(route_fetch_add);

void route_put(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  char* const dest = static_cast<char*>(shmem_malloc(bytes));
  const std::vector<char> source(bytes, 1);
  for (auto _ : state) shmem_putmem(dest, source.data(), bytes, 0);
  state.SetBytesProcessed(state.iterations() * state.range(0));
  shmem_free(dest);
}
BENCHMARK(route_put)->RangeMultiplier(8)->Range(8, 1 << 20);

// ---- kernels ----

/// `range(0)` elements of two sources combined, in the first-level cache.
void kernel(benchmark::State& state, const shoal::Combine& combine) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> a(count * combine.width), b(a), out(a), accumulator(2 * a.size());
  for (auto _ : state) {
    if (combine.run != nullptr) {
      combine.run(out.data(), a.data(), b.data(), count);
    } else {
      combine.wide.widen(accumulator.data(), a.data(), count);
      combine.wide.accumulate(accumulator.data(), b.data(), count);
      combine.wide.narrow(out.data(), accumulator.data(), count);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * a.size()));
}

void register_kernels() {
  using shoal::Element;
  using shoal::ReduceOp;
  const struct { const char* name; ReduceOp op; Element element; } rows[] = {
      {"float_sum", ReduceOp::Sum, Element::F32},   {"double_sum", ReduceOp::Sum, Element::F64},
      {"half_sum", ReduceOp::Sum, Element::Half},   {"bfloat16_sum", ReduceOp::Sum, Element::BFloat16},
      {"int_max", ReduceOp::Max, Element::I32},     {"long_sum", ReduceOp::Sum, Element::I64},
      {"complexf_prod", ReduceOp::Prod, Element::C32}, {"uint8_or", ReduceOp::Or, Element::U8},
  };
  for (const char* set : {"baseline", "avx2", "avx512"}) {
    const shoal::Kernels* kernels;
    try {
      kernels = &shoal::choose_kernels(set);
    } catch (const shoal::Error&) {
      continue;  // not built, or not for this processor
    }
    for (const auto& row : rows)
      benchmark::RegisterBenchmark((std::string("kernel/") + set + "/" + row.name).c_str(),
                                   [&combine = kernels->at(row.op, row.element)](benchmark::State& state) { kernel(state, combine); })
          ->Arg(2048);
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  register_kernels();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  shmem_finalize();
}
