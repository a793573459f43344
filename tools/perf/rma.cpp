// SPDX-License-Identifier: Apache-2.0
// Put and get: one at a time, strided, in batches, and overlapped with computing.
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

constexpr const char* kCopyFence = "copy + full fence";
constexpr const char* kCopy = "copy";

Loop copy_out(World& w, std::size_t size) {
  return timed([to = w.on(w.dest, w.peer), from = w.source, size](long count) {
    for (long i = 0; i < count; ++i) {
      copy(to, from, size);
      full_fence();
    }
  });
}

Loop copy_in(World& w, std::size_t size) {
  return timed([to = w.dest, from = w.on(w.source, w.peer), size](long count) {
    for (long i = 0; i < count; ++i) copy(to, from, size);
  });
}

Case put(World& w, std::size_t size) {
  auto body = [to = w.dest, from = w.source, pe = w.peer, size](long count) {
    for (long i = 0; i < count; ++i) {
      shmem_putmem(to, from, size, pe);
      shmem_quiet();
    }
  };
  return {.loop = timed(body), .limits = {{kCopyFence, copy_out(w, size)}}, .bytes = static_cast<double>(size)};
}

Case get(World& w, std::size_t size) {
  auto body = [to = w.dest, from = w.source, pe = w.peer, size](long count) {
    for (long i = 0; i < count; ++i) shmem_getmem(to, from, size, pe);
  };
  return {.loop = timed(body), .limits = {{kCopy, copy_in(w, size)}}, .bytes = static_cast<double>(size)};
}

Case put_nbi(World& w, std::size_t size) {
  auto body = [to = w.dest, from = w.source, pe = w.peer, size](long count) {
    for (long i = 0; i < count; ++i) {
      shmem_putmem_nbi(to, from, size, pe);
      shmem_quiet();
    }
  };
  return {.loop = timed(body), .limits = {{kCopyFence, copy_out(w, size)}}, .bytes = static_cast<double>(size)};
}

Case get_nbi(World& w, std::size_t size) {
  auto body = [to = w.dest, from = w.source, pe = w.peer, size](long count) {
    for (long i = 0; i < count; ++i) {
      shmem_getmem_nbi(to, from, size, pe);
      shmem_quiet();
    }
  };
  const Loop limit = timed([to = w.dest, from = w.on(w.source, w.peer), size](long count) {
    for (long i = 0; i < count; ++i) {
      copy(to, from, size);
      full_fence();
    }
  });
  return {.loop = timed(body), .limits = {{kCopyFence, limit}}, .bytes = static_cast<double>(size)};
}

// Single elements go through a small array, so that a store never waits for the one before.
constexpr std::size_t kElements = 512;

Case p(World& w, std::size_t) {
  auto* array = reinterpret_cast<double*>(w.dest);
  auto body = [array, pe = w.peer](long count) {
    for (long i = 0; i < count; ++i) shmem_double_p(&array[static_cast<std::size_t>(i) % kElements], 1.0, pe);
    shmem_quiet();
  };
  const Loop limit = timed([to = w.on(array, w.peer)](long count) {
    for (long i = 0; i < count; ++i) {
      to[static_cast<std::size_t>(i) % kElements] = 1.0;
      keep();
    }
    full_fence();
  });
  return {.loop = timed(body), .limits = {{"plain store", limit}}, .bytes = sizeof(double)};
}

Case g(World& w, std::size_t) {
  auto* array = reinterpret_cast<double*>(w.source);
  auto body = [array, pe = w.peer](long count) {
    for (long i = 0; i < count; ++i) use(shmem_double_g(&array[static_cast<std::size_t>(i) % kElements], pe));
  };
  const Loop limit = timed([from = w.on(array, w.peer)](long count) {
    for (long i = 0; i < count; ++i) use(from[static_cast<std::size_t>(i) % kElements]);
  });
  return {.loop = timed(body), .limits = {{"plain load", limit}}, .bytes = sizeof(double)};
}

/* ---- strided: elements of 8 bytes, `stride` apart on both sides ---- */

std::size_t elements(std::size_t size) { return std::max<std::size_t>(size / 8, 1); }

Loop strided_copy(std::uint64_t* to, const std::uint64_t* from, std::size_t count_of, std::size_t stride, bool fence) {
  return timed([=](long count) {
    for (long i = 0; i < count; ++i) {
      strided(to, from, count_of, stride);
      if (fence) full_fence();
    }
  });
}

Case iput(World& w, std::size_t size) {
  auto *to = reinterpret_cast<std::uint64_t*>(w.dest), *from = reinterpret_cast<std::uint64_t*>(w.source);
  const std::size_t many = elements(size), stride = w.options.stride;
  auto body = [=, &w](long count) {
    for (long i = 0; i < count; ++i) {
      shmem_iput64(to, from, static_cast<std::ptrdiff_t>(stride), static_cast<std::ptrdiff_t>(stride), many, w.peer);
      shmem_quiet();
    }
  };
  const Loop limit = strided_copy(w.on(to, w.peer), from, many, stride, true);
  return {.loop = timed(body),
          .limits = {{"strided copy loop + full fence", limit}},
          .bytes = static_cast<double>(many * 8)};
}

Case iget(World& w, std::size_t size) {
  auto *to = reinterpret_cast<std::uint64_t*>(w.dest), *from = reinterpret_cast<std::uint64_t*>(w.source);
  const std::size_t many = elements(size), stride = w.options.stride;
  auto body = [=, &w](long count) {
    for (long i = 0; i < count; ++i)
      shmem_iget64(to, from, static_cast<std::ptrdiff_t>(stride), static_cast<std::ptrdiff_t>(stride), many, w.peer);
  };
  const Loop limit = strided_copy(to, w.on(from, w.peer), many, stride, false);
  return {.loop = timed(body), .limits = {{"strided copy loop", limit}}, .bytes = static_cast<double>(many * 8)};
}

/* ---- blocks: as many of up to 64 bytes as make the size, `stride` of their length apart ---- */

struct Blocks {
  std::size_t bytes, number, distance;
};

Blocks blocks(const World& w, std::size_t size) {
  const std::size_t bytes = std::min<std::size_t>(elements(size) * 8, 64);
  return {bytes, elements(size) * 8 / bytes, bytes * w.options.stride};
}

Loop block_copy(char* to, const char* from, Blocks b, bool fence) {
  return timed([=](long count) {
    for (long i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < b.number; ++k) copy(to + k * b.distance, from + k * b.distance, b.bytes);
      if (fence) full_fence();
    }
  });
}

Case ibput(World& w, std::size_t size) {
  const Blocks b = blocks(w, size);
  auto body = [&w, b](long count) {
    const auto distance = static_cast<std::ptrdiff_t>(b.distance / 8);
    for (long i = 0; i < count; ++i) {
      shmem_ibput64(w.dest, w.source, distance, distance, b.bytes / 8, b.number, w.peer);
      shmem_quiet();
    }
  };
  const Loop limit = block_copy(w.on(w.dest, w.peer), w.source, b, true);
  return {.loop = timed(body),
          .limits = {{"copy loop + full fence", limit}},
          .bytes = static_cast<double>(b.bytes * b.number)};
}

Case ibget(World& w, std::size_t size) {
  const Blocks b = blocks(w, size);
  auto body = [&w, b](long count) {
    const auto distance = static_cast<std::ptrdiff_t>(b.distance / 8);
    for (long i = 0; i < count; ++i) shmem_ibget64(w.dest, w.source, distance, distance, b.bytes / 8, b.number, w.peer);
  };
  const Loop limit = block_copy(w.dest, w.on(w.source, w.peer), b, false);
  return {.loop = timed(body), .limits = {{"copy loop", limit}}, .bytes = static_cast<double>(b.bytes * b.number)};
}

Case put_batch(World& w, std::size_t size) {
  const Blocks b = blocks(w, size);
  std::vector<shmemx_block_t> list;
  for (std::size_t k = 0; k < b.number; ++k)
    list.push_back({w.dest + k * b.distance, w.source + k * b.distance, b.bytes});
  auto body = [&w, list](long count) {
    for (long i = 0; i < count; ++i) {
      shmemx_putmem_batch(list.data(), list.size(), w.peer);
      shmem_quiet();
    }
  };
  const Loop limit = block_copy(w.on(w.dest, w.peer), w.source, b, true);
  return {.loop = timed(body),
          .limits = {{"copy loop + full fence", limit}},
          .bytes = static_cast<double>(b.bytes * b.number)};
}

/* ---- overlap: as much computing as the transfer takes, between start and quiet ---- */

/// A chain of dependent additions that nothing but time can shorten.
void compute(long steps) {
  std::uint64_t x = 1;
  for (long i = 0; i < steps; ++i) {
    x += x >> 7;
    asm volatile("" : "+r"(x));
  }
}

template <class Start>
Case overlap(World& w, std::size_t size, Start start, char* to, const char* from) {
  double transfer = 1e9, step = 1e9;
  for (int i = 0; w.me == 0 && i < 9; ++i) {
    constexpr long kSteps = 100000;
    double before = seconds();
    start();
    shmem_quiet();
    transfer = std::min(transfer, seconds() - before);
    before = seconds();
    compute(kSteps);
    step = std::min(step, (seconds() - before) / kSteps);
  }
  const long steps = w.me == 0 ? std::max(static_cast<long>(transfer / step), 1L) : 1;
  auto both = [=](long count) {
    for (long i = 0; i < count; ++i) {
      start();
      compute(steps);
      shmem_quiet();
    }
  };
  auto transfers = [=](long count) {
    for (long i = 0; i < count; ++i) {
      start();
      shmem_quiet();
    }
  };
  auto computes = [=](long count) {
    for (long i = 0; i < count; ++i) compute(steps);
  };
  auto limit = [=](long count) {
    for (long i = 0; i < count; ++i) {
      copy(to, from, size);
      compute(steps);
      full_fence();
    }
  };
  auto note = [](double together, const std::vector<double>& alone) {
    const double hidden = (alone[0] + alone[1] - together) / std::max(std::min(alone[0], alone[1]), 1e-9);
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "overlap %.0f %%", std::clamp(hidden, 0.0, 1.0) * 100);
    return std::string(text.data());
  };
  return {.loop = timed(both),
          .limits = {{"copy, then compute", timed(limit)}},
          .others = {{"transfer", timed(transfers)}, {"compute", timed(computes)}},
          .bytes = static_cast<double>(size),
          .note = note};
}

Case overlap_put(World& w, std::size_t size) {
  return overlap(
      w, size, [to = w.dest, from = w.source, pe = w.peer, size] { shmem_putmem_nbi(to, from, size, pe); },
      w.on(w.dest, w.peer), w.source);
}

Case overlap_get(World& w, std::size_t size) {
  return overlap(
      w, size, [&w, size] { shmem_getmem_nbi(w.dest, w.source, size, w.peer); }, w.dest, w.on(w.source, w.peer));
}

}  // namespace

std::vector<Test> rma_tests() {
  constexpr const char* kRma = "rma";
  return {
      {"put", kRma, Who::pe0, By::bytes, Space::one, "putmem, then quiet", put},
      {"get", kRma, Who::pe0, By::bytes, Space::one, "getmem", get},
      {"put_nbi", kRma, Who::pe0, By::bytes, Space::one, "putmem_nbi, then quiet", put_nbi},
      {"get_nbi", kRma, Who::pe0, By::bytes, Space::one, "getmem_nbi, then quiet", get_nbi},
      {"p", kRma, Who::pe0, By::once, Space::one, "double_p, many to different words, one quiet", p},
      {"g", kRma, Who::pe0, By::once, Space::one, "double_g of different words", g},
      {"iput", kRma, Who::pe0, By::bytes, Space::strided, "iput64, then quiet; elements --stride apart on both sides",
       iput},
      {"iget", kRma, Who::pe0, By::bytes, Space::strided, "iget64; elements --stride apart on both sides", iget},
      {"ibput", kRma, Who::pe0, By::bytes, Space::strided, "ibput64 of blocks of up to 64 B, then quiet", ibput},
      {"ibget", kRma, Who::pe0, By::bytes, Space::strided, "ibget64 of blocks of up to 64 B", ibget},
      {"put_batch", kRma, Who::pe0, By::bytes, Space::strided,
       "shmemx_putmem_batch of blocks of up to 64 B, then quiet", put_batch},
      {"overlap-put_nbi", "overlap", Who::pe0, By::bytes, Space::one,
       "putmem_nbi, as much computing as that takes, quiet", overlap_put},
      {"overlap-get_nbi", "overlap", Who::pe0, By::bytes, Space::one,
       "getmem_nbi, as much computing as that takes, quiet", overlap_get},
  };
}

}  // namespace shoal::perf
