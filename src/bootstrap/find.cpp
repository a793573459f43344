// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/find.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "bootstrap/single.hpp"
#include "bootstrap/store.hpp"

namespace shoal {
namespace {

constexpr std::int64_t kMaxPes = 1 << 20;
constexpr std::int64_t kMaxFd = 1 << 30;

const char* value_of(const Options::Environment& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int number_of(const Options::Environment& environment, const char* name, std::int64_t low, std::int64_t high) {
  const char* value = value_of(environment, name);
  if (value == nullptr)
    throw Error(Code::invalid_option, strf("%s is not set, though other variables of shoalrun are: start the program with shoalrun, "
                                           "or unset SHOAL_PE, SHOAL_NPES, SHOAL_STORE_FD and SHOAL_LIFE_FD", name));
  const std::int64_t number = parse_integer(value, name);
  if (number < low || number > high)
    throw Error(Code::invalid_option, strf("%s=\"%s\" is not valid: shoalrun sets it to a number in [%lld, %lld]", name, value,
                                           static_cast<long long>(low), static_cast<long long>(high)));
  return static_cast<int>(number);
}

struct Foreign {
  const char* size;  // the variable that tells how many processes there are; "": this launcher does not tell
  const char* rank;  // the one that tells which of them this is; "": size alone speaks
};
constexpr Foreign kForeign[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    {"MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    {"PALS_SIZE", "PALS_RANKID"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"WORLD_SIZE", "RANK"},
    {"PMIX_SIZE", "PMIX_RANK"},
    {"SLURM_NTASKS", "SLURM_PROCID"},
};

/// -1 when the variable is absent or no number: it is not ours, so we do not judge it.
long foreign_number(const Options::Environment& environment, const char* name) {
  const char* value = value_of(environment, name);
  if (value == nullptr) return -1;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  return *end == '\0' && number >= 0 ? number : -1;
}

void refuse_foreign(const Options::Environment& environment) {
  std::string seen;
  long count = 0;
  for (const Foreign& foreign : kForeign) {
    const long size = foreign_number(environment, foreign.size), rank = foreign_number(environment, foreign.rank);
    // An allocation of Slurm sets its size for every process in it; only with a rank is this one of several.
    const bool size_counts = size > 1 && (foreign.size != std::string("SLURM_NTASKS") || rank >= 0);
    if (!size_counts && rank < 1) continue;
    if (size > 1) seen += strf("%s%s=%ld", seen.empty() ? "" : ", ", foreign.size, size);
    if (rank >= 0) seen += strf("%s%s=%ld", seen.empty() ? "" : ", ", foreign.rank, rank);
    count = std::max(count, std::max(size, rank + 1));
  }
  if (!seen.empty())
    throw Error(Code::launcher, strf("another launcher started this process as one of several (%s), but no Shoal launcher answers: "
                                     "start the program with \"shoalrun -n %ld\", or unset these variables to run a single PE",
                                     seen.c_str(), count));
}

}  // namespace

std::unique_ptr<Bootstrap> find_bootstrap(const Options::Environment& environment) {
  bool ours = false;
  for (const char* name : {"SHOAL_PE", "SHOAL_NPES", "SHOAL_STORE_FD"}) ours |= value_of(environment, name) != nullptr;
  if (!ours) {
    refuse_foreign(environment);
    return make_single_bootstrap();
  }
  const int size = number_of(environment, "SHOAL_NPES", 1, kMaxPes);
  const int rank = number_of(environment, "SHOAL_PE", 0, size - 1);
  const int fd = number_of(environment, "SHOAL_STORE_FD", 0, kMaxFd);
  const int life_fd = value_of(environment, "SHOAL_LIFE_FD") != nullptr ? number_of(environment, "SHOAL_LIFE_FD", 0, kMaxFd) : -1;
  return make_store_bootstrap(fd, rank, size, life_fd);
}

int launched_as(const Options::Environment& environment) noexcept {
  const char* pe = environment("SHOAL_PE");
  return pe == nullptr || *pe < '0' || *pe > '9' ? -1 : std::atoi(pe);
}

}  // namespace shoal
