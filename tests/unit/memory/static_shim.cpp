// SPDX-License-Identifier: Apache-2.0
#include "static_shim.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "memory/memory_file.hpp"
#include "memory/static_data.hpp"

#define SHIM __attribute__((visibility("default")))

namespace {
std::optional<shoal::StaticData> attached;
shoal::Mapping window;
std::string last_error;

template <class F>
int guarded(F f) {
  try {
    f();
    return 0;
  } catch (const shoal::Error& error) {
    last_error = error.what();
    return -1;
  }
}
}  // namespace

extern "C" {

SHIM int shim_find(const char* needed, void** begin, size_t* bytes) {
  const auto range = shoal::find_static_data(needed);
  if (!range) return -1;
  *begin = range->begin;
  *bytes = range->bytes;
  return 0;
}

SHIM int shim_attach(char** view, unsigned patience_ms) {
  return guarded([&] {
    const shoal::StaticRange range = shoal::find_static_data("libmemory_static_shim.so").value();
    const std::size_t before = shoal::page_bytes();  // not at the start of the file, as PE 1's part isn't
    const shoal::UniqueFd fd = shoal::create_memory_file("static-test", before + range.bytes);
    window = shoal::Mapping::map_file(fd.get(), range.bytes, before);
    *view = reinterpret_cast<char*>(window.data());
    attached.emplace(range, fd.get(), before, patience_ms * std::uint64_t{1'000'000});
  });
}

SHIM int shim_detach() {
  const int result = guarded([] {
    if (attached) attached->detach();
  });
  if (result != 0) return result;
  attached.reset();
  window = shoal::Mapping();
  return 0;
}

SHIM const char* shim_error() { return last_error.c_str(); }

SHIM const char* shim_build_id() {
  static const std::string id = shoal::program_build_id();
  return id.c_str();
}
}
