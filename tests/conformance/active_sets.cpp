// SPDX-License-Identifier: Apache-2.0
// Annex "Deprecated API", active-set collectives: every legal (PE_start, logPE_stride, PE_size), static and heap work
// arrays that are used again at once and in turn, and restored; the root's dest of a broadcast stays as it was.
#include "reduction_support.hpp"

using namespace conformance;

namespace {

constexpr int kSyncArrays = 2, kMost = 600;

struct ActiveSet {
  int start, log_stride, size;
  int pe(int rank) const { return start + (rank << log_stride); }
  int rank() const {
    for (int r = 0; r < size; ++r)
      if (pe(r) == me) return r;
    return -1;
  }
  std::vector<int> world() const {
    std::vector<int> pes;
    for (int r = 0; r < size; ++r) pes.push_back(pe(r));
    return pes;
  }
};

std::vector<ActiveSet> every_active_set() {
  std::vector<ActiveSet> sets;
  for (int log_stride = 0; (1 << log_stride) <= npes; ++log_stride)
    for (int start = 0; start < npes; ++start)
      for (int size = 1; start + ((size - 1) << log_stride) < npes; ++size) sets.push_back({start, log_stride, size});
  return sets;
}

/// Symmetric work arrays with guards: static ones and heap ones must serve alike.
struct Sync {
  long guard_before[4], words[SHMEM_SYNC_SIZE], guard_after[4];
  void reset() {
    for (long& word : words) word = SHMEM_SYNC_VALUE;
    for (int i = 0; i < 4; ++i) guard_before[i] = guard_after[i] = 0x7e57;
  }
  void check() const {
    for (long word : words) CHECK_EQ(word, SHMEM_SYNC_VALUE);
    for (int i = 0; i < 4; ++i) CHECK(guard_before[i] == 0x7e57 && guard_after[i] == 0x7e57);
  }
};
Sync static_sync[kSyncArrays];
Sync* sync_arrays = static_sync;
uint64_t step = 1;

/// Each pSync twice, then the other one twice: reuse at once, and alternation. The same on all PEs, members or not.
long* sync_for(uint64_t call) { return sync_arrays[call / 2 % kSyncArrays].words; }

template <class T>
struct Sized;
template <>
struct Sized<uint32_t> {
  static constexpr auto broadcast = shmem_broadcast32;
  static constexpr auto collect = shmem_collect32;
  static constexpr auto fcollect = shmem_fcollect32;
  static constexpr auto alltoall = shmem_alltoall32;
  static constexpr auto alltoalls = shmem_alltoalls32;
};
template <>
struct Sized<uint64_t> {
  static constexpr auto broadcast = shmem_broadcast64;
  static constexpr auto collect = shmem_collect64;
  static constexpr auto fcollect = shmem_fcollect64;
  static constexpr auto alltoall = shmem_alltoall64;
  static constexpr auto alltoalls = shmem_alltoalls64;
};

template <class T>
void fill(T* source, size_t count) {
  for (size_t i = 0; i < count; ++i) source[i] = value<T>(step, me, i);
}

/// All PEs meet before, so that dest is ready everywhere; `outsider` PEs take no part.
template <class T>
void data_movement(const ActiveSet& set, Guarded<T>& dest, T* source, size_t n) {
  using C = Sized<T>;
  const int rank = set.rank();
  const size_t size = static_cast<size_t>(set.size);
  const char* type = sizeof(T) == 4 ? "32 bits" : "64 bits";

  const int root = static_cast<int>(step) % set.size;
  ++step;
  dest.use(n);
  shmem_sync_all();
  if (rank >= 0) {
    fill(source, n);
    C::broadcast(dest.data(), source, n, root, set.start, set.log_stride, set.size, sync_for(step));
    for (size_t i = 0; i < n; ++i)
      EXPECT_ELEMENT(rank == root ? dest.untouched(i) : dest[i] == value<T>(step, set.pe(root), i), "broadcast", type,
                     n, i);
  }
  dest.check_guards();

  ++step;
  dest.use(n * size);
  shmem_sync_all();
  if (rank >= 0) {
    fill(source, n);
    C::fcollect(dest.data(), source, n, set.start, set.log_stride, set.size, sync_for(step));
    for (size_t at = 0; at < n * size; ++at)
      EXPECT_ELEMENT(dest[at] == value<T>(step, set.pe(static_cast<int>(at / n)), at % n), "fcollect", type, n, at);
  }
  dest.check_guards();

  ++step;
  const auto count_of = [&](int pe) { return (static_cast<size_t>(pe) * 5 + step) % (n + 1); };
  dest.use(n * size);
  shmem_sync_all();
  if (rank >= 0) {
    fill(source, count_of(me));
    C::collect(dest.data(), source, count_of(me), set.start, set.log_stride, set.size, sync_for(step));
    size_t at = 0;
    for (int r = 0; r < set.size; ++r)
      for (size_t i = 0; i < count_of(set.pe(r)); ++i, ++at)
        EXPECT_ELEMENT(dest[at] == value<T>(step, set.pe(r), i), "collect", type, n, at);
    for (; at < dest.count(); ++at) EXPECT_ELEMENT(dest.untouched(at), "collect", type, n, at);
  }
  dest.check_guards();

  ++step;
  dest.use(n * size);
  shmem_sync_all();
  if (rank >= 0) {
    fill(source, n * size);
    C::alltoall(dest.data(), source, n, set.start, set.log_stride, set.size, sync_for(step));
    for (size_t at = 0; at < n * size; ++at)
      EXPECT_ELEMENT(
          dest[at] == value<T>(step, set.pe(static_cast<int>(at / n)), static_cast<size_t>(rank) * n + at % n),
          "alltoall", type, n, at);
  }
  dest.check_guards();

  ++step;
  dest.use(n * size * 2);
  shmem_sync_all();
  if (rank >= 0) {
    fill(source, n * size * 3);
    C::alltoalls(dest.data(), source, 2, 3, n, set.start, set.log_stride, set.size, sync_for(step));
    for (size_t at = 0; at < n * size; ++at) {
      const T wanted = value<T>(step, set.pe(static_cast<int>(at / n)), (static_cast<size_t>(rank) * n + at % n) * 3);
      EXPECT_ELEMENT(dest[2 * at] == wanted && dest.untouched(2 * at + 1), "alltoalls", type, n, at);
    }
  }
  dest.check_guards();
}

void barriers(const ActiveSet& set, long* arrivals) {
  const long base = static_cast<long>(++step) * 100;
  shmem_sync_all();
  if (set.rank() >= 0)
    for (int round = 0; round < 8; ++round) {
      for (int pe : set.world()) shmem_long_atomic_set(&arrivals[me], base + round, pe);
      if (round % 3 == 0) {
        shmem_barrier(set.start, set.log_stride, set.size, sync_for(static_cast<uint64_t>(round)));
      } else {
        shmem_quiet();
        shmem_sync(set.start, set.log_stride, set.size, sync_for(static_cast<uint64_t>(round)));
      }
      for (int pe : set.world()) {  // all have come; the fast ones may have entered the next round
        const long seen = shmem_long_atomic_fetch(&arrivals[pe], me);
        CHECK(seen == base + round || seen == base + round + 1);
      }
    }
  shmem_sync_all();
}

/// Calls in a row with nothing between them, over one set; the source is rewritten on return.
void back_to_back(const ActiveSet& set, uint32_t* dest, uint32_t* source) {
  constexpr size_t kCalls = 12, kEach = 9;
  static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  const size_t room = kEach * static_cast<size_t>(npes), first = step + 1;
  memset(dest, 0xa5, kCalls * room * sizeof *dest);
  step += kCalls;
  shmem_sync_all();
  if (set.rank() < 0) return;
  for (size_t call = 0; call < kCalls; ++call) {
    uint32_t* at = dest + call * room;
    long* sync = sync_for(call);
    for (size_t i = 0; i < kEach; ++i) source[i] = value<uint32_t>(first + call, me, i);
    if (call % 3 == 0) shmem_fcollect32(at, source, kEach, set.start, set.log_stride, set.size, sync);
    if (call % 3 == 1)
      shmem_broadcast32(at, source, kEach, static_cast<int>(call) % set.size, set.start, set.log_stride, set.size,
                        sync);
    if (call % 3 == 2)
      shmem_int_xor_to_all(reinterpret_cast<int*>(at), reinterpret_cast<int*>(source), kEach, set.start, set.log_stride,
                           set.size, work, sync);
    if (static_cast<int>(call) % npes == me) compute(20);
  }
  for (size_t call = 0; call < kCalls; ++call)
    for (size_t i = 0; i < kEach; ++i) {
      const uint32_t* at = dest + call * room;
      uint32_t all = 0;
      for (int pe : set.world()) all ^= value<uint32_t>(first + call, pe, i);
      const int root = set.pe(static_cast<int>(call) % set.size);
      bool ok = call % 3 != 2 || at[i] == all;
      if (call % 3 == 1) ok = at[i] == (root == me ? 0xa5a5a5a5u : value<uint32_t>(first + call, root, i));
      if (call % 3 == 0)
        for (int r = 0; r < set.size; ++r)
          ok = ok && at[static_cast<size_t>(r) * kEach + i] == value<uint32_t>(first + call, set.pe(r), i);
      EXPECT_ELEMENT(ok, "calls in a row", "32 bits", call, i);
    }
}

#define TO_ALL(NAME, TYPE, LOWER, OP)                                                                       \
  struct to_all_##NAME##_##LOWER {                                                                          \
    using type = TYPE;                                                                                      \
    static constexpr const char* name = #NAME "_" #LOWER "_to_all";                                         \
    static constexpr Op op = OP;                                                                            \
    static void call(type* dest, const type* source, int n, const ActiveSet& set, type* work, long* sync) { \
      shmem_##NAME##_##LOWER##_to_all(dest, source, n, set.start, set.log_stride, set.size, work, sync);    \
    }                                                                                                       \
  };
#define BITS(NAME, TYPE) \
  TO_ALL(NAME, TYPE, and, Op::kAnd) TO_ALL(NAME, TYPE, or, Op::kOr) TO_ALL(NAME, TYPE, xor, Op::kXor)
#define ENDS(NAME, TYPE) TO_ALL(NAME, TYPE, max, Op::kMax) TO_ALL(NAME, TYPE, min, Op::kMin)
#define ARITHMETIC(NAME, TYPE) TO_ALL(NAME, TYPE, sum, Op::kSum) TO_ALL(NAME, TYPE, prod, Op::kProd)
SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(BITS)
SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(ENDS)
SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(ARITHMETIC)
#undef BITS
#undef ENDS
#undef ARITHMETIC

template <class R>
void reduction(const ActiveSet& set, void* dest_bytes, void* source_bytes, void* work_bytes, int n, bool in_place) {
  using T = typename R::type;
  section(R::name);
  ++step;
  T *dest = static_cast<T*>(dest_bytes), *source = in_place ? dest : static_cast<T*>(source_bytes);
  const size_t count = static_cast<size_t>(n);
  memset(dest_bytes, 0xa5, (count + 1) * sizeof(T));
  for (size_t i = 0; i < count; ++i) source[i] = term<T>(R::op, step, me, i);
  shmem_sync_all();
  if (set.rank() < 0) return;
  R::call(dest, source, n, set, static_cast<T*>(work_bytes), sync_for(step));
  const std::vector<int> world = set.world();
  for (size_t i = 0; i < count; ++i)
    EXPECT_ELEMENT(dest[i] == reduced<T>(R::op, world, step, i), in_place ? "in place" : "", R::name, count, i);
  for (size_t b = 0; b < sizeof(T); ++b) CHECK(reinterpret_cast<unsigned char*>(dest + n)[b] == 0xa5);
}

/// Every type on a few sets; one type on every set.
void reductions(const std::vector<ActiveSet>& sets) {
  static long double static_work[kMost];
  const size_t bytes = (kMost + 1) * sizeof(long double);
  void *dest = shmem_malloc(bytes), *source = shmem_malloc(bytes), *work = shmem_malloc(bytes);
  CHECK(dest != nullptr && source != nullptr && work != nullptr);
  const ActiveSet few[] = {{0, 0, npes}, {npes / 2, 0, npes - npes / 2}, {0, 1, (npes + 1) / 2}};
  for (const ActiveSet& set : few)
    for (int n : {0, 1, 5, kMost / 2}) {
#define CALL(NAME, LOWER) reduction<to_all_##NAME##_##LOWER>(set, dest, source, n % 2 ? work : static_work, n, n == 5);
#define BITS(NAME, TYPE) CALL(NAME, and) CALL(NAME, or) CALL(NAME, xor)
#define ENDS(NAME, TYPE) CALL(NAME, max) CALL(NAME, min)
#define ARITHMETIC(NAME, TYPE) CALL(NAME, sum) CALL(NAME, prod)
      SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(BITS)
      SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(ENDS)
      SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(ARITHMETIC)
    }
  for (const ActiveSet& set : sets) {
    reduction<to_all_int_sum>(set, dest, source, static_work, 3, false);
    reduction<to_all_double_max>(set, dest, source, work, kMost / 2, true);
  }
  shmem_barrier_all();
  shmem_free(dest);
  shmem_free(source);
  shmem_free(work);
}

void everything(const std::vector<ActiveSet>& sets) {
  for (int i = 0; i < kSyncArrays; ++i) sync_arrays[i].reset();
  const size_t most = kMost * static_cast<size_t>(npes);
  Guarded<uint32_t> dest32(2 * most);
  Guarded<uint64_t> dest64(2 * most);
  auto* source = static_cast<uint64_t*>(shmem_malloc(3 * most * sizeof(uint64_t)));
  auto* arrivals = static_cast<long*>(shmem_calloc(static_cast<size_t>(npes), sizeof(long)));
  auto* in_a_row = static_cast<uint32_t*>(shmem_malloc(12 * 9 * static_cast<size_t>(npes) * sizeof(uint32_t)));
  CHECK(source != nullptr && arrivals != nullptr && in_a_row != nullptr);
  for (const ActiveSet& set : sets) {
    const bool whole = set.size == npes;
    section("active-set barrier and sync");
    barriers(set, arrivals);
    section("active-set calls in a row");
    back_to_back(set, in_a_row, reinterpret_cast<uint32_t*>(source));
    section("active-set data movement");
    for (size_t n : {size_t{0}, size_t{1}, size_t{7}, size_t{kMost}}) {
      if (n > 7 && !whole && step % 8 != 0) continue;  // the large size for an eighth of the sets
      data_movement<uint32_t>(set, dest32, reinterpret_cast<uint32_t*>(source), n);
      data_movement<uint64_t>(set, dest64, source, n);
    }
  }
  reductions(sets);
  shmem_barrier_all();
  for (int i = 0; i < kSyncArrays; ++i) sync_arrays[i].check();
  shmem_free(source);
  shmem_free(arrivals);
  shmem_free(in_a_row);
}

}  // namespace

int main() {
  test_begin("active_sets");
  std::vector<ActiveSet> sets = every_active_set();
  if (npes > 5) {  // all of them are too many: the whole set, and others drawn at random
    test_seed();
    std::vector<ActiveSet> some = {{0, 0, npes}};
    for (int i = 0; i < 24; ++i)
      some.push_back(sets[static_cast<size_t>(test_random_in(0, static_cast<int>(sets.size()) - 1))]);
    sets = some;
  }
  everything(sets);
  sync_arrays = static_cast<Sync*>(shmem_malloc(sizeof(Sync) * kSyncArrays));
  CHECK(sync_arrays != nullptr);
  sets.resize(sets.size() < 12 ? sets.size() : 12);
  everything(sets);
  shmem_free(sync_arrays);
  return test_end();
}
