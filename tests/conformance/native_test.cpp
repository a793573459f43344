// SPDX-License-Identifier: Apache-2.0
// The native C++ interface (include/shoal): every class, moves, exceptions, and what must not compile.
#include <algorithm>
#include <complex>
#include <memory>
#include <mutex>
#include <numeric>
#include <shoal/shoal.hpp>

#include "support.h"

namespace {

struct Particle {  // no power of two, no default constructor
  double x, y, z;
  int id;
  explicit Particle(int n) : x(n), y(n * 2.0), z(-n), id(n) {}
  friend bool operator==(const Particle&, const Particle&) = default;
};
struct Color {
  unsigned char r, g, b;
  friend bool operator==(const Color&, const Color&) = default;
};
enum class Mood : short { calm = 3, merry = 7 };

int next_pe() { return (me + 1) % npes; }
int previous_pe() { return (me + npes - 1) % npes; }

template <class F>
bool throws_range_error(F&& f) {
  try {
    f();
  } catch (const std::out_of_range&) {
    return true;
  }
  return false;
}

template <class F>
bool throws_size_error(F&& f) {
  try {
    f();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void jobs_nest(const shoal::Job& outer) {
  section("jobs nest");
  CHECK_EQ(outer.my_pe(), shoal::my_pe());
  CHECK_EQ(outer.n_pes(), shoal::n_pes());
  for (int i = 0; i < 3; ++i) {
    shoal::Job inner(outer.thread_level());
    CHECK_EQ(inner.my_pe(), me);
    CHECK_EQ(inner.world().all_reduce(shoal::op::sum, 1), npes);
    inner.barrier();
  }
  CHECK_EQ(outer.world().all_reduce(shoal::op::sum, 2), 2 * npes);
}

void arrays() {
  section("arrays");
  const shoal::Array<int> nothing;
  CHECK(nothing.empty() && nothing.data() == nullptr);
  shoal::Array<int> empty(0);
  CHECK(empty.empty());
  shoal::Array<double> a(100);
  CHECK_EQ(a.size(), 100);
  CHECK(std::all_of(a.begin(), a.end(), [](double x) { return x == 0; }));
  std::iota(a.begin(), a.end(), me * 1000.0);
  shoal::barrier();
  auto there = a.on(next_pe());
  CHECK_EQ(there.pe(), next_pe());
  CHECK_EQ(there[7], next_pe() * 1000 + 7);
  std::vector<double> got = there.get(10, 5);
  for (size_t i = 0; i < 5; ++i) CHECK_EQ(got[i], next_pe() * 1000 + 10 + static_cast<int>(i));
  there.get(0, got);
  CHECK_EQ(got[4], next_pe() * 1000 + 4);
  there.get_nbi(20, got);
  shoal::quiet();
  CHECK_EQ(got[0], next_pe() * 1000 + 20);
  shoal::barrier();

  there[0] = 3.5;
  const std::vector<double> values = {1, 2, 3};
  there.put(1, values);
  there.put_nbi(97, std::span(values));
  there[10] = there[11];  // from there to there
  shoal::barrier();
  CHECK_EQ(a[0], 3.5);
  CHECK(a[1] == 1 && a[3] == 3 && a[4] == me * 1000 + 4 && a[97] == 1 && a[99] == 3 && a[10] == me * 1000 + 11);
  CHECK(throws_range_error([&] { there.put(98, values); }));
  CHECK(throws_range_error([&] { there.get(101, std::span<double>()); }));
  CHECK(throws_range_error([&] { (void)there.get(0, 101); }));
  CHECK(throws_range_error([&] { (void)there.atomic(100); }));
  CHECK(throws_range_error([&] { there.put(SIZE_MAX, values); }));
  there.put(100, std::span<const double>());  // zero elements at the end are inside

  const std::span<double> mapped = a.on(next_pe()).mapped();
  const bool on_my_node = shmem_ptr(a.data(), next_pe()) != nullptr;
  CHECK_EQ(mapped.size(), on_my_node ? 100 : 0);
  if (on_my_node) CHECK_EQ(mapped[97], 1);
  CHECK(a.on(me).mapped().data() == a.data());

  section("array moves");
  double* const data = a.data();
  shoal::Array<double> b(std::move(a));
  CHECK(a.empty() && b.data() == data);  // NOLINT: a moved-from array is empty
  b = shoal::Array<double>(3);
  CHECK_EQ(b.size(), 3);
  std::vector<shoal::Array<int>> many;
  for (size_t i = 0; i < 5; ++i) many.emplace_back(i * 10);
  many[4].on(next_pe())[39] = me;
  shoal::barrier();
  CHECK_EQ(many[4][39], previous_pe());
  b.release();
  CHECK(b.empty());
  b.release();

  section("over-aligned elements");
  struct alignas(128) Line {
    int value;
  };
  shoal::Array<Line> lines(4);
  CHECK_EQ(reinterpret_cast<uintptr_t>(lines.data()) % 128, 0);
  lines.on(next_pe())[2] = Line{me};
  shoal::barrier();
  CHECK_EQ(lines[2].value, previous_pe());

  section("heap exhausted");
  bool refused = false;
  try {
    shoal::Array<char> huge(size_t{1} << 45);
  } catch (const shoal::HeapExhausted& error) {
    refused = strstr(error.what(), "35184372088832") != nullptr;
  }
  CHECK(refused);
  try {
    shoal::Array<double> overflow(SIZE_MAX / 4);
    CHECK(overflow.empty());
  } catch (const std::bad_alloc&) {
    refused = false;
  }
  CHECK(!refused);
  shoal::Array<int> still(10);  // the heap works on
  CHECK_EQ(still.size(), 10);
}

void structures() {
  section("structures");
  static_assert(shoal::Element<Particle> && shoal::Element<Color> && !shoal::Element<std::vector<int>>);
  static_assert(!shoal::Element<const int> && !shoal::Element<std::unique_ptr<int>>);
  shoal::Array<Particle> particles(10);
  particles.on(next_pe())[4] = Particle(me);
  const Particle several[] = {Particle(me + 1), Particle(me + 2)};
  particles.on(next_pe()).put(5, several);
  shoal::barrier();
  CHECK(particles[4] == Particle(previous_pe()) && particles[6] == Particle(previous_pe() + 2));
  CHECK(static_cast<Particle>(particles.on(next_pe())[4]) == Particle(me));
  CHECK(shoal::g(&particles[5], next_pe()) == Particle(me + 1));

  static Color colors[3];
  static Mood mood = Mood::calm;
  static bool flag = false;
  shoal::p(&colors[1], Color{1, 2, static_cast<unsigned char>(me)}, next_pe());
  shoal::p(&mood, Mood::merry, next_pe());
  shoal::p(&flag, true, next_pe());
  shoal::barrier();
  CHECK((colors[1] == Color{1, 2, static_cast<unsigned char>(previous_pe())}));
  CHECK(colors[0] == Color{} && colors[2] == Color{} && mood == Mood::merry && flag);
  CHECK(shoal::g(&mood, next_pe()) == Mood::merry);
}

void remote_memory_access() {
  section("puts and gets");
  static long block[8];
  long local[4] = {me, me + 1, me + 2, me + 3}, back[4] = {};
  shoal::put(block, local, next_pe());
  shoal::put_nbi(block + 4, std::span<const long>(local, 2), next_pe());
  shoal::quiet();
  shoal::fence();
  shoal::barrier();
  for (int i = 0; i < 6; ++i) CHECK_EQ(block[i], previous_pe() + i % 4);
  shoal::get(back, block, next_pe());
  CHECK_EQ(back[3], me + 3);
  shoal::get_nbi(std::span(back).first(2), block + 1, next_pe());
  shoal::quiet();
  CHECK(back[0] == me + 1 && back[1] == me + 2 && back[2] == me + 2);

  section("contexts");
  shoal::Context context(shoal::ContextOption::serialized | shoal::ContextOption::thread_private);
  CHECK(context.handle() != SHMEM_CTX_INVALID && context.handle() != SHMEM_CTX_DEFAULT);
  shoal::Context moved(std::move(context));
  CHECK(context.handle() == SHMEM_CTX_INVALID);  // NOLINT
  static int matrix[12];
  const int column[3] = {me, me * 2, me * 3};
  {
    shoal::BatchSession session(moved);
    moved.put_strided(matrix, 4, column, 1, 3, next_pe());
    moved.p(&matrix[1], 77, next_pe());
    moved.put(&matrix[2], std::span(column).first(1), next_pe());
  }
  moved.fence();
  moved.quiet();
  shoal::barrier();
  CHECK(matrix[0] == previous_pe() && matrix[4] == 2 * previous_pe() && matrix[8] == 3 * previous_pe() &&
        matrix[1] == 77);
  int row[3] = {};
  moved.get_strided(row, 1, matrix, 4, 3, next_pe());
  CHECK(row[0] == me && row[2] == 3 * me);
  CHECK_EQ(moved.g(&matrix[1], next_pe()), 77);
  shoal::barrier();

  section("batches");
  static char pieces[64];
  std::vector<shmemx_block_t> blocks;
  static const char text[] = "abcdefgh";
  for (size_t i = 0; i < 8; ++i) blocks.push_back({pieces + 7 * i, text + i, 1});
  shoal::ContextRef().put_batch(blocks, next_pe());
  shoal::barrier();
  for (size_t i = 0; i < 8; ++i) CHECK(pieces[7 * i] == text[i] && pieces[7 * i + 1] == 0);
}

void atomics() {
  section("atomics");
  static_assert(shoal::AtomicElement<long long> && shoal::AtomicElement<unsigned> && !shoal::AtomicElement<short>);
  shoal::Array<long long> counters(3);
  shoal::Array<unsigned> bits(1);
  shoal::Array<float> reals(1);
  shoal::Array<double> doubles(2);
  for (int i = 0; i < 100; ++i) {
    counters.on(0).atomic(0).add(2);
    counters.on(0).atomic(0).sub(1);
    (void)counters.on(0).atomic(1).fetch_add(-1);
    reals.on(0).atomic(0).add(0.5f);
    doubles.on(0).atomic(0).sub(0.25);
    (void)doubles.on(0).atomic(1).fetch_add(1.5);
  }
  bits.on(0).atomic(0).bit_or(1u << me);
  shoal::barrier();
  CHECK_EQ(counters.on(0).atomic(0).load(), 100 * npes);
  CHECK_EQ(counters.on(0).atomic(1).load(), -100 * npes);
  CHECK_EQ(bits.on(0).atomic(0).load(), (1u << npes) - 1);
  CHECK_EQ(reals.on(0).atomic(0).load(), 50 * npes);
  CHECK_EQ(doubles.on(0).atomic(0).load(), -25 * npes);
  CHECK_EQ(doubles.on(0).atomic(1).load(), 150 * npes);
  shoal::barrier();

  const auto mine = counters.on(next_pe()).atomic(2);  // nobody else uses it
  mine.store(5);
  shoal::quiet();
  CHECK_EQ(mine.exchange(6), 5);
  CHECK_EQ(mine.compare_swap(5, 9), 6);
  long long expected = 5;
  CHECK(!mine.compare_exchange(expected, 9) && expected == 6);
  CHECK(mine.compare_exchange(expected, 12));
  CHECK_EQ(mine.fetch_and(10), 12);
  CHECK_EQ(mine.fetch_or(3), 8);
  CHECK_EQ(mine.fetch_xor(1), 11);
  CHECK_EQ(mine.fetch_sub(20), 10);
  long long before = 0, after = 0;
  mine.fetch_add_nbi(&before, 1);
  shoal::quiet();
  mine.load_nbi(&after);
  shoal::quiet();
  CHECK(before == -10 && after == -9);
  mine.bit_and(~0xfll);
  shoal::fence();
  mine.bit_xor(-1);
  shoal::barrier();
  CHECK_EQ(counters[2], 15);
  static int word = 3;
  (void)shoal::atomic(&word, next_pe()).exchange(4);
  shoal::barrier();
  CHECK_EQ(word, 4);
}

void signals_and_waits() {
  section("signals");
  shoal::Array<int> data(4);
  shoal::Signal ready, taken;
  for (int round = 1; round <= 20; ++round) {
    const std::vector<int> values = {round, me, round * me, -1};
    data.on(next_pe()).put_signal(0, values, ready, static_cast<uint64_t>(round));
    ready.wait_until(shoal::Cmp::ge, static_cast<uint64_t>(round));
    CHECK(data[0] == round && data[1] == previous_pe() && data[2] == round * previous_pe());
    taken.add(1, previous_pe());
    CHECK_EQ(taken.wait_until(shoal::Cmp::ge, static_cast<uint64_t>(round)), round);
  }
  shoal::barrier();
  CHECK_EQ(ready.load(), 20);
  ready.reset();
  shoal::barrier();
  CHECK_EQ(ready.load(), 0);
  shoal::barrier();
  shoal::Signal moved(std::move(ready));
  shoal::SignalRef(moved.word()).set(9, next_pe());
  CHECK_EQ(moved.wait_until(shoal::Cmp::eq, 9), 9);

  section("waits");
  shoal::Array<int> words(5);
  const std::vector<int> mask = {0, 0, 0, 0, 1};
  CHECK(!shoal::test_all(words, shoal::Cmp::ne, 0));
  for (size_t i = 0; i < 4; ++i) words.on(next_pe())[i] = 10 + static_cast<int>(i);
  shoal::wait_until(&words[3], shoal::Cmp::eq, 13);
  shoal::wait_until_all(words, shoal::Cmp::ge, 10, mask);
  CHECK_EQ(shoal::wait_until_any(words, shoal::Cmp::eq, 12), 2);
  const std::vector<size_t> some = shoal::wait_until_some(words.span(), shoal::Cmp::gt, 11);
  CHECK(some.size() == 2 && some[0] == 2 && some[1] == 3);
  CHECK(shoal::test(&words[0], shoal::Cmp::lt, 11) && !shoal::test(&words[0], shoal::Cmp::ne, 10));
  CHECK(shoal::test_all(words, shoal::Cmp::le, 13, mask) && !shoal::test_all(words, shoal::Cmp::ge, 10));
  CHECK(throws_size_error([&] { (void)shoal::test_all(words, shoal::Cmp::eq, 0, std::span(mask).first(2)); }));
}

void locks_and_semaphores() {
  section("locks");
  shoal::Lock lock;
  shoal::Array<long> counter(1);
  for (int i = 0; i < 50; ++i) {
    const std::lock_guard guard(lock);
    const long value = counter.on(0)[0];
    counter.on(0)[0] = value + 1;
  }
  shoal::barrier();
  CHECK_EQ(counter.on(0)[0], 50 * npes);
  shoal::barrier();
  static long static_lock;
  shoal::LockRef reference(&static_lock);
  std::unique_lock guard(reference, std::defer_lock);
  while (!guard.try_lock()) continue;
  counter.on(0)[0] = counter.on(0)[0] + 1;
  guard.unlock();
  shoal::barrier();
  CHECK_EQ(counter.on(0)[0], 51 * npes);

  section("semaphores");
  shoal::Semaphore places(2);
  shoal::Array<int> inside(1);
  for (int i = 0; i < 20; ++i) {
    places.on(0).acquire();
    CHECK(inside.on(0).atomic(0).fetch_add(1) < 2);
    inside.on(0).atomic(0).sub(1);
    places.on(0).release();
  }
  shoal::barrier();
  CHECK_EQ(places.on(0).value(), 2);
  shoal::barrier();
  CHECK(places.on(me).try_acquire());  // one's own instance
  places.on(me).set(5);
  shoal::quiet();
  CHECK_EQ(places.on(me).value(), 5);
  shoal::barrier();
}

void teams() {
  section("teams");
  const shoal::TeamRef world = shoal::TeamRef::world();
  CHECK_EQ(world.n_pes(), npes);
  CHECK(!shoal::TeamRef() && shoal::TeamRef().n_pes() == -1);
  {
    const shoal::Team reversed = world.split_strided(npes - 1, -1, npes);
    CHECK(reversed);
    CHECK_EQ(reversed.my_pe(), npes - 1 - me);
    CHECK_EQ(reversed.translate(0).value(), npes - 1);
    const shoal::Context context(reversed.handle());
    shoal::Array<int> slots(static_cast<size_t>(npes));
    for (int rank = 0; rank < npes; ++rank) slots.on(rank, context)[static_cast<size_t>(me)] = rank;
    context.quiet();
    reversed.sync();
    for (size_t pe = 0; pe < slots.size(); ++pe) CHECK_EQ(slots[pe], reversed.my_pe());
    CHECK(slots.on(npes - 1 - me, context).mapped().data() == slots.data());
  }
  shoal::Team half = world.split_strided(0, 2, (npes + 1) / 2, 2);
  CHECK(static_cast<bool>(half) == (me % 2 == 0));
  if (half) {
    CHECK_EQ(half.all_reduce(shoal::op::max, me), (npes - 1) / 2 * 2);
    CHECK(!half.translate(half.n_pes()).has_value());
    if (npes > 1) CHECK(!world.translate(1, half).has_value());
    shoal::Team single = half.split_strided(0, 0, 1);
    CHECK(static_cast<bool>(single) == (me == 0));
    shoal::Team taken = std::move(single);
    CHECK(!single);  // NOLINT
    half.barrier();
  }
  half.release();
  CHECK(!half);
  {
    const shoal::Grid grid = world.split_2d(2);
    CHECK_EQ(grid.row.my_pe(), npes == 1 ? 0 : me % 2);
    CHECK_EQ(grid.column.n_pes(), npes == 1 ? 1 : (npes + 1 - me % 2) / 2);
    CHECK_EQ(grid.column.all_reduce(shoal::op::sum, 1L), grid.column.n_pes());
  }
  bool refused = false;
  try {
    (void)world.split_strided(0, 1, npes + 1);
  } catch (const shoal::Error& error) {
    refused = error.code() != 0 && strstr(error.what(), "shmem_team_split_strided") != nullptr;
  }
  CHECK(refused);
  shoal::sync_with(next_pe() == previous_pe() ? next_pe() : me);  // with oneself, or with the only other one
}

void collectives() {
  section("collectives");
  const shoal::TeamRef world = shoal::TeamRef::world();
  const size_t n = static_cast<size_t>(npes);
  shoal::Array<int> source(2 * n), dest(2 * n), big(2 * n * n);
  std::iota(source.begin(), source.end(), 100 * me);
  shoal::sync();
  world.broadcast(dest, source, npes - 1);
  CHECK(dest[0] == 100 * (npes - 1) && dest[2 * n - 1] == 100 * (npes - 1) + 2 * npes - 1);
  world.all_gather(big, source);
  for (size_t i = 0; i < big.size(); ++i) CHECK_EQ(big[i], static_cast<int>(100 * (i / (2 * n)) + i % (2 * n)));
  world.sync();
  world.all_to_all(dest, source);
  for (size_t i = 0; i < dest.size(); ++i) CHECK_EQ(dest[i], static_cast<int>(100 * (i / 2) + i % 2) + 2 * me);
  world.sync();
  const size_t mine = static_cast<size_t>(me % 2);
  world.all_gather_v(big, source.span().first(mine));
  for (size_t i = 0; i < n / 2; ++i) CHECK_EQ(big[i], 100 * (2 * static_cast<int>(i) + 1));
  world.sync();
  world.all_reduce(shoal::op::sum, dest, source);
  CHECK_EQ(dest[1], 100 * npes * (npes - 1) / 2 + npes);
  world.sync();
  world.inclusive_scan(dest, source);
  CHECK_EQ(dest[0], 100 * me * (me + 1) / 2);
  world.sync();
  world.exclusive_scan(dest, source);
  CHECK_EQ(dest[0], 100 * me * (me - 1) / 2);
  world.sync();
  world.all_reduce(shoal::op::bit_xor, source);  // in place
  world.sync();
  world.broadcast(source, 0);
  CHECK(throws_size_error([&] { world.broadcast(dest.span().first(1), source, 0); }));
  CHECK(throws_size_error([&] { world.all_gather(dest.span().first(1), source); }));

  section("collectives of single values");
  for (int i = 0; i < 50; ++i) {
    CHECK_EQ(world.all_reduce(shoal::op::sum, me + i), npes * (npes - 1) / 2 + i * npes);
    CHECK_EQ(world.all_reduce(shoal::op::min, 0.5 + me), 0.5);
    CHECK_EQ(world.all_reduce(shoal::op::bit_or, 1u << me), (1u << npes) - 1);
    CHECK_EQ(world.broadcast(me * i, npes - 1), (npes - 1) * i);
    CHECK_EQ(world.inclusive_scan(1L), me + 1);
    CHECK_EQ(world.exclusive_scan(2.0), 2 * me);
  }
  CHECK(world.broadcast(Particle(me), 0) == Particle(0));
  CHECK(world.all_reduce(shoal::op::product, std::complex<double>(me == 0 ? 0 : 1, me == 0 ? 2 : 0)) ==
        std::complex<double>(0, 2));
  const shmemx_half_t half = world.all_reduce(shoal::op::sum, shmemx_half_from_float(0.5f));
  CHECK_EQ(shmemx_half_to_float(half), 0.5f * static_cast<float>(npes));

  static_assert(shoal::ReducibleBy<int, shoal::op::BitAnd> && !shoal::ReducibleBy<float, shoal::op::BitAnd>);
  static_assert(shoal::ReducibleBy<std::complex<float>, shoal::op::Sum>);
  static_assert(!shoal::ReducibleBy<std::complex<float>, shoal::op::Max> && !shoal::ReducibleBy<bool, shoal::op::Sum>);
  static_assert(!shoal::ReducibleBy<Particle, shoal::op::Sum> && !shoal::Scannable<Particle>);
}

void further_heaps() {
  section("further heaps");
  shoal::Heap heap(4 << 20);
  CHECK(heap.size() >= 4u << 20);
  const size_t before = heap.used();
  {
    shoal::Array<int> a(heap, 1000);
    CHECK(heap.used() >= before + 4000);
    CHECK(std::all_of(a.begin(), a.end(), [](int x) { return x == 0; }));
    shoal::barrier();
    a.on(next_pe())[999] = me;
    shoal::barrier();
    CHECK_EQ(a[999], previous_pe());
  }
  CHECK_EQ(heap.used(), before);
  bool refused = false;
  try {
    shoal::Array<char> too_large(heap, 64 << 20);
  } catch (const shoal::HeapExhausted&) {
    refused = true;
  }
  CHECK(refused);
  if (npes < 2) return;
  const shoal::Team pair = shoal::TeamRef::world().split_strided(0, 1, 2);
  if (!pair) return;
  shoal::Heap of_pair(1 << 20, pair);
  const shoal::Context context(pair.handle());
  shoal::Array<long> words(of_pair, 2);
  words.on(1 - pair.my_pe(), context)[static_cast<size_t>(pair.my_pe())] = 5 + pair.my_pe();
  context.quiet();
  pair.sync();
  CHECK_EQ(words[static_cast<size_t>(1 - pair.my_pe())], 6 - pair.my_pe());
  pair.sync();
}

}  // namespace

int main() {
  test_set_deadline("native_test");
  const int status = shoal::run([](shoal::Job& job) {
    me = job.my_pe();
    npes = job.n_pes();
    CHECK(npes <= 16);
    jobs_nest(job);
    arrays();
    structures();
    remote_memory_access();
    atomics();
    signals_and_waits();
    locks_and_semaphores();
    teams();
    collectives();
    further_heaps();
    section("end");
  });
  CHECK_EQ(status, 0);
  int initialized = 1;
  shmem_query_initialized(&initialized);
  CHECK_EQ(initialized, 0);
  return status;
}
