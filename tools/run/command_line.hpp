// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace shoal::run {

/// Exit statuses of shoalrun itself; otherwise it passes on what the program gave.
inline constexpr int kUsage = 2, kTimedOut = 3, kCannotExecute = 126, kNotFound = 127;

struct Settings {
  int npes = 0;
  bool bind_core = false;
  bool tag_output = false;
  bool verbose = false;
  double timeout_s = 0;  ///< 0: none
  int nnodes = 1;        ///< launchers of the job, each with its own PEs
  bool nnodes_given = false;
  int node_rank = 0;
  std::string rdzv;             ///< where they meet
  double rdzv_timeout_s = 120;  ///< until when all must have come
  std::string secret_file;      ///< "": what SHOAL_JOB_SECRET_FILE says
  bool no_tls = false;
  std::string fake_nodes;  ///< "": none
  std::string wdir;        ///< "": where shoalrun was started
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> program;  ///< and its arguments
  std::string join_trace;            ///< "", or a trace whose pieces are to be joined; then nothing runs
  std::string show;                  ///< what --help or --version asks to print; then nothing runs
};

/// @throws Error{invalid_argument} with one line that says what is wrong and what is right
Settings parse_command_line(const std::vector<std::string>& arguments);

}  // namespace shoal::run
