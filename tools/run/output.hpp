// SPDX-License-Identifier: Apache-2.0
// --tag-output: what the PEs write passes through the launcher, which puts "[2] " before each line.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace shoal::run {

/// Text on its way to one of the launcher's own streams. Never blocks: the stream may be a pipe that nobody reads for a
/// while, and the launcher has other duties. (The stream is shared with others, so it is not made non-blocking.)
class Sink final {
 public:
  explicit Sink(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  void put(std::string_view text);
  bool empty() const { return start_ == queue_.size(); }
  /// More is waiting than it is wise to take on.
  bool full() const { return queue_.size() - start_ > kFull; }
  /// The stream takes nothing any more (its reader is gone, its disk is full); everything put here vanishes.
  bool broken() const { return error_ != 0; }
  /// Why, as errno; 0 while it isn't broken.
  int error() const { return error_; }
  /// Writes what the stream takes now.
  void write_some();

 private:
  static constexpr size_t kFull = 1u << 20;
  const int fd_;
  int error_ = 0;
  std::string queue_;
  size_t start_ = 0;  // bytes of queue_ before it are written
};

/// Cuts one stream of one PE into lines. A line longer than 1 MiB is cut, each part tagged; the last line gets a
/// newline if it has none.
class Tagger final {
 public:
  explicit Tagger(int pe) : tag_(strf("[%d] ", pe)) {}
  void feed(std::string_view text, Sink& sink);
  void finish(Sink& sink);

 private:
  static constexpr size_t kLongest = 1u << 20;
  void emit(std::string_view line, Sink& sink);
  const std::string tag_;
  std::string line_;  // not ended yet
};

}  // namespace shoal::run
