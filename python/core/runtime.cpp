// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <shmemx.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "channels.hpp"
#include "group.hpp"

namespace shoal::python {
namespace {

constexpr std::size_t kIds = 4096;  // arrays beyond these are given back only by free()

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Whole pages of the heap with what they hold, for arrays that outlive it.
struct Kept {
  std::uintptr_t base;
  std::vector<char> contents;
};

std::vector<Kept> keep(const std::vector<Live>& live) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  for (const Live& one : live) {
    if (one.owner == nullptr || one.bytes == 0) continue;
    const std::uintptr_t page = page_bytes();
    const std::uintptr_t begin = one.base / page * page, end = (one.base + one.bytes + page - 1) / page * page;
    if (!ranges.empty() && begin <= ranges.back().second)
      ranges.back().second = std::max(ranges.back().second, end);
    else
      ranges.emplace_back(begin, end);
  }
  std::vector<Kept> kept;
  for (const auto& [begin, end] : ranges)
    kept.push_back(
        {begin, std::vector<char>(reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(end))});
  return kept;
}

/// Puts private memory where the heap was: NumPy arrays can't be told that theirs is gone.
void put_back(const std::vector<Kept>& kept) {
  for (const Kept& one : kept) {
    void* at = reinterpret_cast<void*>(one.base);
    void* got = ::mmap(at, one.contents.size(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != at)
      throw std::runtime_error(
          "finalize: the addresses of arrays that are still in use were taken by another thread's memory: free arrays, "
          "or drop them, before finalize");
    std::memcpy(at, one.contents.data(), one.contents.size());
  }
}

thread_local int inside_here = 0;  // of Runtime::inside_: a signal's handler may finalize

}  // namespace

void leave_if_ended(std::uint64_t epoch) {
  if (Runtime::instance().epoch() != epoch)
    throw std::runtime_error("shoal.finalize() ended the job while a call waited for other PEs");
}

int Pool::take() noexcept {
  const std::lock_guard guard(mutex_);
  for (int i = 0; i < kSlots; ++i) {
    const bool all_left = states_[i] >= 0 && shmem_signal_fetch(left(i)) == static_cast<std::uint64_t>(states_[i]);
    if (states_[i] != kFree && !all_left) continue;
    states_[i] = kTaken;
    *left(i) = 0;  // nobody else knows of its new group yet
    return i;
  }
  return -1;
}

void Pool::clear() noexcept {
  const std::lock_guard guard(mutex_);
  std::fill(std::begin(states_), std::end(states_), kFree);
}

void Pool::give_back(int slot) noexcept {
  const std::lock_guard guard(mutex_);
  states_[slot] = kFree;
}

void Pool::retire(int slot, int others) noexcept {
  const std::lock_guard guard(mutex_);
  states_[slot] = others;
}

Runtime& Runtime::instance() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

void Runtime::init(int thread_level) {
  const std::lock_guard guard(life_);
  if (running()) {
    ++inits_;
    return;
  }
  int provided = 0;
  if (shmem_init_thread(thread_level, &provided) != 0)
    throw std::runtime_error("init: the library could not start; the line on stderr says why");
  me_ = shmem_my_pe();
  n_pes_ = shmem_n_pes();
  try {
    make_pool();
    auto channels = std::make_shared<Channels>(pool_, n_pes_, me_);
    std::vector<int> pes(static_cast<std::size_t>(n_pes_)), slots(static_cast<std::size_t>(n_pes_), 0);
    for (int i = 0; i < n_pes_; ++i) pes[static_cast<std::size_t>(i)] = i;
    auto world = std::make_shared<Group>(pool_, std::move(pes), std::move(slots), "the world", epoch() + 1);
    Group::clear_slot(pool_, pool_.take(), n_pes_);
    shmem_barrier_all();
    inits_ = 1;
    publish(std::move(world), std::move(channels));
  } catch (...) {  // on all PEs alike: it depends on the heap and the number of PEs
    shmem_finalize();
    throw;
  }
}

/// Begins an epoch, or ends one where there is no world.
void Runtime::publish(std::shared_ptr<Group> world, std::shared_ptr<Channels> channels) noexcept {
  const std::lock_guard guard(mutex_);
  world_.swap(world);  // the old one goes last: by then its epoch is over, and it has nothing to tell anyone
  channels_.swap(channels);
  epoch_.fetch_add(1, std::memory_order_seq_cst);  // with enter()
}

std::shared_ptr<Group> Runtime::world(const char* call) const {
  const std::lock_guard guard(mutex_);
  if (world_ == nullptr) require(call);
  return world_;
}

std::shared_ptr<Channels> Runtime::channels(const char* call) const {
  const std::lock_guard guard(mutex_);
  if (channels_ == nullptr) require(call);
  return channels_;
}

std::shared_ptr<Channels> Runtime::channels() const noexcept {
  const std::lock_guard guard(mutex_);
  return channels_;
}

void Runtime::make_pool() {
  const std::size_t heap = shmemx_heap_size(SHMEMX_HEAP_DEFAULT);
  pool_.clear();
  pool_.channel_bytes = (Channels::area_bytes(n_pes_) + 4095) / 4096 * 4096;
  pool_.slot_bytes = std::clamp<std::size_t>(heap / 8 / Pool::kSlots / 4096 * 4096, 16384, Pool::kMostSlotBytes);
  pool_.base = static_cast<char*>(shmem_align(4096, pool_.bytes()));
  if (pool_.base == nullptr)
    throw std::runtime_error("init: a heap of " + std::to_string(heap) +
                             " bytes has no room for the work area: set SHMEM_SYMMETRIC_SIZE to 64m or more");
  mapped_.assign(static_cast<std::size_t>(n_pes_), false);
  long neighbours = 0;
  for (int pe = 0; pe < n_pes_; ++pe) {
    mapped_[static_cast<std::size_t>(pe)] = shmem_ptr(pool_.base, pe) != nullptr;
    neighbours += mapped_[static_cast<std::size_t>(pe)];
  }
  crowded_ = neighbours > ::sysconf(_SC_NPROCESSORS_ONLN);
}

void Runtime::finalize() {
  const std::lock_guard guard(life_);
  if (!running() || --inits_ > 0) return;
  if (const auto channels = this->channels()) channels->close();
  publish(nullptr, nullptr);
  while (inside_.load(std::memory_order_seq_cst) != inside_here) ::usleep(20);
  shmem_barrier_all();  // what others put here has arrived
  std::vector<Kept> kept;
  {
    const std::lock_guard locked(mutex_);
    kept = keep(live_);
    live_.clear();
    ids_.clear();
  }
  shmem_finalize();
  int still = 0;
  shmem_query_initialized(&still);  // by who else in this process has begun the library: then the heap stays, too
  if (still == 0) put_back(kept);
}

void Runtime::enter(const std::string& who, std::uint64_t epoch) {
  inside_.fetch_add(
      1, std::memory_order_seq_cst);  // before the look at the epoch: finalize sees this, or this sees the end
  ++inside_here;
  if (epoch_.load(std::memory_order_seq_cst) == epoch && epoch % 2 == 1) return;
  leave();
  throw std::runtime_error(who + ": shoal.finalize() ended its job");
}

void Runtime::leave() noexcept {
  --inside_here;
  inside_.fetch_sub(1, std::memory_order_seq_cst);
}

void Runtime::require(const char* call) const {
  if (running()) return;
  throw std::runtime_error(std::string(call) +
                           (epoch() == 0 ? ": called before shoal.init()" : ": called after shoal.finalize()") +
                           ": call shoal.init() first");
}

void Runtime::check_pe(const char* call, int pe, int n) {
  if (pe < 0 || pe >= n)
    throw std::out_of_range(std::string(call) + ": PE " + std::to_string(pe) + " is out of range: there are PEs 0 to " +
                            std::to_string(n - 1));
}

bool Runtime::holds(const void* address) const noexcept {
  const std::lock_guard guard(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = std::upper_bound(live_.begin(), live_.end(), at,
                                [](std::uintptr_t a, const Live& live) { return a < live.base; });
  if (after == live_.begin()) return false;
  --after;
  return at - after->base < after->bytes;
}

Block* Runtime::allocate(std::size_t bytes, std::size_t alignment, int type, const std::vector<std::int64_t>& shape) {
  Description mine;
  mine.kind = Kind::allocate;
  mine.type = static_cast<std::uint8_t>(type);
  mine.count = std::max<std::size_t>(bytes, 1);
  mine.dimensions = static_cast<std::uint32_t>(std::min<std::size_t>(shape.size(), Description::kMostDimensions));
  std::copy_n(shape.begin(), mine.dimensions, mine.shape);
  std::vector<std::uint64_t> dropped = dropped_here();
  for (const auto& theirs : world("allocation")->share(mine, std::as_bytes(std::span(dropped))))
    for (std::size_t i = 0; i < dropped.size() && (i + 1) * 8 <= theirs.size(); ++i) {
      std::uint64_t word;
      std::memcpy(&word, theirs.data() + i * 8, 8);
      dropped[i] &= word;
    }
  reclaim(dropped);
  void* data = shmem_align(std::max<std::size_t>(alignment, 64), std::max<std::size_t>(bytes, 1));
  if (data == nullptr) throw std::bad_alloc();
  return remember(data, bytes);
}

Block* Runtime::remember(void* data, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  const auto id = static_cast<int>(std::find(ids_.begin(), ids_.end(), false) - ids_.begin());
  if (static_cast<std::size_t>(id) == ids_.size()) ids_.push_back(true);
  ids_[static_cast<std::size_t>(id)] = true;
  auto* block = new Block(data, bytes, id, epoch());
  const Live live{reinterpret_cast<std::uintptr_t>(data), std::max<std::size_t>(bytes, 1), id, block};
  live_.insert(
      std::upper_bound(live_.begin(), live_.end(), live, [](const Live& a, const Live& b) { return a.base < b.base; }),
      live);
  return block;
}

/// Bit i: array i is used no more in this process.
std::vector<std::uint64_t> Runtime::dropped_here() const {
  std::vector<std::uint64_t> dropped(kIds / 64);
  const std::lock_guard guard(mutex_);
  for (const Live& one : live_)
    if (one.owner == nullptr && static_cast<std::size_t>(one.id) < kIds)
      dropped[static_cast<std::size_t>(one.id) / 64] |= std::uint64_t{1} << one.id % 64;
  return dropped;
}

void Runtime::reclaim(const std::vector<std::uint64_t>& dropped_everywhere) {
  for (std::size_t id = 0; id < kIds; ++id)
    if ((dropped_everywhere[id / 64] >> id % 64 & 1) != 0) erase(static_cast<int>(id));
}

/// Collective.
void Runtime::erase(int id) noexcept {
  void* data = nullptr;
  {
    const std::lock_guard guard(mutex_);
    const auto found = std::find_if(live_.begin(), live_.end(), [&](const Live& one) { return one.id == id; });
    if (found == live_.end()) return;
    data = reinterpret_cast<void*>(found->base);
    live_.erase(found);
    ids_[static_cast<std::size_t>(id)] = false;
  }
  shmem_free(data);
}

void Runtime::free(Block& block) {
  if (block.epoch() != epoch() || !holds(block.data()))
    throw std::runtime_error("free: the array is not on the heap: freed already, or of an earlier init");
  Description mine;
  mine.kind = Kind::free;
  mine.root = block.id();
  world("free")->share(mine, {});
  erase(block.id());
}

void Runtime::dropped(const Block& block) noexcept {
  const std::lock_guard guard(mutex_);
  if (block.epoch() != epoch()) return;
  for (Live& one : live_)
    if (one.owner == &block) one.owner = nullptr;
}

}  // namespace shoal::python
