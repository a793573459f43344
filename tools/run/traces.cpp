// SPDX-License-Identifier: Apache-2.0
#include "traces.hpp"

#include <poll.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/options.hpp"
#include "base/trace_file.hpp"
#include "report.hpp"

namespace shoal::run {
namespace {

/// As the PEs see it.
const char* variable(const Settings& settings, const char* name) {
  for (auto given = settings.environment.rbegin(); given != settings.environment.rend(); ++given)
    if (given->first == name) return given->second.c_str();
  return process_environment(name);
}

constexpr std::uint64_t kWritersNs = 2'000'000'000;

/// @param grace_ns  for those that write it to end, whom others are ending
int join(const std::string& trace, int n_pes, std::uint64_t grace_ns) {
  for (const std::uint64_t deadline = now_ns() + grace_ns; now_ns() < deadline && is_written(trace, n_pes);)
    ::poll(nullptr, 0, 2);
  const int joined = merge_trace(trace, n_pes);
  if (joined > 0) say(trace_told(trace, joined));
  return joined;
}

/// By its whole name. Of what is no name init has said so.
std::string name_of_trace(const Settings& settings) {
  const char* const option = variable(settings, "SHOAL_TRACE");
  try {
    const std::string wanted = option == nullptr ? "" : trace_wanted(option);
    return wanted.empty() ? "" : std::filesystem::absolute(wanted).string();
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

bool join_traces(const Settings& settings, int n_pes, Sessions sessions,
                 const std::function<bool(const std::string& trace)>& leave) {
  const std::string name = name_of_trace(settings);
  if (name.empty()) return true;
  try {
    for (int session = sessions.first; session <= sessions.last.value_or(session); ++session) {
      const std::string trace = session_file(name, session);
      const bool found = leave(trace) || join(trace, n_pes, settings.nnodes > 1 ? kWritersNs : 0) > 0 ||
                         ::access(trace.c_str(), F_OK) == 0;
      if (!found && !sessions.last) break;
    }
    return true;
  } catch (const Error& error) {
    say(error.what());
    return false;
  }
}

void join_trace(const std::string& given) {
  const std::string trace = std::filesystem::absolute(given).string();
  const int n_pes = trace_pieces(trace);
  const int joined = join(trace, n_pes, 0);
  std::string left;
  for (int pe = 0; pe < n_pes; ++pe)
    if (::access(trace_piece(trace, pe).c_str(), F_OK) == 0)
      left += (left.empty() ? "" : ", ") + trace_piece(trace, pe);
  if (!left.empty())
    throw Error(Code::invalid_argument, strf("--join-trace %s: no piece of a trace of this version of Shoal, or cut "
                                             "short, and so left there: %s",
                                             given.c_str(), left.c_str()));
  if (joined == 0)
    throw Error(Code::invalid_argument,
                strf("--join-trace %s: there are no pieces %s.pe-N of it", given.c_str(), trace.c_str()));
}

std::string reports_wanted(const Settings& settings) {
  try {
    const Options options = Options::from([&](const char* name) { return variable(settings, name); });
    const bool profile = !options.profile.empty() && options.profile != "0";
    return std::string(options.race ? "SHOAL_RACE" : "") + (options.race && profile ? " and " : "") +
           (profile ? "SHOAL_PROFILE" : "");
  } catch (const Error&) {
    return "";  // init has said what is wrong
  }
}

}  // namespace shoal::run
