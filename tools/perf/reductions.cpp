// SPDX-License-Identifier: Apache-2.0
// Reductions and scans of --type by --op. The limit is the best of plain loops in which each PE reduces its share of
// the elements and writes the result to everybody: out of the cache, and past it.
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

/// This PE's share of `count` elements: whole cache lines.
struct Share {
  std::size_t first, count;
};
Share share_of(const World& w, std::size_t count, std::size_t element) {
  const std::size_t line = 64 / element, lines = (count + line - 1) / line;
  const auto pes = static_cast<std::size_t>(w.n), me = static_cast<std::size_t>(w.me);
  const std::size_t from = std::min(lines * me / pes * line, count),
                    to = std::min(lines * (me + 1) / pes * line, count);
  return {from, to - from};
}

struct Places {
  std::vector<char*> sources, dests;
};
Places places(World& w) {
  Places all;
  for (int pe = 0; pe < w.n; ++pe) {
    all.sources.push_back(w.on(w.source, pe));
    all.dests.push_back(w.on(w.dest, pe));
  }
  return all;
}

constexpr std::size_t kChunk = 32768;  // bytes: a result that is still in the first cache when it is copied

// `to` may be `a` itself.
template <class T, class Op>
void add_up_plain(T* to, const T* a, const T* __restrict b, std::size_t count) {
  if (to == a) {
    T* __restrict both = to;
    for (std::size_t i = 0; i < count; ++i) both[i] = Op::of(both[i], b[i]);
  } else {
    T* __restrict apart = to;
    for (std::size_t i = 0; i < count; ++i) apart[i] = Op::of(a[i], b[i]);
  }
}

#if defined(__x86_64__)
template <class T, class Op>
__attribute__((target("avx2"))) void add_up_wide(T* to, const T* a, const T* __restrict b, std::size_t count) {
  if (to == a) {
    T* __restrict both = to;
    for (std::size_t i = 0; i < count; ++i) both[i] = Op::of(both[i], b[i]);
  } else {
    T* __restrict apart = to;
    for (std::size_t i = 0; i < count; ++i) apart[i] = Op::of(a[i], b[i]);
  }
}
#endif

template <class T, class Op>
void add_up(T* to, const T* a, const T* b, std::size_t count) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  if (wide) return add_up_wide<T, Op>(to, a, b, count);
#endif
  add_up_plain<T, Op>(to, a, b, count);
}

/// Into one's own destination a chunk at a time, and from there to the others'.
template <class T, class Op>
void reduce_cached(World& w, const Places& p, std::size_t count) {
  const Share share = share_of(w, count, sizeof(T));
  T* mine = reinterpret_cast<T*>(w.dest);
  for (std::size_t done = 0; done < share.count;) {
    const std::size_t at = share.first + done, many = std::min(kChunk / sizeof(T), share.count - done);
    const auto from = [&](int pe) { return reinterpret_cast<const T*>(p.sources[static_cast<std::size_t>(pe)]) + at; };
    if (w.n == 1) std::memcpy(mine + at, from(0), many * sizeof(T));
    for (int pe = 1; pe < w.n; ++pe) add_up<T, Op>(mine + at, pe == 1 ? from(0) : mine + at, from(pe), many);
    for (int pe = 0; pe < w.n; ++pe)
      if (pe != w.me)
        std::memcpy(reinterpret_cast<T*>(p.dests[static_cast<std::size_t>(pe)]) + at, mine + at, many * sizeof(T));
    done += many;
  }
  keep();
}

/// The same with stores past the cache, to all destinations at once.
template <class T, class Op>
void reduce_streamed(World& w, const Places& p, std::size_t count) {
#if defined(__SSE2__)
  const Share share = share_of(w, count, sizeof(T));
  alignas(64) T line[64 / sizeof(T)];
  constexpr std::size_t kLine = 64 / sizeof(T);
  std::size_t done = 0;
  for (; done + kLine <= share.count; done += kLine) {
    const std::size_t at = share.first + done;
    std::memcpy(line, reinterpret_cast<const T*>(p.sources[0]) + at, 64);
    for (int pe = 1; pe < w.n; ++pe) {
      const T* from = reinterpret_cast<const T*>(p.sources[static_cast<std::size_t>(pe)]) + at;
      for (std::size_t i = 0; i < kLine; ++i) line[i] = Op::of(line[i], from[i]);
    }
    const auto* parts = reinterpret_cast<const __m128i*>(line);
    for (int pe = 0; pe < w.n; ++pe) {
      auto* to = reinterpret_cast<__m128i*>(reinterpret_cast<T*>(p.dests[static_cast<std::size_t>(pe)]) + at);
      for (int part = 0; part < 4; ++part) _mm_stream_si128(to + part, parts[part]);
    }
  }
  _mm_sfence();
  for (; done < share.count; ++done) {
    const std::size_t at = share.first + done;
    T value = reinterpret_cast<const T*>(p.sources[0])[at];
    for (int pe = 1; pe < w.n; ++pe)
      value = Op::of(value, reinterpret_cast<const T*>(p.sources[static_cast<std::size_t>(pe)])[at]);
    for (int pe = 0; pe < w.n; ++pe) reinterpret_cast<T*>(p.dests[static_cast<std::size_t>(pe)])[at] = value;
  }
  keep();
#else
  reduce_cached<T, Op>(w, p, count);
#endif
}

/// Moves what a reduction must move, 2 (n-1)/n of the bytes, without reducing: where there is no plain arithmetic.
void exchange_shares(World& w, const Places& p, std::size_t bytes) {
  const Share mine = share_of(w, bytes, 1);
  for (int k = 1; k < w.n; ++k) {
    const auto pe = static_cast<std::size_t>((w.me + k) % w.n);
    std::memcpy(w.dest + mine.first, p.sources[pe] + mine.first, mine.count);
    std::memcpy(p.dests[pe] + mine.first, w.dest + mine.first, mine.count);
  }
  keep();
}

/// Prefix sums of one's share of the elements, to everybody.
template <class T>
void scan_plain(World& w, const Places& p, std::size_t count, bool inclusive) {
  const Share share = share_of(w, count, sizeof(T));
  for (std::size_t done = 0; done < share.count;) {
    const std::size_t at = share.first + done, many = std::min(kChunk / sizeof(T), share.count - done);
    for (int pe = 0; pe < w.n; ++pe) {
      T* to = reinterpret_cast<T*>(p.dests[static_cast<std::size_t>(pe)]) + at;
      const int last = inclusive ? pe : pe - 1;  // the newest contribution to PE pe's result
      if (last < 0) {
        std::memset(static_cast<void*>(to), 0, many * sizeof(T));
      } else {
        const T* from = reinterpret_cast<const T*>(p.sources[static_cast<std::size_t>(last)]) + at;
        if (last == 0)
          std::memcpy(to, from, many * sizeof(T));
        else
          add_up<T, Sum>(to, reinterpret_cast<const T*>(p.dests[static_cast<std::size_t>(pe - 1)]) + at, from, many);
      }
    }
    done += many;
  }
  keep();
}

using Plain = void (*)(World&, const Places&, std::size_t count);

/// One reduction of the interface.
struct Reduction {
  const char *type, *op;
  std::size_t element;
  void (*run)(void* dest, const void* source, std::size_t count);
  void (*fill)(void* data, std::size_t count);  // ones
  Plain cached, streamed;                       // null: no plain arithmetic
};

template <class T>
void ones(void* data, std::size_t count) {
  std::fill_n(static_cast<T*>(data), count, static_cast<T>(1));
}

#define ROW(N, T, op, Op)                                                                                       \
  Reduction{#N,                                                                                                 \
            #op,                                                                                                \
            sizeof(T),                                                                                          \
            [](void* dest, const void* source, std::size_t count) {                                             \
              shmem_##N##_##op##_reduce(SHMEM_TEAM_WORLD, static_cast<T*>(dest), static_cast<const T*>(source), \
                                        count);                                                                 \
            },                                                                                                  \
            ones<T>,                                                                                            \
            reduce_cached<T, Op>,                                                                               \
            reduce_streamed<T, Op>},
#define HALF(N, T, op)                                                                                           \
  Reduction{#N,                                                                                                  \
            #op,                                                                                                 \
            sizeof(T),                                                                                           \
            [](void* dest, const void* source, std::size_t count) {                                              \
              shmemx_##N##_##op##_reduce(SHMEM_TEAM_WORLD, static_cast<T*>(dest), static_cast<const T*>(source), \
                                         count);                                                                 \
            },                                                                                                   \
            [](void* data, std::size_t count) {                                                                  \
              const T one = {static_cast<std::uint16_t>(std::is_same_v<T, shmemx_half_t> ? 0x3c00 : 0x3f80)};    \
              std::fill_n(static_cast<T*>(data), count, one);                                                    \
            },                                                                                                   \
            nullptr,                                                                                             \
            nullptr},
#define ROWS(N, T) ROW(N, T, sum, Sum) ROW(N, T, prod, Prod) ROW(N, T, min, Min) ROW(N, T, max, Max)
#define BIT_ROWS(N, T) ROW(N, T, and, And) ROW(N, T, or, Or) ROW(N, T, xor, Xor)
#define HALF_ROWS(N, T) HALF(N, T, sum) HALF(N, T, prod) HALF(N, T, min) HALF(N, T, max)

const std::vector<Reduction>& reductions() {
  static const std::vector<Reduction> table = {
      ROWS(float, float) ROWS(double, double) ROWS(char, char) ROWS(short, short) ROWS(int, int) ROWS(long, long)
          ROWS(uint, unsigned int) ROWS(ulong, unsigned long) ROWS(int8, std::int8_t) ROWS(int16, std::int16_t)
              ROWS(int32, std::int32_t) ROWS(int64, std::int64_t) ROWS(uint8, std::uint8_t) ROWS(uint16, std::uint16_t)
                  ROWS(uint32, std::uint32_t) ROWS(uint64, std::uint64_t) BIT_ROWS(uint, unsigned int)
                      BIT_ROWS(ulong, unsigned long) BIT_ROWS(int8, std::int8_t) BIT_ROWS(int16, std::int16_t)
                          BIT_ROWS(int32, std::int32_t) BIT_ROWS(int64, std::int64_t) BIT_ROWS(uint8, std::uint8_t)
                              BIT_ROWS(uint16, std::uint16_t) BIT_ROWS(uint32, std::uint32_t)
                                  BIT_ROWS(uint64, std::uint64_t) HALF_ROWS(half, shmemx_half_t)
                                      HALF_ROWS(bfloat16, shmemx_bfloat16_t)};
  return table;
}

const Reduction* find(const std::string& type, const std::string& op) {
  for (const Reduction& row : reductions())
    if (type == row.type && op == row.op) return &row;
  return nullptr;
}

Named plain(World& w, const char* name, Plain run, std::size_t count) {
  return {name, timed([&w, run, count, p = places(w)](long turns) {
            for (long i = 0; i < turns; ++i) {
              run(w, p, count);
              w.meet();
            }
          })};
}

Case reduce(World& w, std::size_t size) {
  const Reduction& row = *find(w.options.type, w.options.op);
  const std::size_t count = std::max<std::size_t>(size / row.element, 1);
  row.fill(w.source, count);
  Case result{.loop = timed([&w, &row, count](long turns) {
                for (long i = 0; i < turns; ++i) row.run(w.dest, w.source, count);
              }),
              .bytes = static_cast<double>(count * row.element)};
  if (row.cached != nullptr) {
    result.limits.push_back(plain(w, "plain loop, its own share to all + a barrier", row.cached, count));
    if (size >= 65536) result.limits.push_back(plain(w, "plain loop past the cache + a barrier", row.streamed, count));
  } else {
    result.limits.push_back(
        plain(w, "copies of 2 (n-1)/n of the bytes + a barrier", exchange_shares, count * row.element));
  }
  return result;
}

/// Scans are of float or double, whichever --type is nearer to.
template <class T>
Case scan(World& w, std::size_t size, int (*run)(shmem_team_t, T*, const T*, std::size_t), bool inclusive) {
  const std::size_t count = std::max<std::size_t>(size / sizeof(T), 1);
  ones<T>(w.source, count);
  return {.loop = timed([&w, run, count](long turns) {
            for (long i = 0; i < turns; ++i)
              run(SHMEM_TEAM_WORLD, reinterpret_cast<T*>(w.dest), reinterpret_cast<const T*>(w.source), count);
          }),
          .limits = {{"plain loop, its own share to all + a barrier",
                      timed([&w, count, inclusive, p = places(w)](long turns) {
                        for (long i = 0; i < turns; ++i) {
                          scan_plain<T>(w, p, count, inclusive);
                          w.meet();
                        }
                      })}},
          .bytes = static_cast<double>(count * sizeof(T))};
}

Case inscan(World& w, std::size_t size) {
  if (w.options.type == "double") return scan<double>(w, size, shmem_double_sum_inscan, true);
  return scan<float>(w, size, shmem_float_sum_inscan, true);
}

Case exscan(World& w, std::size_t size) {
  if (w.options.type == "double") return scan<double>(w, size, shmem_double_sum_exscan, false);
  return scan<float>(w, size, shmem_float_sum_exscan, false);
}

}  // namespace

void check_reduction(const std::string& type, const std::string& op) {
  if (find(type, op) != nullptr) return;
  bool known_type = false, known_op = false;
  std::string types, last;
  for (const Reduction& row : reductions()) {
    known_type = known_type || type == row.type;
    known_op = known_op || op == row.op;
    if (last != row.type && std::string(row.op) == "sum") types += (types.empty() ? "" : ", ") + (last = row.type);
  }
  if (!known_type) throw Usage("shoal-perf: --type " + type + ": expected one of " + types);
  if (!known_op) throw Usage("shoal-perf: --op " + op + ": expected sum, prod, min, max, and, or, xor");
  throw Usage("shoal-perf: --op " + op + " is not defined for --type " + type +
              ": and, or and xor need an unsigned or sized integer type");
}

std::vector<Test> reduction_tests() {
  constexpr const char* kCollectives = "collectives";
  return {
      {"reduce", kCollectives, Who::all, By::bytes, Space::one, "reduction of --type by --op (float, sum)", reduce},
      {"inscan", kCollectives, Who::all, By::bytes, Space::one, "float_sum_inscan (double with --type double)", inscan},
      {"exscan", kCollectives, Who::all, By::bytes, Space::one, "float_sum_exscan (double with --type double)", exscan},
  };
}

}  // namespace shoal::perf
