// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arrays in the symmetric heap: a span here, and a remote reference to any PE's copy.
#pragma once

#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "context.hpp"
#include "detail/owner.hpp"
#include "heap.hpp"

namespace shoal::inline v1 {

/// Stands for one element on another PE: reading it is a get, assigning to it is a put (complete after quiet()).
template <Element T>
class RemoteElement {
 public:
  RemoteElement(T* object, int pe, ContextRef context) noexcept : object_(object), pe_(pe), context_(context) {}
  RemoteElement(const RemoteElement&) noexcept = default;

  [[nodiscard]] operator T() const { return context_.g(object_, pe_); }
  const RemoteElement& operator=(const T& value) const {
    context_.p(object_, value, pe_);
    return *this;
  }
  /// Copies the value from where `other` is to where this is.
  RemoteElement& operator=(const RemoteElement& other) {
    context_.p(object_, static_cast<T>(other), pe_);
    return *this;
  }

 private:
  T* object_;
  int pe_;
  ContextRef context_;
};

/// One PE's copy of an Array. A value; valid as long as the array is. Transfers check the array's bounds and throw
/// std::out_of_range.
template <Element T>
class Remote {
 public:
  Remote(T* data, std::size_t size, int pe, ContextRef context) noexcept
      : data_(data), size_(size), pe_(pe), context_(context) {}

  [[nodiscard]] int pe() const noexcept { return pe_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Element `i`, unchecked but for an assertion.
  [[nodiscard]] RemoteElement<T> operator[](std::size_t i) const noexcept {
    assert(i < size_);
    return RemoteElement<T>(data_ + i, pe_, context_);
  }

  /// Copies `source` to the elements from `offset` on. On return the source may be reused; see ContextRef::quiet().
  void put(std::size_t offset, std::span<const T> source) const {
    context_.put(at("put", offset, source.size()), source, pe_);
  }
  /// As put(), returning at once: the source must stay as it is until quiet().
  void put_nbi(std::size_t offset, std::span<const T> source) const {
    context_.put_nbi(at("put_nbi", offset, source.size()), source, pe_);
  }
  /// Copies the elements from `offset` on to `dest`. Complete on return.
  void get(std::size_t offset, std::span<T> dest) const { context_.get(dest, at("get", offset, dest.size()), pe_); }
  /// As get(), returning at once: `dest` is valid after quiet().
  void get_nbi(std::size_t offset, std::span<T> dest) const {
    context_.get_nbi(dest, at("get_nbi", offset, dest.size()), pe_);
  }
  /// `count` elements from `offset` on, in a new vector.
  [[nodiscard]] std::vector<T> get(std::size_t offset, std::size_t count) const requires std::default_initializable<T> {
    T* source = at("get", offset, count);
    std::vector<T> values(count);
    shmem_ctx_getmem(context_.handle(), values.data(), source, count * sizeof(T), pe_);
    return values;
  }
  /// put(), then an update of `signal` on that PE: whoever sees the signal sees the data.
  void put_signal(std::size_t offset, std::span<const T> source, const SignalRef& signal, std::uint64_t value,
                  SignalOp op = SignalOp::set) const {
    context_.put_signal(at("put_signal", offset, source.size()), source, signal, value, pe_, op);
  }

  /// Element `i` for atomic access: an AtomicRef<T>.
  [[nodiscard]] auto atomic(std::size_t i) const requires AtomicElement<T> {
    return context_.atomic(at("atomic", i, 1), pe_);
  }

  /// The copy itself, for loads and stores, where this PE can map it; else an empty span. Order loads and stores
  /// through it by fence(), quiet() or a barrier.
  [[nodiscard]] std::span<T> mapped() const {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    if (size_ == 0 || shmem_ctx_get_team(context_.handle(), &team) != 0) return {};
    auto* there = static_cast<T*>(shmem_team_ptr(team, data_, pe_));
    return there == nullptr ? std::span<T>() : std::span<T>(there, size_);
  }

 private:
  [[nodiscard]] T* at(const char* call, std::size_t offset, std::size_t count) const {
    if (offset > size_ || count > size_ - offset) [[unlikely]]
      detail::throw_range(call, offset, count, size_);
    return data_ + offset;
  }

  T* data_;
  std::size_t size_;
  int pe_;
  ContextRef context_;
};

/// A symmetric array: `size()` elements on each PE. Here it is a contiguous range; `on(pe)` refers to another PE's
/// copy.
///
/// Construction, release() and destruction are collective over the world (over the heap's team for a further heap), so
/// all PEs make and destroy their arrays in the same order, which scopes give by themselves; destruction waits until
/// everyone has come to it. An array must not outlive its Job. While an exception unwinds the stack, the destructor
/// leaves the memory allocated: the other PEs may not be coming.
template <Element T>
class Array : private detail::CollectiveOwner {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  /// No elements, no communication.
  Array() noexcept = default;
  /// `size` elements of zero bytes. Throws HeapExhausted on all PEs alike.
  explicit Array(std::size_t size) : Array(size, uninitialized) {
    if (size_ == 0) return;
    std::memset(static_cast<void*>(data_), 0, size_ * sizeof(T));
    shmem_sync_all();  // nobody may put into what is not cleared yet
  }
  Array(std::size_t size, Uninitialized) : size_(size) {
    if (size > SIZE_MAX / sizeof(T)) throw HeapExhausted(SIZE_MAX);
    data_ =
        static_cast<T*>(kAlignment > 16 ? shmem_align(kAlignment, size * sizeof(T)) : shmem_malloc(size * sizeof(T)));
    if (data_ == nullptr && size != 0) throw HeapExhausted(size * sizeof(T));
  }
  /// `size` elements of zero bytes in a further heap; collective over its team.
  Array(const Heap& heap, std::size_t size) : size_(size), heap_(heap.handle()) {
    if (size > SIZE_MAX / sizeof(T)) throw HeapExhausted(SIZE_MAX);
    data_ = static_cast<T*>(shmemx_heap_align(heap_, kAlignment > 16 ? kAlignment : 16, size * sizeof(T)));
    if (data_ == nullptr && size != 0) throw HeapExhausted(size * sizeof(T));
    if (size == 0) return;
    std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
    heap.team().sync();
  }
  ~Array() {
    if (data_ != nullptr && may_release()) free_data();
  }
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), heap_(other.heap_) {}
  /// Collective, if there is something to release.
  Array& operator=(Array&& other) {
    if (this == &other) return *this;
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    heap_ = other.heap_;
    return *this;
  }

  /// Gives the memory back now. Collective.
  void release() {
    if (data_ != nullptr) free_data();
    data_ = nullptr;
    size_ = 0;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size_}; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept {
    assert(i < size_);
    return data_[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    assert(i < size_);
    return data_[i];
  }

  /// PE `pe`'s copy; `pe` counts in the context's team.
  [[nodiscard]] Remote<T> on(int pe, ContextRef context = {}) noexcept { return Remote<T>(data_, size_, pe, context); }

 private:
  static constexpr std::size_t kAlignment = alignof(T) < 16 ? 16 : alignof(T);

  void free_data() {
    if (heap_ == SHMEMX_HEAP_DEFAULT)
      shmem_free(data_);
    else
      shmemx_heap_free(heap_, data_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  shmemx_heap_t heap_ = SHMEMX_HEAP_DEFAULT;
};

}  // namespace shoal::inline v1
