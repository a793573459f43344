// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/backend.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace shoal {

using namespace device;

namespace {

constexpr std::size_t kMostScratchBytes = std::size_t{1} << 30;

}  // namespace

CpuBackend::CpuBackend(const DeviceSetup& setup) : runtime_(setup) { report_crashes(); }

CpuBackend::~CpuBackend() {
  for (CpuStream* stream : streams_) delete stream;
  for (Marker* marker : markers_) delete marker;
}

Facts CpuBackend::facts() const noexcept {
  const DeviceSetup& setup = runtime_.setup();
  return {"cpu", setup.cores, setup.scratch_bytes, setup.processors, setup.number};
}

StreamQueue* CpuBackend::open_stream() noexcept {
  try {
    auto stream = std::make_unique<CpuStream>(runtime_);
    const std::lock_guard guard(mutex_);
    streams_.insert(stream.get());
    return stream.release();
  } catch (const std::exception& error) {
    fatal("Stream", error.what());
  }
}

CpuStream& CpuBackend::known(StreamQueue* stream, const char* call) const noexcept {
  auto* found = static_cast<CpuStream*>(stream);
  if (found == nullptr) fatal(call, "the stream is none: closed, or moved from");
  return *found;
}

void CpuBackend::close_stream(StreamQueue* stream) noexcept {
  CpuStream* found = &known(stream, "Stream");
  {
    const std::lock_guard guard(mutex_);
    if (streams_.erase(found) == 0) fatal("Stream", "the stream is closed already");
  }
  delete found;
}

Launch CpuBackend::checked(Launch launch) const noexcept {
  const DeviceSetup& setup = runtime_.setup();
  if (launch.cores < 1 || launch.cores > setup.cores)
    fatal("launch", strf("%s: cores: %d is out of range: this device has 1 to %d (SHOAL_DEVICE_CORES)",
                         runtime_.name_of(launch).c_str(), launch.cores, setup.cores));
  launch.scratch = std::max(launch.scratch, setup.scratch_bytes);
  if (launch.scratch > kMostScratchBytes)
    fatal("launch", strf("%s: scratch: %zu bytes are more than a core can have (%zu)", runtime_.name_of(launch).c_str(),
                         launch.scratch, kMostScratchBytes));
  return launch;
}

void CpuBackend::launch(StreamQueue* stream, const Launch& launch) noexcept {
  known(stream, "launch").launch(checked(launch));
}

std::unique_ptr<CpuStream> CpuBackend::take_resting() {
  {
    const std::lock_guard guard(aside_);
    if (!resting_.empty()) {
      auto stream = std::move(resting_.back());
      resting_.pop_back();
      return stream;
    }
  }
  return std::make_unique<CpuStream>(runtime_);
}

void CpuBackend::run_here(const Launch& launch) noexcept {
  try {
    auto stream = take_resting();
    stream->run_here(checked(launch));
    const std::lock_guard guard(aside_);
    resting_.push_back(std::move(stream));
  } catch (const std::exception& error) {
    fatal(runtime_.name_of(launch).c_str(), error.what());
  }
}

void CpuBackend::copy(StreamQueue* stream, void* to, const void* from, std::size_t bytes) noexcept {
  known(stream, "copy").copy(to, from, bytes);
}
void CpuBackend::call(StreamQueue* stream, void (*function)(void*), void* argument) noexcept {
  known(stream, "call").call(function, argument);
}
void CpuBackend::synchronize(StreamQueue* stream) noexcept { known(stream, "synchronize").synchronize(); }
bool CpuBackend::idle(StreamQueue* stream) const noexcept { return known(stream, "idle").idle(); }

Marker* CpuBackend::open_marker() noexcept {
  try {
    auto marker = std::make_unique<Marker>();
    const std::lock_guard guard(aside_);
    markers_.insert(marker.get());
    return marker.release();
  } catch (const std::exception& error) {
    fatal("Event", error.what());
  }
}
void CpuBackend::close_marker(Marker* marker) noexcept {
  synchronize(marker);  // a stream may still be about to pass it
  const std::lock_guard guard(aside_);
  markers_.erase(marker);
  delete marker;
}
void CpuBackend::record(StreamQueue* stream, Marker* marker) noexcept { known(stream, "record").record(*marker); }
void CpuBackend::wait(StreamQueue* stream, Marker* marker) noexcept { known(stream, "wait").wait(*marker); }
bool CpuBackend::passed(const Marker* marker) const noexcept { return Marker::passed(marker->last()); }
void CpuBackend::synchronize(Marker* marker) noexcept {
  runtime_.setup().world->domain().waiter->wait(Bell::sync, WaitSite("Event::synchronize"),
                                                [point = marker->last()] { return Marker::passed(point); });
}

void CpuBackend::leave() noexcept {
  const std::lock_guard guard(mutex_);
  for (CpuStream* stream : streams_) stream->synchronize();
  runtime_.leave();
}

}  // namespace shoal
