// SPDX-License-Identifier: Apache-2.0
#include "security/security_log.hpp"

#include <fcntl.h>
#include <time.h>

#include "base/error.hpp"
#include "base/json.hpp"

namespace shoal {
namespace {

std::string now_text() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm utc;
  ::gmtime_r(&now.tv_sec, &utc);
  return strf("%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
              utc.tm_min, utc.tm_sec, now.tv_nsec / 1'000'000);
}

}  // namespace

SecurityLog::SecurityLog(const std::string& path, int pe) : pe_(pe) {
  if (path.empty()) return;
  file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file_) throw_errno(strf("cannot write the security log %s (SHOAL_SECURITY_LOG)", path.c_str()));
}

void SecurityLog::write(const std::string& who, const std::string& what) const noexcept {
  if (!file_) return;
  try {
    const std::string line = strf("{\"time\":\"%s\",\"pe\":%d,\"who\":%s,\"what\":%s}\n", now_text().c_str(), pe_,
                                  json_string(who).c_str(), json_string(what).c_str());
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), line.data(), line.size());
  } catch (const std::exception&) {
    // No memory for a line: the request was refused all the same.
  }
}

}  // namespace shoal
