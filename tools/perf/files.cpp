// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "base/json.hpp"
#include "result.hpp"

namespace shoal::perf {
namespace {

void write_facts(std::FILE* file, const char* name, const Facts& facts) {
  std::fprintf(file, "  %s: {", json_string(name).c_str());
  const char* comma = "";
  for (const auto& [key, value] : facts) {
    std::fprintf(file, "%s\n    %s: %s", comma, json_string(key).c_str(), json_string(value).c_str());
    comma = ",";
  }
  std::fprintf(file, "%s},\n", facts.empty() ? "" : "\n  ");
}

void write_stats(std::FILE* file, const Stats& stats) {
  std::fprintf(file,
               "{\"median\": %.6g, \"q1\": %.6g, \"q3\": %.6g, \"min\": %.6g, \"max\": %.6g, \"operations\": %ld, "
               "\"samples\": [",
               stats.median, stats.q1, stats.q3, stats.min, stats.max, stats.count);
  const char* comma = "";
  for (const double sample : stats.samples) {
    std::fprintf(file, "%s%.6g", comma, sample);
    comma = ", ";
  }
  std::fprintf(file, "]}");
}

void write_figure(std::FILE* file, const Figure& f) {
  std::fprintf(file, "    {\"test\": %s, \"group\": %s, \"who\": %s, \"about\": %s,\n     \"bytes\": ",
               json_string(f.test.name).c_str(), json_string(f.test.group).c_str(),
               json_string(name_of(f.test.who)).c_str(), json_string(f.test.about).c_str());
  if (f.bytes != 0)
    std::fprintf(file, "%zu", f.bytes);
  else
    std::fprintf(file, "null");
  std::fprintf(file, ", \"threads\": ");
  if (f.threads != 0)
    std::fprintf(file, "%zu", f.threads);
  else
    std::fprintf(file, "null");
  std::fprintf(file, ", \"gb_per_s\": ");
  if (f.moved > 0)
    std::fprintf(file, "%.6g", f.gb_per_s());
  else
    std::fprintf(file, "null");
  std::fprintf(file, ", \"mops_per_s\": %.6g, \"noisy\": %s, \"note\": %s,\n     \"time_ns\": ", f.mops_per_s(),
               f.noisy() ? "true" : "false", json_string(f.outcome.note).c_str());
  write_stats(file, f.outcome.time);
  if (f.outcome.limit.count != 0) {
    std::fprintf(file,
                 ",\n     \"limit\": %s, \"ratio\": %.6g, \"limit_ns\": ", json_string(f.outcome.limit_name).c_str(),
                 f.ratio());
    write_stats(file, f.outcome.limit);
  } else {
    std::fprintf(file, ",\n     \"limit\": null, \"ratio\": null, \"limit_ns\": null");
  }
  std::fprintf(file, "}");
}

/// A full disk shows only now.
void finish(std::FILE* file, const std::string& name) {
  if (std::fflush(file) != 0 || std::ferror(file) != 0)
    throw Usage("shoal-perf: cannot write " + name + ": " + std::strerror(errno));
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

void write_json(const Results& results, std::FILE* file, const std::string& name) {
  std::fprintf(file, "{\n  \"format\": \"shoal-perf 1\",\n  \"date\": %s,\n  \"pes\": %d,\n",
               json_string(results.date).c_str(), results.npes);
  write_facts(file, "machine", results.machine);
  write_facts(file, "build", results.build);
  write_facts(file, "options", results.options);
  write_facts(file, "environment", results.environment);
  std::fprintf(file, "  \"figures\": [");
  const char* comma = "\n";
  for (const Figure& figure : results.figures) {
    std::fputs(comma, file);
    write_figure(file, figure);
    comma = ",\n";
  }
  std::fprintf(file, "\n  ],\n  \"skipped\": [");
  comma = "";
  for (const Skipped& skipped : results.skipped) {
    std::fprintf(file, "%s\n    {\"test\": %s, \"reason\": %s}", comma, json_string(skipped.test).c_str(),
                 json_string(skipped.reason).c_str());
    comma = ",";
  }
  std::fprintf(file, "]\n}\n");
  finish(file, name);
}

void write_csv(const Results& results, std::FILE* file, const std::string& name) {
  std::fprintf(
      file,
      "test,group,who,pes,bytes,threads,median_ns,q1_ns,q3_ns,min_ns,max_ns,samples,operations,gb_per_s,mops_per_s,"
      "limit,limit_median_ns,limit_q1_ns,limit_q3_ns,ratio,noisy,note\n");
  for (const Figure& f : results.figures) {
    const Stats &time = f.outcome.time, &limit = f.outcome.limit;
    std::fprintf(file, "%s,%s,%s,%d,", f.test.name, f.test.group, name_of(f.test.who), results.npes);
    if (f.bytes != 0) std::fprintf(file, "%zu", f.bytes);
    std::fprintf(file, ",");
    if (f.threads != 0) std::fprintf(file, "%zu", f.threads);
    std::fprintf(file, ",%.6g,%.6g,%.6g,%.6g,%.6g,%zu,%ld,", time.median, time.q1, time.q3, time.min, time.max,
                 time.samples.size(), time.count);
    if (f.moved > 0) std::fprintf(file, "%.6g", f.gb_per_s());
    std::fprintf(file, ",%.6g,%s,", f.mops_per_s(), csv_text(f.outcome.limit_name).c_str());
    if (limit.count != 0)
      std::fprintf(file, "%.6g,%.6g,%.6g,%.6g,", limit.median, limit.q1, limit.q3, f.ratio());
    else
      std::fprintf(file, ",,,,");
    std::fprintf(file, "%s,%s\n", f.noisy() ? "yes" : "no", csv_text(f.outcome.note).c_str());
  }
  finish(file, name);
}

}  // namespace shoal::perf
