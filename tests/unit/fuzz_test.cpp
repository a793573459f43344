// SPDX-License-Identifier: Apache-2.0
// Whatever is read from outside (tests/fuzz) is fed with rubbish, and with what is nearly right: nothing may crash, hang or
// be believed. The sanitizer builds look on. SHOAL_TEST_FUZZ_ROUNDS sets how many rounds (2,000), SHOAL_TEST_FUZZ_SEED the seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "../fuzz/targets.hpp"
#include "base/options.hpp"

namespace shoal {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = process_environment(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Fuzz : public testing::TestWithParam<fuzz::Target> {
 protected:
  Fuzz() {
    const std::uint64_t seed = number_from("SHOAL_TEST_FUZZ_SEED", std::random_device()());
    std::printf("SHOAL_TEST_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
    random_.seed(seed);
  }
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string bytes(std::size_t most) {
    std::string text(below(most + 1), '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }
  /// `text` with some bytes changed, left out, doubled or put in; at its front more often than elsewhere.
  std::string mutated(std::string text) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = text.empty() ? 0 : below(below(2) == 0 ? text.size() : std::min<std::size_t>(text.size(), 200));
      switch (below(5)) {
        case 0:
        case 1:
          if (!text.empty()) text[at] = static_cast<char>(below(2) == 0 ? random_() : below(4));
          break;
        case 2: text.erase(at, 1 + below(8)); break;
        case 3: text.insert(at, text.substr(at, below(16))); break;
        default: text.insert(at, bytes(8)); break;
      }
    }
    return text;
  }
  std::mt19937_64 random_;
};

TEST_P(Fuzz, NothingIsBelieved) {
  const std::vector<std::string> seeds = GetParam().seeds();
  for (const std::string& seed : seeds) GetParam().run(seed);
  const std::uint64_t rounds = number_from("SHOAL_TEST_FUZZ_ROUNDS", 2000) / (GetParam().slow ? 10 : 1);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::string input = below(20) == 0 ? bytes(64) : mutated(seeds[below(seeds.size())]);
    if (below(8) == 0) input.resize(below(input.size() + 1));
    if (below(8) == 0) input += mutated(seeds[below(seeds.size())]);
    fuzz::shown = &input;
    GetParam().run(input);
    fuzz::shown = nullptr;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Fuzz, testing::ValuesIn(fuzz::targets().begin(), fuzz::targets().end()),
                         [](const testing::TestParamInfo<fuzz::Target>& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace shoal
