// SPDX-License-Identifier: Apache-2.0
/// \file
/// Contexts: domains of ordering and completion, with all remote memory access. OpenSHMEM 1.6, sections "Communication
/// Management", "Remote Memory Access" and "Memory Ordering Routines".
#pragma once

#include <bit>
#include <new>
#include <utility>

#include "atomics.hpp"
#include "error.hpp"
#include "signal.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

/// A context that somebody else owns; the default context unless made from another one. A value.
///
/// `dest` of a put and `source` of a get are local addresses of symmetric objects and mean the copy on PE `pe`, which
/// counts in the context's team. Threads: as the context's options say.
class ContextRef {
 public:
  ContextRef() noexcept = default;
  explicit ContextRef(shmem_ctx_t handle) noexcept : handle_(handle) {}

  [[nodiscard]] shmem_ctx_t handle() const noexcept { return handle_; }

  /// Copies `source` to `dest` on PE `pe`. On return the source may be reused; the data has arrived after quiet().
  template <Element T>
  void put(T* dest, std::span<const std::type_identity_t<T>> source, int pe) const {
    shmem_ctx_putmem(handle_, dest, source.data(), source.size_bytes(), pe);
  }
  /// As put(), returning at once: the source must stay as it is until quiet().
  template <Element T>
  void put_nbi(T* dest, std::span<const std::type_identity_t<T>> source, int pe) const {
    shmem_ctx_putmem_nbi(handle_, dest, source.data(), source.size_bytes(), pe);
  }
  /// Copies from `source` on PE `pe` to `dest`, as many elements as `dest` has. Complete on return.
  template <Element T>
  void get(std::span<T> dest, const std::type_identity_t<T>* source, int pe) const {
    shmem_ctx_getmem(handle_, dest.data(), source, dest.size_bytes(), pe);
  }
  template <ElementRange R>
  void get(R&& dest, const std::ranges::range_value_t<R>* source, int pe) const {
    get(std::span<std::ranges::range_value_t<R>>(dest), source, pe);
  }
  /// As get(), returning at once: `dest` is valid after quiet().
  template <ElementRange R>
  void get_nbi(R&& dest, const std::ranges::range_value_t<R>* source, int pe) const {
    std::span<std::ranges::range_value_t<R>> span(dest);
    shmem_ctx_getmem_nbi(handle_, span.data(), source, span.size_bytes(), pe);
  }

  /// Puts one value.
  template <Element T>
  void p(T* dest, const std::type_identity_t<T>& value, int pe) const {
    if constexpr (detail::WordSized<T>)
      shmem_p(handle_, detail::word(dest), std::bit_cast<detail::Word<T>>(value), pe);
    else
      shmem_ctx_putmem(handle_, dest, &value, sizeof value, pe);
  }
  /// Gets one value.
  template <Element T>
  [[nodiscard]] T g(const T* source, int pe) const {
    if constexpr (detail::WordSized<T>) {
      return std::bit_cast<T>(shmem_g(handle_, detail::word(source), pe));
    } else {
      alignas(T) std::byte bytes[sizeof(T)];  // T need not be default-constructible
      shmem_ctx_getmem(handle_, bytes, source, sizeof bytes, pe);
      return *std::launder(reinterpret_cast<T*>(bytes));
    }
  }

  /// Puts `count` elements that are `source_stride` apart to places that are `dest_stride` apart, both in elements.
  template <Element T>
  requires(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 ||
           sizeof(T) == 16) void put_strided(T* dest, std::ptrdiff_t dest_stride, const T* source,
                                             std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    if constexpr (sizeof(T) == 1) shmem_ctx_iput8(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 2) shmem_ctx_iput16(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 4) shmem_ctx_iput32(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 8) shmem_ctx_iput64(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 16) shmem_ctx_iput128(handle_, dest, source, dest_stride, source_stride, count, pe);
  }
  /// The same in the other direction. Complete on return.
  template <Element T>
  requires(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 ||
           sizeof(T) == 16) void get_strided(T* dest, std::ptrdiff_t dest_stride, const T* source,
                                             std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    if constexpr (sizeof(T) == 1) shmem_ctx_iget8(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 2) shmem_ctx_iget16(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 4) shmem_ctx_iget32(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 8) shmem_ctx_iget64(handle_, dest, source, dest_stride, source_stride, count, pe);
    if constexpr (sizeof(T) == 16) shmem_ctx_iget128(handle_, dest, source, dest_stride, source_stride, count, pe);
  }

  /// put(), then an update of `signal` on PE `pe`: whoever sees the signal sees the data.
  template <Element T>
  void put_signal(T* dest, std::span<const std::type_identity_t<T>> source, const SignalRef& signal,
                  std::uint64_t value, int pe, SignalOp op = SignalOp::set) const {
    shmem_ctx_putmem_signal(handle_, dest, source.data(), source.size_bytes(), signal.word(), value,
                            static_cast<int>(op), pe);
  }
  /// As put_signal(), returning at once: the source must stay as it is until quiet().
  template <Element T>
  void put_signal_nbi(T* dest, std::span<const std::type_identity_t<T>> source, const SignalRef& signal,
                      std::uint64_t value, int pe, SignalOp op = SignalOp::set) const {
    shmem_ctx_putmem_signal_nbi(handle_, dest, source.data(), source.size_bytes(), signal.word(), value,
                                static_cast<int>(op), pe);
  }

  /// Many blocks to, or from, one PE in one call, in any order.
  void put_batch(std::span<const shmemx_block_t> blocks, int pe) const {
    shmemx_ctx_putmem_batch(handle_, blocks.data(), blocks.size(), pe);
  }
  void get_batch(std::span<const shmemx_block_t> blocks, int pe) const {
    shmemx_ctx_getmem_batch(handle_, blocks.data(), blocks.size(), pe);
  }

  /// The copy of `*object` on PE `pe`, for atomic access.
  template <AtomicElement T>
  [[nodiscard]] AtomicRef<T> atomic(T* object, int pe) const noexcept {
    return AtomicRef<T>(object, pe, handle_);
  }

  /// Completes everything issued on this context, at the target too.
  void quiet() const { shmem_ctx_quiet(handle_); }
  /// Orders what was issued on this context before what comes after, PE by PE.
  void fence() const { shmem_ctx_fence(handle_); }

 private:
  shmem_ctx_t handle_ = SHMEM_CTX_DEFAULT;
};

/// A context of its own. Creation and destruction are local; destruction completes what was issued. It must end before
/// its team does.
class Context : public ContextRef {
 public:
  /// On the world. Throws Error (on this PE only) if there is none left.
  explicit Context(ContextOption options = ContextOption::none) : ContextRef(make(SHMEM_TEAM_WORLD, options)) {}
  /// On a team, whose ranks the PE numbers are.
  explicit Context(shmem_team_t team, ContextOption options = ContextOption::none) : ContextRef(make(team, options)) {}
  ~Context() {
    if (handle() != SHMEM_CTX_INVALID && detail::library_runs()) shmem_ctx_destroy(handle());
  }
  Context(Context&& other) noexcept
      : ContextRef(std::exchange(static_cast<ContextRef&>(other), ContextRef(SHMEM_CTX_INVALID))) {}
  Context& operator=(Context&&) = delete;

 private:
  static shmem_ctx_t make(shmem_team_t team, ContextOption options) {
    shmem_ctx_t handle = SHMEM_CTX_INVALID;
    detail::check(shmem_team_create_ctx(team, static_cast<long>(options), &handle), "shmem_team_create_ctx",
                  "the team is invalid or has no context left");
    return handle;
  }
};

/// Tells the library for a scope that many small operations come, whose single latency doesn't matter.
class [[nodiscard]] BatchSession {
 public:
  explicit BatchSession(ContextRef context) : context_(context) {
    shmem_ctx_session_start(context_.handle(), SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  }
  ~BatchSession() {
    if (detail::library_runs()) shmem_ctx_session_stop(context_.handle());
  }
  BatchSession(const BatchSession&) = delete;
  BatchSession& operator=(const BatchSession&) = delete;

 private:
  ContextRef context_;
};

}  // namespace shoal::inline v1
