// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel is handed: trivially copyable descriptions of the job, its memory and a team. Shared by the kernel API, which is
/// header-only, and by the library, which fills them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define SHOAL_DEVICE_FN __host__ __device__ inline
#define SHOAL_KERNEL __global__
#else
/// Marks functions that kernels call.
#define SHOAL_DEVICE_FN inline
/// Marks a kernel: `SHOAL_KERNEL void f(shoal::device::DeviceView view, ...)`.
#define SHOAL_KERNEL
#endif

namespace shoal::device {

/// The most cores that one launch may have.
inline constexpr int kMostCores = 64;

/// What moves the bytes.
enum class Engine : std::uint8_t {
  automatic,  ///< chosen by source, target and size
  mte,        ///< the core's own copies, in the order of issue
  xdma,       ///< the device's copy engine: at the same time as the core computes, in no order
  rdma,       ///< the transports: reaches every PE, in no order
};

/// What a signal update does to its word.
enum class SignalOp : std::uint8_t { set, add };

/// Comparisons of waits and tests: `word <cmp> value`.
enum class Cmp : std::uint8_t { eq, ne, gt, ge, lt, le };

/// A symmetric range: where it is here, and where each PE's is mapped here (null: reached by rdma only).
struct SegmentView {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  char* const* peers = nullptr;  ///< by world PE
};

/// A team, as kernels see it. Made by Device::team on the host; valid as long as the team.
struct TeamView {
  int rank = 0;                 ///< of this PE
  int size = 0;
  const int* world = nullptr;   ///< the world PE of each member
  int slot = 0;                 ///< which sync words are the team's
};

/// The first argument of a kernel.
struct DeviceView {
  int me = 0;     ///< this PE, and how many there are
  int n_pes = 0;
  int core = 0;   ///< this core, and how many the launch has
  int cores = 0;
  SegmentView heap;               ///< the default heap
  char* const* sync = nullptr;    ///< by world PE: its sync words (layout below), null where they cannot be mapped
  void* state = nullptr;          ///< what the device's prim keeps for the core, or for the launch
  std::uint64_t launch = 0;       ///< of a GPU: a number that no other launch has
};
static_assert(std::is_trivially_copyable_v<DeviceView> && std::is_trivially_copyable_v<TeamView>);

/// The launch that a core met in last over a team, in one word: the epoch of its first meeting there, and how many cores it has.
struct Met {
  std::uint64_t first;
  int cores;

  SHOAL_DEVICE_FN std::uint64_t word() const noexcept { return first << 8 | static_cast<std::uint64_t>(cores); }
  SHOAL_DEVICE_FN static Met of(std::uint64_t word) noexcept { return {word >> 8, static_cast<int>(word & 255)}; }
};

/// The sync words of a PE, in symmetric memory of the library's own.
///
///   offset             size             what
///        0               64             leaving: nonzero once the PE has come to the end of the job
///     4096            8 * n_pes         pair words: a counter per PE, for meetings of two
///   teams(n_pes)     64 KiB each        one area a team slot: 1 KiB for each core number
///   in a core's KiB: the flags of the dissemination barrier's rounds (of a million PEs); at 896, this core's own epoch; at 904, who of
///   this PE meets there now (prim::enter); at 912, what the members of a collective show each other; at 920, what the member before
///   shows this one where it is on another node; at 928, the launch that meets there (Met) and, for this PE alone, its number; at 944,
///   the last meeting there that was waited for long, and the cores that go nowhere before it is over, a bit each
struct SyncLayout {
  static constexpr std::size_t kPairs = 4096;
  static constexpr std::size_t kCoreBytes = 1024, kTeamBytes = kCoreBytes * kMostCores;
  static constexpr std::size_t kEpoch = 896, kOwner = 904, kShown = 912, kShownHere = 920, kMet = 928, kMetBy = 936, kStuck = 944, kStuckCores = 952;
  static constexpr int kTeams = 1088;
  SHOAL_DEVICE_FN static constexpr std::size_t teams(int n_pes) {
    return (kPairs + static_cast<std::size_t>(n_pes) * 8 + 4095) / 4096 * 4096;
  }
  SHOAL_DEVICE_FN static constexpr std::size_t core(int n_pes, int slot, int core) {
    return teams(n_pes) + static_cast<std::size_t>(slot) * kTeamBytes + static_cast<std::size_t>(core) * kCoreBytes;
  }
  /// Within a core's KiB. A cache line each, but for those that only more than 8,192 PEs have, where a line's trip is little.
  SHOAL_DEVICE_FN static constexpr std::size_t round(int number) {
    return static_cast<std::size_t>(number < 13 ? number * 64 : 832 + (number - 13) * 8);
  }
  static constexpr std::size_t bytes(int n_pes) { return core(n_pes, kTeams, 0); }
};

static_assert(SyncLayout::round(19) + 8 <= SyncLayout::kEpoch && SyncLayout::kStuckCores + 8 <= SyncLayout::kCoreBytes);

}  // namespace shoal::device
