// SPDX-License-Identifier: Apache-2.0
#include "base/process_fd.hpp"

#include <pthread.h>

#include <atomic>
#include <bit>
#include <cstdint>

namespace shoal {
namespace {

constexpr int kMost = 1 << 20;  // a number beyond is closed by nobody but its owner

// What the fork handler must find; a process has one. A bit for each number, how many words have one, and whether there
// is the handler.
constinit std::atomic<std::uint64_t> owned_fds[kMost / 64];
constinit std::atomic<int> owned_words{0};
constinit std::atomic<bool> owned_watched{false};

std::atomic<std::uint64_t>& word_of(int fd) noexcept { return owned_fds[fd / 64]; }
std::uint64_t bit_of(int fd) noexcept { return std::uint64_t{1} << (fd % 64); }

/// Forgets them, too: the child's own descriptors will have these numbers.
void close_in_child() noexcept {
  for (int i = 0; i < owned_words.load(std::memory_order_relaxed); ++i)
    for (std::uint64_t left = owned_fds[i].exchange(0, std::memory_order_relaxed); left != 0; left &= left - 1)
      ::close(i * 64 + std::countr_zero(left));
}

}  // namespace

ProcessFd::ProcessFd(UniqueFd fd) noexcept : fd_(fd.release()) {
  if (!owned_watched.exchange(true, std::memory_order_relaxed)) ::pthread_atfork(nullptr, nullptr, close_in_child);
  if (fd_ < 0 || fd_ >= kMost) return;
  word_of(fd_).fetch_or(bit_of(fd_), std::memory_order_relaxed);
  for (int words = owned_words.load(std::memory_order_relaxed);
       words <= fd_ / 64 && !owned_words.compare_exchange_weak(words, fd_ / 64 + 1, std::memory_order_relaxed);) {
  }
}

void ProcessFd::reset() noexcept {
  const int fd = fd_;
  fd_ = -1;
  if (fd < 0) return;
  // Before another descriptor has its number.
  const bool ours = fd >= kMost || (word_of(fd).fetch_and(~bit_of(fd), std::memory_order_relaxed) & bit_of(fd)) != 0;
  if (ours) ::close(fd);
}

}  // namespace shoal
