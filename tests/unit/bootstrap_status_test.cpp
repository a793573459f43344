// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/status_mapping.hpp"

#include <gtest/gtest.h>

#include <string>

namespace shoal {
namespace {

Options::Environment with_fd(const std::string& value) {
  return [value](const char* name) { return std::string(name) == "SHOAL_STATUS_FD" ? value.c_str() : nullptr; };
}

TEST(StatusMapping, WhatAPePublishesIsReadByTheLauncher) {
  const StatusMapping launcher = StatusMapping::create(3);
  const StatusMapping pe = StatusMapping::open(with_fd(std::to_string(launcher.fd())), 3);
  StatusWriter(pe.record(2)).set(Phase::waiting, "shmem_quiet", "everything");
  const Status status = read_status(*launcher.record(2));
  EXPECT_EQ(status.phase, Phase::waiting);
  EXPECT_EQ(status.call, "shmem_quiet");
  EXPECT_EQ(status.pid, ::getpid());
  EXPECT_EQ(read_status(*launcher.record(1)).phase, Phase::starting);
}

TEST(StatusMapping, APeCannotShrinkThePageUnderTheLauncher) {
  const StatusMapping launcher = StatusMapping::create(1);
  EXPECT_NE(::ftruncate(launcher.fd(), 0), 0);
}

TEST(StatusMapping, WithoutAPageOfTheRightSizeAPeWritesIntoItsOwnMemory) {
  const StatusMapping launcher = StatusMapping::create(3);
  for (const std::string& value : {std::string(), std::string("987"), std::string("0"), std::to_string(launcher.fd())}) {
    const StatusMapping pe = StatusMapping::open(with_fd(value), 4);
    StatusWriter(pe.record(3)).set(Phase::running, "", "");
    EXPECT_EQ(read_status(*pe.record(3)).phase, Phase::running);
  }
  EXPECT_EQ(read_status(*launcher.record(0)).phase, Phase::starting);
}

}  // namespace
}  // namespace shoal
