// SPDX-License-Identifier: Apache-2.0
/// \file
/// A little symmetric memory of the outermost Job, through which collectives of single values go.
#pragma once

#include <cstddef>

#include "../error.hpp"

namespace shoal::inline v1::detail {

inline constexpr std::size_t kScratchBytes = 64;

/// How deep Jobs are nested, and the scratch of the outermost: two areas of kScratchBytes. Changed by Job alone.
struct JobState {
  int depth = 0;
  std::byte* scratch = nullptr;
};
inline JobState job_state;

/// Source and destination of one collective of a single value.
template <class T>
struct Scratch {
  static_assert(sizeof(T) <= kScratchBytes, "single values in collectives have at most 64 bytes; use arrays");
  static_assert(alignof(T) <= 16);
  T *dest, *source;

  explicit Scratch(const char* call) {
    if (job_state.scratch == nullptr)
      throw Error(std::string("shoal: ") + call + " of a single value needs a shoal::Job; or use symmetric arrays", -1);
    dest = reinterpret_cast<T*>(job_state.scratch);
    source = reinterpret_cast<T*>(job_state.scratch + kScratchBytes);
  }
};

}  // namespace shoal::inline v1::detail
