// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <type_traits>

#include "transport/transport.hpp"

namespace shoal {
namespace {

template <class Float, class T>
T add_float(std::atomic_ref<T> word, T operand) noexcept {
  // As atomic_ref<Float>::fetch_add does it: a compare-and-swap of the bits.
  T seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(seen, std::bit_cast<T>(std::bit_cast<Float>(seen) + std::bit_cast<Float>(operand)),
                                     std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  return seen;
}

template <class T, class Float>
std::uint64_t apply_as(const AtomicCall& call, void* address) noexcept {
  std::atomic_ref<T> word(*static_cast<T*>(address));
  const T operand = static_cast<T>(call.operand);
  switch (call.op) {
    case AtomicOp::fetch: return word.load(std::memory_order_acquire);
    case AtomicOp::swap: return word.exchange(operand, std::memory_order_seq_cst);
    case AtomicOp::compare_swap: {
      T expected = static_cast<T>(call.compare);
      word.compare_exchange_strong(expected, operand, std::memory_order_seq_cst);
      return expected;
    }
    case AtomicOp::add: return word.fetch_add(operand, std::memory_order_seq_cst);
    case AtomicOp::bit_and: return word.fetch_and(operand, std::memory_order_seq_cst);
    case AtomicOp::bit_or: return word.fetch_or(operand, std::memory_order_seq_cst);
    case AtomicOp::bit_xor: return word.fetch_xor(operand, std::memory_order_seq_cst);
    case AtomicOp::add_float: return add_float<Float>(word, operand);
  }
  return 0;
}

}  // namespace

std::uint64_t apply(const AtomicCall& call, void* word) noexcept {
  return call.width == 4 ? apply_as<std::uint32_t, float>(call, word) : apply_as<std::uint64_t, double>(call, word);
}

}  // namespace shoal
