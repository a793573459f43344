// SPDX-License-Identifier: Apache-2.0
#include "memory/thread_hold.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/quiet_signals.hpp"
#include "memory/uninstrumented.hpp"

#if defined(__x86_64__)
// Where the kernel returns to from a handler: x86-64 wants one from whoever installs a handler without libc.
asm(".text\n"
    ".type shoal_signal_return,@function\n"
    "shoal_signal_return:\n"
    "  mov $15, %eax\n"  // SYS_rt_sigreturn
    "  syscall\n"
    ".size shoal_signal_return, .-shoal_signal_return\n");
extern "C" void shoal_signal_return() __attribute__((visibility("hidden")));
#endif

namespace shoal {
namespace {

constexpr unsigned long long kAwake = ~0ull;
constexpr std::uint32_t kMostThreads = 32 * 1024;
constexpr std::size_t kStatusBytes = 4096;

}  // namespace

struct ThreadHold::Entry {
  std::int32_t tid;             ///< 0: it has ended; another may have its number now
  std::int32_t status;          ///< of a watched thread: its /proc status file, open; -1 of one that got the signal
  std::uint32_t arrived;        ///< it is in the handler
  std::int32_t listed;          ///< its number in /proc, which may be that of another pid namespace than ours
  unsigned long long activity;  ///< of a watched thread: context switches when noted, or kAwake
};

/// Shared by the holder and the handlers, in memory of its own.
struct ThreadHold::Control {
  std::uint32_t token;     ///< which hold a signal belongs to
  std::uint32_t released;  ///< 0: stay, 1: go on
  std::uint32_t inside;    ///< threads in the handler
  std::uint32_t count;     ///< entries; written by the holder only
  Entry entries[kMostThreads];
};

namespace {

/// The kernel's view of a handler (struct sigaction of libc differs, and sanitizers intercept its functions).
struct KernelAction {
  void (*handler)(int, void*, void*);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};
static_assert(sizeof(KernelAction) == 32);

// An entry of a directory as getdents64 gives it: inode (8 bytes), next (8), length (2), type (1), name.
constexpr std::size_t kDirentLength = 16, kDirentName = 19;

// What a handler finds its hold by: a signal handler has no other argument. Mutable, as an exception to the rule,
// because signals belong to the process. Null while nobody is held, and then late signals are ignored.
std::atomic<void*> holding{nullptr};
// The memory for it: made once and never unmapped, because a late handler may look at it at any time.
std::atomic<void*> control_memory{nullptr};

// ---- uninstrumented from here ----

SHOAL_UNINSTRUMENTED long set_action(int signal, const KernelAction* now, KernelAction* before) noexcept {
  return raw_syscall(SYS_rt_sigaction, static_cast<long>(signal), now, before, sizeof(std::uint64_t));
}

SHOAL_UNINSTRUMENTED std::uint64_t monotonic_ns() noexcept {
  timespec t{0, 0};
  raw_syscall(SYS_clock_gettime, static_cast<long>(CLOCK_MONOTONIC), &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

SHOAL_UNINSTRUMENTED void sleep_a_poll() noexcept {
  const timespec time{0, 50'000};
  raw_syscall(SYS_nanosleep, &time, 0L);
}

SHOAL_UNINSTRUMENTED int number_in(const char* name) noexcept {
  int value = 0;
  for (; *name >= '0' && *name <= '9'; ++name) value = value * 10 + (*name - '0');
  return value;
}

/// What follows `label` at the start of a line of `text` and blanks after it, or null.
SHOAL_UNINSTRUMENTED const char* value_of(const char* text, const char* label) noexcept {
  for (const char* line = text; *line != '\0';) {
    std::size_t i = 0;
    while (label[i] != '\0' && line[i] == label[i]) ++i;
    if (label[i] == '\0') {
      while (line[i] == ' ' || line[i] == '\t') ++i;
      return line + i;
    }
    while (*line != '\0' && *line != '\n') ++line;
    if (*line == '\n') ++line;
  }
  return nullptr;
}

SHOAL_UNINSTRUMENTED unsigned long long number_after(const char* text, const char* label, unsigned base) noexcept {
  const char* digit = value_of(text, label);
  unsigned long long value = 0;
  if (digit == nullptr) return 0;
  for (;; ++digit) {
    if (*digit >= '0' && *digit <= '9')
      value = value * base + static_cast<unsigned long long>(*digit - '0');
    else if (base == 16 && *digit >= 'a' && *digit <= 'f')
      value = value * base + static_cast<unsigned long long>(*digit - 'a' + 10);
    else
      return value;
  }
}

/// The last number of the line, or 0.
SHOAL_UNINSTRUMENTED int last_number_after(const char* text, const char* label) noexcept {
  const char* at = value_of(text, label);
  int value = 0;
  for (; at != nullptr && *at != '\0' && *at != '\n'; ++at)
    if (*at >= '0' && *at <= '9' && (at[-1] < '0' || at[-1] > '9')) value = number_in(at);
  return value;
}

/// This thread's number in /proc.
SHOAL_UNINSTRUMENTED int own_number() noexcept {
  char path[64];
  const long length =
      raw_syscall(SYS_readlinkat, static_cast<long>(AT_FDCWD), "/proc/thread-self", &path[0], sizeof path - 1);
  if (length <= 0) return static_cast<int>(raw_syscall(SYS_gettid));
  path[length] = '\0';
  const char* name = path + length;
  while (name > path && name[-1] != '/') --name;
  return number_in(name);
}

/// False when the thread is gone.
SHOAL_UNINSTRUMENTED bool read_status(int fd, char* text) noexcept {
  const long got = raw_syscall(SYS_pread64, static_cast<long>(fd), text, kStatusBytes - 1, 0L);
  text[got > 0 ? got : 0] = '\0';
  if (got <= 0) return false;
  const char* const state = value_of(text, "State:");
  return state == nullptr || (*state != 'Z' && *state != 'X');
}

/// Context switches so far of a thread that sleeps, kAwake of one that runs or is gone.
SHOAL_UNINSTRUMENTED unsigned long long activity_of(int fd) noexcept {
  char text[kStatusBytes];
  if (!read_status(fd, text)) return kAwake;
  const char* const state = value_of(text, "State:");
  if (state == nullptr || (*state != 'S' && *state != 'D' && *state != 'T' && *state != 't' && *state != 'I'))
    return kAwake;
  return number_after(text, "voluntary_ctxt_switches:", 10) + number_after(text, "nonvoluntary_ctxt_switches:", 10);
}

/// Opens TID/status below the directory /proc/self/task. A descriptor, or -errno.
SHOAL_UNINSTRUMENTED int open_status(int tasks, int tid) noexcept {
  const char suffix[] = "/status";
  char path[32];
  char* at = path + sizeof path - sizeof suffix;
  for (std::size_t i = 0; i < sizeof suffix; ++i) at[i] = suffix[i];
  do *--at = static_cast<char>('0' + tid % 10);
  while ((tid /= 10) != 0);
  return static_cast<int>(
      raw_syscall(SYS_openat, static_cast<long>(tasks), at, static_cast<long>(O_RDONLY | O_CLOEXEC)));
}

}  // namespace

SHOAL_UNINSTRUMENTED void ThreadHold::on_signal(int, void* info_pointer, void*) {
  const auto* const info = static_cast<const siginfo_t*>(info_pointer);
  auto* const control = static_cast<Control*>(__atomic_load_n(reinterpret_cast<void**>(&holding), __ATOMIC_ACQUIRE));
  const auto value = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  if (control == nullptr || info->si_code != SI_QUEUE || info->si_pid != static_cast<pid_t>(raw_syscall(SYS_getpid)) ||
      value >> 32 != control->token)
    return;
  __atomic_fetch_add(&control->inside, 1, __ATOMIC_ACQ_REL);
  // Pairs with the acquire in wait_for_arrivals(): what this thread wrote is there to be copied.
  __atomic_store_n(&control->entries[value & 0xffffffffu].arrived, 1, __ATOMIC_RELEASE);
  // Pairs with the release in release(). The timeout only guards against a wake-up that comes too early.
  const timespec a_while{0, 10'000'000};
  while (__atomic_load_n(&control->released, __ATOMIC_ACQUIRE) == 0)
    raw_syscall(SYS_futex, &control->released, static_cast<long>(FUTEX_WAIT_PRIVATE), 0L, &a_while, 0L, 0L);
  __atomic_fetch_sub(&control->inside, 1, __ATOMIC_ACQ_REL);
}

/// Picks the signal, installs the handler.
SHOAL_UNINSTRUMENTED ThreadHold::Failure ThreadHold::start() noexcept {
  KernelAction found{};
  int signal = kHoldSignal;  // libc keeps 32 to 34 for itself
  for (; signal > 34; --signal)
    if (set_action(signal, nullptr, &found) == 0 &&
        (found.handler == nullptr || found.handler == &ThreadHold::on_signal))
      break;
  if (signal == 34) return {Failure::no_signal, 0, 0};
  KernelAction action{};
  action.handler = &ThreadHold::on_signal;
  action.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  action.mask = ~std::uint64_t{0};
#if defined(__x86_64__)
  action.flags |= 0x04000000;  // SA_RESTORER
  action.restorer = &shoal_signal_return;
#endif
  if (const long error = set_action(signal, &action, nullptr); error != 0) return {Failure::no_handler, 0, error};
  signal_ = signal;
  return {};
}

/// Takes a thread that wasn't met before in among the watched.
SHOAL_UNINSTRUMENTED ThreadHold::Failure ThreadHold::meet(int tasks, int tid, bool& found_new) noexcept {
  const std::uint32_t place = control_->count;
  for (std::uint32_t i = 0; i < place; ++i)
    if (control_->entries[i].listed == tid && control_->entries[i].tid != 0) return {};
  if (place == kMostThreads) return {Failure::too_many, tid, 0};
  const int status = open_status(tasks, tid);
  if (status == -ENOENT || status == -ESRCH) return {};  // gone already
  if (status < 0) return {Failure::no_proc, tid, status};
  Entry& entry = control_->entries[place];
  entry.listed = tid;
  entry.tid = tid;
  char text[kStatusBytes];
  if (read_status(status, text))
    if (const int ours = last_number_after(text, "NSpid:"); ours != 0) entry.tid = ours;
  entry.status = status;
  entry.arrived = 0;
  control_->count = place + 1;
  found_new = true;
  return {};
}

/// Signals those of the watched threads that don't block the signal, or don't block it any more: every thread blocks
/// all while it starts, forks or starts another.
SHOAL_UNINSTRUMENTED ThreadHold::Failure ThreadHold::signal_willing() noexcept {
  if (control_->count > 0 && signal_ == 0)
    if (const Failure failure = start(); failure.what != Failure::none) return failure;
  const long pid = raw_syscall(SYS_getpid);
  for (std::uint32_t i = 0; i < control_->count; ++i) {
    Entry& entry = control_->entries[i];
    if (entry.status < 0) continue;
    char text[kStatusBytes];
    const bool alive = read_status(entry.status, text);
    if (alive && (number_after(text, "SigBlk:", 16) >> (signal_ - 1) & 1) != 0) continue;
    raw_syscall(SYS_close, static_cast<long>(entry.status));
    entry.status = -1;
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    info.si_pid = static_cast<pid_t>(pid);
    info.si_uid = static_cast<uid_t>(raw_syscall(SYS_getuid));
    info.si_value.sival_ptr = reinterpret_cast<void*>(std::uintptr_t{control_->token} << 32 | i);
    const long error =
        alive ? raw_syscall(SYS_rt_tgsigqueueinfo, pid, static_cast<long>(entry.tid), static_cast<long>(signal_), &info)
              : -ESRCH;
    if (error != 0 && error != -ESRCH) return {Failure::no_delivery, entry.listed, error};
    if (error != 0) entry.tid = 0;  // gone
  }
  return {};
}

SHOAL_UNINSTRUMENTED ThreadHold::Failure ThreadHold::meet_all(int tasks, bool& found_new) noexcept {
  const int self = own_number();
  found_new = false;
  raw_syscall(SYS_lseek, static_cast<long>(tasks), 0L, static_cast<long>(SEEK_SET));
  alignas(8) char list[4096];
  for (;;) {
    const long got = raw_syscall(SYS_getdents64, static_cast<long>(tasks), &list[0], sizeof list);
    if (got < 0) return {Failure::no_proc, 0, got};
    if (got == 0) return {};
    for (long at = 0; at < got;) {
      const int tid = number_in(list + at + kDirentName);
      at += *reinterpret_cast<const std::uint16_t*>(list + at + kDirentLength);
      if (tid == 0 || tid == self) continue;
      if (const Failure failure = meet(tasks, tid, found_new); failure.what != Failure::none) return failure;
    }
  }
}

SHOAL_UNINSTRUMENTED ThreadHold::Failure ThreadHold::wait_for_arrivals() noexcept {
  const long pid = raw_syscall(SYS_getpid);
  for (std::uint32_t i = 0; i < control_->count; ++i) {
    Entry& entry = control_->entries[i];
    while (entry.status < 0 && __atomic_load_n(&entry.arrived, __ATOMIC_ACQUIRE) == 0) {
      // Signal 0 only asks whether the thread is still there: it may have ended before the signal reached it.
      if (entry.tid == 0 || raw_syscall(SYS_tgkill, pid, static_cast<long>(entry.tid), 0L) == -ESRCH) {
        entry.tid = 0;
        break;
      }
      if (expired()) return {Failure::not_stopping, entry.listed, 0};
      sleep_a_poll();
    }
  }
  return {};
}

SHOAL_UNINSTRUMENTED bool ThreadHold::hold_all() noexcept {
  const long tasks = raw_syscall(SYS_openat, static_cast<long>(AT_FDCWD), "/proc/self/task",
                                 static_cast<long>(O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (tasks < 0) failure_ = {Failure::no_proc, 0, tasks};
  // A thread that isn't held may start others while we look. So until a look shows nobody new; and from before that
  // last look on, the watched ones must have slept.
  for (bool found_new = true; found_new && failure_.what == Failure::none;) {
    for (std::uint32_t i = 0; i < control_->count; ++i)
      if (control_->entries[i].status >= 0) control_->entries[i].activity = activity_of(control_->entries[i].status);
    failure_ = meet_all(static_cast<int>(tasks), found_new);
    if (failure_.what == Failure::none) failure_ = signal_willing();
    if (failure_.what == Failure::none) failure_ = wait_for_arrivals();
  }
  if (tasks >= 0) raw_syscall(SYS_close, tasks);
  return failure_.what == Failure::none;
}

SHOAL_UNINSTRUMENTED bool ThreadHold::expired() const noexcept { return monotonic_ns() > deadline_ns_; }

SHOAL_UNINSTRUMENTED bool ThreadHold::watched_slept() const noexcept {
  for (std::uint32_t i = 0; i < control_->count; ++i) {
    const Entry& entry = control_->entries[i];
    if (entry.status >= 0 && (entry.activity == kAwake || activity_of(entry.status) != entry.activity)) {
      sleep_a_poll();  // let it run
      return false;
    }
  }
  return true;
}

SHOAL_UNINSTRUMENTED void ThreadHold::release() noexcept {
  if (released_) return;
  released_ = true;
  // Pairs with the acquire in on_signal().
  __atomic_store_n(&control_->released, 1, __ATOMIC_RELEASE);
  raw_syscall(SYS_futex, &control_->released, static_cast<long>(FUTEX_WAKE_PRIVATE), 0x7fffffffL, 0L, 0L, 0L);
  __atomic_store_n(reinterpret_cast<void**>(&holding), nullptr, __ATOMIC_RELEASE);
  for (std::uint32_t i = 0; i < control_->count; ++i)
    if (control_->entries[i].status >= 0) raw_syscall(SYS_close, static_cast<long>(control_->entries[i].status));
  const std::uint64_t patience = monotonic_ns() + 1'000'000'000;
  bool left = false;
  while (!(left = __atomic_load_n(&control_->inside, __ATOMIC_ACQUIRE) == 0) && monotonic_ns() < patience)
    sleep_a_poll();
  // Someone who still uses it (a stopped thread, say) may keep it.
  if (!left) __atomic_store_n(reinterpret_cast<void**>(&control_memory), nullptr, __ATOMIC_RELEASE);
  // Where a thread may have the signal pending the handler stays, and ignores it: the default disposition would end the
  // process.
  if (signal_ != 0 && failure_.what == Failure::none && left) {
    const KernelAction initial{};
    set_action(signal_, &initial, nullptr);
  }
}

// ---- to here ----

ThreadHold::Control* ThreadHold::control_block() {
  void* memory = control_memory.load(std::memory_order_acquire);
  if (memory == nullptr) {
    memory =
        ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw_errno("cannot hold this process's threads: mmap");
    control_memory.store(memory, std::memory_order_release);
  }
  auto* const control = static_cast<Control*>(memory);
  static std::atomic<std::uint32_t> last_token{0};
  control->token = last_token.fetch_add(1, std::memory_order_relaxed) + 1;
  control->released = control->inside = control->count = 0;
  return control;
}

ThreadHold::ThreadHold(std::uint64_t deadline_ns) : deadline_ns_(deadline_ns), control_(control_block()) {
  holding.store(control_, std::memory_order_release);
  if (hold_all()) return;
  release();
  throw_failure();
}

void ThreadHold::throw_failure() const {
  const bool system = failure_.what == Failure::no_handler || failure_.what == Failure::no_delivery;
  if (failure_.what != Failure::none) throw Error(system ? Code::system : Code::unsupported, explain(failure_));
}

/// "123 (name)".
static std::string describe_thread(int tid) {
  std::string name;
  std::ifstream file(strf("/proc/self/task/%d/comm", tid));
  std::getline(file, name);
  return strf("%d (%s)", tid, name.c_str());
}

std::string ThreadHold::explain(const Failure& failure) const {
  const std::string thread = describe_thread(failure.tid), error = std::strerror(static_cast<int>(-failure.error));
  std::string why;
  switch (failure.what) {
    case Failure::none: break;
    case Failure::no_proc: why = "/proc/self/task cannot be read: " + error; break;
    case Failure::no_signal: why = "it uses every real-time signal"; break;
    case Failure::no_handler: why = "rt_sigaction: " + error; break;
    case Failure::no_delivery: why = "thread " + thread + ": rt_tgsigqueueinfo: " + error; break;
    case Failure::not_stopping: why = strf("thread %s does not stop for signal %d", thread.c_str(), signal_); break;
    case Failure::too_many: why = strf("it has more than %u", kMostThreads); break;
  }
  return "cannot hold this process's threads while its static data moves: " + why +
         "; initialise before the program starts threads, or set SHOAL_STATIC_DATA=0 to do without symmetric static "
         "data";
}

std::string ThreadHold::describe_watched() const {
  std::string text;
  for (std::uint32_t i = 0; i < control_->count; ++i)
    if (control_->entries[i].status >= 0)
      text += (text.empty() ? "" : ", ") + describe_thread(control_->entries[i].listed);
  return text;
}

}  // namespace shoal
