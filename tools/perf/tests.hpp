// SPDX-License-Identifier: Apache-2.0
// The list of tests. A test makes, for one size, a Case: the loop to measure and the limits beside it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "options.hpp"
#include "runner.hpp"

namespace shoal::perf {

class World;

/// What a test is repeated over.
enum class By { once, bytes, threads };

/// Buffer that a test needs on each PE, in units of its size.
enum class Space { one, strided, per_pe, per_pe_strided };

struct Test {
  const char* name;
  const char* group;
  Who who;
  By by;
  Space space;
  const char* about;
  Case (*make)(World& world, std::size_t size);
  int least_pes = 1;
};

std::vector<Test> rma_tests();
std::vector<Test> rate_tests();
std::vector<Test> atomic_tests();
std::vector<Test> signal_tests();
std::vector<Test> sync_tests();
std::vector<Test> collective_tests();
std::vector<Test> reduction_tests();
std::vector<Test> management_tests();
std::vector<Test> thread_tests();

/// All of them, in the order in which they run.
const std::vector<Test>& all_tests();

/// Those that the command line names; throws Usage for a name that fits nothing.
std::vector<Test> chosen_tests(const Options& options);

/// Throws Usage unless there is a reduction of that type and operation.
void check_reduction(const std::string& type, const std::string& op);

/// Bytes of each buffer on each PE that the test needs at this size.
std::size_t space_of(const Test& test, std::size_t size, int n, std::size_t stride);

}  // namespace shoal::perf
