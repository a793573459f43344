// SPDX-License-Identifier: Apache-2.0
// Values that were found by measuring, in one place, each with how it was found. Options override those that users may
// want to change (SHOAL_SPIN, SHOAL_BARRIER, SHOAL_REDUCE); docs/performance.md has the figures.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shoal::tuned {

// ---- waiting (src/comm/waiter) ----

/// Polls before a waiter gives its core away, when every PE has a core: some 50 microseconds, longer than any wait for
/// a PE that is running.
inline constexpr int kSpins = 4000;
/// The same with more PEs than cores: the one that is waited for may need this very core.
inline constexpr int kOversubscribedSpins = 20;
/// Polls of memory that cost as much as one of a connection to another node (a system call).
inline constexpr int kFarPolls = 4;
/// Times to give the core away before sleeping.
inline constexpr int kYields = 64;
/// Bounds of one sleep: a plain store, which rings no bell, is noticed this late. bench/meeting idle: 1.5 % of a core.
inline constexpr std::uint64_t kFirstSleepNs = 50'000, kLongestSleepNs = 1'000'000;
/// A sleeper on the user's words that was woken this often for nothing stops listening for a while to quiets and
/// atomics that mean other words: else every quiet of a busy PE would pay for waking it.
inline constexpr int kFutileRings = 8;

// ---- copies (src/base/copy) ----

/// Copies of this size and more, and as far as the first-level cache reaches, go by vectors of our own: up to 1.8 times
/// as fast as the C library's `rep movsb` (AVX-512; 1.2 with AVX2), which needs long runs to pay. Shorter ones the C
/// library does as well, longer ones better.
inline constexpr std::size_t kVectorCopyBytes = 1024, kMostVectorCopyBytes = 32 * 1024;
/// The same on Zen 3 and Zen 4, whose `rep movsb` falls to a tenth of the speed at some distances of source and
/// destination: as far as the C library uses it.
inline constexpr std::size_t kSlowStringCopyBytes = 1024 * 1024;
// Zen 5 copies more than kMostVectorCopyBytes by `rep movsb` to an aligned start: 1.2 times as fast as the C library
// from 1 MiB on, whose stores past the caches don't pay there, and 1.3 times below where the destination isn't aligned.

// ---- collectives (src/coll) ----

/// What a member combines before it hands it out: stays in the first-level cache together with one source.
inline constexpr std::size_t kChunkBytes = 16 * 1024;
/// The same where the results go past the caches.
inline constexpr std::size_t kStreamChunkBytes = 16 * 1024;
/// What a member gives the others goes by mail (team/group.hpp) up to here: a copy more, and lines that are written
/// each time, for a meeting less. A meeting costs a line's trip where every PE has a core, and changes of places, some
/// 2 microseconds, where not.
inline constexpr std::size_t kMailBytes = 1024, kOversubscribedMailBytes = 4096;
/// Up to so many bytes of all members together every member reduces everything itself, from their mail.
inline constexpr std::size_t kMailReduceBytes = 16 * 1024;
/// Up to here every member reduces everything itself where there is no mail.
inline constexpr std::size_t kFlatReduceBytes = 512;
/// Past the last-level cache divided by this and by the members, results are written past it: sources and destinations
/// of all members pass through.
inline constexpr std::size_t kStreamCacheShare = 2;

}  // namespace shoal::tuned
