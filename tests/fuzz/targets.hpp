// SPDX-License-Identifier: Apache-2.0
// Whatever Shoal reads from the wire, from files and from the environment, each as a function that takes any bytes: it
// must not crash, hang, or believe what is none. libFuzzer drives them (engine.cpp, with clang), and so does
// tests/unit/fuzz_test.cpp with any compiler.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::fuzz {

struct Target {
  const char* name;
  /// Ends the process where something is wrong.
  void (*run)(std::string_view input);
  /// Inputs that are right, to begin with.
  std::vector<std::string> (*seeds)();
  bool slow = false;  ///< some hundred microseconds and more each: it works on files
};

/// Every one there is.
std::span<const Target> targets();

// By file: environment.cpp, wire.cpp, records.cpp, files.cpp.
extern const std::vector<Target> kEnvironment, kWire, kRecords, kFiles;

/// What require() prints besides; null: libFuzzer does that.
extern const std::string* shown;
/// Ends the process with `what` unless `holds`.
void require(bool holds, const char* what);

/// The bytes of a plain value.
template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes an input apart: numbers at its front, the rest as it stands.
class Reader final {
 public:
  explicit Reader(std::string_view input) : input_(input) {}
  bool empty() const { return input_.empty(); }
  /// 0 at the end.
  unsigned byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<unsigned char>(input_[0]);
    input_.remove_prefix(1);
    return value;
  }
  /// Up to `count` bytes.
  std::string_view take(std::size_t count) {
    const std::string_view part = input_.substr(0, count);
    input_.remove_prefix(part.size());
    return part;
  }
  std::string_view rest() { return take(input_.size()); }

 private:
  std::string_view input_;
};

}  // namespace shoal::fuzz
