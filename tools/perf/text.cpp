// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <cstdarg>

#include "result.hpp"

namespace shoal::perf {
namespace {

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
  std::array<char, 256> buffer;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  va_end(arguments);
  return buffer.data();
}

/// Three significant digits.
std::string three(double value) {
  return value >= 99.95 ? text("%.0f", value) : value >= 9.995 ? text("%.1f", value) : text("%.2f", value);
}

struct Unit {
  double factor;
  const char* name;
};
Unit unit_of(double ns) {
  if (ns < 1e3) return {1, "ns"};
  if (ns < 1e6) return {1e3, "us"};
  if (ns < 1e9) return {1e6, "ms"};
  return {1e9, "s"};
}

/// The quartiles, in the unit of the median.
std::string spread_text(const Stats& stats) {
  const Unit unit = unit_of(stats.median);
  return text("[%s, %s]", three(stats.q1 / unit.factor).c_str(), three(stats.q3 / unit.factor).c_str());
}

std::string rate_text(const Figure& figure) {
  if (figure.moved >= 1024) return three(figure.gb_per_s()) + " GB/s";
  const double rate = figure.mops_per_s();
  if (rate < 0.1) return three(rate * 1e3) + " k/s";
  return three(rate) + " M/s";
}

const char* about_group(const std::string& group) {
  if (group == "bandwidth") return "the rate is of all PEs that run it together";
  if (group == "atomics") return "a word of 8 bytes on PE 1, unless said otherwise";
  if (group == "collectives") return "of the whole world; the size is each PE's contribution; the slowest PE's time";
  if (group == "threads") return "threads of PE 0 at SHMEM_THREAD_MULTIPLE; time of one operation of a thread";
  if (group == "gups") return "time of one update; the rate is of all PEs together";
  return "";
}

constexpr const char* kColumns = "  %-21s %-8s %10s %10s %18s %11s %10s %8s  %s\n";

}  // namespace

std::string time_text(double ns) {
  const Unit unit = unit_of(ns);
  return three(ns / unit.factor) + " " + unit.name;
}

void TextTable::open(const Results& results) {
  std::printf("%s, %d PEs, %s\n", version_text().c_str(), results.npes, results.date.c_str());
  for (const auto& [name, value] : results.machine) std::printf("  %s: %s\n", name.c_str(), value.c_str());
  std::printf(
      "Medians [quartiles]. Who runs the operation is named; other PEs wait in a barrier. x limit: how many times as "
      "long as\n"
      "the limit beside it, which is measured in turn with it, on the same memory. ~: the samples lie far apart, do "
      "not rely on it.\n");
  std::fflush(stdout);
}

void TextTable::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void TextTable::progress(std::size_t done, std::size_t total, const std::string& what) {
  if (!::isatty(STDERR_FILENO)) return;
  clear();
  std::fprintf(stderr, "[%zu/%zu] %s", done, total, what.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void TextTable::row(const Figure& figure) {
  clear();
  if (group_ != figure.test.group) {
    group_ = figure.test.group;
    const std::string about = about_group(group_);
    std::printf("\n%s%s%s\n", group_.c_str(), about.empty() ? "" : ": ", about.c_str());
    std::printf(kColumns, "test", "who", "size", "time", "quartiles", "rate", "limit", "x limit", "what the limit is");
  }
  const bool limited = figure.outcome.limit.count != 0;
  const std::string size = figure.threads != 0 ? text("%zu thr", figure.threads)
                           : figure.bytes != 0 ? size_text(figure.bytes)
                                               : "";
  const std::string ratio = limited ? text("%s%s", figure.noisy() ? "~" : "", three(figure.ratio()).c_str()) : "-";
  const std::string last = figure.outcome.limit_name + (figure.outcome.note.empty() ? "" : "; " + figure.outcome.note);
  std::printf(kColumns, figure.test.name, name_of(figure.test.who), size.c_str(),
              time_text(figure.outcome.time.median).c_str(), spread_text(figure.outcome.time).c_str(),
              rate_text(figure).c_str(), limited ? time_text(figure.outcome.limit.median).c_str() : "-", ratio.c_str(),
              last.c_str());
  std::fflush(stdout);
}

void TextTable::close(const Results& results) {
  clear();
  if (!results.skipped.empty()) std::printf("\nleft out\n");
  for (const Skipped& skipped : results.skipped)
    std::printf("  %-21s %s\n", skipped.test.c_str(), skipped.reason.c_str());
  std::fflush(stdout);
}

}  // namespace shoal::perf
