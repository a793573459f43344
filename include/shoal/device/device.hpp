// SPDX-License-Identifier: Apache-2.0
/// \file
/// The host's side of devices: Device, Stream, Event, launch. docs/device.md tells the model and has an example.
///
/// Mistakes (a closed stream, too many cores) end the job with a line that names the kernel or call, as everywhere in Shoal.
#pragma once

#include <shmemx.h>

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../error.hpp"
#include "backend.hpp"
#include "kernel.hpp"

namespace shoal::inline v1 {

class Stream;
class Event;

/// The device of this PE. A value: all of a job refer to the same one.
class Device {
 public:
  /// The first Device of a job is made by all PEs together.
  Device() : backend_(static_cast<device::Backend*>(shmemx_device_backend(device::kAbi))), number_(backend_->facts().number) {}

  /// The most cores that a launch may have, and bytes of scratch memory of each.
  [[nodiscard]] int cores() const noexcept { return backend().facts().cores; }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return backend().facts().scratch_bytes; }
  /// "cpu" or "cuda".
  [[nodiscard]] const char* kind() const noexcept { return backend().facts().kind; }

  /// `n` elements of symmetric device memory, or nullptr on all PEs. Collective, as shmem_malloc. Every PE, its kernels and its host
  /// calls (shmem_put, ...) reach it.
  template <class T>
  [[nodiscard]] T* allocate(std::size_t n) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return n > SIZE_MAX / sizeof(T) ? nullptr : static_cast<T*>(shmemx_device_malloc(n * sizeof(T)));
  }
  /// Collective.
  void free(void* block) const { shmemx_device_free(block); }

  /// What kernels are handed to meet the PEs of a team. Valid as long as the team.
  [[nodiscard]] device::TeamView team(shmem_team_t team = SHMEM_TEAM_WORLD) const {
    device::TeamView view;
    shmemx_device_team(team, &view);
    return view;
  }
  /// Whether it is the running job's: not any more after finalize, nor in a later job.
  [[nodiscard]] bool is_current() const noexcept { return detail::library_runs() && shmemx_device_current(number_, nullptr) != 0; }
  /// Of a device that is not current it ends the program.
  [[nodiscard]] device::Backend& backend() const noexcept {
    shmemx_device_current(number_, "Device, Stream or Event");
    return *backend_;
  }

 private:
  device::Backend* backend_;
  std::uint64_t number_;
};

/// What a launch may ask for beside its cores.
struct LaunchOptions {
  std::size_t scratch = 0;     ///< bytes of each core, at least
  const char* name = nullptr;  ///< of the kernel, in messages; a string that stays. Found by itself for a function
};

namespace detail {

/// A kernel and its arguments, copied.
template <class Kernel, class... Arguments>
struct PackedKernel {
  Kernel kernel;
  std::tuple<Arguments...> arguments;

  static void run(void* self, const device::DeviceView& view) {
    const auto& packed = *static_cast<PackedKernel*>(self);
    device::CoreState* const outer = std::exchange(device::current_core, static_cast<device::CoreState*>(view.state));
    struct Restore {
      device::CoreState* outer;
      ~Restore() { device::current_core = outer; }
    } restore{outer};
    std::apply([&](const Arguments&... each) {
      if constexpr (std::is_invocable_v<const Kernel&, const device::DeviceView&, const Arguments&...>)
        packed.kernel(view, each...);
      else
        packed.kernel(each...);
    }, packed.arguments);
  }
  static void destroy(void* self) noexcept { delete static_cast<PackedKernel*>(self); }
};

template <class Kernel>
const void* entry_of(const Kernel& kernel) noexcept {
  if constexpr (std::is_pointer_v<Kernel> && std::is_function_v<std::remove_pointer_t<Kernel>>)
    return reinterpret_cast<const void*>(kernel);
  else
    return nullptr;
}

}  // namespace detail

/// Work in order: what a stream is given runs after all it was given before, beside the host and other streams. The calling thread
/// goes on at once. One thread at a time gives it work.
class Stream {
 public:
  explicit Stream(const Device& on = Device()) : device_(on), queue_(on.backend().open_stream()) {}
  /// Waits for what it was given. After finalize, which has waited for it, there is nothing to do.
  ~Stream() {
    if (queue_ != nullptr && device_.is_current()) device_.backend().close_stream(queue_);
  }
  Stream(Stream&& other) noexcept : device_(other.device_), queue_(std::exchange(other.queue_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] device::StreamQueue* handle() const noexcept { return queue_; }
  /// Waits until everything that it was given is done. Carries it out on this thread, where nobody has begun.
  void synchronize() const { device_.backend().synchronize(queue_); }
  [[nodiscard]] bool idle() const { return device_.backend().idle(queue_); }

  /// Copies `n` elements between any memory of this PE, host or device. Source and destination stay as they are until it is done.
  template <class T>
  void copy(T* dest, const T* source, std::size_t n) const {
    device_.backend().copy(queue_, dest, source, n * sizeof(T));
  }
  /// Calls function() on the host. It must not throw, nor wait for this stream.
  template <class F>
  void call(F function) const {
    auto* copied = new F(std::move(function));
    device_.backend().call(queue_, [](void* f) {
      (*static_cast<F*>(f))();
      delete static_cast<F*>(f);
    }, copied);
  }

  /* ---- communication in order with the rest. `dest` or `source` at the other PE is symmetric memory, host or device. ---- */

  /// Complete, at the target, when what follows in the stream begins.
  template <class T>
  void put(T* dest, const T* source, std::size_t n, int pe, device::Engine engine = device::Engine::automatic) const;
  template <class T>
  void get(T* dest, const T* source, std::size_t n, int pe, device::Engine engine = device::Engine::automatic) const;
  template <class T>
  void put_signal(T* dest, const T* source, std::size_t n, std::uint64_t* signal, std::uint64_t value, device::SignalOp op, int pe) const;
  void signal(std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const;
  /// What follows waits for a word of this PE's symmetric memory.
  template <class T>
  void wait_until(const T* word, device::Cmp cmp, T value) const;
  /// The team's PEs meet, each by a stream.
  void barrier(const device::TeamView& team) const;
  /// dest on all = `op` (device::Sum, ...) over the members' sources; both symmetric, dest alike on all. Uses `cores` cores.
  template <class T, class Op>
  void all_reduce(const device::TeamView& team, T* dest, const T* source, std::size_t n, Op op, int cores = 1) const;

  /// What the stream is given from now on begins after the point that `event` recorded last.
  void wait(const Event& event) const;

 private:
  Device device_;
  device::StreamQueue* queue_;
};

/// A point in a stream: the one that it recorded last.
class Event {
 public:
  explicit Event(const Device& on = Device()) : device_(on), marker_(on.backend().open_marker()) {}
  /// Waits until the point is passed.
  ~Event() {
    if (marker_ != nullptr && device_.is_current()) device_.backend().close_marker(marker_);
  }
  Event(Event&& other) noexcept : device_(other.device_), marker_(std::exchange(other.marker_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  /// The point after all that the stream was given so far.
  void record(const Stream& stream) const { device_.backend().record(stream.handle(), marker_); }
  [[nodiscard]] bool passed() const { return device_.backend().passed(marker_); }
  void synchronize() const { device_.backend().synchronize(marker_); }
  [[nodiscard]] device::Marker* handle() const noexcept { return marker_; }

 private:
  Device device_;
  device::Marker* marker_;
};

inline void Stream::wait(const Event& event) const { device_.backend().wait(queue_, event.handle()); }

/// Runs kernel(view, arguments...), or kernel(arguments...) where it takes no DeviceView, on `cores` cores, each with a copy of the
/// arguments in turn. Returns at once. All cores of a launch run at the same time: they may wait for each other, and for kernels of
/// other PEs and streams. What a core has started by engines is complete when its kernel ends.
template <class Kernel, class... Arguments>
void launch(const LaunchOptions& options, Kernel kernel, int cores, const Stream& stream, Arguments... arguments) {
  using Packed = detail::PackedKernel<Kernel, Arguments...>;
  static_assert(std::is_invocable_v<const Kernel&, const device::DeviceView&, const Arguments&...> ||
                    std::is_invocable_v<const Kernel&, const Arguments&...>,
                "the kernel doesn't take these arguments");
  device::Launch order;
  order.run = &Packed::run;
  order.destroy = &Packed::destroy;
  order.self = new Packed{kernel, std::tuple<Arguments...>(arguments...)};
  order.cores = cores;
  order.scratch = options.scratch;
  order.name = options.name;
  order.entry = detail::entry_of(kernel);
  if (order.entry == nullptr && order.name == nullptr) order.entry = reinterpret_cast<const void*>(&Packed::run);
  stream.device().backend().launch(stream.handle(), order);
}
template <class Kernel, class... Arguments>
requires(!std::is_same_v<std::remove_cvref_t<Kernel>, LaunchOptions>)
void launch(Kernel kernel, int cores, const Stream& stream, Arguments... arguments) {
  launch(LaunchOptions{}, kernel, cores, stream, arguments...);
}

template <class T>
void Stream::put(T* dest, const T* source, std::size_t n, int pe, device::Engine engine) const {
  launch({0, "Stream::put"}, [=](const device::DeviceView& view) {
    device::Core(view).put(dest, source, n, pe, engine);
  }, 1, *this);
}
template <class T>
void Stream::get(T* dest, const T* source, std::size_t n, int pe, device::Engine engine) const {
  launch({0, "Stream::get"}, [=](const device::DeviceView& view) {
    device::Core(view).get(dest, source, n, pe, engine);
  }, 1, *this);
}
template <class T>
void Stream::put_signal(T* dest, const T* source, std::size_t n, std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const {
  launch({0, "Stream::put_signal"}, [=](const device::DeviceView& view) {
    device::Core(view).put_signal(dest, source, n, word, value, op, pe);
  }, 1, *this);
}
inline void Stream::signal(std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const {
  launch({0, "Stream::signal"}, [=](const device::DeviceView& view) { device::Core(view).signal(word, value, op, pe); }, 1, *this);
}
template <class T>
void Stream::wait_until(const T* word, device::Cmp cmp, T value) const {
  launch({0, "Stream::wait_until"}, [=](const device::DeviceView& view) { device::Core(view).wait_until(word, cmp, value); }, 1, *this);
}
inline void Stream::barrier(const device::TeamView& team) const {
  launch({0, "Stream::barrier"}, [=](const device::DeviceView& view) { device::Core(view).barrier(team); }, 1, *this);
}
template <class T, class Op>
void Stream::all_reduce(const device::TeamView& team, T* dest, const T* source, std::size_t n, Op op, int cores) const {
  launch({0, "Stream::all_reduce"}, [=](const device::DeviceView& view) {
    device::all_reduce(device::Group(device::Core(view)), team, dest, source, n, op);
  }, cores, *this);
}

}  // namespace shoal::inline v1
