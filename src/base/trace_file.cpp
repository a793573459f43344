// SPDX-License-Identifier: Apache-2.0
#include "base/trace_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/ticks.hpp"
#include "base/trace_lock.hpp"
#include "base/unique_fd.hpp"

namespace shoal {
namespace {

/// Reads what there is of `bytes` from `offset` on. @return how many there were
std::size_t read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t n = ::pread(fd, static_cast<char*>(to) + got, bytes - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

/// To be written, too, where that may be: to lock it. @throws Error for what is there and cannot be read
UniqueFd open_piece(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), O_RDWR | kFlags));
  if (!fd && (errno == EACCES || errno == EROFS)) fd.reset(::open(path.c_str(), O_RDONLY | kFlags));
  if (!fd && (errno == EMFILE || errno == ENFILE)) throw_errno("cannot read " + path);
  return fd;
}

/// One piece. Nothing in it is trusted: a PE may have died while it wrote, or still do so, and make it shorter. So it
/// is read, not mapped.
class Piece final {
 public:
  Piece(const std::string& file, int pe) : pe_(pe), path_(trace_piece(file, pe)), fd_(open_piece(path_)) { read(); }

  /// What its PE has written by now.
  void read() {
    struct stat s;
    if (!fd_ || ::fstat(fd_.get(), &s) != 0 || s.st_size < static_cast<off_t>(kTraceEventsAt) || s.st_blocks == 0)
      return;
    good_ = read_at(fd_.get(), header_, sizeof header_, 0) == sizeof header_ && header().magic == kTraceMagic &&
            header().size == sizeof(TraceEvent);
  }

  bool good() const { return good_; }
  int pe() const { return pe_; }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  const TraceHeader& header() const { return *reinterpret_cast<const TraceHeader*>(header_); }
  std::string machine() const {
    const char* text = header().machine;
    return std::string(text, ::strnlen(text, sizeof header().machine));
  }
  std::string why_lost() const { return header().error == 0 ? "it was full" : std::strerror(header().error); }
  std::uint64_t lost() const { return header().lost.load(std::memory_order_relaxed); }
  std::vector<std::string> names() const {
    std::vector<char> bytes(kTraceNames * kTraceNameBytes);
    read_at(fd_.get(), bytes.data(), bytes.size(), kTraceNamesAt);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kTraceNames; ++i) {
      const char* text = bytes.data() + i * kTraceNameBytes;
      names.emplace_back(text, ::strnlen(text, kTraceNameBytes));
      std::replace_if(
          names.back().begin(), names.back().end(),
          [](char c) { return c < 0x20 || c == '"' || c == '\\' || c == 0x7f; }, '?');
    }
    return names;
  }
  template <class See>
  void each_event(See&& see) const {
    const std::uint64_t events = std::min(header().events.load(std::memory_order_relaxed), header().room);
    std::vector<TraceEvent> some(4096);
    for (std::uint64_t done = 0; done < events;) {
      const std::size_t wanted = std::min<std::uint64_t>(some.size(), events - done);
      const std::size_t got =
          read_at(fd_.get(), some.data(), wanted * sizeof(TraceEvent), kTraceEventsAt + done * sizeof(TraceEvent)) /
          sizeof(TraceEvent);
      for (std::size_t i = 0; i < got; ++i)
        if (some[i].begin != 0) see(some[i]);  // else it was given to a thread, and not used
      if (got < wanted) return;
      done += got;
    }
  }

 private:
  const int pe_;
  const std::string path_;
  const UniqueFd fd_;  // for as long as it is locked
  bool good_ = false;
  alignas(TraceHeader) char header_[sizeof(TraceHeader)] = {};
};

using Pieces = std::vector<std::unique_ptr<Piece>>;

/// While it lives, this process may have as many files open as it may allow itself: all pieces are at once, since each
/// is locked for as long as it is open.
class MoreFiles final {
 public:
  MoreFiles() noexcept {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    const rlimit most{before_.rlim_max, before_.rlim_max};
    raised_ = ::setrlimit(RLIMIT_NOFILE, &most) == 0;
  }
  ~MoreFiles() {
    if (raised_) ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  MoreFiles(const MoreFiles&) = delete;
  MoreFiles& operator=(const MoreFiles&) = delete;

 private:
  rlimit before_{};
  bool raised_ = false;
};

Pieces find_pieces(const std::string& file, int n_pes) {
  Pieces pieces;
  for (int pe = 0; pe < n_pes; ++pe)
    if (auto piece = std::make_unique<Piece>(file, pe); piece->good()) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<int> pes_with_pieces(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string begin = path.filename().string() + ".pe-";
  std::vector<int> pes;
  std::error_code none;  // a folder that cannot be read has nothing for us
  for (std::filesystem::directory_iterator at(path.has_parent_path() ? path.parent_path() : ".", none), end;
       !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename().string();
    int pe = -1;
    if (!name.starts_with(begin)) continue;
    const auto [rest, error] = std::from_chars(name.data() + begin.size(), name.data() + name.size(), pe);
    if (error == std::errc{} && *rest == '\0' && pe >= 0) pes.push_back(pe);
  }
  return pes;
}

/// A piece's ticks as nanoseconds.
struct Clock {
  std::uint64_t first_ticks;
  double first_ns, ns_per_tick;
  double ns_of(std::uint64_t ticks) const {
    return first_ns + static_cast<double>(static_cast<std::int64_t>(ticks - first_ticks)) * ns_per_tick;
  }
};

/// The clocks of all pieces as one, which begins with the earliest of them.
class Clocks final {
 public:
  explicit Clocks(const Pieces& pieces) : reference_(*pieces[0]) {
    for (const auto& piece : pieces) {
      const TraceHeader& h = piece->header();
      origin_ns_ = std::min(origin_ns_, static_cast<double>(h.first_ns) - shift_of(*piece));
      const Span span{static_cast<double>(h.last_ticks) - static_cast<double>(h.first_ticks),
                      static_cast<double>(h.last_ns) - static_cast<double>(h.first_ns)};
      Span& longest = spans_[piece->machine()];
      if (span.ticks > 0 && span.ns > longest.ns) longest = span;
    }
  }
  Clock of(const Piece& piece) const {
    // All of a machine have one rate: a PE that did not live long could tell little of it.
    const Span& span = spans_.at(piece.machine());
    const TraceHeader& h = piece.header();
    return {h.first_ticks, static_cast<double>(h.first_ns) - shift_of(piece) - origin_ns_,
            span.ns >= kLeastSpanNs ? span.ns / span.ticks : ns_per_tick()};
  }

 private:
  static constexpr double kLeastSpanNs = 1e6;  // else this machine, which may be the same one, measures
  struct Span {
    double ticks = 0, ns = 0;
  };
  /// From the reference's clock to that of `piece`.
  double shift_of(const Piece& piece) const {
    if (piece.machine() == reference_.machine()) return 0;
    return static_cast<double>(piece.header().met_ns) - static_cast<double>(reference_.header().met_ns);
  }
  const Piece& reference_;
  double origin_ns_ = static_cast<double>(reference_.header().first_ns);
  std::map<std::string, Span> spans_;  // by machine: the longest that one of its PEs measured
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

void write_piece(std::FILE* file, const Piece& piece, const Clock& clock, bool& first) {
  Text out(file);
  const auto pe = static_cast<std::uint64_t>(piece.pe());
  const auto separator = [&] { return std::exchange(first, false) ? "\n" : ",\n"; };
  out << separator() << "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" << pe << ",\"args\":{\"name\":\"PE " << pe
      << "\"}}";
  out << separator() << "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" << pe
      << ",\"args\":{\"sort_index\":" << pe << "}}";
  const std::vector<std::string> names = piece.names();
  const auto write = [&](const TraceEvent& event, std::uint64_t until) {
    const double begin = clock.ns_of(event.begin), end = clock.ns_of(until);
    out << separator() << "{\"name\":\"" << names[std::min<std::size_t>(event.name, kTraceNames - 1)]
        << "\",\"ph\":\"X\",\"pid\":" << pe << ",\"tid\":" << std::uint64_t{event.thread} << ",\"ts\":";
    out.microseconds(begin) << ",\"dur\":";
    out.microseconds(end - begin) << ",\"args\":{\"bytes\":" << event.bytes;
    if (event.pe >= 0) out << ",\"pe\":" << static_cast<std::uint64_t>(event.pe);
    if (event.end == 0) out << ",\"unfinished\":true";
    out << "}}";
  };
  // What was under way lasts until the last moment of which the piece tells.
  std::uint64_t last = piece.header().last_ticks;
  std::vector<TraceEvent> unfinished;
  piece.each_event([&](const TraceEvent& event) {
    last = std::max({last, event.begin, event.end});
    if (event.end != 0)
      write(event, event.end);
    else
      unfinished.push_back(event);
  });
  for (const TraceEvent& event : unfinished) write(event, last);
  if (piece.lost() == 0) return;
  out << separator() << "{\"name\":\"" << piece.lost() << " later calls are not in this trace: " << piece.why_lost()
      << "\",\"ph\":\"i\",\"s\":\"p\",\"pid\":" << pe << ",\"tid\":0,\"ts\":";
  out.microseconds(clock.ns_of(piece.header().last_ticks)) << "}";
}

/// For as long as these live, no other process joins or replaces them; leaves out those that one has meanwhile.
void take(Pieces& pieces, const std::string& file, TraceWriters writers) {
  const auto leave = [&](const char* why, const std::string& user) {
    throw Error(Code::peer, strf("the pieces %s.pe-* of the trace are left alone: %s (%s)", file.c_str(), why,
                                 user.empty() ? "a process that is done now" : user.c_str()));
  };
  // Before any is locked: the job that writes them may be about to join them.
  for (const auto& piece : pieces)
    if (const std::string writer = user_of_piece(piece->fd(), TraceUse::written);
        writers == TraceWriters::none && !writer.empty())
      leave("a job that runs writes them", writer);
  for (const auto& piece : pieces)
    if (!lock_piece(piece->fd(), TraceUse::joined))
      leave("they are being joined already", user_of_piece(piece->fd(), TraceUse::joined));
  std::erase_if(pieces, [](const auto& piece) { return !lies_at(piece->fd(), piece->path()); });
  for (const auto& piece : pieces) piece->read();  // the last of its PE, which may have ended just now
}

Error taken(const std::string& file, const std::string& path, TraceUse use, const std::string& user) {
  return Error(
      Code::invalid_option,
      strf("SHOAL_TRACE=\"%s\" is taken: %s %s%s; give each job a name of its own", file.c_str(),
           use == TraceUse::written ? "another job writes" : "what an earlier job wrote is being joined, among it",
           path.c_str(), user.empty() ? "" : (" (" + user + ")").c_str()));
}

constexpr TraceUse kUses[] = {TraceUse::written, TraceUse::joined};

}  // namespace

std::string trace_wanted(const std::string& option) {
  if (option.empty() || option == "0") return "";
  if (option.size() > 5 && option.ends_with(".json")) return option;
  throw Error(
      Code::invalid_option,
      strf("SHOAL_TRACE=\"%s\" is not valid: expected 0 or the name of a file that ends with .json", option.c_str()));
}

std::string session_file(const std::string& file, int session) {
  if (session == 1) return file;
  const std::filesystem::path path(file);
  return path.parent_path() / (path.stem().string() + "-" + std::to_string(session) + path.extension().string());
}

std::string trace_piece(const std::string& file, int pe) { return file + ".pe-" + std::to_string(pe); }

int trace_pieces(const std::string& file) {
  const std::vector<int> pes = pes_with_pieces(file);
  return pes.empty() ? 0 : *std::max_element(pes.begin(), pes.end()) + 1;
}

void check_unused(const std::string& file) {
  for (const int pe : pes_with_pieces(file)) {
    const std::string path = trace_piece(file, pe);
    const UniqueFd fd = open_piece(path);
    for (const TraceUse use : kUses)
      if (const std::string user = fd ? user_of_piece(fd.get(), use) : ""; !user.empty())
        throw taken(file, path, use, user);
  }
}

void remove_piece(const std::string& file, int pe) {
  const std::string path = trace_piece(file, pe);
  const UniqueFd fd = open_piece(path);
  if (!fd) {
    if (errno == ELOOP) ::unlink(path.c_str());  // a symbolic link is nobody's piece
    return;
  }
  // Only what is locked is removed: whoever has just made it cannot lock it then, and knows.
  for (const TraceUse use : kUses) {
    const bool locked = lock_piece(fd.get(), use);
    const std::string user = user_of_piece(fd.get(), use);
    if (!locked || !user.empty()) throw taken(file, path, use, user);
  }
  if (lies_at(fd.get(), path)) ::unlink(path.c_str());
}

void remove_other_pieces(const std::string& file, int kept) {
  for (const int pe : pes_with_pieces(file))
    if (pe != kept) remove_piece(file, pe);  // to open and close that one would unlock it
}

bool is_written(const std::string& file, int n_pes) {
  for (int pe = 0; pe < n_pes; ++pe)
    if (const Piece piece(file, pe); piece.good() && !user_of_piece(piece.fd(), TraceUse::written).empty()) return true;
  return false;
}

std::string trace_told(const std::string& file, int n_pes) {
  return strf("trace of %d PE%s written to %s", n_pes, n_pes == 1 ? "" : "s", file.c_str());
}

int merge_trace(const std::string& file, int n_pes, TraceWriters writers) {
  const MoreFiles all_at_once;
  Pieces pieces = find_pieces(file, n_pes);
  take(pieces, file, writers);
  if (pieces.empty()) return 0;
  const Clocks clocks(pieces);
  // A trace that was there before is whole until this is. What is no file, such as a device, must not become one.
  std::error_code unknown;
  const auto there = std::filesystem::symlink_status(file, unknown).type();
  const bool replaces = there == std::filesystem::file_type::not_found || there == std::filesystem::file_type::regular;
  const std::string written = replaces ? file + ".unfinished" : file;
  const NoFileSizeSignal quiet;
  // Not to wait for a reader, where it is a pipe.
  const int fd = ::open(written.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  std::FILE* out = fd < 0 ? nullptr : ::fdopen(fd, "w");
  bool failed = out == nullptr;
  if (!failed) {
    std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    bool first = true;
    for (const auto& piece : pieces) write_piece(out, *piece, clocks.of(*piece), first);
    std::fputs("\n]}\n", out);
    failed = std::ferror(out) != 0;
    failed = std::fclose(out) != 0 || failed;
  }
  if (failed || (replaces && ::rename(written.c_str(), file.c_str()) != 0)) {
    const int code = errno;
    if (replaces) ::unlink(written.c_str());
    errno = code;
    throw_errno("cannot write the trace " + file + ", so its pieces " + file + ".pe-* are left");
  }
  // The last one first: where there is any, there is PE 0's, and who looks knows that it is not alone.
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) ::unlink((*piece)->path().c_str());
  return static_cast<int>(pieces.size());
}

}  // namespace shoal
