// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/runtime.hpp"

#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "comm/atomics.hpp"
#include "device/cpu/kernel_name.hpp"

namespace shoal {

using namespace device;

namespace {

constexpr std::size_t kXdmaFrom = 64 * 1024;  // below, handing a copy over costs more than making it
constexpr int kLongWait = 100;                // looks in vain after which a meeting's members are looked at
constexpr int kLooksBetween = 16;  // then, from one look at them to the next: it takes longer than a look at a word

template <class T>
std::uint64_t apply(const Context& world, Update what, T* word, T operand, T expected, int pe,
                    const char* call) noexcept {
  switch (what) {
    case Update::add: return atomic_update<FetchAdd>(world, word, operand, pe, call);
    case Update::bit_and: return atomic_update<FetchAnd>(world, word, operand, pe, call);
    case Update::bit_or: return atomic_update<FetchOr>(world, word, operand, pe, call);
    case Update::bit_xor: return atomic_update<FetchXor>(world, word, operand, pe, call);
    case Update::swap: return atomic_update<Swap>(world, word, operand, pe, call);
    case Update::fetch: return atomic_fetch(world, word, pe, call);
    default: return atomic_compare_swap(world, word, expected, operand, pe, call);
  }
}

}  // namespace

CpuRuntime::CpuRuntime(const DeviceSetup& setup)
    : setup_(setup),
      xdma_(*setup.world, setup.xdma, [this] { ring(setup_.world->domain().me); }),
      rdma_(*setup.world, {1, 0, 0, setup.xdma.most_delay_ns, setup.xdma.seed + 1},
            [this] { ring(setup_.world->domain().me); }) {
  for (const Control& control : setup.world->domain().controls) {
    if (control.here())
      bells_.push_back({&control.doorbell().sync_sleepers, &control.doorbell().user_sleepers});
    else
      bells_.push_back({});  // on another node: its own process rings it
  }
}

const CpuRuntime::Names& CpuRuntime::names_of(const char* given, const void* entry) const {
  const std::lock_guard guard(naming_);
  const auto [at, is_new] = names_.try_emplace({given, entry});
  if (is_new) {
    char name[128];
    if (given == nullptr) kernel_name(entry, name, sizeof name);
    at->second.kernel = std::string("kernel ") + (given != nullptr ? given : name);
    std::string escaped;
    for (const char c : at->second.kernel) escaped.append(c == '%' ? 2 : 1, c);
    at->second.format = escaped + ", core %llu: word 0x%llx, value %lld";
  }
  return at->second;
}

void CpuRuntime::set_up(CoreState& core) const noexcept {
  const Domain& domain = setup_.world->domain();
  core.runtime = const_cast<CpuRuntime*>(this);
  core.me = domain.me;
  core.n_pes = domain.n_pes;
  // Where blocks are known, each range is looked for.
  if (setup_.heap->blocks == nullptr) core.heap = {setup_.heap->base, setup_.heap->bytes, setup_.heap->peers.data()};
  core.bells = bells_.data();
  core.node_sleepers = &domain.node->user_sleepers;
  core.sync = setup_.sync->peers.data();
  core.xdma_from = kXdmaFrom;
  core.delays = setup_.xdma.most_delay_ns != 0;
}

SegmentView CpuRuntime::find(std::uintptr_t address, std::size_t bytes) const noexcept {
  const SegmentTable& segments = *setup_.world->domain().segments;
  const Segment* segment = segments.find(address, bytes);
  if (segment == nullptr) return {};
  if (segment->blocks == nullptr) return {segment->base, segment->bytes, segment->peers.data()};
  const Blocks::Block block = segment->blocks->around(address);
  if (address - block.start >= block.bytes || bytes > block.bytes - (address - block.start)) return {};
  // Up to its end: what is remembered is a segment, as others have it too.
  return {segment->base, block.start + block.bytes - segment->base, segment->peers.data()};
}

SegmentView CpuRuntime::around(std::uintptr_t address) const noexcept {
  if (const SegmentView found = find(address, 1); found.peers != nullptr) return found;
  const SegmentTable& segments = *setup_.world->domain().segments;
  // In no block, but symmetric: not one byte of it may be used.
  if (const Segment* const segment = segments.find(address, 1)) return {address, 0, segment->peers.data()};
  const SegmentTable::Range gap = segments.around(address);
  return {gap.begin, gap.bytes, nullptr};
}

bool CpuRuntime::member(std::uintptr_t address, int pe) const noexcept {
  const Segment* segment = setup_.world->domain().segments->find(address, 1);
  return segment != nullptr && segment->members[static_cast<std::size_t>(pe)];
}

std::uint64_t CpuRuntime::place(std::uintptr_t address, std::size_t bytes) const noexcept {
  constexpr int kOffsetBits = 40;  // beyond, two places may share a number: it only helps to find mistakes
  const Segment* segment = setup_.world->domain().segments->find(address, bytes);
  return segment == nullptr ? 0 : (std::uint64_t{segment->key} + 1) << kOffsetBits ^ (address - segment->base);
}

void CpuRuntime::submit(CoreState& core, const Transfer& transfer) noexcept {
  try {
    (transfer.engine == Engine::rdma ? rdma_ : xdma_).submit(core, transfer);
  } catch (const std::exception& error) {
    kernel_failed(core, transfer.call,
                  strf("no room to queue a transfer of %zu bytes: %s", transfer.bytes * transfer.blocks, error.what()));
  }
}

void CpuRuntime::move(CoreState&, const Transfer& transfer) noexcept { CopyEngine::perform(*setup_.world, transfer); }

std::uint64_t CpuRuntime::update(CoreState&, Update what, void* word, int width, std::uint64_t operand,
                                 std::uint64_t compare, int pe, const char* call) noexcept {
  const Context& world = *setup_.world;
  if (width == 4)
    return apply(world, what, static_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(operand),
                 static_cast<std::uint32_t>(compare), pe, call);
  return apply(world, what, static_cast<std::uint64_t*>(word), operand, compare, pe, call);
}

void CpuRuntime::raise(std::uint64_t* word, std::uint64_t value, int pe) noexcept {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(word) - setup_.sync->base);
  setup_.world->domain().transport->raise({pe, setup_.sync->key, offset}, value);
}

std::uint64_t CpuRuntime::sync_word(const CoreState& core, int pe, std::size_t offset) const noexcept {
  if (const char* words = core.sync[pe])
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(words + offset), __ATOMIC_ACQUIRE);
  return setup_.world->fetch_far(core.sync[core.me] + offset, {AtomicOp::fetch, 8}, pe,
                                 "looking for a PE that is missing");
}

int CpuRuntime::smaller_launch(const CoreState& core, const Site& site, int pe) const noexcept {
  // Two launches meet with each other if some core made the same meeting in both.
  for (int k = 0; k < core.index; ++k) {
    const std::size_t at = SyncLayout::core(core.n_pes, site.team->slot, k);
    if (sync_word(core, core.me, at + SyncLayout::kMetBy) != core.launch->number) continue;
    const Met mine = Met::of(sync_word(core, core.me, at + SyncLayout::kMet));
    // The epoch first: the launch that is read then has made that meeting, or begun later.
    const std::uint64_t its_last = sync_word(core, pe, at + SyncLayout::kEpoch);
    const Met its = Met::of(sync_word(core, pe, at + SyncLayout::kMet));
    if (its.cores != 0 && its.cores <= core.index && mine.first <= its_last &&
        its.first <= sync_word(core, core.me, at + SyncLayout::kEpoch))
      return its.cores;
  }
  return 0;
}

std::uint64_t CpuRuntime::stuck_cores(const CoreState& core, const Site& site) noexcept {
  const std::uint64_t none = core.cores == 64 ? 0 : ~std::uint64_t{0} << core.cores;
  return site.held | core.launch->ended.load(std::memory_order_acquire) | none;
}

void CpuRuntime::show_stuck(const CoreState& core, const Site& site) const noexcept {
  char* const own = core.sync[core.me] + SyncLayout::core(core.n_pes, site.team->slot, core.index);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(own + SyncLayout::kStuckCores), stuck_cores(core, site),
                   __ATOMIC_RELEASE);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(own + SyncLayout::kStuck), static_cast<std::uint64_t>(site.value),
                   __ATOMIC_RELEASE);  // after the cores; partner: other_first_core()
}

int CpuRuntime::other_first_core(const CoreState& core, const Site& site, int pe) const noexcept {
  const auto has = [](std::uint64_t cores, int index) { return (cores >> index & 1) != 0; };
  const std::uint64_t stuck = stuck_cores(core, site);
  for (int k = 0; k < kMostCores; ++k) {
    if (k == core.index || !has(stuck, k)) continue;
    // A meeting that this PE's core k has not come to, and cannot: `pe` stays in it, and what it has shown of it is so.
    const std::size_t at = SyncLayout::core(core.n_pes, site.team->slot, k);
    const std::uint64_t its_meeting = sync_word(core, pe, at + SyncLayout::kStuck);
    if (its_meeting > sync_word(core, core.me, at + SyncLayout::kEpoch) &&
        has(sync_word(core, pe, at + SyncLayout::kStuckCores), core.index))
      return k;
  }
  return -1;
}

std::string CpuRuntime::why_never(const CoreState& core, const Site& site, int pe) const {
  const std::size_t own = SyncLayout::core(core.n_pes, site.team->slot, core.index);
  const bool has_left = sync_word(core, pe, 0) != 0;
  const auto came = [&] {
    return static_cast<std::int64_t>(sync_word(core, pe, own + SyncLayout::kEpoch)) - site.value >= 0;
  };
  if (came()) return {};
  if (const int cores = smaller_launch(core, site, pe); cores != 0)
    return strf("PE %d has launched this with %d core%s, and this PE with %d: every PE of the team must launch as many",
                pe, cores, cores == 1 ? "" : "s", core.cores);
  // Asked again whether it came: it may have since, and be held by the next meeting.
  if (const int other = other_first_core(core, site, pe); other >= 0 && !came())
    return strf(
        "PE %d makes it from core %d on, and this PE from core %d on, so both wait for ever: a group must start at the "
        "same core on every PE of the team",
        pe, other, core.index);
  if (has_left)
    return strf(
        "PE %d has come to the end of the job without this call: every PE of the team must make it, "
        "with the same cores",
        pe);
  return {};
}

void CpuRuntime::end_hopeless(const CoreState& core, const Site& site, bool long_wait, bool (*done)(void*),
                              void* argument) const noexcept {
  if (site.cores != 0) {
    const std::uint64_t gone = core.launch->ended.load(std::memory_order_acquire) & site.cores;
    // Who has ended had met before: had it come to this meeting, it would be over.
    if (gone != 0 && !done(argument))
      kernel_failed(core, site.call,
                    strf("core %d of this launch has ended without this call: every core of the group must make it",
                         std::countr_zero(gone)));
  }
  if (site.team == nullptr || !long_wait) return;
  show_stuck(core, site);
  for (int i = 0; i < site.team->size; ++i) {
    const int pe = site.team->world[i];
    if (pe == core.me || core.sync[pe] == nullptr) continue;
    if (const std::string why = why_never(core, site, pe); !why.empty()) kernel_failed(core, site.call, why);
  }
}

void CpuRuntime::end_hopeless_far(const CoreState& core, const Site& site, bool (*done)(void*),
                                  void* argument) const noexcept {
  const int size = site.team->size, before = site.team->world[(site.team->rank + size - 1) % size];
  if (core.sync[before] != nullptr) return;
  const std::string why = why_never(core, site, before);
  if (!why.empty() && !done(argument)) kernel_failed(core, site.call, why);
}

void CpuRuntime::wait(CoreState& core, const Site& site, bool (*done)(void*), void* argument) noexcept {
  const WaitSite told(site.call, names_of(core.launch->kernel, core.launch->entry).format.c_str(),
                      static_cast<unsigned long long>(core.index), reinterpret_cast<std::uintptr_t>(site.word),
                      static_cast<unsigned long long>(site.value));
  const bool asks_far = site.team != nullptr && setup_.world->domain().spans_nodes();
  int looks = 0;
  // Who asks another node does so between two waits, ever more rarely.
  for (int asks_at = 2 * kLongWait;; asks_at *= 2) {
    bool over = false;
    setup_.world->domain().waiter->wait_longer(site.users ? Bell::user : Bell::sync, told, [&] {
      over = done(argument);
      if (over) return true;
      end_hopeless(core, site, looks > kLongWait && looks % kLooksBetween == 0, done, argument);
      return ++looks == asks_at && asks_far;
    });
    if (over) return;
    end_hopeless_far(core, site, done, argument);
  }
}

void CpuRuntime::ring(int pe) noexcept {
  const auto& controls = setup_.world->domain().controls;
  if (pe < 0) {
    for (const Control& control : controls)
      if (control.here()) shoal::ring(control.doorbell(), Bell::user);
    return;
  }
  Doorbell& bell = controls[static_cast<std::size_t>(pe)].doorbell();
  if (bell.sync_sleepers.load(std::memory_order_relaxed) != 0 ||
      bell.user_sleepers.load(std::memory_order_relaxed) != 0)
    ring_slowly(bell);
}

void CpuRuntime::kernel_failed(const CoreState& core, const char* call, const std::string& what) const noexcept {
  setup_.world->fatal(
      strf("%s, core %d", names_of(core.launch->kernel, core.launch->entry).kernel.c_str(), core.index).c_str(),
      strf("%s: %s", call, what.c_str()));
}

void CpuRuntime::fail(const CoreState& core, const char* call, const char* argument, Fault fault, const void* address,
                      std::size_t bytes, int pe, const char* text) const noexcept {
  const SegmentTable& segments = *setup_.world->domain().segments;
  const std::string table = segments.describe();
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  if (fault == Fault::foreign || fault == Fault::overrun)
    if (const Segment* const segment = segments.find(where, 1); segment != nullptr && segment->blocks != nullptr)
      kernel_failed(core, call, strf("%s: %s", argument, segment->blocks->explain(where, bytes).c_str()));
  std::string what;
  switch (fault) {
    case Fault::pe:
      what = bytes == 0 ? strf("%s: PE %d is out of range: this job has PEs 0 to %d; pass one of them", argument, pe,
                               core.n_pes - 1)
                        : strf("%s: %d is out of range: the team has members 0 to %zu", argument, pe, bytes - 1);
      break;
    case Fault::foreign:
      what = strf(
          "%s: %p (%zu bytes) is not symmetric memory: allocate it by shmem_malloc or Device::allocate, alike on all "
          "PEs. Symmetric: %s",
          argument, address, bytes, table.c_str());
      break;
    case Fault::overrun:
      what = strf(
          "%s: %zu bytes from %p run past the end of the memory that they begin in. Symmetric: %s; this core's "
          "scratch: [%p, %p)",
          argument, bytes, address, table.c_str(), static_cast<void*>(core.scratch),
          static_cast<void*>(core.scratch + core.scratch_bytes));
      break;
    case Fault::misaligned:
      what = strf("%s: %p is misaligned: it must be a multiple of %zu", argument, address, bytes);
      break;
    case Fault::unreachable:
      what =
          strf("%s: mte and xdma reach only PEs whose memory can be mapped here: use Engine::rdma or Engine::automatic",
               argument);
      break;
    case Fault::scratch:
      what = strf(
          "%s: %zu bytes of scratch are wanted, but %zu of the core's %zu are taken: launch with more "
          "(SHOAL_DEVICE_SCRATCH), or work in smaller pieces",
          argument, bytes, core.scratch_used, core.scratch_bytes);
      break;
    case Fault::member:
      what = strf("%s: PE %d has no memory like %p: that is a heap of a team of which it is no member", argument, pe,
                  address);
      break;
    case Fault::unlike:
      what = strf(
          "%s: %p is another place than PE %d's: pass symmetric memory that is alike on all PEs, or on all memory that "
          "is not symmetric",
          argument, address, pe);
      break;
    case Fault::busy:
      what = strf(
          "%s: another launch, of %s, meets over the same team at this time: launch one after the other (in one "
          "stream, "
          "or with an event between), or give each a team of its own",
          argument, name_of(*static_cast<const LaunchState*>(address)).c_str());
      break;
    case Fault::text: what = strf("%s: %s", argument, text); break;
  }
  kernel_failed(core, call, what);
}

void CpuRuntime::leave() noexcept {
  char* own = setup_.sync->peers[static_cast<std::size_t>(setup_.world->domain().me)];
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(own), 1, __ATOMIC_RELEASE);  // partner: deserter()
}

}  // namespace shoal
