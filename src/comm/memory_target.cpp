// SPDX-License-Identifier: Apache-2.0
#include "comm/memory_target.hpp"

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr int kMostWarnings = 20;  // whoever misbehaves must not fill the user's terminal

}  // namespace

char* MemoryTarget::admit(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes,
                          Access access) noexcept {
  char* base;
  std::size_t size;
  if (key == kControlKey) {
    base = domain_.controls[static_cast<std::size_t>(domain_.me)].part();
    size = control_bytes_;
    // The doorbell is its owner's: whoever writes for it rings it.
    if (offset < ControlLayout::kPairs)
      return refuse(from, key, offset, bytes, access, "these words are this PE's own");
  } else {
    const Segment* segment = domain_.segments->find_key(key);
    if (segment == nullptr)
      return refuse(from, key, offset, bytes, access, "there is no such segment, or not any more");
    if (!segment->members[static_cast<std::size_t>(from)])
      return refuse(from, key, offset, bytes, access, "that PE is no member of its team");
    base = reinterpret_cast<char*>(segment->base);
    size = segment->bytes;
  }
  if (offset > size || bytes > size - offset) return refuse(from, key, offset, bytes, access, "it is out of bounds");
  if (access == Access::atomic && reinterpret_cast<std::uintptr_t>(base + offset) % bytes != 0)
    return refuse(from, key, offset, bytes, access, "the word is misaligned");
  return base + offset;
}

std::span<char> MemoryTarget::region(int from, std::uint32_t key) noexcept {
  // The library's own words are always checked.
  const Segment* segment = key == kControlKey ? nullptr : domain_.segments->find_key(key);
  if (segment == nullptr || !segment->members[static_cast<std::size_t>(from)]) return {};
  return {reinterpret_cast<char*>(segment->base), segment->bytes};
}

char* MemoryTarget::refuse(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access,
                           const char* why) noexcept {
  const char* what = access == Access::read ? "read" : access == Access::write ? "write" : "atomic operation";
  refused(strf("PE %d", from),
          strf("a %s of %llu bytes at offset %#llx of segment %u: %s", what, static_cast<unsigned long long>(bytes),
               static_cast<unsigned long long>(offset), key, why));
  return nullptr;
}

void MemoryTarget::refused(const std::string& who, const std::string& what) noexcept {
  security_log_.write(who, what);
  const int before = refusals_.fetch_add(1, std::memory_order_relaxed);
  if (before < kMostWarnings) log_.warning("refused %s: %s", who.c_str(), what.c_str());
  if (before == kMostWarnings)
    log_.warning("refused more than %d times; further ones are only in the security log (SHOAL_SECURITY_LOG)", before);
}

void MemoryTarget::wake() noexcept {
  Doorbell& own = domain_.controls[static_cast<std::size_t>(domain_.me)].doorbell();
  full_fence();  // what was written before the look who sleeps; partner: the fence in Waiter::sleep
  if (own.sync_sleepers.load(std::memory_order_relaxed) != 0 || own.user_sleepers.load(std::memory_order_relaxed) != 0)
    ring_slowly(own);
}

void MemoryTarget::fail(const std::string& what) noexcept {
  domain_.fatal->fatal("joining nodes", what);
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

}  // namespace shoal
