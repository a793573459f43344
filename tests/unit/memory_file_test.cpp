// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace shoal {
namespace {

std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long low = 0, high = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &low, &high) == 2)
      inside = low <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < high;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line;
  }
  return "";
}

template <class F>
std::string error_text(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryFile, TwoMappingsShowTheSameBytes) {
  const UniqueFd fd = create_memory_file("shoal-test", 3 * page_bytes());
  const Mapping one = Mapping::map_file(fd.get(), 3 * page_bytes());
  const Mapping other = Mapping::map_file(fd.get(), page_bytes(), page_bytes());
  std::memset(one.data() + page_bytes(), 7, 8);
  EXPECT_EQ(other.data()[3], std::byte{7});
  EXPECT_EQ(other.data()[8], std::byte{0});
}

TEST(MemoryFile, SizeIsRoundedToPagesAndSealed) {
  const UniqueFd fd = create_memory_file("shoal-test", 1);
  struct stat info {};
  ASSERT_EQ(::fstat(fd.get(), &info), 0);
  EXPECT_EQ(static_cast<std::size_t>(info.st_size), page_bytes());
  EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd.get(), info.st_size * 2), -1);
  EXPECT_TRUE((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST(MemoryFile, ATerabyteCostsNothingUntilItIsTouched) {
  const std::size_t bytes = std::size_t{1} << 40;
  const UniqueFd fd = create_memory_file("shoal-test", bytes);
  const Mapping mapping = Mapping::map_file(fd.get(), bytes);
  mapping.data()[bytes - 1] = std::byte{1};
  struct stat info {};
  ASSERT_EQ(::fstat(fd.get(), &info), 0);
  EXPECT_LE(static_cast<std::size_t>(info.st_blocks) * 512, kHugePageBytes);
}

TEST(MemoryFile, ErrorsNameSizesAndLimits) {
  EXPECT_NE(error_text([] { create_memory_file("heap", 0); }).find("\"heap\" of 0 bytes"), std::string::npos);
  const std::size_t huge = std::numeric_limits<std::size_t>::max();
  EXPECT_NE(error_text([&] { create_memory_file("heap", huge); }).find(std::to_string(huge)), std::string::npos);
  const UniqueFd fd = create_memory_file("shoal-test", page_bytes());
  EXPECT_NE(error_text([&] { Mapping::map_file(fd.get(), huge / 2); }).find("address space limit"), std::string::npos);
  EXPECT_NE(error_text([&] { Mapping::map_file(fd.get(), huge); }), "");
  EXPECT_NE(error_text([&] { Mapping::map_file(fd.get(), 64, 64); }).find("offset 64"), std::string::npos);
  EXPECT_NE(error_text([&] { Mapping::map_file(fd.get(), 64, 0, 3); }).find("powers of two"), std::string::npos);
  EXPECT_NE(error_text([] { Mapping::map_file(-1, 64); }).find("no file descriptor"), std::string::npos);
}

TEST(MemoryFile, DescriptorLimitIsNamed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string text;
  try {
    create_memory_file("heap", 4096);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  } catch (const Error& error) {
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);  // at once: UBSan needs descriptors to look at `error`
    text = error.what();
  }
  EXPECT_NE(text.find("open file limit 0"), std::string::npos) << text;
}

TEST(MemoryFile, FileSizeLimitIsNamedAndItsSignalConsumed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 8192;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string text = error_text([] { create_memory_file("heap", 1 << 20); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(text.find("file size limit 8192"), std::string::npos) << text;
  EXPECT_NE(text.find("SHMEM_SYMMETRIC_SIZE"), std::string::npos) << text;
  sigset_t set;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &set), 0);
  EXPECT_EQ(::sigismember(&set, SIGXFSZ), 0);
}

TEST(Mapping, AddressesAreAlignedAsAsked) {
  const UniqueFd fd = create_memory_file("shoal-test", page_bytes());
  for (const std::size_t alignment : {std::size_t{64}, page_bytes(), kHugePageBytes, std::size_t{1} << 30}) {
    const Mapping mapping = Mapping::map_file(fd.get(), page_bytes(), 0, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping.data()) % alignment, 0u);
  }
}

TEST(Mapping, IsUnmappedAtItsEndUnlessItIsAView) {
  void* address = nullptr;
  {
    Mapping mapping = Mapping::map_private(page_bytes());
    address = mapping.data();
    const Mapping view = Mapping::view(mapping.data(), mapping.size());
    EXPECT_FALSE(view.owned());
    Mapping moved = std::move(mapping);
    EXPECT_EQ(mapping.data(), nullptr);  // NOLINT: what a moved-from mapping is
    EXPECT_EQ(moved.data(), address);
    Mapping assigned;
    assigned = std::move(moved);
    assigned.data()[0] = std::byte{1};
    EXPECT_NE(flags_of(address), "");
  }
  EXPECT_EQ(flags_of(address), "");
}

TEST(Mapping, IsKeptAcrossForkAndStaysShared) {
  const UniqueFd fd = create_memory_file("shoal-test", page_bytes());
  const Mapping mapping = Mapping::map_file(fd.get(), page_bytes());
  mapping.data()[0] = std::byte{1};
  const pid_t child = ::fork();
  if (child == 0) {
    mapping.data()[1] = std::byte{2};
    ::_exit(mapping.data()[0] == std::byte{1} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mapping.data()[1], std::byte{2});
}

TEST(Mapping, AdviceReachesTheKernel) {
  const std::size_t bytes = 4 * kHugePageBytes;
  const UniqueFd fd = create_memory_file("shoal-test", bytes);
  const Mapping mapping = Mapping::map_file(fd.get(), bytes);
  EXPECT_TRUE(mapping.exclude_from_core_dump(100, 2 * page_bytes()));
  EXPECT_EQ(flags_of(mapping.data()).find(" dd"), std::string::npos);
  EXPECT_NE(flags_of(mapping.data() + page_bytes()).find(" dd"), std::string::npos);
  EXPECT_EQ(flags_of(mapping.data() + 2 * page_bytes()).find(" dd"), std::string::npos);
  EXPECT_FALSE(mapping.exclude_from_core_dump(1, bytes));
  const bool advised = mapping.advise_huge_pages();
  EXPECT_EQ(flags_of(mapping.data()).find(" hg") != std::string::npos, advised);
  EXPECT_FALSE(Mapping().advise_huge_pages());
}

}  // namespace
}  // namespace shoal
