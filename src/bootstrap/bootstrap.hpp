// SPDX-License-Identifier: Apache-2.0
// How the PEs of a job find each other before they share memory. Slow, safe, and used only at init, at finalize and when
// something goes wrong. One thread a PE calls it at a time, except abort, which any thread may call at any time.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace shoal {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Every PE gives `mine` (any length, lengths may differ); all get everyone's, in rank order. Collective.
  /// @throws Error{launcher} when the other side is gone
  virtual std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> mine) = 0;
  virtual void barrier() = 0;
  /// This PE is about to leave the job in order: its end is no failure from now on. Collective, last call.
  virtual void leave() = 0;
  /// Ends the whole job with `status`; everyone else is told and ended too. `why` is one complete line, or empty for an
  /// orderly global exit. Does not return.
  [[noreturn]] virtual void abort(int status, const std::string& why) = 0;
  /// From now on the end of the launcher, or of the job by someone's abort, ends this process at once, even while it computes
  /// (a sleeping thread sees to it, until leave). To be called when a further thread does no harm: after static data moved.
  virtual void watch() {}
  /// Whether all PEs are threads of one process, so that they may share addresses.
  virtual bool same_process() const { return false; }
};

}  // namespace shoal
