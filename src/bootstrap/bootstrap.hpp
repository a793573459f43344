// SPDX-License-Identifier: Apache-2.0
// How the PEs of a job find each other before they share memory. Slow, safe, and used only at init, at finalize and
// when something goes wrong. One thread a PE calls it at a time, except abort, which any thread may call at any time.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "security/secret.hpp"

namespace shoal {

/// What each PE gave, in rank order. Neighbours who gave the same share the bytes.
class Gathered final {
 public:
  Gathered() = default;
  /// @param parts  of `bytes`
  Gathered(std::vector<std::byte> bytes, std::vector<std::span<const std::byte>> parts)
      : bytes_(std::move(bytes)), parts_(std::move(parts)) {}
  Gathered(Gathered&&) = default;
  Gathered& operator=(Gathered&&) = default;
  std::size_t size() const { return parts_.size(); }
  std::span<const std::byte> operator[](std::size_t pe) const { return parts_[pe]; }
  std::string_view text(std::size_t pe) const {
    return {reinterpret_cast<const char*>(parts_[pe].data()), parts_[pe].size()};
  }
  /// Of each part, which must not be empty.
  void drop_first() {
    for (auto& part : parts_) part = part.subspan(1);
  }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  std::vector<std::byte> bytes_;  // a move leaves them where they are
  std::vector<std::span<const std::byte>> parts_;
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Every PE gives `mine` (any length, lengths may differ); all get everyone's, in rank order. Collective.
  /// @throws Error{launcher} when the other side is gone
  virtual Gathered allgather(std::span<const std::byte> mine) = 0;
  virtual void barrier() = 0;
  /// This PE is about to leave the job in order: its end is no failure from now on. Collective, last call.
  virtual void leave() = 0;
  /// Ends the whole job with `status`; everyone else is told and ended too. `why` is one complete line, or empty for an
  /// orderly global exit. Does not return.
  [[noreturn]] virtual void abort(int status, const std::string& why) = 0;
  /// This process is about to end with `status` in the middle of its session: tells whoever would have to guess it, as
  /// far as that goes at once.
  virtual void exiting(int /*status*/) noexcept {}
  /// From now on the end of the launcher, or of the job by someone's abort, ends this process at once, even while it
  /// computes (a sleeping thread sees to it, until leave). To be called when a further thread does no harm: after
  /// static data moved.
  virtual void watch() {}
  /// What all PEs of this job know and nobody else does; null where nobody handed it to them.
  virtual const Secret* secret() const { return nullptr; }
  /// Whether a launcher of Shoal's looks after this job to its end.
  virtual bool launched() const { return false; }
  /// Whether all PEs are threads of one process, so that they may share addresses.
  virtual bool same_process() const { return false; }
};

}  // namespace shoal
