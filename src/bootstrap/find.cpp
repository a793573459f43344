// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/find.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "bootstrap/direct.hpp"
#include "bootstrap/pmix.hpp"
#include "bootstrap/secret_file.hpp"
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
    throw Error(Code::invalid_option,
                strf("%s is not set, though other variables of shoalrun are: start the program with shoalrun; "
                     "or by hand, with SHOAL_PE, SHOAL_NPES and SHOAL_RDZV (where PEs meet); "
                     "or unset SHOAL_PE, SHOAL_NPES, SHOAL_STORE_FD and SHOAL_LIFE_FD",
                     name));
  const std::int64_t number = parse_integer(value, name);
  if (number < low || number > high)
    throw Error(Code::invalid_option, strf("%s=\"%s\" is not valid: shoalrun sets it to a number in [%lld, %lld]", name,
                                           value, static_cast<long long>(low), static_cast<long long>(high)));
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
    throw Error(Code::launcher,
                strf("another launcher started this process as one of several (%s), but no Shoal launcher answers: "
                     "start the program with \"shoalrun -n %ld\", or say where the PEs meet "
                     "(SHOAL_RDZV=tcp://HOST:8666, with a host of PE 0), or unset these "
                     "variables to run a single PE",
                     seen.c_str(), count));
}

struct Place {
  int rank, size;
  PeRange node = {};
};

/// What SHOAL_PE and SHOAL_NPES say, or the variables of whichever launcher tells both.
Place place_of(const Options::Environment& environment) {
  if (value_of(environment, "SHOAL_PE") != nullptr || value_of(environment, "SHOAL_NPES") != nullptr) {
    const int size = number_of(environment, "SHOAL_NPES", 1, kMaxPes);
    return {number_of(environment, "SHOAL_PE", 0, size - 1), size};
  }
  for (const Foreign& foreign : kForeign) {
    const long size = foreign_number(environment, foreign.size), rank = foreign_number(environment, foreign.rank);
    if (rank >= 0 && rank < size && size <= kMaxPes) return {static_cast<int>(rank), static_cast<int>(size)};
  }
  throw Error(
      Code::invalid_option,
      "SHOAL_RDZV says where the PEs meet, and nothing says which one this is: set SHOAL_PE and SHOAL_NPES, as well");
}

DirectSetup setup_of(const Options& options, const Place& place) {
  DirectSetup setup{.rank = place.rank, .size = place.size, .node = place.node};
  setup.within_s = static_cast<int>(options.rdzv_timeout);
  setup.silence_s = static_cast<int>(options.silence);
  return setup;
}

std::unique_ptr<Bootstrap> meet_at(const Options& options, Place place, const HostPort& at, const std::string& tag) {
  if (place.size == 1) return make_single_bootstrap();
  DirectSetup setup = setup_of(options, place);
  setup.at = at;
  setup.holds = place.rank == 0;
  setup.tag = tag;
  if (!at.local()) setup.credentials = Credentials::from(options);
  return make_direct_bootstrap(std::move(setup));
}

/// The meeting that a unique id stands for, held by the PE that made it.
std::unique_ptr<Bootstrap> meet_by_id(const Options& options, Place place, const UniqueId& id, MadeId* made) {
  ReadId read = read_unique_id(id);
  DirectSetup setup = setup_of(options, place);
  setup.addresses = std::move(read.addresses);
  setup.at = {setup.addresses.front().host_text(), 0};
  setup.credentials.plain = !options.tls;
  if (options.tls) setup.credentials.secret = std::move(read.secret);
  if (made != nullptr && made->listener && made->id.bytes == id.bytes) {
    setup.holds = true;
    setup.listener = std::move(made->listener);
  }
  return make_direct_bootstrap(std::move(setup));
}

std::unique_ptr<Bootstrap> start_as_told(const Options::Environment& environment, const StartInfo& start) {
  const Options options = Options::from(environment);
  if (start.rank < 0 || start.rank >= start.size || start.size > kMaxPes)
    throw Error(Code::invalid_argument,
                strf("PE %d of %d: expected a number of PEs from 1 on, and of this PE from 0 on below it", start.rank,
                     start.size));
  if (start.id != nullptr) return meet_by_id(options, {start.rank, start.size}, *start.id, start.made);
  const std::string rdzv = start.rdzv.empty() ? options.rdzv : start.rdzv;
  if (rdzv.empty() && start.size > 1)
    throw Error(
        Code::launcher,
        strf("this is PE %d of %d, and nothing says where they meet: give a unique id, or tcp://HOST:PORT (SHOAL_RDZV)",
             start.rank, start.size));
  if (start.size == 1) return make_single_bootstrap();
  return meet_at(options, {start.rank, start.size}, parse_host_port(rdzv, "rdzv"), "");
}

/// torchrun, or whatever sets PyTorch's variables. Null: nobody did, or there is one process.
std::unique_ptr<Bootstrap> start_like_torch(const Options::Environment& environment) {
  const long size = foreign_number(environment, "WORLD_SIZE"), rank = foreign_number(environment, "RANK");
  const char* master = value_of(environment, "MASTER_ADDR");
  if (size <= 1 || rank < 0 || rank >= size || size > kMaxPes || master == nullptr) return nullptr;
  const auto text = [&](const char* name) {
    return std::string(value_of(environment, name) == nullptr ? "" : value_of(environment, name));
  };
  const std::string tag =
      text("MASTER_PORT") + "-" + text("TORCHELASTIC_RUN_ID") + "-" + text("TORCHELASTIC_RESTART_COUNT");
  HostPort at{master, kDefaultPort};  // MASTER_PORT is PyTorch's own
  if (foreign_number(environment, "LOCAL_WORLD_SIZE") == size)
    at.host = ("unix:" + std::string(master) + "-" + tag).substr(0, 80);
  Place place{static_cast<int>(rank), static_cast<int>(size)};
  // torchrun gives a node consecutive numbers; others that set these variables may not.
  const long here = foreign_number(environment, "LOCAL_WORLD_SIZE"), local = foreign_number(environment, "LOCAL_RANK");
  if (!text("TORCHELASTIC_RUN_ID").empty() && local >= 0 && local < here && local <= rank &&
      rank - local + here <= size)
    place.node = {static_cast<int>(rank - local), static_cast<int>(here)};
  return meet_at(Options::from(environment), place, at, tag);
}

/// A PMIx launcher tells who is who, and carries a unique id. Null: there is none, or this build or machine cannot ask
/// it.
std::unique_ptr<Bootstrap> start_by_pmix(const Options::Environment& environment, int session) {
  if (value_of(environment, "PMIX_NAMESPACE") == nullptr || value_of(environment, "PMIX_RANK") == nullptr)
    return nullptr;
  Pmix* const pmix = open_pmix();
  if (pmix == nullptr) return nullptr;
  if (pmix->size() == 1) return make_single_bootstrap();
  const Options options = Options::from(environment);
  MadeId made;
  if (pmix->rank() == 0) made = make_unique_id(options.interface);
  const std::string key = strf("shoal.id.%d", session);
  UniqueId id = made.id;
  pmix->share(key, id.bytes);
  Place place{pmix->rank(), pmix->size()};
  // The first PE of a node stands for consecutive ones only.
  const std::vector<int> here = pmix->on_this_node();
  if (!here.empty() && here.back() - here.front() + 1 == static_cast<int>(here.size()))
    place.node = {here.front(), static_cast<int>(here.size())};
  auto inner = meet_by_id(options, place, id, &made);
  wipe(id.bytes);
  return inner;
}

}  // namespace

std::unique_ptr<Bootstrap> find_bootstrap(const Options::Environment& environment, const StartInfo& start) {
  if (start.size != 0 || start.id != nullptr) return start_as_told(environment, start);
  if (value_of(environment, "SHOAL_STORE_FD") == nullptr && value_of(environment, "SHOAL_RDZV") != nullptr)
    return meet_at(Options::from(environment), place_of(environment),
                   parse_host_port(value_of(environment, "SHOAL_RDZV"), "SHOAL_RDZV"), "");
  bool ours = false;
  for (const char* name : {"SHOAL_PE", "SHOAL_NPES", "SHOAL_STORE_FD"}) ours |= value_of(environment, name) != nullptr;
  if (!ours) {
    if (auto torch = start_like_torch(environment)) return torch;
    if (auto pmix = start_by_pmix(environment, start.session)) return pmix;
    refuse_foreign(environment);
    return make_single_bootstrap();
  }
  const int size = number_of(environment, "SHOAL_NPES", 1, kMaxPes);
  const int rank = number_of(environment, "SHOAL_PE", 0, size - 1);
  const int fd = number_of(environment, "SHOAL_STORE_FD", 0, kMaxFd);
  const int life_fd =
      value_of(environment, "SHOAL_LIFE_FD") != nullptr ? number_of(environment, "SHOAL_LIFE_FD", 0, kMaxFd) : -1;
  return make_store_bootstrap(fd, rank, size, life_fd, inherited_secret(environment));
}

Credentials data_credentials(const Options& options, const Bootstrap& bootstrap) {
  // The launcher's secret is new for each job, that of a file is not.
  if (bootstrap.secret() == nullptr || !options.tls || !options.tls_ca.empty() || !options.tls_cert.empty())
    return Credentials::from(options);
  Credentials result;
  result.secret = Secret::from_bytes(bootstrap.secret()->bytes());
  return result;
}

int launched_as(const Options::Environment& environment) noexcept {
  const char* pe = environment("SHOAL_PE");
  return pe == nullptr || *pe < '0' || *pe > '9' ? -1 : std::atoi(pe);
}

}  // namespace shoal
