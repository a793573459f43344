// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "coll/combine.hpp"

namespace shoal {
namespace {

constexpr std::size_t kFlatBytes = 512;  // up to here everyone computes everything

/// The elements that a member reduces for all: whole cache lines, so that no two members write one.
struct Share {
  std::size_t begin, end;
  Share(const Group& group, std::size_t count, std::size_t width) {
    const auto n = static_cast<std::size_t>(group.size()), me = static_cast<std::size_t>(group.rank());
    const std::size_t line = std::max<std::size_t>(1, 64 / width);
    const std::size_t each = (count / n + line) / line * line;
    begin = std::min(count, me * each);
    end = me == n - 1 ? count : std::min(count, begin + each);
  }
};

/// Each member reduces its own share of the elements and writes it to all, a cache-sized chunk at a time. A share is read
/// and written by one member only, so dest may be source. `write(to, from, bytes)` copies one chunk to one member.
template <class Write>
void reduce_shares(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, const char* call,
                   Write&& write) noexcept {
  const Share share(group, count, combine.width);
  const std::size_t chunk = kChunkBytes / combine.width;
  alignas(64) std::byte result[kChunkBytes];
  for (std::size_t first = share.begin; first < share.end; first += chunk) {
    const std::size_t elements = std::min(chunk, share.end - first);
    combine_members(group, result, source, first, elements, group.size() - 1, combine, call);
    char* range = static_cast<char*>(dest) + first * combine.width;
    for (int k = 0; k < group.size(); ++k)
      write(group.at(range, elements * combine.width, (group.rank() + k) % group.size(), call), result, elements * combine.width);
  }
}

void reduce_direct(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                   const CollTuning&, const char* call) noexcept {
  group.sync(call);
  reduce_shares(group, dest, source, count, combine, call,
                [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
  group.sync(call);
}

/// The same past the caches: what is written is too much to be found there again, so it need not be read into them first.
void reduce_stream(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                   const CollTuning& tuning, const char* call) noexcept {
  group.sync(call);
  reduce_shares(group, dest, source, count, combine, call, tuning.kernels->stream);
  stream_fence();
  group.sync(call);
}

/// Everyone reads all sources and computes the whole result: less traffic of cache lines while the data are few.
void reduce_flat(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                 const CollTuning&, const char* call) noexcept {
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

bool fits_flat(std::size_t bytes, int, const CollTuning&) noexcept { return bytes <= kFlatBytes; }
bool fits_stream(std::size_t bytes, int members, const CollTuning& tuning) noexcept {
  return bytes > tuning.cache_bytes / 2 / static_cast<std::size_t>(members);  // sources and destinations of all
}
bool fits_always(std::size_t, int, const CollTuning&) noexcept { return true; }

}  // namespace

// In order: the first that fits is taken.
struct ReduceAlgorithm {
  const char* name;
  bool (*fits)(std::size_t bytes, int members, const CollTuning& tuning) noexcept;
  void (*run)(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, const CollTuning& tuning,
              const char* call) noexcept;
};

namespace {

constexpr ReduceAlgorithm kReduceAlgorithms[] = {
    {"flat", fits_flat, reduce_flat},
    {"stream", fits_stream, reduce_stream},
    {"direct", fits_always, reduce_direct},
};

const ReduceAlgorithm* find_reduce_algorithm(const std::string& name) {
  if (name == "auto") return nullptr;
  std::string names = "auto";
  for (const ReduceAlgorithm& algorithm : kReduceAlgorithms) {
    if (name == algorithm.name) return &algorithm;
    names += std::string(", ") + algorithm.name;
  }
  throw Error(Code::invalid_option, strf("SHOAL_REDUCE=\"%s\" is not valid: expected one of %s", name.c_str(), names.c_str()));
}

}  // namespace

CollTuning tune_collectives(const std::string& reduce, const std::string& kernels) {
  const long cache = std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  return {find_reduce_algorithm(reduce), &choose_kernels(kernels.c_str()), cache > 0 ? static_cast<std::size_t>(cache) : std::size_t{8} << 20};
}

void reduce(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, const CollTuning& tuning,
            const char* call) noexcept {
  if (count == 0) return;
  const std::size_t bytes = check_operands(group, dest, source, count, combine, call);
  if (group.size() == 1) {
    if (dest != source) std::memmove(dest, source, bytes);
    return;
  }
  const ReduceAlgorithm* algorithm = tuning.reduce;
  if (algorithm == nullptr)
    algorithm = std::find_if(std::begin(kReduceAlgorithms), std::end(kReduceAlgorithms),
                             [&](const ReduceAlgorithm& a) { return a.fits(bytes, group.size(), tuning); });
  algorithm->run(group, dest, source, count, combine, tuning, call);
}

}  // namespace shoal
