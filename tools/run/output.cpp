// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace shoal::run {
namespace {
constexpr size_t kAtOnce = 4096;  // PIPE_BUF: a pipe that polls writable takes this much without blocking
}

void Sink::put(std::string_view text) {
  if (broken()) return;
  if (start_ > queue_.size() / 2) {
    queue_.erase(0, start_);
    start_ = 0;
  }
  queue_ += text;
}

void Sink::write_some() {
  while (!empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) <= 0) return;
    const ssize_t n = ::write(fd_, queue_.data() + start_, std::min(kAtOnce, queue_.size() - start_));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
      error_ = errno;
      queue_.clear();
      start_ = 0;
      return;
    }
    start_ += static_cast<size_t>(n);
  }
}

void Tagger::feed(std::string_view text, Sink& sink) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) {
      line_ += text;
      text = {};
    } else {
      line_ += text.substr(0, newline);
      text.remove_prefix(newline + 1);
      emit(line_, sink);
      line_.clear();
    }
    if (line_.size() > kLongest) finish(sink);
  }
}

void Tagger::finish(Sink& sink) {
  if (!line_.empty()) emit(line_, sink);
  line_.clear();
}

void Tagger::emit(std::string_view line, Sink& sink) {
  sink.put(tag_);
  sink.put(line);
  sink.put("\n");
}

}  // namespace shoal::run
