// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/store.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/brief_lock.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/monitor.hpp"
#include "bootstrap/protocol.hpp"

namespace shoal {
namespace {

using store::Bytes;
using store::Frame;
using store::Header;
using store::Type;

constexpr std::uint64_t kWelcomeNs = 30'000'000'000;  // the launcher answers at once; a stranger never does
constexpr int kToBeKilledMs = 2000;                   // how long abort waits for the launcher to end this process
constexpr const char* kGone = "the launcher (shoalrun) has gone away; the job cannot go on";

constexpr const char* kTwoAtOnce =
    "do two processes of this PE use the launcher's channel at once? Only one program of a PE can be in "
    "the job at a time: let a script run them in turn";

class StoreBootstrap final : public Bootstrap {
 public:
  StoreBootstrap(int fd, int rank, int size, int life_fd, std::optional<Secret> secret)
      : fd_(fd), rank_(rank), size_(size), life_fd_(life_fd), secret_(std::move(secret)) {
    check_channel();
    claim_channel();
    try {
      hello();
    } catch (const Error&) {
      end_session();
      throw;
    }
  }
  ~StoreBootstrap() override { end_session(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Secret* secret() const override { return secret_ ? &*secret_ : nullptr; }

  Gathered allgather(std::span<const std::byte> mine) override {
    Frame answer = request(Type::allgather, mine);
    auto parts = store::split_parts(answer.payload, static_cast<size_t>(size_));
    return {std::move(answer.payload), std::move(parts)};
  }
  bool launched() const override { return true; }
  void barrier() override { request(Type::barrier, {}); }
  void leave() override {
    request(Type::leave, {});
    end_session();
    monitor_.reset();
  }
  void watch() override {
    if (life_fd_ >= 0 && monitor_ == nullptr) monitor_ = std::make_unique<Monitor>(life_fd_, Monitor::Ends::group);
  }
  void exiting(int status) noexcept override;
  [[noreturn]] void abort(int status, const std::string& why) override;

 private:
  void end_session() noexcept;
  void check_channel();
  void claim_channel();
  bool lock_channel(short how, flock& lock) const noexcept;
  void check_still_ours() const;
  void hello();
  Frame request(Type type, std::span<const std::byte> payload);
  void send_all(std::span<const std::byte> bytes) const;
  Frame receive() const;
  void receive_all(void* to, size_t length) const;

  const int fd_, rank_, size_, life_fd_;
  const std::optional<Secret> secret_;
  const pid_t owner_ = ::getpid();
  dev_t device_ = 0;  // with inode_: which socket fd_ named at hello
  ino_t inode_ = 0;
  bool claimed_ = false;  // the lock is ours
  std::mutex sending_;    // a frame is sent whole; abort comes from any thread
  std::unique_ptr<Monitor> monitor_;
};

void StoreBootstrap::check_channel() {
  struct stat s;
  if (::fstat(fd_, &s) != 0)
    throw Error(
        Code::launcher,
        strf("descriptor %d, the channel to the launcher (SHOAL_STORE_FD), is closed: the program was started through "
             "something that closes inherited descriptors (Python's subprocess: pass close_fds=False)",
             fd_));
  int domain = 0, type = 0;
  socklen_t length = sizeof domain;
  if (!S_ISSOCK(s.st_mode) || ::getsockopt(fd_, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX ||
      ::getsockopt(fd_, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
    throw Error(Code::launcher,
                strf("descriptor %d, named by SHOAL_STORE_FD, is not the channel to the launcher: something "
                     "between shoalrun and this program closed it and opened something else",
                     fd_));
  device_ = s.st_dev;
  inode_ = s.st_ino;
}

/// A lock on the channel, which all processes of this PE inherit: it belongs to one process and goes with it.
bool StoreBootstrap::lock_channel(short how, flock& lock) const noexcept {
  lock = {};
  lock.l_type = how;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return ::fcntl(fd_, F_SETLK, &lock) == 0;
}

/// Two that read answers from one channel would get each other's. Where the kernel has no locks for sockets, the
/// launcher's refusal has to do.
void StoreBootstrap::claim_channel() {
  flock lock;
  claimed_ = lock_channel(F_WRLCK, lock);
  if (claimed_ || (errno != EAGAIN && errno != EACCES)) return;
  ::fcntl(fd_, F_GETLK, &lock);
  throw Error(Code::launcher,
              strf("another process is PE %d already%s, and two of a PE cannot use the launcher's channel at once: "
                   "let a script run them in turn",
                   rank_, lock.l_type == F_WRLCK ? strf(" (pid %d)", static_cast<int>(lock.l_pid)).c_str() : ""));
}

void StoreBootstrap::end_session() noexcept {
  if (!std::exchange(claimed_, false)) return;
  try {
    flock lock;
    check_still_ours();
    lock_channel(F_UNLCK, lock);
  } catch (const std::exception&) {
    // Then the lock is not ours, or went with the descriptor.
  }
}

/// A script that started this process need not pass its status on.
void StoreBootstrap::exiting(int status) noexcept {
  const std::unique_lock lock = lock_briefly(sending_);
  if (!lock) return;
  try {
    check_still_ours();
    send_all(store::make_text_frame(Type::exiting, status, ""));
  } catch (const std::exception&) {
    // A forked child, or nobody listens.
  }
}

/// A program that closes all descriptors and opens its own must not find our frames in its files.
void StoreBootstrap::check_still_ours() const {
  if (::getpid() != owner_)
    throw Error(Code::launcher,
                strf("a forked child of PE %d is not a PE: only the process that joined the job can do this", rank_));
  struct stat s;
  if (::fstat(fd_, &s) != 0 || s.st_dev != device_ || s.st_ino != inode_)
    throw Error(Code::launcher, strf("the program closed descriptor %d, its channel to the launcher", fd_));
}

void StoreBootstrap::hello() {
  const store::HelloPayload payload{store::kMagic, store::kVersion, static_cast<std::uint32_t>(rank_),
                                    static_cast<std::uint32_t>(size_)};
  send_all(store::make_frame(Type::hello, std::as_bytes(std::span(&payload, 1)), store::kMaxRequest));
  pollfd wait{fd_, POLLIN, 0};
  for (const std::uint64_t deadline = now_ns() + kWelcomeNs; now_ns() < deadline;)
    if (::poll(&wait, 1, 1000) > 0) break;
  if (wait.revents == 0)
    throw Error(Code::launcher,
                strf("no answer on descriptor %d (SHOAL_STORE_FD) within %d s: start the program with shoalrun", fd_,
                     static_cast<int>(kWelcomeNs / 1'000'000'000)));
  const Frame frame = receive();
  if (frame.type != Type::welcome)
    throw Error(Code::launcher,
                strf("the launcher answered hello with %s: %s", store::name_of(frame.type), kTwoAtOnce));
}

Frame StoreBootstrap::request(Type type, std::span<const std::byte> payload) {
  check_still_ours();
  const Bytes bytes = store::make_frame(type, payload, store::kMaxRequest);
  {
    const std::lock_guard lock(sending_);
    send_all(bytes);
  }
  Frame frame = receive();
  if (frame.type != store::answer_to(type))
    throw Error(Code::launcher,
                strf("malformed frame: the launcher answered %s with %s (type %u): %s", store::name_of(type),
                     store::name_of(frame.type), static_cast<unsigned>(frame.type), kTwoAtOnce));
  return frame;
}

void StoreBootstrap::send_all(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) throw Error(Code::launcher, kGone);
    if (n < 0) throw_errno("send to the launcher");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void StoreBootstrap::receive_all(void* to, size_t length) const {
  for (char* at = static_cast<char*>(to); length > 0;) {
    const ssize_t n = ::recv(fd_, at, length, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (n < 0 && errno == ECONNRESET)) throw Error(Code::launcher, kGone);
    if (n < 0) throw_errno("recv from the launcher");
    at += n;
    length -= static_cast<size_t>(n);
  }
}

/// The next frame; a refusal is thrown as the Error that it carries.
Frame StoreBootstrap::receive() const {
  Header header;
  receive_all(&header, sizeof header);
  const Type type = static_cast<Type>(header.type);
  if (type < Type::welcome || type > Type::error || header.length > store::kMaxReply)
    throw Error(Code::launcher,
                strf("malformed frame from the launcher: type %u, length %u", header.type, header.length));
  Frame frame{type, Bytes(header.length)};
  receive_all(frame.payload.data(), header.length);
  if (type == Type::error) {
    const store::NumberedText refusal = store::read_text(frame.payload);
    throw Error(refusal.number == static_cast<int>(Code::peer) ? Code::peer : Code::launcher, refusal.text);
  }
  return frame;
}

void StoreBootstrap::abort(int status, const std::string& why) {
  flush_stdio_briefly();
  bool told = false;
  const std::unique_lock lock = lock_briefly(sending_);
  try {
    check_still_ours();
    if (lock) {
      send_all(store::make_text_frame(Type::abort, status, why));
      told = true;
    }
  } catch (const std::exception&) {
    // The end of this process with a nonzero status is then what ends the job.
  }
  if (told)
    ::poll(nullptr, 0, kToBeKilledMs);
  else if (!why.empty())
    print_raw_line(why);
  ::_exit(status);
}

}  // namespace

std::unique_ptr<Bootstrap> make_store_bootstrap(int fd, int rank, int size, int life_fd, std::optional<Secret> secret) {
  return std::make_unique<StoreBootstrap>(fd, rank, size, life_fd, std::move(secret));
}

}  // namespace shoal
