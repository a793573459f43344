// SPDX-License-Identifier: Apache-2.0
// The life of a job, handles, and options.
#include <filesystem>
#include <fstream>

#include "base/handle_table.hpp"
#include "thread_job.hpp"

namespace shoal::test {
namespace {

std::size_t count_lines(const char* path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}
std::size_t count_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST(Job, StartsAndStopsWithoutLeavingAnything) {
  const auto once = [] {
    run_job(2, {"SHMEM_SYMMETRIC_SIZE=1m"}, [](Job& job) {
      EXPECT_NE(job.create_heap(job.world_team(), 1 << 20, 64, "test"), 0u);
      barrier(job);
    });
  };
  once();
  const std::size_t descriptors = count_descriptors(), mappings = count_lines("/proc/self/maps");
  for (int i = 0; i < 50; ++i) once();
  EXPECT_EQ(count_descriptors(), descriptors);
  EXPECT_LE(count_lines("/proc/self/maps"), mappings + 30);  // one a round would be 50; stacks may be kept
}

TEST(Job, SeveralLiveSideBySide) {
  std::thread other([] { run_job(2, {}, [](Job& job) { for (int i = 0; i < 100; ++i) barrier(job); }); });
  run_job(3, {}, [](Job& job) {
    EXPECT_EQ(job.n_pes(), 3);
    for (int i = 0; i < 100; ++i) barrier(job);
  });
  other.join();
}

TEST(Job, DifferentHeapSizesAreNamed) {
  LocalWorld world(2);
  std::string texts[2];
  std::vector<std::thread> pes;
  for (int pe = 0; pe < 2; ++pe)
    pes.emplace_back([&, pe] {
      const auto bootstrap = world.join(pe);
      JobSetup setup;
      setup.bootstrap = bootstrap.get();
      setup.options = options_with({pe == 0 ? "SHMEM_SYMMETRIC_SIZE=1m" : "SHMEM_SYMMETRIC_SIZE=2m"});
      try {
        Job::start(std::move(setup));
      } catch (const Error& error) {
        texts[pe] = error.what();
      }
    });
  for (auto& pe : pes) pe.join();
  for (const std::string& text : texts) {
    EXPECT_NE(text.find("PE 1 has SHMEM_SYMMETRIC_SIZE=2097152; PE 0 has SHMEM_SYMMETRIC_SIZE=1048576"), std::string::npos) << text;
    EXPECT_NE(text.find("SHMEM_SYMMETRIC_SIZE"), std::string::npos) << text;
  }
}

TEST(Handles, StaleOnesAreNotFound) {
  HandleTable<int, 3, 16384> table;
  const auto a = table.insert(std::make_unique<int>(1));
  EXPECT_GT(a, 2u);
  EXPECT_EQ(*table.find(a), 1);
  EXPECT_NE(table.erase(a), nullptr);
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(table.erase(a), nullptr);
  for (std::uintptr_t made_up : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{12345}, UINTPTR_MAX}) EXPECT_EQ(table.find(made_up), nullptr);
  std::vector<std::uintptr_t> all;
  while (const auto handle = table.insert(std::make_unique<int>(static_cast<int>(all.size())))) all.push_back(handle);
  EXPECT_GE(all.size(), 16'000u);
  EXPECT_EQ(table.find(a), nullptr) << "its index is used again, its handle isn't";
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(*table.find(all[i]), static_cast<int>(i));
}

TEST(Options, SizesTakeFractionsAndSuffixes) {
  EXPECT_EQ(parse_size("1.5g", "X"), 3ull << 29);
  EXPECT_EQ(parse_size("4096", "X"), 4096u);
  EXPECT_EQ(parse_size("2K", "X"), 2048u);
  EXPECT_EQ(parse_size(".5m", "X"), 1u << 19);
  EXPECT_EQ(parse_size("0.25T", "X"), 1ull << 38);
  EXPECT_EQ(parse_size("0", "X"), 1u) << "at least as much as asked for";
}

TEST(Options, RubbishIsRefusedWithNameValueAndWhatIsAccepted) {
  for (const char* text : {"", "20Mabc", "abc", "-1", "1e9", "0x10", "1 g", "1gg", "nan", "inf", "99999999t", "m", "."}) {
    try {
      parse_size(text, "SHMEM_SYMMETRIC_SIZE");
      ADD_FAILURE() << text << " was accepted";
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("SHMEM_SYMMETRIC_SIZE=\"" + std::string(text) + "\""), std::string::npos) << what;
      EXPECT_NE(what.find("1.5g"), std::string::npos) << what;
    }
  }
  EXPECT_THROW(options_with({"SHOAL_SPIN=12x"}), Error);
  EXPECT_THROW(options_with({"SHOAL_HUGE_PAGES=maybe"}), Error);
}

TEST(Options, TheSpecificationsNameWinsOverTheOlderOne) {
  EXPECT_EQ(options_with({"SMA_SYMMETRIC_SIZE=1m", "SHMEM_SYMMETRIC_SIZE=2m"}).symmetric_size, 2u << 20);
  EXPECT_EQ(options_with({"SMA_SYMMETRIC_SIZE=1m"}).symmetric_size, 1u << 20);
  EXPECT_EQ(options_with({}).symmetric_size, 1u << 30);
  EXPECT_TRUE(options_with({"SHMEM_DEBUG="}).debug) << "any value turns it on";
  EXPECT_FALSE(options_with({}).debug);
}

}  // namespace
}  // namespace shoal::test
