// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/fence.hpp"
#include "transport/ucx/ucx.hpp"

namespace shoal::test {

/// Called by SetUp.
inline void skip_without_ucx() {
#if defined(SHOAL_TSAN)
  GTEST_SKIP() << "ThreadSanitizer does not see what UCX synchronizes";
#endif
  try {
    require_ucx();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

}  // namespace shoal::test
