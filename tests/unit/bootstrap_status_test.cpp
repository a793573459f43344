// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/status_mapping.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

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

TEST(StatusMapping, OfAPeKilledWhileItWroteTheRestIsRead) {
  const StatusMapping page = StatusMapping::create(1);
  StatusWriter(page.record(0)).set(Phase::waiting, "shmem_quiet", "everything");
  page.record(0)->sequence.fetch_add(1);  // odd for ever
  EXPECT_EQ(read_status(*page.record(0)).call, "shmem_quiet");
}

TEST(StatusMapping, ItMayBeReadWhileItIsWritten) {  // for the thread sanitizer
  const StatusMapping page = StatusMapping::create(1);
  std::atomic<bool> done{false};
  std::thread pe([&] {
    while (!done.load(std::memory_order_relaxed)) StatusWriter(page.record(0)).set(Phase::waiting, "call", "detail");
  });
  for (int look = 0; look < 1000; ++look) {
    const std::string call = read_status(*page.record(0)).call;
    EXPECT_TRUE(call.empty() || call == "call") << call;
  }
  done.store(true, std::memory_order_relaxed);
  pe.join();
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
