// SPDX-License-Identifier: Apache-2.0
/// \file
/// Core: what one core of a kernel does by itself. Reads, writes, atomics and waits on any PE's symmetric memory.
///
/// A kernel makes its own: `Core core(view);`. PEs are numbered as in the world (Core::pe translates from a team). Addresses of
/// remote objects are this PE's own, as in OpenSHMEM; `n` counts elements. Blocking puts return when the source may be reused, gets
/// when the data are there; the _nbi forms return at once, and neither source nor destination may be touched before quiet(). What
/// is wrong with an argument ends the job with a line that names kernel, core, PE and argument. No function throws.
#pragma once

#include "prim.hpp"

namespace shoal::device {

class Core {
 public:
  SHOAL_DEVICE_FN explicit Core(const DeviceView& view) noexcept : h_(prim::attach(view)) {}
  SHOAL_DEVICE_FN explicit Core(prim::Handle handle) noexcept : h_(handle) {}

  SHOAL_DEVICE_FN int id() const noexcept { return prim::index(h_); }
  /// Cores of this launch.
  SHOAL_DEVICE_FN int count() const noexcept { return prim::cores(h_); }
  SHOAL_DEVICE_FN int my_pe() const noexcept { return prim::me(h_); }
  SHOAL_DEVICE_FN int n_pes() const noexcept { return prim::n_pes(h_); }
  SHOAL_DEVICE_FN prim::Handle handle() const noexcept { return h_; }

  /// Runs body(i) for 0 <= i < n, on all lanes of the core together.
  template <class F>
  SHOAL_DEVICE_FN void for_each(std::size_t n, F&& body) const noexcept(noexcept(body(n))) {
    for (auto i = static_cast<std::size_t>(prim::lane(h_)); i < n; i += static_cast<std::size_t>(prim::lanes(h_))) body(i);
    prim::converge(h_);
  }

  /// `n` elements of this core's scratch memory, 64-byte aligned; given back at the kernel's end or by release_scratch.
  template <class T>
  SHOAL_DEVICE_FN T* scratch(std::size_t n) const noexcept {
    std::size_t& used = prim::scratch_used(h_);
    const std::size_t begin = (used + 63) / 64 * 64;
    if (begin > prim::scratch_bytes(h_) || n > (prim::scratch_bytes(h_) - begin) / sizeof(T))
      prim::fail(h_, "scratch", "n", Fault::scratch, nullptr, detail::bytes_of(n, sizeof(T)));
    prim::converge(h_);  // every lane has read it
    used = begin + n * sizeof(T);
    prim::converge(h_);
    return reinterpret_cast<T*>(prim::scratch(h_) + begin);
  }
  /// Bytes of scratch that are left, and a mark to go back to.
  SHOAL_DEVICE_FN std::size_t scratch_left() const noexcept {
    const std::size_t begin = (prim::scratch_used(h_) + 63) / 64 * 64;
    return begin < prim::scratch_bytes(h_) ? prim::scratch_bytes(h_) - begin : 0;
  }
  SHOAL_DEVICE_FN std::size_t scratch_mark() const noexcept { return prim::scratch_used(h_); }
  SHOAL_DEVICE_FN void release_scratch(std::size_t mark = 0) const noexcept { prim::scratch_used(h_) = mark; }

  /* ---- one element ---- */

  template <class T>
  SHOAL_DEVICE_FN void p(T* dest, T value, int pe) const noexcept {
    char* to = prim::reach(h_, dest, sizeof(T), pe, "p", "dest");
    if (to != nullptr && !prim::delays(h_)) {
      if (prim::lane(h_) == 0) prim::store(h_, reinterpret_cast<T*>(to), value);
      return;
    }
    transfer("p", dest, &value, sizeof(T), pe, true, to, to != nullptr ? Engine::mte : Engine::rdma, true, nullptr);
  }
  template <class T>
  SHOAL_DEVICE_FN T g(const T* source, int pe) const noexcept {
    const char* from = prim::reach(h_, source, sizeof(T), pe, "g", "source");
    if (from != nullptr) return prim::share(h_, prim::load(h_, reinterpret_cast<const T*>(from)));
    T value;
    far("g", &value, source, sizeof(T), pe, false);
    return value;
  }

  /* ---- many elements ---- */

  template <class T>
  SHOAL_DEVICE_FN void put(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    move_bytes<Direction::put>("put", dest, source, detail::bytes_of(n, sizeof(T)), pe, engine, true, nullptr);
  }
  template <class T>
  SHOAL_DEVICE_FN void get(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    move_bytes<Direction::get>("get", dest, source, detail::bytes_of(n, sizeof(T)), pe, engine, true, nullptr);
  }
  template <class T>
  SHOAL_DEVICE_FN void put_nbi(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic,
                               TransferEvent* event = nullptr) const noexcept {
    move_bytes<Direction::put>("put_nbi", dest, source, detail::bytes_of(n, sizeof(T)), pe, engine, false, event);
  }
  template <class T>
  SHOAL_DEVICE_FN void get_nbi(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic,
                               TransferEvent* event = nullptr) const noexcept {
    move_bytes<Direction::get>("get_nbi", dest, source, detail::bytes_of(n, sizeof(T)), pe, engine, false, event);
  }

  /// `n` elements, `dst` elements apart at `pe` and `sst` apart here (at least 1). iget: the other way round.
  template <class T>
  SHOAL_DEVICE_FN void iput(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n, int pe) const noexcept {
    strided("iput", dest, source, dst, sst, sizeof(T), n, sizeof(T), pe, true);
  }
  template <class T>
  SHOAL_DEVICE_FN void iget(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n, int pe) const noexcept {
    strided("iget", dest, source, dst, sst, sizeof(T), n, sizeof(T), pe, false);
  }
  /// Rows: `rows` blocks of `width` elements, `dst` and `sst` elements apart from start to start.
  template <class T>
  SHOAL_DEVICE_FN void put_2d(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t width, std::size_t rows,
                              int pe) const noexcept {
    strided("put_2d", dest, source, dst, sst, detail::bytes_of(width, sizeof(T)), rows, sizeof(T), pe, true);
  }
  template <class T>
  SHOAL_DEVICE_FN void get_2d(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t width, std::size_t rows,
                              int pe) const noexcept {
    strided("get_2d", dest, source, dst, sst, detail::bytes_of(width, sizeof(T)), rows, sizeof(T), pe, false);
  }

  template <class T>
  SHOAL_DEVICE_FN void put_2d_nbi(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t width, std::size_t rows,
                                  int pe, Engine engine = Engine::automatic) const noexcept {
    strided("put_2d_nbi", dest, source, dst, sst, detail::bytes_of(width, sizeof(T)), rows, sizeof(T), pe, true, engine, false);
  }

  /// Many blocks, in any order; complete as put and get are. To another node they go as few messages, waited for once.
  SHOAL_DEVICE_FN void put_batch(const Block* blocks, std::size_t n, int pe) const noexcept {
    move_batch<Direction::put>("put_batch", blocks, n, pe);
  }
  SHOAL_DEVICE_FN void get_batch(const Block* blocks, std::size_t n, int pe) const noexcept {
    move_batch<Direction::get>("get_batch", blocks, n, pe);
  }

  /* ---- signals ---- */

  /// The data, then the update of `signal`: who sees the signal sees the data.
  template <class T>
  SHOAL_DEVICE_FN void put_signal(T* dest, const T* source, std::size_t n, std::uint64_t* signal_word, std::uint64_t value, SignalOp op,
                                  int pe) const noexcept {
    put_signal_bytes("put_signal", dest, source, detail::bytes_of(n, sizeof(T)), signal_word, value, op, pe, Engine::automatic, true);
  }
  template <class T>
  SHOAL_DEVICE_FN void put_signal_nbi(T* dest, const T* source, std::size_t n, std::uint64_t* signal_word, std::uint64_t value, SignalOp op,
                                      int pe, Engine engine = Engine::automatic, TransferEvent* event = nullptr) const noexcept {
    put_signal_bytes("put_signal_nbi", dest, source, detail::bytes_of(n, sizeof(T)), signal_word, value, op, pe, engine, false, event);
  }
  /// Orders nothing before it: fence() first, or use put_signal.
  SHOAL_DEVICE_FN void signal(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe) const noexcept {
    modify("signal", op == SignalOp::set ? Update::swap : Update::add, word, value, std::uint64_t{0}, pe);
  }

  /* ---- atomics: 32- and 64-bit integers, float, double; each gives back the value before ---- */

  template <class T>
  SHOAL_DEVICE_FN T fetch_add(T* word, T value, int pe) const noexcept { return modify("fetch_add", Update::add, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN void add(T* word, T value, int pe) const noexcept { modify("add", Update::add, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN T fetch_and(T* word, T value, int pe) const noexcept { return modify("fetch_and", Update::bit_and, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN T fetch_or(T* word, T value, int pe) const noexcept { return modify("fetch_or", Update::bit_or, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN T fetch_xor(T* word, T value, int pe) const noexcept { return modify("fetch_xor", Update::bit_xor, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN T swap(T* word, T value, int pe) const noexcept { return modify("swap", Update::swap, word, value, T{}, pe); }
  template <class T>
  SHOAL_DEVICE_FN T compare_swap(T* word, T expected, T value, int pe) const noexcept {
    return modify("compare_swap", Update::compare_swap, word, value, expected, pe);
  }
  template <class T>
  SHOAL_DEVICE_FN T fetch(const T* word, int pe) const noexcept {
    return modify("fetch", Update::fetch, const_cast<T*>(word), T{}, T{}, pe);
  }
  template <class T>
  SHOAL_DEVICE_FN void set(T* word, T value, int pe) const noexcept { modify("set", Update::swap, word, value, T{}, pe); }

  /* ---- waiting for words of one's own ---- */

  template <class T>
  SHOAL_DEVICE_FN T wait_until(const T* word, Cmp cmp, T value) const noexcept {
    check_word("wait_until", word);
    T seen = prim::load(h_, word);
    if (!compare(seen, cmp, value))
      prim::wait(h_, {"wait_until", word, static_cast<std::int64_t>(value), nullptr, true}, [&] { return compare(seen = prim::load(h_, word), cmp, value); });
    return prim::share(h_, seen);  // each lane may have seen another one
  }
  template <class T>
  SHOAL_DEVICE_FN bool test(const T* word, Cmp cmp, T value) const noexcept {
    check_word("test", word);
    return compare(prim::share(h_, prim::load(h_, word)), cmp, value);
  }

  /* ---- order ---- */

  /// Puts, atomics and signals of this core before it reach each PE before those after it.
  SHOAL_DEVICE_FN void fence() const noexcept {
    prim::drain(h_);
    prim::full_fence(h_);
  }
  /// All operations of this core are complete: puts visible at their targets, gets here.
  SHOAL_DEVICE_FN void quiet() const noexcept {
    prim::drain(h_);
    prim::full_fence(h_);
    prim::ring_all(h_);
  }
  /// The transfers that `event` was given to are complete.
  SHOAL_DEVICE_FN void wait(TransferEvent& event) const noexcept {
    if (!event.done()) prim::wait(h_, {"wait(event)", &event, 0}, [&] { return event.done(); });
  }

  /* ---- meeting other PEs ---- */

  /// This core and the cores of the same number on the team's other PEs meet. Completes nothing.
  SHOAL_DEVICE_FN void sync(const TeamView& team) const noexcept { sync_as(team, id(), "sync"); }
  /// quiet, then sync.
  SHOAL_DEVICE_FN void barrier(const TeamView& team) const noexcept {
    quiet();
    sync_as(team, id(), "barrier");
  }
  /// This PE and `pe` meet, one core of each; orders like a barrier of two. Calls of one pair match in order.
  SHOAL_DEVICE_FN void sync_pe(int pe) const noexcept;
  /// The world PE of a team's member.
  SHOAL_DEVICE_FN int pe(const TeamView& team, int rank) const noexcept {
    if (rank < 0 || rank >= team.size) prim::fail(h_, "pe", "rank", Fault::pe, nullptr, static_cast<std::size_t>(team.size), rank);
    return team.world[rank];
  }

  /* ---- what the other headers build on: bytes, with the name of the call ---- */

  template <Direction kDirection>
  SHOAL_DEVICE_FN void move_bytes(const char* call, void* dest, const void* source, std::size_t bytes, int pe, Engine engine,
                                  bool blocking, TransferEvent* event) const noexcept {
    constexpr bool kPut = kDirection == Direction::put;
    char* const remote = prim::reach(h_, kPut ? dest : source, bytes, pe, call, kPut ? "dest" : "source");
    prim::check_local(h_, kPut ? source : dest, bytes, call, kPut ? "source" : "dest");
    if (bytes == 0) return;
    engine = choose(call, engine, remote, bytes, blocking);
    const bool late = prim::delays(h_) && (kPut || !blocking);  // a blocking get has nothing to be late with
    if (engine == Engine::mte && !late) return prim::copy(h_, kPut ? remote : dest, kPut ? source : remote, bytes);
    transfer(call, dest, source, bytes, pe, kPut, remote, engine, blocking, event);
    if (!kPut && blocking) prim::drain(h_);
  }
  template <Direction kDirection>
  SHOAL_DEVICE_FN void move_batch(const char* call, const Block* blocks, std::size_t n, int pe) const noexcept {
    constexpr bool kPut = kDirection == Direction::put;
    bool far = false;
    for (std::size_t i = 0; i < n; ++i) {
      const Block& b = blocks[i];
      if (prim::reach(h_, kPut ? b.dest : b.source, b.bytes, pe, call, kPut ? "dest" : "source") != nullptr) {
        move_bytes<kDirection>(call, b.dest, b.source, b.bytes, pe, Engine::automatic, true, nullptr);
        continue;
      }
      prim::check_local(h_, kPut ? b.source : b.dest, b.bytes, call, kPut ? "source" : "dest");
      far = true;  // as all are, but those of no bytes
    }
    if (!far) return;
    Transfer t = describe(call, nullptr, nullptr, 0, pe, kPut, nullptr, Engine::rdma);
    t.batch = blocks;
    t.blocks = n;
    t.keeps_source = kPut;
    prim::submit(h_, t);
    if (!kPut) prim::drain(h_);
  }
  SHOAL_DEVICE_FN void put_signal_bytes(const char* call, void* dest, const void* source, std::size_t bytes, std::uint64_t* word,
                                        std::uint64_t value, SignalOp op, int pe, Engine engine, bool blocking,
                                        TransferEvent* event = nullptr) const noexcept {
    char* to = prim::reach(h_, dest, bytes, pe, call, "dest");
    prim::check_local(h_, source, bytes, call, "source");
    check_alignment(call, word, sizeof *word);
    char* there = prim::reach(h_, word, sizeof *word, pe, call, "signal");
    engine = choose(call, engine, bytes == 0 ? there : to, bytes, blocking);
    if (engine == Engine::mte && there != nullptr && !prim::delays(h_)) {
      if (bytes != 0) prim::copy(h_, to, source, bytes);
      modify(call, op == SignalOp::set ? Update::swap : Update::add, word, value, std::uint64_t{0}, pe);
      return;
    }
    Transfer t = describe(call, dest, source, bytes, pe, true, to, engine);
    t.keeps_source = blocking;
    t.signal = word;
    t.signal_value = value;
    t.signal_op = op;
    t.event = event;
    if (event != nullptr) event->add();
    prim::submit(h_, t);
  }
  /// sync with the words of core `as`, while it and the next, `count` in all, wait for this.
  SHOAL_DEVICE_FN void sync_as(const TeamView& team, int as, const char* call, int count = 1) const noexcept;

 private:
  template <class T>
  SHOAL_DEVICE_FN static bool compare(T left, Cmp cmp, T right) noexcept {
    switch (cmp) {
      case Cmp::eq: return left == right;
      case Cmp::ne: return left != right;
      case Cmp::gt: return left > right;
      case Cmp::ge: return left >= right;
      case Cmp::lt: return left < right;
      default: return left <= right;
    }
  }
  SHOAL_DEVICE_FN void check_alignment(const char* call, const void* word, std::size_t size) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(word) % size != 0) prim::fail(h_, call, "word", Fault::misaligned, word, size);
  }
  template <class T>
  SHOAL_DEVICE_FN void check_word(const char* call, const T* word) const noexcept {
    check_alignment(call, word, sizeof(T));
    prim::reach(h_, word, sizeof(T), my_pe(), call, "word");
  }
  template <class T>
  SHOAL_DEVICE_FN T modify(const char* call, Update what, T* word, T operand, T expected, int pe) const noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics work on 32- and 64-bit numbers");
    check_alignment(call, word, sizeof(T));
    char* there = prim::reach(h_, word, sizeof(T), pe, call, "word");
    T old{};
    if (prim::lane(h_) == 0) {
      if (there == nullptr)
        old = prim::update_far(h_, what, word, operand, expected, pe, call);
      else if (what == Update::compare_swap)
        old = prim::compare_swap(h_, reinterpret_cast<T*>(there), expected, operand);
      else
        old = prim::update(h_, what, reinterpret_cast<T*>(there), operand);
      if (there != nullptr && what != Update::fetch) prim::ring(h_, pe);
    }
    return prim::share(h_, old);
  }

  /// Updates a sync word of `pe`, given by its offset; gives back the value before an add.
  SHOAL_DEVICE_FN std::uint64_t raise(const char* call, Update what, std::size_t offset, std::uint64_t value, int pe) const noexcept;
  /// Waits until this PE's own sync word has reached `value`.
  SHOAL_DEVICE_FN void await(const char* call, std::size_t offset, std::uint64_t value, const TeamView* team, std::uint64_t held = 0) const noexcept;

  SHOAL_DEVICE_FN Engine choose(const char* call, Engine asked, const char* mapped, std::size_t bytes, bool blocking) const noexcept {
    if (mapped == nullptr) {
      if (asked == Engine::mte || asked == Engine::xdma) prim::fail(h_, call, "engine", Fault::unreachable);
      return Engine::rdma;
    }
    if (asked != Engine::automatic) return asked;
    return !blocking && bytes >= prim::xdma_from(h_) ? Engine::xdma : Engine::mte;
  }
  SHOAL_DEVICE_FN static Transfer describe(const char* call, void* to, const void* from, std::size_t bytes, int pe, bool is_put, char* mapped,
                                           Engine engine) noexcept {
    Transfer t;
    t.to = to;
    t.from = from;
    t.bytes = bytes;
    t.pe = pe;
    t.is_put = is_put;
    t.mapped = mapped;
    t.engine = engine;
    t.call = call;
    return t;
  }
  SHOAL_DEVICE_FN void transfer(const char* call, void* to, const void* from, std::size_t bytes, int pe, bool is_put, char* mapped,
                                Engine engine, bool blocking, TransferEvent* event) const noexcept {
    Transfer t = describe(call, to, from, bytes, pe, is_put, mapped, engine);
    t.keeps_source = blocking && is_put;
    t.event = event;
    if (event != nullptr) event->add();
    prim::submit(h_, t);
  }
  SHOAL_DEVICE_FN void far(const char* call, void* to, const void* from, std::size_t bytes, int pe, bool is_put) const noexcept {
    prim::move(h_, describe(call, to, from, bytes, pe, is_put, nullptr, Engine::rdma));
  }
  SHOAL_DEVICE_FN void strided(const char* call, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bytes,
                               std::size_t blocks, std::size_t width, int pe, bool is_put, Engine engine = Engine::automatic,
                               bool blocking = true) const noexcept;

  prim::Handle h_;
};

SHOAL_DEVICE_FN void Core::strided(const char* call, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                   std::size_t bytes, std::size_t blocks, std::size_t width, int pe, bool is_put, Engine engine,
                                   bool blocking) const noexcept {
  if (dst < 1 || sst < 1) prim::fail(h_, call, dst < 1 ? "dst" : "sst", Fault::text, nullptr, 0, pe, "a stride must be at least 1");
  const auto span = [&](std::ptrdiff_t stride) { return detail::span_of(blocks, stride, width, bytes); };
  char* mapped = is_put ? prim::reach(h_, dest, span(dst), pe, call, "dest") : prim::reach(h_, source, span(sst), pe, call, "source");
  if (is_put) prim::check_local(h_, source, span(sst), call, "source");
  else prim::check_local(h_, dest, span(dst), call, "dest");
  if (blocks == 0 || bytes == 0) return;
  const auto to_stride = dst * static_cast<std::ptrdiff_t>(width), from_stride = sst * static_cast<std::ptrdiff_t>(width);
  engine = choose(call, engine, mapped, bytes * blocks, blocking);
  if (engine == Engine::mte && !(prim::delays(h_) && is_put)) {
    if (is_put) return prim::copy_strided(h_, mapped, static_cast<const char*>(source), to_stride, from_stride, bytes, blocks);
    return prim::copy_strided(h_, static_cast<char*>(dest), mapped, to_stride, from_stride, bytes, blocks);
  }
  Transfer t = describe(call, dest, source, bytes, pe, is_put, mapped, engine);
  t.blocks = blocks;
  t.to_stride = to_stride;
  t.from_stride = from_stride;
  t.keeps_source = is_put && blocking;
  prim::submit(h_, t);
  if (!is_put && blocking) prim::drain(h_);
}

SHOAL_DEVICE_FN std::uint64_t Core::raise(const char* call, Update what, std::size_t offset, std::uint64_t value, int pe) const noexcept {
  char* there = prim::sync_words(h_, pe);
  std::uint64_t old = 0;
  prim::converge(h_);
  if (prim::lane(h_) == 0) {
    if (there != nullptr) {
      old = prim::update(h_, what, reinterpret_cast<std::uint64_t*>(there + offset), value);
      prim::ring(h_, pe);
    } else {
      auto* symmetric = reinterpret_cast<std::uint64_t*>(prim::sync_words(h_, my_pe()) + offset);
      if (what == Update::swap)
        prim::raise_far(h_, symmetric, value, pe);  // nobody asks what was there before
      else
        old = prim::update_far(h_, what, symmetric, value, std::uint64_t{0}, pe, call);
    }
  }
  return prim::share(h_, old);
}

SHOAL_DEVICE_FN void Core::await(const char* call, std::size_t offset, std::uint64_t value, const TeamView* team,
                                 std::uint64_t held) const noexcept {
  const auto* word = reinterpret_cast<const std::uint64_t*>(prim::sync_words(h_, my_pe()) + offset);
  const auto reached = [&] { return static_cast<std::int64_t>(prim::load(h_, word) - value) >= 0; };
  if (!reached()) prim::wait(h_, {call, word, static_cast<std::int64_t>(value), team, false, 0, held}, reached);
  prim::converge(h_);
}

SHOAL_DEVICE_FN void Core::sync_as(const TeamView& team, int as, const char* call, int count) const noexcept {
  if (team.size <= 1) return prim::full_fence(h_);
  const std::size_t at = SyncLayout::core(n_pes(), team.slot, as);
  char* const own = prim::sync_words(h_, my_pe()) + at;
  const std::uint64_t epoch = prim::enter(h_, own, call);
  for (int round = 0, distance = 1; distance < team.size; ++round, distance *= 2) {
    const std::size_t flag = at + SyncLayout::round(round);
    raise(call, Update::swap, flag, epoch, team.world[(team.rank + distance) % team.size]);
    await(call, flag, epoch, &team, ~std::uint64_t{0} >> (64 - count) << as);
  }
  prim::leave(h_, own);
}

SHOAL_DEVICE_FN void Core::sync_pe(int pe) const noexcept {
  if (pe < 0 || pe >= n_pes()) prim::fail(h_, "sync_pe", "pe", Fault::pe, nullptr, 0, pe);
  quiet();
  if (pe == my_pe()) return;
  // Each side counts its meetings in its word at the other, so the count that comes back is the number of this one.
  const auto word_of = [](int number) { return SyncLayout::kPairs + 8 * static_cast<std::size_t>(number); };
  const std::uint64_t meeting = raise("sync_pe", Update::add, word_of(my_pe()), 1, pe) + 1;
  await("sync_pe", word_of(pe), meeting, nullptr);
}

}  // namespace shoal::device
