// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace shoal {
namespace {

namespace fs = std::filesystem;

/// A made-up /proc and /sys.
class FakeRoot : public ::testing::Test {
 protected:
  FakeRoot() : root_(fs::temp_directory_path() / ("shoal-topology-" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~FakeRoot() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  CgroupLimits limits() const { return read_cgroup(root_.string()); }
  Topology topology() const { return read_topology(root_.string()); }
  fs::path root_;
};

constexpr const char* kUnifiedMount =
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST_F(FakeRoot, NothingReadableMeansNoLimits) {
  const CgroupLimits none = limits();
  EXPECT_EQ(none.path, "");
  EXPECT_FALSE(none.cpus || none.memory || none.memory_used || none.oom_kills);
  EXPECT_GE(usable_cpus(topology()), 1);
}

TEST_F(FakeRoot, Version2TakesTheTightestGroupOnTheWayUp) {
  write("proc/self/cgroup", "0::/user.slice/job\n");
  write("proc/self/mountinfo", kUnifiedMount);
  write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  write("sys/fs/cgroup/user.slice/memory.current", "4096\n");
  write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  write("sys/fs/cgroup/user.slice/job/memory.current", "77\n");
  write("sys/fs/cgroup/user.slice/job/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n");
  const CgroupLimits found = limits();
  EXPECT_EQ(found.path, "/user.slice/job");
  EXPECT_EQ(found.cpus, 1.5);
  EXPECT_EQ(found.memory, 1073741824u);
  EXPECT_EQ(found.memory_used, 4096u) << "use must be the group's that has the limit";
  EXPECT_EQ(found.oom_kills, 1u);
}

TEST_F(FakeRoot, Version1ReadsEachControllerWhereItIsMounted) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  write("proc/self/mountinfo",
        "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const CgroupLimits found = limits();
  EXPECT_EQ(found.cpus, 4.0);
  EXPECT_EQ(found.memory, 536870912u);
  EXPECT_EQ(found.memory_used, 1000u);
  EXPECT_EQ(found.oom_kills, 7u);
}

TEST_F(FakeRoot, Version1ShowsItsHugeValueAsUnlimited) {
  write("proc/self/cgroup", "5:cpu:/\n4:memory:/\n");
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(limits().cpus);
  EXPECT_FALSE(limits().memory);
}

TEST_F(FakeRoot, MountThatShowsANeighboursGroupIsNotTakenForOurs) {
  write("proc/self/cgroup", "4:memory:/docker/abcdef\n");
  write("proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("sys/fs/cgroup/memory/def/memory.limit_in_bytes", "4096\n");
  EXPECT_FALSE(limits().memory);
}

TEST_F(FakeRoot, QuotaBoundsTheUsableCpusDownToOne) {
  Topology machine;
  machine.cpus = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}, {3, 3, 0, 0}};
  EXPECT_EQ(usable_cpus(machine), 4);
  machine.cgroup.cpus = 2.5;
  EXPECT_EQ(usable_cpus(machine), 2);
  machine.cgroup.cpus = 0.25;
  EXPECT_EQ(usable_cpus(machine), 1);
  machine.cgroup.cpus = 64;
  EXPECT_EQ(usable_cpus(machine), 4);
}

TEST_F(FakeRoot, GroupsLimitBoundsTheUsableMemory) {
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    500 kB\n");
  Topology machine = topology();
  EXPECT_EQ(machine.memory_total, 1000u * 1024);
  EXPECT_EQ(usable_memory(machine), 500u * 1024);
  machine.cgroup.memory = 300 * 1024;
  machine.cgroup.memory_used = 100 * 1024;
  EXPECT_EQ(usable_memory(machine), 200u * 1024);
  machine.cgroup.memory_used = 301 * 1024;
  EXPECT_EQ(usable_memory(machine), 0u);
}

TEST_F(FakeRoot, HugePageChoiceIsTheWordInBrackets) {
  write("sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never deny force\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  write("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
  const Topology machine = topology();
  EXPECT_EQ(machine.shared_huge_pages, "advise");
  EXPECT_EQ(machine.anonymous_huge_pages, "never");
  EXPECT_EQ(machine.huge_page_size, 2097152u);
}

TEST(Topology, DescribesThisMachine) {
  const Topology machine = read_topology();
  EXPECT_FALSE(machine.host.empty());
  EXPECT_EQ(machine.boot_id.size(), 36u);
  EXPECT_GT(machine.memory_total, 0u);
  EXPECT_FALSE(machine.cpus.empty());
  EXPECT_LE(usable_cpus(machine), machine.cpus_online);
  EXPECT_EQ(usable_cpus(machine), usable_cpus());
}

TEST(Topology, AffinityMaskBoundsTheUsableCpus) {
  std::thread([] {  // a mask of its own: the other tests keep theirs
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(read_topology().cpus.front().id), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1);
    EXPECT_EQ(read_topology().cpus.size(), 1u);
  })
      .join();
}

}  // namespace
}  // namespace shoal
