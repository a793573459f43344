// SPDX-License-Identifier: Apache-2.0
#include "observe/profile.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr int kMostInText = 32;  // PEs of a matrix that is printed

constexpr const char* kOfLinks =
    "bytes that a PE (row) wrote to, or read from, a PE (column), but for collectives on one node; k, M, G: powers of "
    "1000";

/// 1234567 as "1.23M".
std::string short_number(double number) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  for (; number >= 999.5 && unit < 5; ++unit) number /= 1000;
  if (unit == 0) return strf("%.0f", number);
  return strf("%.*f%s", number < 10 ? 2 : number < 100 ? 1 : 0, number, kUnits[unit]);
}
std::string short_number(std::uint64_t number) { return short_number(static_cast<double>(number)); }

std::string duration(double ns) {
  if (ns < 1e3) return strf("%.0f ns", ns);
  if (ns < 1e6) return strf("%.1f us", ns / 1e3);
  if (ns < 1e9) return strf("%.1f ms", ns / 1e6);
  return strf("%.2f s", ns / 1e9);
}

std::string mean(const Profile::Row& row) {
  return duration(row.ns / static_cast<double>(std::max<std::uint64_t>(1, row.count)));
}

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1c2430; --dim: #5d6878; --line: #dfe3e9; --heat: 31, 111, 235; }
@media (prefers-color-scheme: dark) { :root { --page: #11151b; --card: #191f27; --ink: #e3e8ef; --dim: #97a3b3; --line: #2b333e; --heat: 106, 165, 255; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; } h1 { font-size: 26px; } h2 { font-size: 20px; margin-top: 36px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; } th, td { padding: 3px 9px; text-align: right; white-space: nowrap; }
th { color: var(--dim); font-weight: 600; } th:first-child, td:first-child { text-align: left; } td.name { font-family: ui-monospace, monospace; }
.bar { display: inline-block; height: 9px; border-radius: 2px; background: rgb(var(--heat)); vertical-align: middle; }
.matrix td { border: 2px solid var(--card); min-width: 46px; } .dim { color: var(--dim); }
)";

}  // namespace

std::string Profile::pack() const {
  std::string text;
  for (const auto& [name, row] : rows_)
    text += strf("call %s %llu %llu %.0f %.0f\n", name.c_str(), static_cast<unsigned long long>(row.count),
                 static_cast<unsigned long long>(row.bytes), row.ns, row.waiting_ns);
  for (int from = 0; from < n_pes_; ++from)
    for (int to = 0; to < n_pes_; ++to)
      if (link(from, to).count != 0 || link(from, to).bytes != 0)
        text += strf("link %d %d %llu %llu\n", from, to, static_cast<unsigned long long>(link(from, to).count),
                     static_cast<unsigned long long>(link(from, to).bytes));
  return text;
}

void Profile::add(const std::string& packed) {
  std::istringstream lines(packed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string kind, name;
    fields >> kind;
    int from = -1, to = -1;
    const auto known = [&](int pe) { return pe >= 0 && pe < n_pes_; };
    if (Row one; kind == "call" && fields >> name >> one.count >> one.bytes >> one.ns >> one.waiting_ns) {
      Row& sum = row(name);
      sum.count += one.count;
      sum.bytes += one.bytes;
      sum.ns += one.ns;
      sum.waiting_ns += one.waiting_ns;
    } else if (Link moved;
               kind == "link" && fields >> from >> to >> moved.count >> moved.bytes && known(from) && known(to)) {
      link(from, to).count += moved.count;
      link(from, to).bytes += moved.bytes;
    } else {
      throw Error(Code::peer, strf("a PE's profile has a line that cannot be read: \"%.80s\"", line.c_str()));
    }
  }
}

std::vector<std::pair<std::string, Profile::Row>> Profile::by_time() const {
  std::vector<std::pair<std::string, Row>> rows(rows_.begin(), rows_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return rows;
}

std::string Profile::as_text() const {
  std::string text = strf("calls of %d PEs, by time\n  %-36s %10s %10s %10s %10s %10s\n", n_pes_, "call", "count",
                          "bytes", "time", "waiting", "mean");
  for (const auto& [name, row] : by_time())
    text += strf("  %-36s %10s %10s %10s %10s %10s\n", name.c_str(), short_number(row.count).c_str(),
                 short_number(row.bytes).c_str(), duration(row.ns).c_str(),
                 row.waiting_ns > 0 ? duration(row.waiting_ns).c_str() : "-", mean(row).c_str());
  if (n_pes_ > kMostInText)
    return text + "bytes from PE to PE: too many PEs to print; SHOAL_PROFILE=name.html draws them\n";
  text += std::string(kOfLinks) + "\n        ";
  for (int to = 0; to < n_pes_; ++to) text += strf(" %7d", to);
  text += "\n";
  for (int from = 0; from < n_pes_; ++from) {
    text += strf("  %5d ", from);
    for (int to = 0; to < n_pes_; ++to)
      text += strf(" %7s", link(from, to).bytes == 0 ? "-" : short_number(link(from, to).bytes).c_str());
    text += "\n";
  }
  return text;
}

std::string Profile::as_html(const std::string& title) const {
  std::string page = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title +
                     "</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>" +
                     kStyle + "</style></head><body><main><h1>" + title +
                     strf("</h1><p class=\"dim\">%d PEs; times are sums over all PEs.</p>", n_pes_) +
                     "<h2>Calls</h2><div "
                     "class=\"card\"><table><tr><th>call</th><th>count</th><th>bytes</th><th>time</th><th>waiting</th>"
                     "<th>mean</th><th></th></tr>";
  double most_ns = 1;
  for (const auto& [name, row] : rows_) most_ns = std::max(most_ns, row.ns);
  for (const auto& [name, row] : by_time())
    page += strf(
        "<tr><td class=\"name\">%s</td><td>%llu</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td "
        "style=\"text-align:left\"><span "
        "class=\"bar\" style=\"width:%.0fpx\"></span></td></tr>",
        name.c_str(), static_cast<unsigned long long>(row.count), short_number(row.bytes).c_str(),
        duration(row.ns).c_str(), row.waiting_ns > 0 ? duration(row.waiting_ns).c_str() : "", mean(row).c_str(),
        1 + 200 * row.ns / most_ns);
  page +=
      "</table></div><h2>Who moved bytes to or from whom</h2><div class=\"card\"><table "
      "class=\"matrix\"><tr><th>PE</th>";
  std::uint64_t most = 1;
  for (const Link& one : links_) most = std::max(most, one.bytes);
  for (int to = 0; to < n_pes_; ++to) page += strf("<th>%d</th>", to);
  page += "</tr>";
  for (int from = 0; from < n_pes_; ++from) {
    page += strf("<tr><th>%d</th>", from);
    for (int to = 0; to < n_pes_; ++to) {
      const Link& one = link(from, to);
      // By the logarithm: between a word and gigabytes there is much to see.
      const double heat = one.bytes == 0 ? 0
                                         : 0.12 + 0.7 * std::log2(1.0 + static_cast<double>(one.bytes)) /
                                                      std::log2(1.0 + static_cast<double>(most));
      page += strf("<td style=\"background:rgba(var(--heat),%.2f)\" title=\"%d to %d: %llu calls, %llu bytes\">%s</td>",
                   heat, from, to, static_cast<unsigned long long>(one.count),
                   static_cast<unsigned long long>(one.bytes), one.bytes == 0 ? "" : short_number(one.bytes).c_str());
    }
    page += "</tr>";
  }
  return page + "</table><p class=\"dim\">" + kOfLinks + "</p></div></main></body></html>\n";
}

}  // namespace shoal
