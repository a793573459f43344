// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "coll/collectives.hpp"

namespace shoal {
namespace {

constexpr std::size_t kChunkBytes = 16 * 1024;  // stays in the first-level cache together with one source
constexpr std::size_t kFlatBytes = 512;         // up to here everyone computes everything

/// into = source[first, first + count) of members 0 to `last`, in order.
void combine_members(Group& group, void* into, const void* source, std::size_t first, std::size_t count, int last,
                     const Combine& combine, const char* call) noexcept {
  const char* range = static_cast<const char*>(source) + first * combine.width;
  const std::size_t bytes = count * combine.width;
  const char* member0 = group.at(range, bytes, 0, call);
  if (last == 0) {
    std::memcpy(into, member0, bytes);
    return;
  }
  if (combine.wide != nullptr) {
    alignas(64) std::byte accumulator[2 * kChunkBytes];  // as many elements as a chunk has, twice as wide
    combine.wide->widen(accumulator, member0, count);
    for (int member = 1; member <= last; ++member)
      combine.wide->accumulate(accumulator, group.at(range, bytes, member, call), count);
    combine.wide->narrow(into, accumulator, count);
    return;
  }
  combine.run(into, member0, group.at(range, bytes, 1, call), count);
  for (int member = 2; member <= last; ++member) combine.run(into, into, group.at(range, bytes, member, call), count);
}

/// Each member reduces its own share of the elements and writes it to all, a cache-sized chunk at a time. A share is read
/// and written by one member only, so dest may be source.
void reduce_direct(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                   const char* call) noexcept {
  const auto n = static_cast<std::size_t>(group.size());
  const auto me = static_cast<std::size_t>(group.rank());
  const std::size_t line = std::max<std::size_t>(1, 64 / combine.width);  // elements: no two members write one cache line
  const std::size_t share = (count / n + line) / line * line;
  const std::size_t begin = std::min(count, me * share);
  const std::size_t end = me == n - 1 ? count : std::min(count, begin + share);
  const std::size_t chunk = kChunkBytes / combine.width;
  alignas(64) std::byte result[kChunkBytes];

  group.sync(call);
  for (std::size_t first = begin; first < end; first += chunk) {
    const std::size_t elements = std::min(chunk, end - first);
    combine_members(group, result, source, first, elements, group.size() - 1, combine, call);
    char* range = static_cast<char*>(dest) + first * combine.width;
    for (std::size_t k = 0; k < n; ++k) {
      const int member = static_cast<int>((me + k) % n);
      std::memcpy(group.at(range, elements * combine.width, member, call), result, elements * combine.width);
    }
  }
  group.sync(call);
}

/// Everyone reads all sources and computes the whole result: less traffic of cache lines while the data are few.
void reduce_flat(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                 const char* call) noexcept {
  alignas(64) std::byte result[kChunkBytes];
  const std::size_t chunk = kChunkBytes / combine.width;
  group.sync(call);
  for (std::size_t first = 0; first < count; first += chunk) {
    const std::size_t elements = std::min(chunk, count - first);
    combine_members(group, result, source, first, elements, group.size() - 1, combine, call);
    group.sync(call);  // all have read what dest may be
    std::memcpy(static_cast<char*>(dest) + first * combine.width, result, elements * combine.width);
  }
}

bool fits_flat(std::size_t bytes, int) noexcept { return bytes <= kFlatBytes; }
bool fits_always(std::size_t, int) noexcept { return true; }

// In order: the first that fits is taken.
constexpr ReduceAlgorithm kReduceAlgorithms[] = {
    {"flat", fits_flat, reduce_flat},
    {"direct", fits_always, reduce_direct},
};

}  // namespace

const ReduceAlgorithm* find_reduce_algorithm(const char* name) {
  if (std::strcmp(name, "auto") == 0) return nullptr;
  std::string names = "auto";
  for (const ReduceAlgorithm& algorithm : kReduceAlgorithms) {
    if (std::strcmp(name, algorithm.name) == 0) return &algorithm;
    names += std::string(", ") + algorithm.name;
  }
  throw Error(Code::invalid_option, strf("SHOAL_REDUCE=\"%s\" is not valid: expected one of %s", name, names.c_str()));
}

void reduce(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
            const ReduceAlgorithm* forced, const char* call) noexcept {
  if (count == 0) return;
  std::size_t bytes;
  if (__builtin_mul_overflow(count, combine.width, &bytes)) bytes = SIZE_MAX;
  group.at(dest, bytes, group.rank(), call);
  group.at(source, bytes, group.rank(), call);
  if (group.size() == 1) {
    if (dest != source) std::memmove(dest, source, bytes);
    return;
  }
  const ReduceAlgorithm* algorithm = forced;
  if (algorithm == nullptr)
    algorithm = std::find_if(std::begin(kReduceAlgorithms), std::end(kReduceAlgorithms),
                             [&](const ReduceAlgorithm& a) { return a.fits(bytes, group.size()); });
  algorithm->run(group, dest, source, count, combine, call);
}

void scan(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, bool inclusive,
          const char* call) noexcept {
  if (count == 0) return;
  std::size_t bytes;
  if (__builtin_mul_overflow(count, combine.width, &bytes)) bytes = SIZE_MAX;
  group.at(dest, bytes, group.rank(), call);
  group.at(source, bytes, group.rank(), call);
  const int last = inclusive ? group.rank() : group.rank() - 1;
  alignas(64) std::byte result[kChunkBytes];
  const std::size_t chunk = kChunkBytes / combine.width;
  group.sync(call);
  for (std::size_t first = 0; first < count; first += chunk) {
    const std::size_t elements = std::min(chunk, count - first);
    if (last < 0)
      std::memset(result, 0, elements * combine.width);
    else
      combine_members(group, result, source, first, elements, last, combine, call);
    group.sync(call);  // all have read what dest may be
    std::memcpy(static_cast<char*>(dest) + first * combine.width, result, elements * combine.width);
  }
}

}  // namespace shoal
