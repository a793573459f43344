// SPDX-License-Identifier: Apache-2.0
#include "comm/context.hpp"

#include "base/error.hpp"

namespace shoal {
namespace {

/// Bytes from the first to the last byte of a strided set; saturates where that overflows, so that the range check fails.
std::size_t span_of(std::ptrdiff_t stride, std::size_t block, std::size_t blocks, std::size_t width) noexcept {
  if (block == 0 || blocks == 0) return 0;
  std::size_t elements, bytes;
  if (__builtin_mul_overflow(blocks - 1, static_cast<std::size_t>(stride), &elements) ||
      __builtin_add_overflow(elements, block, &elements) || __builtin_mul_overflow(elements, width, &bytes))
    return SIZE_MAX;
  return bytes;
}

}  // namespace

char* Context::at_slow(const void* address, std::size_t bytes, int pe, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  if (pe < 0 || pe >= n_pes_)
    fatal(call, strf("PE %d is out of range: this %s has PEs 0 to %d; pass one of them", pe, world_ == nullptr ? "job" : "team", n_pes_ - 1));
  if (bytes == 0) return nullptr;
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Segment* segment = domain_->segments->find(where, bytes);
  if (segment == nullptr) not_symmetric(address, bytes, call);
  const int world = world_pe(pe);
  char* peer = segment->peers[static_cast<std::size_t>(world)];
  if (peer == nullptr)
    fatal(call, strf("PE %d cannot be reached at %p: the %s belongs to a team of which it is no member", world, address,
                     segment->name.c_str()));
  return peer + (where - segment->base);
}

void Context::not_symmetric(const void* address, std::size_t bytes, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  const bool past = domain_->segments->find(reinterpret_cast<std::uintptr_t>(address), 1) != nullptr;
  const std::string size = bytes == SIZE_MAX ? "more bytes than can be addressed" : strf("%zu bytes", bytes);
  const char* remedy = past                 ? "Check the count, and what was allocated"
                       : address == nullptr ? "Did shmem_malloc find no room? Then raise SHMEM_SYMMETRIC_SIZE"
                                            : "Pass memory from shmem_malloc or a global or static variable";
  fatal(call, strf("address %p (%s) %s; symmetric here: %s. %s", address, size.c_str(),
                   past ? "runs past the end of symmetric memory" : "is not symmetric memory", domain_->segments->describe().c_str(),
                   remedy));
}

void Context::misaligned(const void* address, std::size_t size, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  fatal(call, strf("address %p is misaligned: this operation needs a multiple of %zu", address, size));
}

void Context::check_strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block, std::size_t blocks,
                            const char* call) const noexcept {
  const auto least = static_cast<std::ptrdiff_t>(blocks == 1 ? 1 : block);
  if (dst < least || sst < least) fatal(call, strf("strides must be at least %td, not dst=%td, sst=%td", least, dst, sst));
}

void Context::put_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                          std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept {
  const bool some = block != 0 && blocks != 0;
  if (some) check_strides(dst, sst, block, blocks, call);
  char* to = at(dest, span_of(dst, block, blocks, width), pe, call);
  if (!some) return;
  const auto w = static_cast<std::ptrdiff_t>(width);
  copy_strided(to, static_cast<const char*>(source), dst * w, sst * w, block * width, blocks);
}

void Context::get_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                          std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept {
  const bool some = block != 0 && blocks != 0;
  if (some) check_strides(dst, sst, block, blocks, call);
  const char* from = at(source, span_of(sst, block, blocks, width), pe, call);
  if (!some) return;
  const auto w = static_cast<std::ptrdiff_t>(width);
  copy_strided(static_cast<char*>(dest), from, dst * w, sst * w, block * width, blocks);
}

void Context::signal(std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept {
  std::uint64_t* there = word(signal, pe, call);
  std::atomic_ref<std::uint64_t> target(*there);
  // Sequentially consistent: releases the data put before, and is the full fence before the look at the doorbell.
  switch (static_cast<SignalOp>(op)) {
    case SignalOp::set: target.exchange(value, std::memory_order_seq_cst); break;
    case SignalOp::add: target.fetch_add(value, std::memory_order_seq_cst); break;
    default: fatal(call, strf("signal operator %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", op));
  }
#if !defined(__x86_64__)
  full_fence();  // elsewhere a read-modify-write orders nothing after it
#endif
  ring(pe);
}

void Context::ring_sleepers() const noexcept {
  for (const Control& control : domain_->controls) shoal::ring(control.doorbell(), Bell::user);
}

}  // namespace shoal
