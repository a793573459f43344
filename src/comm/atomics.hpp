// SPDX-License-Identifier: Apache-2.0
// Remote atomics. Each is executed by the caller's processor on the target's memory: one path for every word, whoever
// updates it. Updates ring the target's bell: they are full fences here.
#pragma once
#include <atomic>

#include "comm/context.hpp"

namespace shoal {

/// How an update changes a word. Each gives back the old value.
struct FetchAdd { template <class T> static T apply(std::atomic_ref<T> w, T v) noexcept { return w.fetch_add(v, std::memory_order_seq_cst); } };
struct FetchAnd { template <class T> static T apply(std::atomic_ref<T> w, T v) noexcept { return w.fetch_and(v, std::memory_order_seq_cst); } };
struct FetchOr { template <class T> static T apply(std::atomic_ref<T> w, T v) noexcept { return w.fetch_or(v, std::memory_order_seq_cst); } };
struct FetchXor { template <class T> static T apply(std::atomic_ref<T> w, T v) noexcept { return w.fetch_xor(v, std::memory_order_seq_cst); } };
struct Swap { template <class T> static T apply(std::atomic_ref<T> w, T v) noexcept { return w.exchange(v, std::memory_order_seq_cst); } };

inline void after_update(const Context& context, int pe) noexcept {
#if !defined(__x86_64__)
  full_fence();  // elsewhere a read-modify-write orders nothing after it
#endif
  context.ring(pe);
}

/// Applies Op to the word `dest` of `pe`; gives back the value before.
template <class Op, class T>
T atomic_update(const Context& context, T* dest, T value, int pe, const char* call) noexcept {
  const T old = Op::apply(std::atomic_ref<T>(*context.word(dest, pe, call)), value);
  after_update(context, pe);
  return old;
}

template <class T>
T atomic_compare_swap(const Context& context, T* dest, T condition, T value, int pe, const char* call) noexcept {
  std::atomic_ref<T> word(*context.word(dest, pe, call));
  if (word.compare_exchange_strong(condition, value, std::memory_order_seq_cst)) after_update(context, pe);
  return condition;  // holds the value found where it differed
}

template <class T>
T atomic_fetch(const Context& context, const T* source, int pe, const char* call) noexcept {
  return std::atomic_ref<T>(*context.word(const_cast<T*>(source), pe, call)).load(std::memory_order_acquire);
}

}  // namespace shoal
