// SPDX-License-Identifier: Apache-2.0
#include "base/trace_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace shoal {
namespace {

/// One piece, mapped for reading. Nothing in it is trusted: a PE may have died while it wrote.
class Piece final {
 public:
  explicit Piece(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat s;
    if (!fd || ::fstat(fd.get(), &s) != 0 || s.st_size < static_cast<off_t>(kTraceEventsAt) || s.st_blocks == 0) return;
    length_ = static_cast<std::size_t>(s.st_size);
    void* at = ::mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at == MAP_FAILED) return;
    data_ = static_cast<const char*>(at);
    if (!good()) return;
    const std::uint64_t room = (length_ - kTraceEventsAt) / sizeof(TraceEvent);
    events_ = std::min({header().events.load(std::memory_order_acquire), header().room, room});
  }
  ~Piece() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), length_);
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  bool good() const { return data_ != nullptr && header().magic == kTraceMagic && header().size == sizeof(TraceEvent); }
  const TraceHeader& header() const { return *reinterpret_cast<const TraceHeader*>(data_); }
  std::uint64_t events() const { return events_; }
  std::uint64_t lost() const { return header().lost.load(std::memory_order_relaxed); }
  const TraceEvent& event(std::uint64_t i) const {
    return reinterpret_cast<const TraceEvent*>(data_ + kTraceEventsAt)[i];
  }
  std::string name(std::size_t index) const {
    const char* text = data_ + kTraceNamesAt + index * kTraceNameBytes;
    std::string name(text, ::strnlen(text, kTraceNameBytes));
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c < 0x20 || c == '"' || c == '\\' || c == 0x7f; }, '?');
    return name;
  }
  /// Nanoseconds of this machine's clock.
  double ns_of(std::uint64_t ticks) const {
    const TraceHeader& h = header();
    const double span = static_cast<double>(h.last_ticks) - static_cast<double>(h.first_ticks);
    const double per_tick = span > 0 ? (static_cast<double>(h.last_ns) - static_cast<double>(h.first_ns)) / span : 1.0;
    return static_cast<double>(h.first_ns) +
           (static_cast<double>(ticks) - static_cast<double>(h.first_ticks)) * per_tick;
  }

 private:
  const char* data_ = nullptr;
  std::size_t length_ = 0;
  std::uint64_t events_ = 0;
};

/// Text that is put together fast and written in large pieces: a trace has millions of lines.
class Text final {
 public:
  explicit Text(std::FILE* out) : out_(out) {}
  ~Text() { flush(); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  Text& operator<<(std::string_view text) {
    bytes_.append(text);
    if (bytes_.size() > kFlushed) flush();
    return *this;
  }
  Text& operator<<(std::uint64_t number) {
    char digits[20];
    return *this << std::string_view(digits, std::to_chars(digits, std::end(digits), number).ptr);
  }
  /// Nanoseconds as microseconds, with all digits.
  Text& microseconds(double ns) {
    const auto whole = static_cast<std::uint64_t>(std::clamp(ns, 0.0, 9e18) + 0.5);
    const std::uint64_t rest = whole % 1000;
    const char digits[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    return *this << whole / 1000 << std::string_view(digits, sizeof digits);
  }

 private:
  static constexpr std::size_t kFlushed = 1 << 16;
  void flush() {
    std::fwrite(bytes_.data(), 1, bytes_.size(), out_);
    bytes_.clear();
  }
  std::FILE* const out_;
  std::string bytes_;
};

void write_piece(std::FILE* file, const Piece& piece, int pe_number, double origin_ns, bool& first) {
  Text out(file);
  const auto pe = static_cast<std::uint64_t>(pe_number);
  const auto separator = [&] { return std::exchange(first, false) ? "\n" : ",\n"; };
  out << separator() << "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" << pe << ",\"args\":{\"name\":\"PE " << pe
      << "\"}}";
  out << separator() << "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" << pe
      << ",\"args\":{\"sort_index\":" << pe << "}}";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kTraceNames; ++i) names.push_back(piece.name(i));
  for (std::uint64_t i = 0; i < piece.events(); ++i) {
    const TraceEvent& event = piece.event(i);
    if (event.begin == 0) continue;  // given to a thread, not used
    const double begin = piece.ns_of(event.begin), end = event.end == 0 ? begin : piece.ns_of(event.end);
    out << separator() << "{\"name\":\"" << names[std::min<std::size_t>(event.name, kTraceNames - 1)]
        << "\",\"ph\":\"X\",\"pid\":" << pe << ",\"tid\":" << std::uint64_t{event.thread} << ",\"ts\":";
    out.microseconds(begin - origin_ns) << ",\"dur\":";
    out.microseconds(end - begin) << ",\"args\":{\"bytes\":" << event.bytes;
    if (event.pe >= 0) out << ",\"pe\":" << static_cast<std::uint64_t>(event.pe);
    if (event.end == 0) out << ",\"unfinished\":true";
    out << "}}";
  }
  if (piece.lost() == 0) return;
  out << separator() << "{\"name\":\"" << piece.lost()
      << " later calls are not in this trace: it was full\",\"ph\":\"i\",\"s\":\"p\",\"pid\":" << pe
      << ",\"tid\":0,\"ts\":";
  out.microseconds(piece.ns_of(piece.header().last_ticks) - origin_ns) << "}";
}

}  // namespace

std::string trace_piece(const std::string& file, int pe) { return file + ".pe-" + std::to_string(pe); }

int merge_trace(const std::string& file, int n_pes) {
  std::vector<std::pair<int, std::unique_ptr<Piece>>> pieces;
  for (int pe = 0; pe < n_pes; ++pe) {
    auto piece = std::make_unique<Piece>(trace_piece(file, pe));
    if (piece->good()) pieces.emplace_back(pe, std::move(piece));
  }
  if (pieces.empty()) return 0;
  const std::string cannot = "cannot write the trace " + file + ", so its pieces " + file + ".pe-* are left";
  std::FILE* out = std::fopen(file.c_str(), "we");
  if (out == nullptr) throw_errno(cannot);
  const TraceHeader& reference = pieces[0].second->header();
  double earliest = static_cast<double>(reference.first_ns);
  std::vector<double> shifts;  // from the reference's clock to each one's
  for (const auto& [pe, piece] : pieces) {
    const TraceHeader& header = piece->header();
    const bool same = std::strncmp(header.machine, reference.machine, sizeof header.machine) == 0;
    shifts.push_back(same ? 0.0 : static_cast<double>(header.met_ns) - static_cast<double>(reference.met_ns));
    earliest = std::min(earliest, static_cast<double>(header.first_ns) - shifts.back());
  }
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
  bool first = true;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    write_piece(out, *pieces[i].second, pieces[i].first, earliest + shifts[i], first);
  std::fputs("\n]}\n", out);
  const bool failed = std::ferror(out) != 0;
  if (std::fclose(out) != 0 || failed) throw_errno(cannot);
  for (const auto& [pe, piece] : pieces) ::unlink(trace_piece(file, pe).c_str());
  return static_cast<int>(pieces.size());
}

}  // namespace shoal
