// SPDX-License-Identifier: Apache-2.0
// A start that fails on one PE fails on all: the others, who wait for it in their next allgather, hear why there.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace shoal {

class Together final : public Bootstrap {
 public:
  explicit Together(std::unique_ptr<Bootstrap> inner) : inner_(std::move(inner)) {}
  /// This PE cannot go on, `why` being what another says of it: takes part in the next allgather with that, unless it
  /// has heard from another there, and leaves. Then all have left, and may join again. Nothing where all have started,
  /// or the way to the others failed.
  /// @return whether all have left
  bool fail(const std::string& why);
  /// All have started: nobody waits any more for one who fails.
  void started() { started_ = true; }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  /// @throws also Error{peer} when a PE failed: then fail() is to be called
  Gathered allgather(std::span<const std::byte> mine) override;
  void barrier() override;
  void leave() override { inner_->leave(); }
  [[noreturn]] void abort(int status, const std::string& why) override {
    inner_->abort(status, why);
    __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
  }
  void exiting(int status) noexcept override { inner_->exiting(status); }
  void watch() override { inner_->watch(); }
  const Secret* secret() const override { return inner_->secret(); }
  bool launched() const override { return inner_->launched(); }
  bool same_process() const override { return inner_->same_process(); }

 private:
  enum class Mark : std::uint8_t { goes_on, failed };
  Gathered exchange(Mark mark, std::span<const std::byte> mine);

  const std::unique_ptr<Bootstrap> inner_;
  bool reaches_ = true;  // the others
  bool heard_ = false;   // that a PE failed
  bool started_ = false;
};

}  // namespace shoal
