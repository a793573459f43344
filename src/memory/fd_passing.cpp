// SPDX-License-Identifier: Apache-2.0
#include "memory/fd_passing.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/quiet_signals.hpp"

namespace shoal {
namespace {

/// The one message of the protocol, from server to receiver, the files attached by SCM_RIGHTS when error is 0.
///   offset  size  field
///        0     8  magic   kMagic
///        8     4  count   how many files
///       12     4  error   0, or the errno for which the server couldn't attach them
struct Greeting {
  std::uint64_t magic;
  std::uint32_t count;
  std::int32_t error;
};
static_assert(sizeof(Greeting) == 16);
constexpr std::uint64_t kMagic = 0x31'46'44'4c'41'4f'48'53;  // "SHOALDF1"

struct FileId {
  int fd;  ///< in the server
  std::uint64_t device, inode;
};

struct ServerName {
  std::string socket;  ///< without the leading NUL of an abstract address
  int pid = 0;
  std::vector<FileId> files;
};

std::string random_hex() {
  unsigned char bytes[16];
  for (std::size_t have = 0; have < sizeof bytes;) {
    const ssize_t got = ::getrandom(bytes + have, sizeof bytes - have, 0);
    if (got < 0 && errno != EINTR) throw_errno("getrandom for the name of a socket");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += strf("%02x", byte);
  return text;
}

sockaddr_un abstract_address(const std::string& socket, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, socket.data(), std::min(socket.size(), sizeof address.sun_path - 1));
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket.size());
  return address;
}

std::optional<uid_t> peer_uid(int socket) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

ServerName parse_name(const std::string& name) {
  const auto malformed = [&] {
    return Error(Code::peer, strf("malformed name of a file server: \"%.200s\"", name.c_str()));
  };
  ServerName server;
  if (name.size() > kMaxFdServerName) throw malformed();
  std::size_t comma = name.find(',');
  server.socket = name.substr(0, comma);
  if (comma == std::string::npos || server.socket.size() != 38 || server.socket.rfind("shoal-", 0) != 0)
    throw malformed();
  char* rest = nullptr;
  server.pid = static_cast<int>(std::strtol(name.c_str() + comma + 1, &rest, 10));
  while (*rest == ',') {
    FileId file{};
    file.fd = static_cast<int>(std::strtol(rest + 1, &rest, 10));
    if (*rest != ':') throw malformed();
    file.device = std::strtoull(rest + 1, &rest, 10);
    if (*rest != ':') throw malformed();
    file.inode = std::strtoull(rest + 1, &rest, 10);
    server.files.push_back(file);
  }
  if (*rest != '\0' || server.pid <= 0 || server.files.empty() || server.files.size() > kMaxPassedFds)
    throw malformed();
  return server;
}

/// "" when `fd` is the file that the server meant.
std::string check_identity(int fd, const FileId& file) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return strf("fstat: %s", std::strerror(errno));
  if (info.st_dev != file.device || info.st_ino != file.inode) return "it is another file";
  return {};
}

bool set_timeout(int socket, int which, std::uint64_t deadline_ns) {
  const std::uint64_t now = now_ns();
  if (now >= deadline_ns) {
    errno = ETIMEDOUT;
    return false;
  }
  // At least a millisecond: a timeval of zero would mean no timeout at all.
  const std::uint64_t left_us = std::max<std::uint64_t>((deadline_ns - now) / 1000, 1000);
  const timeval time{static_cast<time_t>(left_us / 1'000'000), static_cast<suseconds_t>(left_us % 1'000'000)};
  return ::setsockopt(socket, SOL_SOCKET, which, &time, sizeof time) == 0;
}

/// Connects, at the deadline at the latest. "" when it worked.
std::string connect_to(int socket, const std::string& name, std::uint64_t deadline_ns) {
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  for (;;) {
    if (!set_timeout(socket, SO_SNDTIMEO, deadline_ns)) return strf("connect: %s", std::strerror(errno));
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0 || errno == EISCONN) break;
    if (errno != EINTR && errno != EAGAIN) return strf("connect: %s", std::strerror(errno));
  }
  const std::optional<uid_t> uid = peer_uid(socket);
  if (!uid || *uid != ::geteuid()) return "the server belongs to another user";
  return {};
}

/// Takes whatever files came with a message, so that they are closed whatever happens next.
std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

/// "" and the files in `fds`, or what went wrong.
std::string fetch_by_socket(const ServerName& server, std::uint64_t deadline_ns, std::vector<UniqueFd>& fds) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return strf("socket: %s", std::strerror(errno));
  if (std::string why = connect_to(socket.get(), server.socket, deadline_ns); !why.empty()) return why;

  Greeting greeting{};
  iovec part{&greeting, sizeof greeting};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedFds * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t got = -1;
  do {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (!set_timeout(socket.get(), SO_RCVTIMEO, deadline_ns)) break;
    got = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) return strf("recvmsg: %s", std::strerror(errno));
  std::vector<UniqueFd> received = take_fds(message);
  if (got == 0) return "the server hung up (it runs as another user, or it is shutting down)";
  if (static_cast<std::size_t>(got) != sizeof greeting || greeting.magic != kMagic)
    return "the server's answer is malformed";
  if (greeting.error != 0) return strf("the server's sendmsg: %s", std::strerror(greeting.error));
  if ((message.msg_flags & MSG_CTRUNC) != 0 || received.size() != server.files.size())
    return strf("only %zu of %zu files arrived (limit of open files?)", received.size(), server.files.size());
  for (std::size_t i = 0; i < received.size(); ++i)
    if (std::string why = check_identity(received[i].get(), server.files[i]); !why.empty()) return why;
  fds = std::move(received);
  return {};
}

std::string fetch_through_proc(const ServerName& server, std::vector<UniqueFd>& fds) {
  std::vector<UniqueFd> opened;
  for (const FileId& file : server.files) {
    const std::string path = strf("/proc/%d/fd/%d", server.pid, file.fd);
    opened.emplace_back(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!opened.back()) return strf("open %s: %s", path.c_str(), std::strerror(errno));
    if (std::string why = check_identity(opened.back().get(), file); !why.empty()) return path + ": " + why;
  }
  fds = std::move(opened);
  return {};
}

}  // namespace

FdServer::FdServer(const std::vector<int>& fds) : fds_(fds) {
  if (fds.empty() || fds.size() > kMaxPassedFds)
    throw Error(Code::invalid_argument, strf("cannot pass %zu files: 1 to %zu go", fds.size(), kMaxPassedFds));
  const std::string socket_name = "shoal-" + random_hex();
  name_ = strf("%s,%d", socket_name.c_str(), static_cast<int>(::getpid()));
  for (const int fd : fds) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) throw_errno(strf("cannot pass file descriptor %d: fstat", fd));
    name_ += strf(",%d:%llu:%llu", fd, static_cast<unsigned long long>(info.st_dev),
                  static_cast<unsigned long long>(info.st_ino));
  }
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) throw_errno("cannot pass memory to the other PEs: socket(AF_UNIX)");
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(socket_name, length);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    throw_errno(strf("cannot pass memory to the other PEs: bind @%s", socket_name.c_str()));
  if (::listen(listener_.get(), 4096) != 0) throw_errno("cannot pass memory to the other PEs: listen");
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) throw_errno("cannot pass memory to the other PEs: eventfd");

  const QuietSignals quiet;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception& error) {
    throw Error(Code::system, strf("cannot pass memory to the other PEs: no thread: %s", error.what()));
  }
}

FdServer::~FdServer() {
  const std::uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void FdServer::run() noexcept {
  pollfd watched[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) return;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection) {
      serve_one(connection.get());
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // Out of descriptors for a moment: receivers wait in the backlog. Don't spin on a listener that stays readable.
      ::poll(&watched[1], 1, 10);
    }
  }
}

void FdServer::serve_one(int connection) noexcept {
  const std::optional<uid_t> uid = peer_uid(connection);
  if (!uid || *uid != ::geteuid()) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Greeting greeting{kMagic, static_cast<std::uint32_t>(fds_.size()), 0};
  iovec part{&greeting, sizeof greeting};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedFds * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds_.size() * sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds_.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds_.data(), fds_.size() * sizeof(int));

  // A fresh socket has room for one small message, so this neither blocks nor sends half.
  if (::sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof greeting)) {
    served_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  greeting.error = errno;
  message.msg_control = nullptr;
  message.msg_controllen = 0;
  (void)::sendmsg(connection, &message, MSG_NOSIGNAL);
}

FetchedFds fetch_fds(const std::string& name, std::uint64_t deadline_ns) {
  const ServerName server = parse_name(name);
  FetchedFds result;
  result.why = fetch_by_socket(server, deadline_ns, result.fds);
  if (result.why.empty()) return result;
  result.through_proc = true;
  const std::string proc_why = fetch_through_proc(server, result.fds);
  if (!proc_why.empty())
    throw Error(Code::system,
                strf("cannot get the shared memory of process %d: by Unix socket @%s: %s; through /proc: %s",
                     server.pid, server.socket.c_str(), result.why.c_str(), proc_why.c_str()));
  return result;
}

}  // namespace shoal
