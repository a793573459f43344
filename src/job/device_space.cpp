// SPDX-License-Identifier: Apache-2.0
#include "job/device_space.hpp"

#include <cstring>

#include "base/error.hpp"
#include "job/job.hpp"

namespace shoal {

static_assert(device::SyncLayout::kTeams == kTeamSlots);

void DeviceSpace::check(const Options& options) {
  check_range("SHOAL_DEVICE_CORES", options.device_cores, 1, device::kMostCores);
  check_range("SHOAL_XDMA_WORKERS", options.xdma_workers, 1, 64);
  check_range("SHOAL_XDMA_RATE", options.xdma_rate, 0, std::int64_t{1} << 50);
  check_range("SHOAL_XDMA_LATENCY", options.xdma_latency, 0, 1'000'000'000);
  check_range("SHOAL_DEVICE_DELAY", options.device_delay, 0, 1'000'000);
}

DeviceSpace::DeviceSpace(Job& job, int processors, const char* call) : me_(job.me()), n_pes_(job.n_pes()) {
  const Options& options = job.options();
  sync_ = job.make_heap(job.world_team(), device::SyncLayout::bytes(n_pes_), 4096, false, call);
  memory_ = job.make_heap(job.world_team(), options.device_heap, 4096, options.check, call);
  if (sync_ == nullptr || memory_ == nullptr)
    job.fatal(call, strf("no room for %llu bytes of device memory on each PE (SHOAL_DEVICE_HEAP)",
                         static_cast<unsigned long long>(options.device_heap)));
  DeviceSetup setup;
  setup.world = &job.world();
  setup.heap = job.segments().find(job.world().heap_base(), 1);
  setup.sync = &sync_->segment();
  setup.processors = processors;
  setup.number = number_;
  setup.cores = static_cast<int>(options.device_cores);
  setup.scratch_bytes = options.device_scratch;
  setup.xdma.workers = static_cast<int>(options.xdma_workers);
  setup.xdma.bytes_per_second = static_cast<std::uint64_t>(options.xdma_rate);
  setup.xdma.latency_ns = static_cast<std::uint64_t>(options.xdma_latency);
  setup.xdma.most_delay_ns = static_cast<std::uint64_t>(options.device_delay) * 1000;
  setup.xdma.seed = static_cast<std::uint64_t>(options.device_seed) * 64 + static_cast<std::uint64_t>(me_);
  backend_ = std::make_unique<CpuBackend>(setup);
  default_ = add_object(job.world_team(), reinterpret_cast<void*>(std::uintptr_t{1}));  // SHMEM_TEAM_WORLD
  job.team_space().on_new_team = [this](int slot) { clear(slot); };
}

void DeviceSpace::clear(int slot) noexcept {
  if (!used_[static_cast<std::size_t>(slot)].exchange(false, std::memory_order_relaxed)) return;
  char* own = sync_->segment().peers[static_cast<std::size_t>(me_)];
  std::memset(own + device::SyncLayout::core(n_pes_, slot, 0), 0, device::SyncLayout::kTeamBytes);
}

device::TeamView DeviceSpace::view(const Team& team) noexcept {
  used_[static_cast<std::size_t>(team.slot())].store(true, std::memory_order_relaxed);
  return {team.rank(), team.size(), team.members().data(), team.slot()};
}

DeviceSpace::TeamObject* DeviceSpace::add_object(const Team& team, void* handle) {
  auto object = std::make_unique<TeamObject>(TeamObject{view(team), handle});
  TeamObject* const address = object.get();
  const std::lock_guard guard(mutex_);
  objects_[address] = std::move(object);
  return address;
}

bool DeviceSpace::has_object(const void* object) const noexcept {
  const std::lock_guard guard(mutex_);
  return objects_.find(object) != objects_.end();
}

void DeviceSpace::remove_object(const TeamObject* object) noexcept {
  const std::lock_guard guard(mutex_);
  objects_.erase(object);
}

}  // namespace shoal
