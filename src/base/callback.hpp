// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shoal {

/// What a function calls while it runs, and does not keep: any callable, without a copy or an allocation.
template <class... Arguments>
class Callback final {
 public:
  template <class Function>
  Callback(const Function& function) noexcept  // as a parameter: the function outlives the call
      : object_(&function), run_([](const void* object, Arguments... arguments) {
          (*static_cast<const Function*>(object))(arguments...);
        }) {}
  void operator()(Arguments... arguments) const { run_(object_, arguments...); }

 private:
  const void* object_;
  void (*run_)(const void*, Arguments...);
};

}  // namespace shoal
