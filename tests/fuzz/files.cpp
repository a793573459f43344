// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/trace_file.hpp"
#include "base/unique_fd.hpp"
#include "edge_list.hpp"
#include "errors.hpp"
#include "package_list.hpp"
#include "security/secret.hpp"
#include "targets.hpp"

namespace shoal::fuzz {
namespace {

/// A file of these bytes that nobody else sees.
class File final {
 public:
  explicit File(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ && ::fchmod(fd_.get(), 0600) == 0, "no memory file");
    require(::write(fd_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "cannot write it");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  UniqueFd fd_;
};

void secret_file(std::string_view input) {
  const File file(input);
  try {
    Secret::from_file(file.path());
    require(input.size() >= Secret::kBytes, "took a secret that is too short");
  } catch (const Error& error) {
    require(error.code() == Code::security, "refused for another reason than it may");
  }
}
std::vector<std::string> secret_seeds() {
  return {std::string(32, 'x'), std::string(32, 'x') + "\n", std::string(31, 'x') + "\n", "", std::string(100, '\0')};
}

void check_graph(const pagerank::Graph& graph) {
  require(graph.in_offsets.size() == graph.names.size() + 1 && graph.out_degrees.size() == graph.names.size(), "a graph of wrong sizes");
  require(graph.in_offsets.back() == graph.in_sources.size(), "a graph of wrong offsets");
  for (const pagerank::Vertex source : graph.in_sources) require(source < graph.vertices(), "an edge from nowhere");
}

void edge_list(std::string_view input) {
  const File file(input);
  try {
    check_graph(pagerank::read_edge_list(file.path()));
  } catch (const pagerank::InputError&) {
  }
}
std::vector<std::string> edge_list_seeds() {
  return {"a b\nb c\nc a\n", "# comment\n1 2 # two\r\n2\t1\n", "\xef\xbb\xbf" "a a\n", "a b c\n", "\x1f\x8b\x08", ""};
}

void package_list(std::string_view input) {
  const File file(input);
  try {
    check_graph(pagerank::read_package_list(file.path(), true).graph);
  } catch (const pagerank::InputError&) {
  }
}
std::vector<std::string> package_list_seeds() {
  return {"Package: a\nStatus: install ok installed\nVersion: 1\nDepends: b (>= 1.0) | c:any, d\nProvides: e (= 1)\n\nPackage: b\nDepends: a\n",
          "Package: a\nRecommends: a [amd64], e <!x>\nDescription: x\n y\n .\n"};
}

void trace_piece_file(std::string_view input) {
  static const std::string folder = [] {
    char name[] = "/tmp/shoal-fuzz-XXXXXX";
    require(::mkdtemp(name) != nullptr, "no folder");
    static const struct Remover {
      std::string path;
      ~Remover() { std::filesystem::remove_all(path); }
    } remover{name};
    return std::string(name);
  }();
  const std::string file = folder + "/t";
  std::ofstream(trace_piece(file, 0), std::ios::binary) << input;
  if (merge_trace(file, 2) == 1) {
    std::ifstream joined(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(joined), {}};
    require(text.starts_with("{\"displayTimeUnit\"") && text.ends_with("\n]}\n"), "the joined trace is not whole");
    for (const char c : text) require(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f), "control characters in the joined trace");
  }
  std::filesystem::remove(file);
  std::filesystem::remove(trace_piece(file, 0));
}
std::vector<std::string> trace_seeds() {
  TraceHeader header{};
  header.magic = kTraceMagic;
  header.size = sizeof(TraceEvent);
  header.last_ticks = header.last_ns = 1000;
  header.events = 3;
  header.room = 100;
  std::string piece(kTraceEventsAt, '\0');
  std::memcpy(piece.data(), &header, sizeof header);
  std::memcpy(piece.data() + kTraceNamesAt, "shmem_putmem", 12);
  for (std::uint64_t i = 1; i <= 3; ++i) piece += bytes_of(TraceEvent{i * 10, i * 10 + 5, 8, 1, 0, 0});
  return {piece, piece.substr(0, piece.size() - 20), piece.substr(0, 100)};
}

}  // namespace

const std::vector<Target> kFiles{{"secret_file", secret_file, secret_seeds},
                                 {"edge_list", edge_list, edge_list_seeds},
                                 {"package_list", package_list, package_list_seeds},
                                 {"trace_piece", trace_piece_file, trace_seeds, true}};

}  // namespace shoal::fuzz
