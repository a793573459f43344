// SPDX-License-Identifier: Apache-2.0
/// \file
/// gm2gm: from device memory to device memory, this PE's or another's, past the core's scratch. Non-blocking: complete after
/// Core::quiet, or when the event is done. The high-level form chooses the engine; in the low-level one you give the staging buffer
/// in scratch through which mte carries the data, the engine and the event.
#pragma once

#include "core.hpp"

namespace shoal::device {

/// A piece of scratch through which data travel.
struct Staging {
  void* buffer = nullptr;
  std::size_t bytes = 0;
};

namespace gm2gm {

template <class T>
SHOAL_DEVICE_FN void put(const Core& core, T* dest, const T* source, std::size_t n, int pe) noexcept {
  core.move_bytes<Direction::put>("gm2gm::put", dest, source, device::detail::bytes_of(n, sizeof(T)), pe, Engine::automatic, false, nullptr);
}
template <class T>
SHOAL_DEVICE_FN void get(const Core& core, T* dest, const T* source, std::size_t n, int pe) noexcept {
  core.move_bytes<Direction::get>("gm2gm::get", dest, source, device::detail::bytes_of(n, sizeof(T)), pe, Engine::automatic, false, nullptr);
}

namespace detail {

/// By mte through `staging`, where it reaches the other side; by any other engine as it does without.
template <Direction kDirection>
SHOAL_DEVICE_FN void move_staged(const Core& core, const char* call, void* dest, const void* source, std::size_t bytes, int pe,
                                 const Staging& staging, Engine engine, TransferEvent& event) noexcept {
  constexpr bool kPut = kDirection == Direction::put;
  const prim::Handle h = core.handle();
  if (staging.bytes == 0 || !prim::in_scratch(h, staging.buffer, staging.bytes))
    prim::fail(h, call, "staging", Fault::text, staging.buffer, staging.bytes, -1,
               "the buffer must lie in this core's scratch and not be empty: take it by Core::scratch");
  char* const remote = prim::reach(h, kPut ? dest : source, bytes, pe, call, kPut ? "dest" : "source");
  if (engine != Engine::mte || remote == nullptr || prim::delays(h))
    return core.move_bytes<kDirection>(call, dest, source, bytes, pe, engine, false, &event);
  prim::check_local(h, kPut ? source : dest, bytes, call, kPut ? "source" : "dest");
  char* const to = kPut ? remote : static_cast<char*>(dest);
  const char* const from = kPut ? static_cast<const char*>(source) : remote;
  for (std::size_t done = 0, step; done < bytes; done += step) {
    step = bytes - done < staging.bytes ? bytes - done : staging.bytes;
    prim::copy(h, staging.buffer, from + done, step);
    prim::copy(h, to + done, staging.buffer, step);
  }
}

}  // namespace detail

template <class T>
SHOAL_DEVICE_FN void put(const Core& core, T* dest, const T* source, std::size_t n, int pe, const Staging& staging, Engine engine,
                         TransferEvent& event) noexcept {
  detail::move_staged<Direction::put>(core, "gm2gm::put", dest, source, device::detail::bytes_of(n, sizeof(T)), pe, staging, engine, event);
}
template <class T>
SHOAL_DEVICE_FN void get(const Core& core, T* dest, const T* source, std::size_t n, int pe, const Staging& staging, Engine engine,
                         TransferEvent& event) noexcept {
  detail::move_staged<Direction::get>(core, "gm2gm::get", dest, source, device::detail::bytes_of(n, sizeof(T)), pe, staging, engine, event);
}

}  // namespace gm2gm
}  // namespace shoal::device
