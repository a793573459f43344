// SPDX-License-Identifier: Apache-2.0
// Which launcher started this process, if any.
#pragma once
#include <memory>

#include "base/options.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/unique_id.hpp"
#include "security/credentials.hpp"

namespace shoal {

/// What the program itself said about the start.
struct StartInfo {
  int rank = -1, size = 0;       ///< 0: nothing
  std::string rdzv = {};         ///< where to meet, in place of SHOAL_RDZV
  const UniqueId* id = nullptr;  ///< in place of that
  MadeId* made = nullptr;        ///< the one that this process made, if it did
  int session = 0;               ///< how often this process has joined others before
};

/// In this order: what the program said; shoalrun (SHOAL_PE, SHOAL_NPES, SHOAL_STORE_FD); a meeting point (SHOAL_RDZV)
/// with the numbers that SHOAL_PE and SHOAL_NPES or any launcher's variables give; torchrun (RANK, WORLD_SIZE,
/// MASTER_ADDR); PMIx. Nobody: a job of one PE.
/// @throws Error{invalid_option} when those variables make no sense; Error{launcher} when another launcher says that
/// there are several PEs (each of them would believe to be PE 0 of 1), or when shoalrun or the other PEs do not answer;
/// Error{security}
std::unique_ptr<Bootstrap> find_bootstrap(const Options::Environment& environment, const StartInfo& start = {});

/// With what the PEs of this job prove to each other who they are: certificates that the options name, else the job's
/// secret, else one from a file. @throws Error{security} when what is named cannot be used
Credentials data_credentials(const Options& options, const Bootstrap& bootstrap);

/// The PE that shoalrun started this process as, for messages of a process that is in no job; -1 when it didn't.
int launched_as(const Options::Environment& environment) noexcept;

}  // namespace shoal
