// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/find.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "bootstrap_launcher.hpp"

namespace shoal {
namespace {

using Variables = std::map<std::string, std::string>;

Options::Environment environment(const Variables& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::string error_with(const Variables& variables) {
  return error_of([&] { find_bootstrap(environment(variables)); });
}

TEST(Find, WithoutALauncherAProgramIsAJobOfOne) {
  for (const Variables& variables : {Variables{}, Variables{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}},
                                     Variables{{"WORLD_SIZE", "large"}}, Variables{{"PMI_SIZE", ""}},
                                     Variables{{"SLURM_NTASKS", "8"}},  // inside an allocation, but not started by srun
                                     Variables{{"SHOAL_PE", ""}, {"SHOAL_NPES", ""}}}) {
    const auto bootstrap = find_bootstrap(environment(variables));
    EXPECT_EQ(bootstrap->rank(), 0);
    EXPECT_EQ(bootstrap->size(), 1);
  }
}

TEST(Find, AnotherLauncherWithSeveralProcessesIsRefusedLoudly) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}}, "OMPI_COMM_WORLD_SIZE=4, OMPI_COMM_WORLD_RANK=2"},
      {{{"PMI_SIZE", "2"}}, "PMI_SIZE=2"},
      {{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, "SLURM_NTASKS=8, SLURM_PROCID=0"},
      {{{"WORLD_SIZE", "3"}, {"RANK", "0"}}, "WORLD_SIZE=3, RANK=0"},
      {{{"PMIX_RANK", "5"}}, "PMIX_RANK=5"},
      {{{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}}, "FLUX_JOB_SIZE=2"},
  };
  for (const auto& [variables, text] : cases) {
    const std::string error = error_with(variables);
    EXPECT_NE(error.find(text), std::string::npos) << error;
    EXPECT_NE(error.find("shoalrun -n "), std::string::npos) << error;
  }
  EXPECT_NE(error_with({{"PMIX_RANK", "5"}}).find("shoalrun -n 6"), std::string::npos);
}

TEST(Find, OurOwnVariablesMustMakeSense) {
  const Variables good{{"SHOAL_PE", "0"}, {"SHOAL_NPES", "2"}, {"SHOAL_STORE_FD", "987"}};
  EXPECT_NE(error_with(good).find("descriptor 987"), std::string::npos) << "all is well but the descriptor";
  struct Case {
    const char *name, *value, *text;
  };
  for (const Case& test : {Case{"SHOAL_PE", "x", "SHOAL_PE=\"x\" is not valid"}, Case{"SHOAL_PE", "2", "[0, 1]"},
                           Case{"SHOAL_PE", "-1", "SHOAL_PE=\"-1\""}, Case{"SHOAL_PE", "1a", "SHOAL_PE=\"1a\""},
                           Case{"SHOAL_PE", "", "SHOAL_PE is not set"}, Case{"SHOAL_NPES", "0", "SHOAL_NPES=\"0\""},
                           Case{"SHOAL_NPES", "99999999999999999999", "SHOAL_NPES"}, Case{"SHOAL_NPES", "", "SHOAL_NPES is not set"},
                           Case{"SHOAL_STORE_FD", "-3", "SHOAL_STORE_FD=\"-3\""},
                           Case{"SHOAL_STORE_FD", "7 ", "SHOAL_STORE_FD=\"7 \""}, Case{"SHOAL_STORE_FD", "", "SHOAL_STORE_FD is not set"},
                           Case{"SHOAL_LIFE_FD", "q", "SHOAL_LIFE_FD=\"q\""}}) {
    Variables variables = good;
    variables[test.name] = test.value;
    const std::string error = error_with(variables);
    EXPECT_NE(error.find(test.text), std::string::npos) << test.name << "=" << test.value << ": " << error;
  }
}

TEST(Find, JoinsTheLauncherWhateverOtherLaunchersSay) {
  TestLauncher launcher(2);
  launcher.start();
  const auto bootstrap = find_bootstrap(environment({{"SHOAL_PE", "1"}, {"SHOAL_NPES", "2"},
                                                     {"SHOAL_STORE_FD", std::to_string(launcher.fd(1))},
                                                     {"OMPI_COMM_WORLD_SIZE", "7"}}));
  EXPECT_EQ(bootstrap->rank(), 1);
  EXPECT_EQ(bootstrap->size(), 2);
}

}  // namespace
}  // namespace shoal
