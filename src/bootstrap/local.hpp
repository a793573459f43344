// SPDX-License-Identifier: Apache-2.0
// A job whose PEs are threads of this process: how the unit tests run everything above the bootstrap.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "bootstrap/bootstrap.hpp"

namespace shoal {

/// Must outlive the bootstraps that join gives. Thread safe.
class LocalWorld final {
 public:
  /// Called once, by the PE that aborts first, on its thread. What it throws leaves abort; when it returns, abort
  /// throws Error{peer} with the reason.
  using AbortHandler = std::function<void(int pe, int status, const std::string& why)>;

  explicit LocalWorld(int size);
  int size() const { return size_; }
  /// The bootstrap of PE `rank`; may be taken again after that PE left. @throws Error{invalid_argument}
  std::unique_ptr<Bootstrap> join(int rank);
  /// Without a handler, abort prints the reason and calls std::abort.
  void on_abort(AbortHandler handler);
  bool aborted() const;

 private:
  class Member;
  using Bytes = std::vector<std::byte>;
  std::vector<Bytes> exchange(int rank, std::span<const std::byte> mine);
  [[noreturn]] void abort(int rank, int status, const std::string& why);

  const int size_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bytes> gathering_;
  std::shared_ptr<const std::vector<Bytes>>
      gathered_;  // shared: late readers of a round keep it while the next one fills
  int arrived_ = 0;
  unsigned long round_ = 0;
  bool aborted_ = false;
  std::string why_;
  AbortHandler handler_;
};

}  // namespace shoal
