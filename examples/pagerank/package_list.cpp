// SPDX-License-Identifier: Apache-2.0
#include "package_list.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "errors.hpp"
#include "line_reader.hpp"
#include "relations.hpp"

namespace pagerank {

namespace {

constexpr char kAptCommand[] = "apt-cache dumpavail 2>/dev/null";
constexpr char kDpkgStatus[] = "/var/lib/dpkg/status";

enum Field {
  kDepends,
  kPreDepends,
  kRecommends,
  kProvides,
  kRelationFields,
  kPackage = kRelationFields,
  kStatus,
  kOther
};
constexpr std::array<std::string_view, kOther> kFieldNames = {"depends",  "pre-depends", "recommends",
                                                              "provides", "package",     "status"};

/// One relation field's text, and the line it starts on.
struct Relations {
  std::string text;
  std::size_t line = 0;
};

struct Paragraph {
  std::size_t line = 0;  // of its first field; 0: nothing read yet
  std::string package;
  bool installed = true;  // only the dpkg status file says; it also keeps packages that were removed
  std::array<Relations, kRelationFields> fields;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Field names are case-insensitive.
Field field_of(std::string_view name) {
  for (std::size_t i = 0; i < kFieldNames.size(); ++i) {
    if (name.size() != kFieldNames[i].size()) continue;
    std::size_t same = 0;
    while (same < name.size() && lower(name[same]) == kFieldNames[i][same]) ++same;
    if (same == name.size()) return static_cast<Field>(i);
  }
  return kOther;
}

/// Splits a list into paragraphs and keeps the last one of each package.
class Parser final {
 public:
  Parser(LineReader& reader, bool strict) : reader_(reader), strict_(strict) {}

  PackageGraph run(bool recommends) {
    std::string_view line;
    while (reader_.next(line)) {
      if (line.find('\0') != std::string_view::npos) fail("contains a NUL byte: this is not a text file");
      if (line.empty()) {
        end_paragraph();
      } else if (line.front() == ' ' || line.front() == '\t') {
        continue_field(line);
      } else if (line.front() != '#') {
        start_field(line);
      }
    }
    end_paragraph();
    return resolve(recommends);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(reader_.source(), reader_.line_number(), what);
  }

  void start_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos || line.find_first_of(" \t") < colon) {
      fail("expected \"Field: value\", a continuation line that starts with a blank, or an empty line; found " +
           quoted(line));
    }
    if (current_.line == 0) current_.line = reader_.line_number();
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    field_ = field_of(line.substr(0, colon));
    if (field_ < kRelationFields) {
      current_.fields[field_] = {std::string(value), reader_.line_number()};
    } else if (field_ == kPackage) {
      if (value.empty()) fail("the Package field is empty; expected a name");
      current_.package = value;
    } else if (field_ == kStatus) {
      current_.installed =
          value == "installed" || (value.size() > 10 && value.substr(value.size() - 10) == " installed");
    }
  }

  void continue_field(std::string_view line) {
    if (current_.line == 0) fail("a continuation line with no field before it: " + quoted(line));
    if (field_ < kRelationFields) (current_.fields[field_].text += '\n') += line;
  }

  void end_paragraph() {
    if (current_.line == 0) return;
    if (current_.package.empty()) {
      throw InputError(reader_.source(), current_.line, "the paragraph that starts here has no Package field");
    }
    ++result_.paragraphs;
    if (current_.installed) {
      const auto [place, is_new] = index_.try_emplace(current_.package, packages_.size());
      if (is_new) {
        packages_.push_back(std::move(current_));
      } else {
        packages_[place->second] = std::move(current_);
      }
    }
    current_ = Paragraph();
    field_ = kOther;
  }

  void skip(std::size_t line, std::string_view relation) {
    const InputError error(reader_.source(), line,
                           "expected relations such as \"name (>= 1.0) | name\", found " + quoted(relation));
    if (strict_) throw error;
    if (result_.skipped++ == 0) result_.first_skipped = error.what();
  }

  template <class Use>
  void relations(const Paragraph& package, Field field, Use use) {
    const Relations& text = package.fields[field];
    for_each_relation(text.text, use, [&](std::string_view relation) { skip(text.line, relation); });
  }

  PackageGraph resolve(bool recommends) {
    GraphBuilder builder;
    std::unordered_map<std::string, std::vector<Vertex>> providers;
    for (const Paragraph& package : packages_) {
      const Vertex self = builder.vertex(package.package);
      relations(package, kProvides, [&](std::string_view name) { providers[std::string(name)].push_back(self); });
    }
    for (std::size_t i = 0; i < packages_.size(); ++i) {
      const auto self = static_cast<Vertex>(i);
      const auto depend = [&](std::string_view name) {
        const std::string key(name);
        if (const auto real = index_.find(key); real != index_.end()) {
          if (real->second != i) builder.add_edge(self, static_cast<Vertex>(real->second));
        } else if (const auto provided = providers.find(key); provided != providers.end()) {
          for (const Vertex provider : provided->second) {
            if (provider != self) builder.add_edge(self, provider);
          }
        } else {
          ++result_.unresolved;
        }
      };
      relations(packages_[i], kPreDepends, depend);
      relations(packages_[i], kDepends, depend);
      if (recommends) relations(packages_[i], kRecommends, depend);
    }
    result_.source = reader_.source();
    result_.graph = builder.finish();
    return std::move(result_);
  }

  LineReader& reader_;
  const bool strict_;
  Paragraph current_;
  Field field_ = kOther;
  std::vector<Paragraph> packages_;  // a package's place here is its vertex
  std::unordered_map<std::string, std::size_t> index_;
  PackageGraph result_;
};

PackageGraph read_file(const std::string& path, bool recommends, bool strict) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw InputError(path + ": cannot be opened: " + std::strerror(errno));
  LineReader reader(file.get(), path);
  PackageGraph packages = Parser(reader, strict).run(recommends);
  if (packages.graph.vertices() == 0) {
    throw InputError(path + ": no package in " + std::to_string(reader.line_number()) +
                     " lines; expected paragraphs with a Package field, as in " + kDpkgStatus);
  }
  return packages;
}

}  // namespace

PackageGraph read_package_list(const std::string& path, bool recommends) { return read_file(path, recommends, true); }

PackageGraph read_system_packages(bool recommends) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(kAptCommand, "r"), pclose);
  if (pipe) {
    LineReader reader(pipe.get(), "apt-cache dumpavail");
    PackageGraph packages = Parser(reader, false).run(recommends);
    if (packages.graph.vertices() != 0) return packages;
  }
  return read_file(kDpkgStatus, recommends, false);
}

}  // namespace pagerank
