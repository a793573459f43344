// SPDX-License-Identifier: Apache-2.0
// Several observers as one.
#pragma once
#include <memory>
#include <vector>

#include "comm/observer.hpp"

namespace shoal {

class ObserverChain final : public Observer {
 public:
  void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }
  /// Null for none, the only one without a detour, or this.
  Observer* front() noexcept {
    return observers_.empty() ? nullptr : observers_.size() == 1 ? observers_[0].get() : this;
  }

  void begin(const Call& call) noexcept override {
    for (const auto& observer : observers_) observer->begin(call);
  }
  void end(const Call& call) noexcept override {
    for (auto observer = observers_.rbegin(); observer != observers_.rend(); ++observer) (*observer)->end(call);
  }
  void learned(const Call& call) noexcept override {
    for (const auto& observer : observers_) observer->learned(call);
  }
  void misaligned(const char* call, const char* what, const void* address, std::size_t alignment) noexcept override {
    for (const auto& observer : observers_) observer->misaligned(call, what, address, alignment);
  }
  void waiting(const char* call) noexcept override {
    for (const auto& observer : observers_) observer->waiting(call);
  }
  void waited(std::uint64_t began) noexcept override {
    for (const auto& observer : observers_) observer->waited(began);
  }

 private:
  std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace shoal
