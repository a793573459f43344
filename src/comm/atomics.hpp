// SPDX-License-Identifier: Apache-2.0
// Remote atomics. Each is executed by a processor of the target's node on the target's memory, by the same instructions
// whoever asks for it: the caller's own where the memory is mapped, else that of the process which serves the transport
// there. Updates ring the target's bell: they are full fences here.
#pragma once
#include <atomic>
#include <bit>
#include <cstring>

#include "comm/context.hpp"

namespace shoal {

/// How an update changes a word. Each gives back the old value. kFar is what the transport calls it.
struct FetchAdd {
  static constexpr AtomicOp kFar = AtomicOp::add;
  template <class T>
  static T apply(std::atomic_ref<T> w, T v) noexcept {
    return w.fetch_add(v, std::memory_order_seq_cst);
  }
};
struct FetchAnd {
  static constexpr AtomicOp kFar = AtomicOp::bit_and;
  template <class T>
  static T apply(std::atomic_ref<T> w, T v) noexcept {
    return w.fetch_and(v, std::memory_order_seq_cst);
  }
};
struct FetchOr {
  static constexpr AtomicOp kFar = AtomicOp::bit_or;
  template <class T>
  static T apply(std::atomic_ref<T> w, T v) noexcept {
    return w.fetch_or(v, std::memory_order_seq_cst);
  }
};
struct FetchXor {
  static constexpr AtomicOp kFar = AtomicOp::bit_xor;
  template <class T>
  static T apply(std::atomic_ref<T> w, T v) noexcept {
    return w.fetch_xor(v, std::memory_order_seq_cst);
  }
};
struct Swap {
  static constexpr AtomicOp kFar = AtomicOp::swap;
  template <class T>
  static T apply(std::atomic_ref<T> w, T v) noexcept {
    return w.exchange(v, std::memory_order_seq_cst);
  }
};

inline void after_update(const Context& context, int pe) noexcept {
#if !defined(__x86_64__)
  full_fence();  // elsewhere a read-modify-write orders nothing after it
#endif
  context.ring(pe);
}

template <class Op, class T>
[[gnu::always_inline]] inline T update_word(const Context& context, T* word, T value, int pe) noexcept {
  const T old = Op::apply(std::atomic_ref<T>(*word), value);
  after_update(context, pe);
  return old;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The call that does at another node what `op` does here.
template <class T>
AtomicCall atomic_call(AtomicOp op, T value, T condition = T{}) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if (std::is_floating_point_v<T> && op == AtomicOp::add) op = AtomicOp::add_float;
  return {op, sizeof(T), std::bit_cast<Bits<T>>(value), std::bit_cast<Bits<T>>(condition)};
}
template <class T>
T value_of(std::uint64_t bits) noexcept {
  return std::bit_cast<T>(static_cast<Bits<T>>(bits));
}

// Where operations are delayed; `word` is null where `address` is far.
/// What must come before an atomic operation that has a result does.
template <class T>
void settle(const Context& context, const T* address, T* word, int pe) noexcept {
  if (Chaos* const chaos = context.domain().chaos; chaos != nullptr)
    chaos->before_atomic(&context, context.place_of(address, word, pe), sizeof(T));
}
/// Leaves one without blocking to chaos. @return false: there is none
template <class T>
bool leave(const Context& context, const AtomicCall& atomic, T* old, const T* address, T* word, int pe) noexcept {
  Chaos* const chaos = context.domain().chaos;
  if (chaos != nullptr) chaos->update(&context, context.place_of(address, word, pe), atomic, old);
  return chaos != nullptr;
}

// Each operation in the parts that put has: x_slow is what the fast path does not serve, x_watched the same where
// somebody watches (or delays), and x_there does it.
template <class Op, class T>
[[gnu::always_inline]] inline T update_there(const Context& context, T* dest, T value, int pe,
                                             const char* call) noexcept {
  T* const word = context.word_outside(dest, pe, call);
  settle(context, dest, word, pe);
  if (word != nullptr) return update_word<Op>(context, word, value, pe);
  return value_of<T>(context.fetch_far(dest, atomic_call(Op::kFar, value), pe, call));
}
template <class Op, class T>
[[gnu::noinline]] T update_watched(const Context& context, T* dest, T value, int pe, const char* call) noexcept {
  if (T* const word = context.word_by_shortcut(dest, pe, call)) return update_word<Op>(context, word, value, pe);
  const Observed observed(context.domain().observer,
                          [&] { return context.call_of(call, CallKind::atomic, pe, dest, nullptr, sizeof(T)); });
  return update_there<Op>(context, dest, value, pe, call);
}
template <class Op, class T>
[[gnu::cold, gnu::noinline]] T update_slow(const Context& context, T* dest, T value, int pe,
                                           const char* call) noexcept {
  if (!context.plain()) return update_watched<Op>(context, dest, value, pe, call);
  if (T* const word = context.word_outside(dest, pe, call)) return update_word<Op>(context, word, value, pe);
  return value_of<T>(context.fetch_far(dest, atomic_call(Op::kFar, value), pe, call));
}

template <class Op, class T>
[[gnu::always_inline]] inline void update_nbi_there(const Context& context, T* old, T* dest, T value, int pe,
                                                    const char* call) noexcept {
  T* const word = context.word_outside(dest, pe, call);
  if (leave(context, atomic_call(Op::kFar, value), old, dest, word, pe)) return;
  if (word != nullptr) {
    const T before = update_word<Op>(context, word, value, pe);
    if (old != nullptr) *old = before;
  } else if (old != nullptr) {
    context.fetch_far_nbi(dest, atomic_call(Op::kFar, value), old, pe);
  } else {
    context.update_far(dest, atomic_call(Op::kFar, value), pe);
  }
}
template <class Op, class T>
[[gnu::noinline]] void update_nbi_watched(const Context& context, T* old, T* dest, T value, int pe,
                                          const char* call) noexcept {
  if (T* const word = context.word_by_shortcut(dest, pe, call, false, old)) {
    const T before = update_word<Op>(context, word, value, pe);
    if (old != nullptr) *old = before;
    return;
  }
  const Observed observed(context.domain().observer,
                          [&] { return context.call_of(call, CallKind::atomic, pe, dest, old, sizeof(T)); });
  update_nbi_there<Op>(context, old, dest, value, pe, call);
}
template <class Op, class T>
[[gnu::cold, gnu::noinline]] void update_nbi_slow(const Context& context, T* old, T* dest, T value, int pe,
                                                  const char* call) noexcept {
  if (!context.plain()) return update_nbi_watched<Op>(context, old, dest, value, pe, call);
  update_nbi_there<Op>(context, old, dest, value, pe, call);
}

/// Applies Op to the word `dest` of `pe`; gives back the value before.
template <class Op, class T>
T atomic_update(const Context& context, T* dest, T value, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(dest, pe)) [[likely]]
    return update_word<Op>(context, word, value, pe);
  return update_slow<Op>(context, dest, value, pe, call);
}

/// The same, for operations that give nothing back.
template <class Op, class T>
void atomic_post(const Context& context, T* dest, T value, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(dest, pe)) [[likely]]
    return static_cast<void>(update_word<Op>(context, word, value, pe));
  update_nbi_slow<Op, T>(context, nullptr, dest, value, pe, call);
}

/// The same; the value before is in `old` when quiet returns.
template <class Op, class T>
void atomic_update_nbi(const Context& context, T* old, T* dest, T value, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(dest, pe)) [[likely]]
    *old = update_word<Op>(context, word, value, pe);
  else
    update_nbi_slow<Op>(context, old, dest, value, pe, call);
}

template <class T>
[[gnu::always_inline]] inline T compare_swap_word(const Context& context, T* word, T condition, T value,
                                                  int pe) noexcept {
  if (std::atomic_ref<T>(*word).compare_exchange_strong(condition, value, std::memory_order_seq_cst))
    after_update(context, pe);
  return condition;  // holds the value found where it differed
}
template <class T>
[[gnu::always_inline]] inline T compare_swap_there(const Context& context, T* dest, T condition, T value, int pe,
                                                   const char* call) noexcept {
  T* const word = context.word_outside(dest, pe, call);
  settle(context, dest, word, pe);
  if (word == nullptr)
    return value_of<T>(context.fetch_far(dest, atomic_call(AtomicOp::compare_swap, value, condition), pe, call));
  return compare_swap_word(context, word, condition, value, pe);
}
template <class T>
[[gnu::noinline]] T compare_swap_watched(const Context& context, T* dest, T condition, T value, int pe,
                                         const char* call) noexcept {
  if (T* const word = context.word_by_shortcut(dest, pe, call))
    return compare_swap_word(context, word, condition, value, pe);
  const Observed observed(context.domain().observer,
                          [&] { return context.call_of(call, CallKind::atomic, pe, dest, nullptr, sizeof(T)); });
  return compare_swap_there(context, dest, condition, value, pe, call);
}
template <class T>
[[gnu::cold, gnu::noinline]] T compare_swap_slow(const Context& context, T* dest, T condition, T value, int pe,
                                                 const char* call) noexcept {
  if (!context.plain()) return compare_swap_watched(context, dest, condition, value, pe, call);
  return compare_swap_there(context, dest, condition, value, pe, call);
}

template <class T>
T atomic_compare_swap(const Context& context, T* dest, T condition, T value, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(dest, pe)) [[likely]]
    return compare_swap_word(context, word, condition, value, pe);
  return compare_swap_slow(context, dest, condition, value, pe, call);
}

template <class T>
[[gnu::cold, gnu::noinline]] void compare_swap_nbi_slow(const Context& context, T* old, T* dest, T condition, T value,
                                                        int pe, const char* call) noexcept {
  const Observed observed(context.domain().observer,
                          [&] { return context.call_of(call, CallKind::atomic, pe, dest, old, sizeof(T)); });
  T* const word = context.word(dest, pe, call);
  const AtomicCall atomic = atomic_call(AtomicOp::compare_swap, value, condition);
  if (leave(context, atomic, old, dest, word, pe)) return;
  if (word == nullptr) return context.fetch_far_nbi(dest, atomic, old, pe);
  *old = compare_swap_word(context, word, condition, value, pe);
}

template <class T>
void atomic_compare_swap_nbi(const Context& context, T* old, T* dest, T condition, T value, int pe,
                             const char* call) noexcept {
  if (T* const word = context.word_in_heap(dest, pe)) [[likely]]
    *old = compare_swap_word(context, word, condition, value, pe);
  else
    compare_swap_nbi_slow(context, old, dest, condition, value, pe, call);
}

/// An atomic operation that changes nothing, as the observer sees it. @param value  where its result goes, or null
template <class T>
Call fetch_call(const Context& context, const T* value, const T* source, int pe, const char* call) noexcept {
  Call observed = context.call_of(call, CallKind::atomic, pe, source, value, sizeof(T));
  observed.writes = false;
  return observed;
}
template <class T>
[[gnu::always_inline]] inline T fetch_there(const Context& context, const T* source, int pe,
                                            const char* call) noexcept {
  T* const word = context.word_outside(source, pe, call);
  settle(context, source, word, pe);
  if (word == nullptr) return value_of<T>(context.fetch_far(source, atomic_call(AtomicOp::fetch, T{}), pe, call));
  return std::atomic_ref<T>(*word).load(std::memory_order_acquire);
}
template <class T>
[[gnu::noinline]] T fetch_watched(const Context& context, const T* source, int pe, const char* call) noexcept {
  if (T* const word = context.word_by_shortcut(source, pe, call))
    return std::atomic_ref<T>(*word).load(std::memory_order_acquire);
  const Observed observed(context.domain().observer, [&] { return fetch_call<T>(context, nullptr, source, pe, call); });
  return fetch_there(context, source, pe, call);
}
template <class T>
[[gnu::cold, gnu::noinline]] T fetch_slow(const Context& context, const T* source, int pe, const char* call) noexcept {
  if (!context.plain()) return fetch_watched(context, source, pe, call);
  return fetch_there(context, source, pe, call);
}

template <class T>
T atomic_fetch(const Context& context, const T* source, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(source, pe)) [[likely]]
    return std::atomic_ref<T>(*word).load(std::memory_order_acquire);
  return fetch_slow(context, source, pe, call);
}

template <class T>
[[gnu::cold, gnu::noinline]] void fetch_nbi_slow(const Context& context, T* value, const T* source, int pe,
                                                 const char* call) noexcept {
  const Observed observed(context.domain().observer, [&] { return fetch_call<T>(context, value, source, pe, call); });
  T* const word = context.word(source, pe, call);
  if (leave(context, atomic_call(AtomicOp::fetch, T{}), value, source, word, pe)) return;
  if (word == nullptr) return context.fetch_far_nbi(source, atomic_call(AtomicOp::fetch, T{}), value, pe);
  *value = std::atomic_ref<T>(*word).load(std::memory_order_acquire);
}

template <class T>
void atomic_fetch_nbi(const Context& context, T* value, const T* source, int pe, const char* call) noexcept {
  if (T* const word = context.word_in_heap(source, pe)) [[likely]]
    *value = std::atomic_ref<T>(*word).load(std::memory_order_acquire);
  else
    fetch_nbi_slow(context, value, source, pe, call);
}

}  // namespace shoal
