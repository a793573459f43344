// SPDX-License-Identifier: Apache-2.0
#include "comm/context.hpp"

#include "base/error.hpp"

namespace shoal {
namespace {

/// Bytes from the first to the last byte of a strided set; saturates where that overflows, so that the range check
/// fails.
std::size_t span_of(std::ptrdiff_t stride, std::size_t block, std::size_t blocks, std::size_t width) noexcept {
  if (block == 0 || blocks == 0) return 0;
  std::size_t elements, bytes;
  if (__builtin_mul_overflow(blocks - 1, static_cast<std::size_t>(stride), &elements) ||
      __builtin_add_overflow(elements, block, &elements) || __builtin_mul_overflow(elements, width, &bytes))
    return SIZE_MAX;
  return bytes;
}

/// Whether the routine `call` has `part` in its name: the cold path tells forms of one operation apart by it.
bool names(const char* call, const char* part) noexcept { return std::strstr(call, part) != nullptr; }

/// In bytes; at most PTRDIFF_MAX: a stride so large leads past the end of all memory at the second block.
std::ptrdiff_t stride_bytes(std::ptrdiff_t stride, std::size_t width) noexcept {
  std::ptrdiff_t bytes;
  return __builtin_mul_overflow(stride, width, &bytes) ? PTRDIFF_MAX : bytes;
}

Call strided_call(Call call, std::ptrdiff_t remote, std::ptrdiff_t local, std::size_t block, std::size_t blocks,
                  std::size_t width) noexcept {
  call.block = block * width;
  call.bytes = call.block * blocks;
  call.remote_stride = stride_bytes(remote, width);
  call.local_stride = stride_bytes(local, width);
  return call;
}

void await_far(const Domain& domain, const Tally& tally, const char* call, int pe) noexcept {
  auto done = [&] { return tally.done(); };
  if (pe < 0) return domain.waiter->wait(Bell::sync, WaitSite(call, "PEs of other nodes"), done);
  domain.waiter->wait(Bell::sync, WaitSite(call, "an answer of PE %llu", static_cast<unsigned long long>(pe)), done);
}

}  // namespace

char* Context::at_slow(const void* address, std::size_t bytes, int pe, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  if (pe < 0 || pe >= n_pes_)
    fatal(call, strf("PE %d is out of range: this %s has PEs 0 to %d; pass one of them", pe,
                     world_ == nullptr ? "job" : "team", n_pes_ - 1));
  if (bytes == 0) return nullptr;
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Segment* segment = domain_->segments->find(where, bytes);
  if (segment == nullptr) not_symmetric(address, bytes, call);
  const int world = world_pe(pe);
  char* peer = segment->peers[static_cast<std::size_t>(world)];
  if (!segment->members[static_cast<std::size_t>(world)])
    fatal(call, strf("PE %d cannot be reached at %p: the %s belongs to a team of which it is no member", world, address,
                     segment->name.c_str()));
  return peer == nullptr ? nullptr : peer + (where - segment->base);
}

void Context::require_slow(const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
}

void Context::fence_slow() const noexcept {
  if (domain_->chaos != nullptr) domain_->chaos->fence(this);
  if (domain_->transport != nullptr) domain_->transport->fence();
}

void Context::put_late(const Chaos::Place& to, const void* source, std::size_t bytes, const char* call) const noexcept {
  if (names(call, "signal")) return domain_->chaos->put_early(this, to, source, bytes);
  domain_->chaos->put(this, to, source, bytes, !names(call, "_nbi"));
}

inline void Context::put_there(void* dest, const void* source, std::size_t bytes, int pe,
                               const char* call) const noexcept {
  char* const to = at_slow(dest, bytes, pe, call);
  if (domain_->chaos != nullptr && bytes != 0) return put_late(place_of(dest, to, pe), source, bytes, call);
  if (to != nullptr) return copy_shared(to, source, bytes);
  put_far(dest, source, bytes, pe);
}

inline void Context::get_there(void* dest, const void* source, std::size_t bytes, int pe,
                               const char* call) const noexcept {
  char* const from = at_slow(source, bytes, pe, call);
  if (domain_->chaos != nullptr && bytes != 0) domain_->chaos->before_read(this, place_of(source, from, pe), bytes);
  if (from == nullptr) return get_far(dest, source, bytes, pe, call);
  fetch(dest, from, bytes);
}

inline void Context::get_nbi_there(void* dest, const void* source, std::size_t bytes, int pe,
                                   const char* call) const noexcept {
  char* const from = at_slow(source, bytes, pe, call);
  if (domain_->chaos != nullptr && bytes != 0) {
    const Chaos::Place place = place_of(source, from, pe);
    // What a blocking call is made of, which waits by quiet_far only, is not delayed.
    if (names(call, "_nbi")) return domain_->chaos->get_nbi(this, dest, place, bytes);
    domain_->chaos->before_read(this, place, bytes);
  }
  if (from == nullptr) return get_far_nbi(dest, source, bytes, pe);
  copy_shared(dest, from, bytes);
}

void Context::put_slow(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (domain_->observer != nullptr) return put_watched(dest, source, bytes, pe, call);
  put_there(dest, source, bytes, pe, call);
}

void Context::put_watched(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (char* const to = quick(dest, source, bytes, pe)) [[likely]]
    return copy_shared(to, source, bytes);
  put_passing(dest, source, bytes, pe, call);
}

void Context::put_passing(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (const Passing one = passing(dest, source, bytes, pe, call); one.there != nullptr)
    return copy_shared(one.there, source, bytes);
  put_told(dest, source, bytes, pe, call);
}

void Context::put_told(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  const Observed observed(domain_->observer, [&] { return call_of(call, CallKind::put, pe, dest, source, bytes); });
  put_there(dest, source, bytes, pe, call);
}

void Context::get_slow(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (domain_->observer != nullptr) return get_watched(dest, source, bytes, pe, call);
  get_there(dest, source, bytes, pe, call);
}

void Context::get_watched(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (const char* const from = quick(source, dest, bytes, pe)) [[likely]]
    return fetch(dest, from, bytes);
  get_passing(dest, source, bytes, pe, call);
}

void Context::get_passing(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (const Passing one = passing(source, dest, bytes, pe, call); one.there != nullptr)
    return fetch(dest, one.there, bytes);
  get_told(dest, source, bytes, pe, call);
}

void Context::get_told(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  const Observed observed(domain_->observer, [&] { return call_of(call, CallKind::get, pe, source, dest, bytes); });
  get_there(dest, source, bytes, pe, call);
}

void Context::get_nbi_slow(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (domain_->observer != nullptr) return get_nbi_watched(dest, source, bytes, pe, call);
  get_nbi_there(dest, source, bytes, pe, call);
}

void Context::get_nbi_watched(void* dest, const void* source, std::size_t bytes, int pe,
                              const char* call) const noexcept {
  if (const char* const from = quick(source, dest, bytes, pe)) [[likely]]
    return copy_shared(dest, from, bytes);
  get_nbi_passing(dest, source, bytes, pe, call);
}

void Context::get_nbi_passing(void* dest, const void* source, std::size_t bytes, int pe,
                              const char* call) const noexcept {
  if (const Passing one = passing(source, dest, bytes, pe, call); one.there != nullptr)
    return copy_shared(dest, one.there, bytes);
  get_nbi_told(dest, source, bytes, pe, call);
}

void Context::get_nbi_told(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  const Observed observed(domain_->observer, [&] { return call_of(call, CallKind::get, pe, source, dest, bytes); });
  get_nbi_there(dest, source, bytes, pe, call);
}

void Context::not_symmetric(const void* address, std::size_t bytes, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  const bool past = domain_->segments->find(reinterpret_cast<std::uintptr_t>(address), 1) != nullptr;
  const std::string size = bytes == SIZE_MAX ? "more bytes than can be addressed" : strf("%zu bytes", bytes);
  const bool variables = domain_->segments->find_key(kStaticKey) != nullptr;
  const char* remedy = past                 ? "Check the count, and what was allocated"
                       : address == nullptr ? "Did shmem_malloc find no room? Then raise SHMEM_SYMMETRIC_SIZE"
                       : variables          ? "Pass memory from shmem_malloc or a global or static variable"
                                   : "Pass memory from shmem_malloc: this program's variables are not symmetric";
  fatal(call, strf("address %p (%s) %s; symmetric here: %s. %s", address, size.c_str(),
                   past ? "runs past the end of symmetric memory" : "is not symmetric memory",
                   domain_->segments->describe().c_str(), remedy));
}

void Context::misaligned(const void* address, std::size_t size, const char* call) const noexcept {
  if (n_pes_ == 0) fatal(call, "");  // what stands in for the job says why there is none
  fatal(call, strf("address %p is misaligned: this operation needs a multiple of %zu", address, size));
}

void Context::tell_misaligned(const void* dest, const void* source, std::size_t alignment,
                              const char* call) const noexcept {
  if (domain_->observer == nullptr) return;
  const bool in_dest = reinterpret_cast<std::uintptr_t>(dest) % alignment != 0;
  domain_->observer->misaligned(call, in_dest ? "dest" : "source", in_dest ? dest : source, alignment);
}

void Context::check_strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block, std::size_t blocks,
                            const char* call) const noexcept {
  const auto least = static_cast<std::ptrdiff_t>(blocks == 1 ? 1 : block);
  if (dst < least || sst < least)
    fatal(call, strf("strides must be at least %td, not dst=%td, sst=%td", least, dst, sst));
}

void Context::put_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                          std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept {
  const bool some = block != 0 && blocks != 0;
  const auto w = static_cast<std::ptrdiff_t>(width);
  if (some) {
    check_strides(dst, sst, block, blocks, call);
    if (domain_->observer != nullptr)
      if (char* const there =
              quick_strided(dest, span_of(dst, block, blocks, width), source, span_of(sst, block, blocks, width), pe))
        return copy_strided(there, static_cast<const char*>(source), dst * w, sst * w, block * width, blocks);
  }
  const Observed observed(domain_->observer, [&] {
    return strided_call(call_of(call, CallKind::put, pe, dest, source, 0), dst, sst, block, blocks, width);
  });
  char* to = at(dest, span_of(dst, block, blocks, width), pe, call);
  if (!some) return;
  if (domain_->chaos != nullptr) {
    const char* from = static_cast<const char*>(source);
    Chaos::Place place = place_of(dest, to, pe);
    for (std::size_t i = 0; i < blocks; ++i, from += sst * w) {
      put_late(place, from, block * width, call);
      place.far.offset += static_cast<std::uint64_t>(dst * w);
      if (to != nullptr) place.here += dst * w;
    }
    return;
  }
  if (to == nullptr) {
    const char* from = static_cast<const char*>(source);
    Far place = far(dest, pe);
    for (std::size_t i = 0; i < blocks; ++i, from += sst * w, place.offset += static_cast<std::uint64_t>(dst * w))
      domain_->transport->put(place, from, block * width);
    return;
  }
  copy_strided(to, static_cast<const char*>(source), dst * w, sst * w, block * width, blocks);
}

void Context::get_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                          std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept {
  const bool some = block != 0 && blocks != 0;
  const auto w = static_cast<std::ptrdiff_t>(width);
  if (some) {
    check_strides(dst, sst, block, blocks, call);
    if (domain_->observer != nullptr)
      if (const char* const there =
              quick_strided(source, span_of(sst, block, blocks, width), dest, span_of(dst, block, blocks, width), pe)) {
        copy_strided(static_cast<char*>(dest), there, dst * w, sst * w, block * width, blocks);
        return order_after_reads();
      }
  }
  const Observed observed(domain_->observer, [&] {
    return strided_call(call_of(call, CallKind::get, pe, source, dest, 0), sst, dst, block, blocks, width);
  });
  char* const from = at(source, span_of(sst, block, blocks, width), pe, call);
  if (!some) return;
  if (domain_->chaos != nullptr)
    domain_->chaos->before_read(this, place_of(source, from, pe), span_of(sst, block, blocks, width));
  if (from == nullptr) {
    char* to = static_cast<char*>(dest);
    Far place = far(source, pe);
    Tally tally;
    for (std::size_t i = 0; i < blocks; ++i, to += dst * w, place.offset += static_cast<std::uint64_t>(sst * w))
      domain_->transport->get(place, to, block * width, tally, true);
    await_far(*domain_, tally, call, pe);
    return;
  }
  copy_strided(static_cast<char*>(dest), from, dst * w, sst * w, block * width, blocks);
  order_after_reads();
}

inline void Context::signal_word(std::uint64_t* word, std::uint64_t value, int op, int pe,
                                 const char* call) const noexcept {
  std::atomic_ref<std::uint64_t> target(*word);
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

void Context::signal(std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept {
  if (std::uint64_t* const there = word_in_heap(signal, pe)) [[likely]]
    return signal_word(there, value, op, pe, call);
  signal_slow(signal, value, op, pe, call);
}

void Context::signal_slow(std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept {
  if (!plain()) return signal_watched(signal, value, op, pe, call);  // or delayed
  if (std::uint64_t* const there = word(signal, pe, call)) return signal_word(there, value, op, pe, call);
  signal_far(signal, value, op, pe, call);
}

void Context::signal_watched(std::uint64_t* signal, std::uint64_t value, int op, int pe,
                             const char* call) const noexcept {
  if (std::uint64_t* const there = word_by_shortcut(signal, pe, call, true))
    return signal_word(there, value, op, pe, call);
  Call observed_call = call_of(call, CallKind::signal, pe, signal, nullptr, sizeof *signal);
  observed_call.part = names(call, "_put");
  const Observed observed(domain_->observer, [&] { return observed_call; });
  std::uint64_t* const there = word(signal, pe, call);
  const bool known = op == static_cast<int>(SignalOp::set) || op == static_cast<int>(SignalOp::add);
  if (domain_->chaos != nullptr && known)
    return domain_->chaos->signal(
        this, place_of(signal, there, pe),
        {op == static_cast<int>(SignalOp::set) ? AtomicOp::swap : AtomicOp::add, sizeof *signal, value});
  if (there == nullptr) return signal_far(signal, value, op, pe, call);
  signal_word(there, value, op, pe, call);
}

void Context::ring_sleeper(int pe) const noexcept {
  shoal::ring(domain_->controls[static_cast<std::size_t>(world_pe(pe))].doorbell(), Bell::user);
}

void Context::quiet_slow() const noexcept {
  if (domain_->chaos != nullptr) domain_->chaos->quiet(this);
  if (domain_->transport != nullptr) quiet_far();
  if (domain_->node->user_sleepers.load(std::memory_order_relaxed) == 0) return;
  for (const Control& control : domain_->controls)
    if (control.here()) shoal::ring(control.doorbell(), Bell::user);
}

// Far: at a PE of another node

Far Context::far(const void* address, int pe) const noexcept {
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const int world = world_pe(pe);
  if (where - heap_base_ < heap_bytes_) return {world, kHeapKey, where - heap_base_};
  const Segment* segment = domain_->segments->find(where, 1);  // at() found it before
  return {world, segment->key, where - segment->base};
}

void Context::put_far(void* dest, const void* source, std::size_t bytes, int pe) const noexcept {
  if (bytes != 0) domain_->transport->put(far(dest, pe), source, bytes);
}

void Context::get_far(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
  if (bytes == 0) return;
  Tally tally;
  domain_->transport->get(far(source, pe), dest, bytes, tally, false);
  await_far(*domain_, tally, call, pe);
}

void Context::get_far_nbi(void* dest, const void* source, std::size_t bytes, int pe) const noexcept {
  if (bytes != 0) domain_->transport->get(far(source, pe), dest, bytes, *domain_->unwaited, true);
}

std::uint64_t Context::fetch_far(const void* address, const AtomicCall& atomic, int pe,
                                 const char* call) const noexcept {
  Tally tally;
  std::uint64_t old = 0;
  domain_->transport->fetch(far(address, pe), atomic, &old, tally, false);
  await_far(*domain_, tally, call, pe);
  return old;
}

void Context::fetch_far_nbi(const void* address, const AtomicCall& atomic, void* old, int pe) const noexcept {
  domain_->transport->fetch(far(address, pe), atomic, old, *domain_->unwaited, true);
}

void Context::update_far(const void* address, const AtomicCall& atomic, int pe) const noexcept {
  domain_->transport->update(far(address, pe), atomic);
}

void Context::signal_far(const std::uint64_t* signal, std::uint64_t value, int op, int pe,
                         const char* call) const noexcept {
  switch (static_cast<SignalOp>(op)) {
    case SignalOp::set: return update_far(signal, {AtomicOp::swap, 8, value}, pe);
    case SignalOp::add: return update_far(signal, {AtomicOp::add, 8, value}, pe);
  }
  fatal(call, strf("signal operator %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", op));
}

void Context::get_counted(void* dest, const void* source, std::size_t bytes, int pe, Tally& tally,
                          const char* call) const noexcept {
  // An active set knows nothing of nodes: its members may share this one.
  if (const char* const from = at(source, bytes, pe, call)) return copy_shared(dest, from, bytes);
  domain_->transport->get(far(source, pe), dest, bytes, tally, true);
}

void Context::await_counted(const Tally& tally, const char* call) const noexcept {
  await_far(*domain_, tally, call, -1);
}

void Context::quiet_far() const noexcept {
  Tally tally;
  domain_->transport->flush(tally);
  if (!tally.done()) await_far(*domain_, tally, "completing puts", -1);
}

}  // namespace shoal
