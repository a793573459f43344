// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json.hpp"

namespace shoal::top {
namespace {

std::vector<std::string> verdicts_of(const Look& look) {
  std::vector<PeState> states;
  for (const PeView& pe : look.pes) states.push_back(pe.state);
  return explain(states, look.at_ns);
}

std::string doing(const PeView& pe, std::uint64_t now) {
  if (!pe.state.known) return "on another machine";
  const std::string text =
      describe(pe.state.status, now) + (pe.state.stopped.empty() ? "" : " (" + pe.state.stopped + ")");
  return pe.state.ended.empty() || pe.state.status.phase == Phase::left ? text : pe.state.ended;
}

/// " (pid 4711)", of a PE of this machine.
std::string pid_text(const PeView& pe) { return pe.state.known ? strf(" (pid %d)", pe.state.status.pid) : ""; }

/// At most `columns` of a line; an ellipsis says that there was more.
std::string cut(const std::string& line, std::size_t columns) {
  return line.size() <= columns ? line : line.substr(0, columns - 1) + "\u2026";
}
/// In as many lines of `columns` as it needs, broken between words.
std::string wrapped(std::string text, std::size_t columns) {
  std::string lines;
  while (text.size() > columns) {
    const std::size_t space = text.rfind(' ', columns);
    const bool breaks = space != std::string::npos && space > columns / 4;
    lines += text.substr(0, breaks ? space : columns) + "\n";
    text = "  " + text.substr(breaks ? space + 1 : columns);
  }
  return lines + text + "\n";
}

/// 1234567 as "1.2M".
std::string short_number(double number) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (number >= 999.5 && unit < 4) {
    number /= 1000;
    ++unit;
  }
  return unit == 0 ? strf("%.0f", number) : strf(number < 10 ? "%.1f%s" : "%.0f%s", number, kUnits[unit]);
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::starting: return "starting";
    case Phase::running: return "running";
    case Phase::waiting: return "waiting";
    case Phase::leaving: return "leaving";
    case Phase::left: return "left";
    case Phase::closing: return "closing";
  }
  return "unknown";
}

}  // namespace

std::string as_table(const Look& look) {
  std::string text;
  for (std::size_t pe = 0; pe < look.pes.size(); ++pe)
    text += strf("PE %zu%s: %s\n", pe, pid_text(look.pes[pe]).c_str(), doing(look.pes[pe], look.at_ns).c_str());
  for (const std::string& verdict : verdicts_of(look)) text += verdict + "\n";
  return text;
}

std::string as_screen(const Look& look, const Look& before, int columns) {
  const double seconds = std::max(1e-3, static_cast<double>(look.at_ns - before.at_ns) * 1e-9);
  const auto width = static_cast<std::size_t>(std::max(20, columns));
  std::string text = cut(strf("%-5s %-8s %9s %9s %8s %9s %8s  %s", "PE", "pid", "ops/s", "bytes/s", "waiting", "waits",
                              "heap", "what it does"),
                         width) +
                     "\n";
  for (std::size_t i = 0; i < look.pes.size(); ++i) {
    const PeView& pe = look.pes[i];
    const PeView& was = i < before.pes.size() ? before.pes[i] : pe;
    const auto rate = [&](std::uint64_t now, std::uint64_t then) {
      return pe.watched ? short_number(static_cast<double>(now - then) / seconds) : std::string("-");
    };
    const double waiting = std::clamp(
        (static_cast<double>(pe.waited_ns) - static_cast<double>(was.waited_ns)) * 1e-7 / seconds, 0.0, 100.0);
    const std::string line = strf(
        "%-5zu %-8d %9s %9s %7.0f%% %9s %8s  %s", i, pe.state.status.pid, rate(pe.operations, was.operations).c_str(),
        rate(pe.bytes, was.bytes).c_str(), waiting, short_number(static_cast<double>(pe.waits)).c_str(),
        short_number(static_cast<double>(pe.heap_used)).c_str(), doing(pe, look.at_ns).c_str());
    text += cut(line, width) + "\n";
  }
  if (!look.pes.empty() && !look.pes[0].watched)
    text += wrapped("(operations and bytes are counted when the job runs with SHOAL_PROFILE=1)", width);
  for (const std::string& verdict : verdicts_of(look)) text += wrapped(verdict, width);
  return text;
}

std::string as_json(const Look& look) {
  std::string text = "{\"pes\": [";
  for (std::size_t i = 0; i < look.pes.size(); ++i) {
    const PeView& pe = look.pes[i];
    const Status& status = pe.state.status;
    const double seconds = look.at_ns > status.since_ns ? static_cast<double>(look.at_ns - status.since_ns) * 1e-9 : 0;
    text += strf(
        "%s\n  {\"pe\": %zu, \"pid\": %d, \"phase\": \"%s\", \"ended\": %s, \"call\": %s, \"arguments\": %s, "
        "\"seconds\": %.3f, ",
        i == 0 ? "" : ",", i, status.pid, pe.state.known ? phase_name(status.phase) : "unknown",
        pe.state.ended.empty() ? "false" : "true", json_string(status.call).c_str(), json_string(status.detail).c_str(),
        seconds);
    text += strf("\"waits\": %llu, \"waited_seconds\": %.6f, \"heap_bytes\": %llu, \"heap_used\": %llu, ",
                 static_cast<unsigned long long>(pe.waits), static_cast<double>(pe.waited_ns) * 1e-9,
                 static_cast<unsigned long long>(pe.heap_bytes), static_cast<unsigned long long>(pe.heap_used));
    if (pe.watched)
      text += strf("\"operations\": %llu, \"bytes\": %llu}", static_cast<unsigned long long>(pe.operations),
                   static_cast<unsigned long long>(pe.bytes));
    else
      text += "\"operations\": null, \"bytes\": null}";
  }
  text += "\n], \"verdicts\": [";
  const auto verdicts = verdicts_of(look);
  for (std::size_t i = 0; i < verdicts.size(); ++i) text += (i == 0 ? "" : ", ") + json_string(verdicts[i]);
  return text + "]}\n";
}

}  // namespace shoal::top
