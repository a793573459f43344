// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "security/secret.hpp"
#include "test_certificates.hpp"

namespace shoal {
namespace {

std::string hex(const Secret& secret) {
  std::string text;
  for (const std::byte b : secret.bytes()) text += strf("%02x", static_cast<unsigned>(b));
  return text;
}

std::string error_of_file(const std::string& path) {
  try {
    Secret::from_file(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::security);
    return error.what();
  }
  return "";
}

TEST(Secret, FreshOnesDiffer) { EXPECT_NE(hex(Secret::fresh()), hex(Secret::fresh())); }

// Made independently, with Python's hmac: extract = HMAC(salt, key), expand = HMAC(extract, info || 1).
TEST(Secret, FromFileIsHkdfOfTheText) {
  const TestFolder folder;
  const std::string text = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(hex(Secret::from_file(folder.write("s", text))), "98918427d42d56f1f5b12d513b362d858155f2f37002d0b424ba5558a98a7e12");
  EXPECT_EQ(hex(Secret::from_file(folder.write("s", text)).derive("data key")), "e0e44acfcb91c0a57e744964d3da85ff7cd8a4ced947ef8f531c59772523b20f");
}

TEST(Secret, NewlineAtTheEndDoesNotCount) {
  const TestFolder folder;
  const std::string text(40, 'x');
  const std::string expected = hex(Secret::from_file(folder.write("a", text)));
  EXPECT_EQ(hex(Secret::from_file(folder.write("b", text + "\n"))), expected);
  EXPECT_EQ(hex(Secret::from_file(folder.write("c", text + "\r\n"))), expected);
  EXPECT_NE(hex(Secret::from_file(folder.write("d", text + "\n\n"))), expected);
}

TEST(Secret, ShortFileIsRefusedWithItsLength) {
  const TestFolder folder;
  EXPECT_NE(error_of_file(folder.write("s", std::string(31, 'x') + "\n")).find("31 bytes"), std::string::npos);
  EXPECT_NE(error_of_file(folder.write("t", "")).find("0 bytes"), std::string::npos);
}

TEST(Secret, FileThatOthersMayReadIsRefused) {
  const TestFolder folder;
  const std::string text(40, 'x');
  for (const mode_t mode : {0640u, 0604u, 0660u, 0620u}) {
    const std::string error = error_of_file(folder.write("s", text, mode));
    EXPECT_NE(error.find(strf("mode %04o", mode)), std::string::npos) << error;
    EXPECT_NE(error.find("chmod 600"), std::string::npos) << error;
  }
  EXPECT_EQ(error_of_file(folder.write("s", text, 0400)), "");
}

TEST(Secret, WhatIsNoFileIsRefused) {
  const TestFolder folder;
  EXPECT_NE(error_of_file(folder.path("absent")).find("No such file"), std::string::npos);
  EXPECT_NE(error_of_file("/dev/zero").find("not a regular file"), std::string::npos);
}

TEST(Secret, PurposesHaveUnrelatedKeys) {
  const Secret secret = Secret::fresh();
  EXPECT_NE(hex(secret.derive("data key")), hex(secret.derive("config store key")));
  EXPECT_EQ(hex(secret.derive("data key")), hex(secret.derive("data key")));
}

/// The flags of the mapping that holds `address`, from /proc/self/smaps.
std::string flags_of(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      here = first <= reinterpret_cast<unsigned long>(address) && reinterpret_cast<unsigned long>(address) < last;
    if (here && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

// As a connection's thread does in a process that exits meanwhile.
TEST(SecretDeathTest, OpenSslServesTheLibraryToTheVeryEnd) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto use_late = [] {
    std::atexit([] {  // runs after all that is registered later
      try {
        Secret::fresh().derive("late");
        ::_exit(7);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
    });
    Secret::fresh().derive("early");
    std::exit(1);
  };
  EXPECT_EXIT(use_late(), testing::ExitedWithCode(7), "");
}

TEST(Secret, IsLeftOutOfCoreDumpsAndOfForkedChildren) {
  const Secret secret = Secret::fresh();
  const std::string flags = flags_of(secret.bytes().data());
  if (flags.empty()) GTEST_SKIP() << "no /proc/self/smaps with flags";
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  EXPECT_NE(flags.find(" wf "), std::string::npos) << flags;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto bytes = secret.bytes();
    ::_exit(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace shoal
