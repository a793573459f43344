// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "coll/combine.hpp"
#include "coll/over_nodes.hpp"
#include "team/watched.hpp"

namespace shoal {
namespace {

/// The elements that this member reduces for all.
Part share_of(const Group& group, std::size_t count, std::size_t width) {
  return Part(count, width, static_cast<std::size_t>(group.rank()), static_cast<std::size_t>(group.size()));
}

/// Each member reduces its own share of the elements and gives it to all, a cache-sized chunk at a time. A share is
/// read and written by one member only, so dest may be source.
void reduce_direct(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                   const CollTuning&, const char* call) noexcept {
  group.sync(call);
  const Part share = share_of(group, count, combine.width);
  const std::size_t chunk = kChunkBytes / combine.width;
  for (std::size_t first = share.begin; first < share.end; first += chunk) {
    const std::size_t elements = std::min(chunk, share.end - first), bytes = elements * combine.width;
    char* const own = static_cast<char*>(dest) + first * combine.width;
    combine_members(group, own, source, first, elements, group.size() - 1, combine, call);
    for (int k = 1; k < group.size(); ++k)
      std::memcpy(group.at(own, bytes, (group.rank() + k) % group.size(), call), own, bytes);
  }
  group.sync(call);
}

/// The same past the caches: what is written is too much to be found there again, so it need not be read into them
/// first.
void reduce_stream(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                   const CollTuning& tuning, const char* call) noexcept {
  group.sync(call);
  const Part share = share_of(group, count, combine.width);
  const std::size_t chunk = tuned::kStreamChunkBytes / combine.width;
  alignas(64) std::byte result[tuned::kStreamChunkBytes];
  for (std::size_t first = share.begin; first < share.end; first += chunk) {
    const std::size_t elements = std::min(chunk, share.end - first), bytes = elements * combine.width;
    combine_members(group, result, source, first, elements, group.size() - 1, combine, call);
    const char* const range = static_cast<char*>(dest) + first * combine.width;
    for (int k = 0; k < group.size(); ++k)
      tuning.kernels->stream(group.at(range, bytes, (group.rank() + k) % group.size(), call), result, bytes);
  }
  stream_fence();
  group.sync(call);
}

/// Everyone computes the whole result from what all have sent: one meeting, and less traffic of cache lines while the
/// data are few.
void reduce_by_mail(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                    const CollTuning&, const char* call) noexcept {
  std::memcpy(group.own_mail(), source, count * combine.width);
  group.sync(call);
  combine_ranges(dest, count, group.size() - 1, combine, [&](int member) { return group.mail(member); });
}

/// The same for any size and any group: everyone reads all sources.
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

bool fits_mail(const Group& group, std::size_t bytes, const CollTuning&) noexcept {
  return bytes <= group.mail_bytes() && bytes * static_cast<std::size_t>(group.size()) <= tuned::kMailReduceBytes;
}
bool fits_flat(const Group&, std::size_t bytes, const CollTuning&) noexcept { return bytes <= tuned::kFlatReduceBytes; }
bool fits_stream(const Group& group, std::size_t bytes, const CollTuning& tuning) noexcept {
  return bytes > tuning.cache_bytes / tuned::kStreamCacheShare / static_cast<std::size_t>(group.size());
}
bool fits_always(const Group&, std::size_t, const CollTuning&) noexcept { return true; }

}  // namespace

// In order: the first that fits is taken.
struct ReduceAlgorithm {
  const char* name;
  bool (*fits)(const Group& group, std::size_t bytes, const CollTuning& tuning) noexcept;
  void (*run)(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
              const CollTuning& tuning, const char* call) noexcept;
};

namespace {

constexpr ReduceAlgorithm kReduceAlgorithms[] = {
    {"mail", fits_mail, reduce_by_mail},
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
  throw Error(Code::invalid_option,
              strf("SHOAL_REDUCE=\"%s\" is not valid: expected one of %s", name.c_str(), names.c_str()));
}

}  // namespace

CollTuning tune_collectives(const std::string& reduce, const std::string& kernels) {
  const long cache = std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  return {find_reduce_algorithm(reduce), &choose_kernels(kernels.c_str()),
          cache > 0 ? static_cast<std::size_t>(cache) : std::size_t{8} << 20};
}

void reduce(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
            const CollTuning& tuning, const char* call) noexcept {
  const std::size_t array = bytes_of(count, combine.width);
  const WatchedCollective watched(
      group, CallKind::collective, call,
      {.count = count, .dest = dest, .source = source, .dest_bytes = array, .source_bytes = array, .in_place = true});
  if (count == 0) return;
  const std::size_t bytes = check_operands(group, dest, source, count, combine, call);
  if (group.size() == 1) {
    if (dest != source) std::memmove(dest, source, bytes);
    return;
  }
  if (group.nodes().span()) return reduce_over_nodes(group, dest, source, count, combine, call);
  const ReduceAlgorithm* algorithm = tuning.reduce;
  if (algorithm == nullptr || (algorithm == kReduceAlgorithms && bytes > group.mail_bytes()))
    algorithm = std::find_if(std::begin(kReduceAlgorithms), std::end(kReduceAlgorithms),
                             [&](const ReduceAlgorithm& a) { return a.fits(group, bytes, tuning); });
  algorithm->run(group, dest, source, count, combine, tuning, call);
}

}  // namespace shoal
