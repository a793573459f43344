// SPDX-License-Identifier: Apache-2.0
// Memory that several processes share: a nameless file (memfd) and its mapping.
//
// Nothing here has a name in any file system, so nothing is left behind however a process ends. Pages are committed on
// first touch; a file may be far larger than the memory of the machine. Values of these types belong to one thread at a
// time.
#pragma once
#include <cstddef>
#include <utility>

#include "base/unique_fd.hpp"

namespace shoal {

/// What huge pages need, and the alignment that a mapping has unless it asks for more.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// The machine's page size in bytes (4 KiB on x86-64; 4, 16 or 64 KiB on aarch64).
std::size_t page_bytes() noexcept;
/// `bytes` rounded up to whole pages; 0 when that overflows.
std::size_t round_to_pages(std::size_t bytes) noexcept;

/// Makes a sparse memory file of `bytes` (rounded up to pages), all zero. Its size can't change afterwards (sealed), so
/// that a mapping of it never raises SIGBUS because another process truncated it. `label` is what /proc/PID/maps shows.
/// Close-on-exec. @throws Error with the size and the limit that forbids it
UniqueFd create_memory_file(const char* label, std::size_t bytes);

/// A range of addresses: owned (unmapped at the end) or a view of memory that somebody else owns.
/// A mapping is inherited by fork: a child sees the same shared memory until it maps something else or executes a
/// program.
class Mapping final {
 public:
  /// Maps nothing: data() is null, size() 0.
  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    Mapping taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Mapping();

  /// Maps `bytes` (rounded up to pages) of `fd` from `offset` (a multiple of the page size), shared, readable and
  /// writable, without reserving swap. The address is a multiple of `alignment` (a power of two). The descriptor may be
  /// closed afterwards.
  /// @throws Error with the sizes and limits
  static Mapping map_file(int fd, std::size_t bytes, std::size_t offset = 0, std::size_t alignment = kHugePageBytes);
  /// Private memory of this process, all zero, otherwise like map_file. @throws Error
  static Mapping map_private(std::size_t bytes, std::size_t alignment = kHugePageBytes);
  /// Doesn't own `data`, which must outlive it: how the PEs of a thread job share one mapping.
  static Mapping view(void* data, std::size_t size) noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool owned() const noexcept { return owned_; }

  /// Asks for huge pages. False where the kernel doesn't offer them for this memory; everything works without them.
  bool advise_huge_pages() const noexcept;
  /// Leaves the whole pages within [offset, offset + length) out of this process's core dumps. The range must lie
  /// inside. False where the kernel doesn't take the advice.
  bool exclude_from_core_dump(std::size_t offset, std::size_t length) const noexcept;

 private:
  Mapping(void* data, std::size_t size, bool owned) noexcept
      : data_(static_cast<std::byte*>(data)), size_(size), owned_(owned) {}
  static Mapping map(int fd, std::size_t bytes, std::size_t offset, std::size_t alignment);
  void swap(Mapping& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool owned_ = false;
};

}  // namespace shoal
