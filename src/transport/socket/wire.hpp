// SPDX-License-Identifier: Apache-2.0
// What travels on a connection between two PEs (docs/networking.md): frames, after a Hello by the PE that connects,
// which is answered by a Welcome, which it confirms: until then either side may give up, and the other one notices by
// the connection's end. Little-endian.
#pragma once
#include <cstdint>

#include "transport/frames.hpp"

namespace shoal::wire {

inline constexpr std::uint32_t kMagic = 0x4c414f53;  // "SOAL"
inline constexpr std::uint32_t kWelcomeMagic =
    0x57414f53;  // "SOAW": a hello that comes back to its sender is no welcome
inline constexpr std::uint32_t kConfirmMagic = 0x43414f53;  // "SOAC"
inline constexpr std::uint32_t kVersion = 3;

struct Hello {
  std::uint32_t magic, version;
  std::uint32_t from, to;  // world PEs: who speaks, and whom it believes to speak to
  std::uint8_t job[16];    // random, the same for all PEs of the job
};
static_assert(sizeof(Hello) == 32);

/// `use_yours`: both connected at once, and the lower rank's connection is the one that stays: whoever hears it waits
/// for the connection that the other one makes, or has made.
enum class Answer : std::uint32_t { welcome = 1, use_yours };
struct Welcome {
  std::uint32_t magic;  // kWelcomeMagic
  Answer answer;
};
static_assert(sizeof(Welcome) == 8);

/// The first that follows a welcome: whoever connected counts on the connection, and frames come.
struct Confirm {
  std::uint32_t magic;  // kConfirmMagic
  std::uint32_t zero;
};
static_assert(sizeof(Confirm) == 8);

/// Messages are no longer than this: longer puts and gets are cut, puts between two words, so that others get their
/// turn.
inline constexpr std::uint64_t kLongest = 512 * 1024;

}  // namespace shoal::wire
