// SPDX-License-Identifier: Apache-2.0
/// \file
/// ub2gm: between this core's scratch and device memory, this PE's or another's. Non-blocking: complete after Core::quiet, or when
/// the event is done. The high-level form chooses the engine; in the low-level one you give the engine and the event, and the
/// staging buffer is the scratch side itself.
#pragma once

#include "core.hpp"

namespace shoal::device::ub2gm {
namespace detail {

SHOAL_DEVICE_FN void check(const Core& core, const char* call, const char* argument, const void* scratch, std::size_t bytes) noexcept {
  if (bytes != 0 && !prim::in_scratch(core.handle(), scratch, bytes))
    prim::fail(core.handle(), call, argument, Fault::text, scratch, bytes, -1,
               "the range must lie in this core's scratch: take it by Core::scratch, or use gm2gm");
}

}  // namespace detail

template <class T>
SHOAL_DEVICE_FN void put(const Core& core, T* dest, const T* scratch, std::size_t n, int pe, Engine engine = Engine::automatic,
                         TransferEvent* event = nullptr) noexcept {
  detail::check(core, "ub2gm::put", "source", scratch, device::detail::bytes_of(n, sizeof(T)));
  core.move_bytes<Direction::put>("ub2gm::put", dest, scratch, device::detail::bytes_of(n, sizeof(T)), pe, engine, false, event);
}
template <class T>
SHOAL_DEVICE_FN void get(const Core& core, T* scratch, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic,
                         TransferEvent* event = nullptr) noexcept {
  detail::check(core, "ub2gm::get", "dest", scratch, device::detail::bytes_of(n, sizeof(T)));
  core.move_bytes<Direction::get>("ub2gm::get", scratch, source, device::detail::bytes_of(n, sizeof(T)), pe, engine, false, event);
}
/// Rows of a matrix from scratch, and to it: as Core::put_2d and get_2d.
template <class T>
SHOAL_DEVICE_FN void put_2d(const Core& core, T* dest, const T* scratch, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t width,
                            std::size_t rows, int pe) noexcept {
  detail::check(core, "ub2gm::put_2d", "source", scratch, device::detail::span_of(rows, sst, sizeof(T), device::detail::bytes_of(width, sizeof(T))));
  core.put_2d(dest, scratch, dst, sst, width, rows, pe);
}
template <class T>
SHOAL_DEVICE_FN void get_2d(const Core& core, T* scratch, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t width,
                            std::size_t rows, int pe) noexcept {
  detail::check(core, "ub2gm::get_2d", "dest", scratch, device::detail::span_of(rows, dst, sizeof(T), device::detail::bytes_of(width, sizeof(T))));
  core.get_2d(scratch, source, dst, sst, width, rows, pe);
}

}  // namespace shoal::device::ub2gm
