// SPDX-License-Identifier: Apache-2.0
// What the programs about collectives share: symmetric arrays between guard zones, a model of teams, values and delays.
#pragma once
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "support.h"

namespace conformance {

inline constexpr size_t kGuard = 64;

/// A symmetric array whose ends are watched. Construction and destruction are collective over the world.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t capacity) : capacity_(capacity) {
    base_ = static_cast<unsigned char*>(shmem_malloc(capacity * sizeof(T) + 2 * kGuard + sizeof(T)));
    CHECK(base_ != nullptr);
  }
  ~Guarded() { shmem_free(base_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// Makes room for `count` elements, `skew` (0 or 1) elements further in, so that vector code meets odd alignments.
  void use(size_t count, size_t skew = 0) {
    CHECK(count <= capacity_ && skew <= 1);
    data_ = reinterpret_cast<T*>(base_ + kGuard) + skew;
    count_ = count;
    memset(base_, kFill, bytes());
  }
  T* data() { return data_; }
  size_t count() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }
  /// Element i has not been written since use().
  bool untouched(size_t i) const {
    const unsigned char* at = reinterpret_cast<const unsigned char*>(data_ + i);
    for (size_t b = 0; b < sizeof(T); ++b)
      if (at[b] != kFill) return false;
    return true;
  }

  void check_guards() const {
    const unsigned char* first = reinterpret_cast<const unsigned char*>(data_);
    for (const unsigned char* at = base_; at < first; ++at) CHECK(*at == kFill);
    for (const unsigned char* at = first + count_ * sizeof(T); at < base_ + bytes(); ++at) CHECK(*at == kFill);
  }
  void check_untouched() const {
    for (size_t i = 0; i < bytes(); ++i) CHECK(base_[i] == kFill);
  }

 private:
  unsigned char* base_;
  T* data_ = nullptr;
  size_t capacity_, count_ = 0;

  static constexpr unsigned char kFill = 0xa5;
  size_t bytes() const { return count_ * sizeof(T) + sizeof(T) + 2 * kGuard; }
};

template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};

/// Any bits for integers, small exact numbers else: the value that PE `pe` holds at `i` in step `step`.
template <class T>
T value(uint64_t step, int pe, size_t i) {
  const uint64_t bits =
      test_mix(step * UINT64_C(1000003) + static_cast<uint64_t>(pe) * UINT64_C(7919) + i * UINT64_C(31));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else if constexpr (is_complex<T>::value) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(static_cast<int>(bits % 17) - 8),
             static_cast<Part>(static_cast<int>(bits / 17 % 17) - 8));
  } else {
    return static_cast<T>(static_cast<int>(bits % 1001) - 500) / static_cast<T>(4);
  }
}

/// For failures: says which element of which operation.
inline void expect(bool ok, const char* operation, const char* type, size_t count, size_t at, const char* file,
                   int line) {
  if (ok) return;
  fprintf(stderr, "PE %d: %s:%d: [%s] %s of %zu %s: element %zu is wrong\n", me, file, line, test_section, operation,
          count, type, at);
  test_fail();
}
#define EXPECT_ELEMENT(ok, operation, type, count, at) \
  ::conformance::expect(ok, operation, type, count, at, __FILE__, __LINE__)

/// Computes for a while, so that PEs arrive at different times.
inline void compute(int rounds) {
  volatile uint64_t x = 1;
  for (int i = 0; i < rounds * 1000; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
}

/// A team and its members as world PEs; every PE knows the members, a PE outside has no handle.
struct TeamModel {
  shmem_team_t handle = SHMEM_TEAM_INVALID;
  std::vector<int> world;
  int size() const { return static_cast<int>(world.size()); }
  int rank() const {
    for (int i = 0; i < size(); ++i)
      if (world[static_cast<size_t>(i)] == me) return i;
    return -1;
  }
  bool mine() const { return handle != SHMEM_TEAM_INVALID; }
};

/// Collective over the world.
inline TeamModel split_world(int start, int stride, int size) {
  TeamModel team;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, nullptr, 0, &team.handle), 0);
  for (int i = 0; i < size; ++i) team.world.push_back(start + i * stride);
  CHECK(team.mine() == (team.rank() >= 0));
  return team;
}

inline TeamModel whole_world() {
  TeamModel team;
  team.handle = SHMEM_TEAM_WORLD;
  for (int i = 0; i < npes; ++i) team.world.push_back(i);
  return team;
}

/// The world, the world backwards, every second PE, the upper half (they overlap), one PE.
inline std::vector<TeamModel> some_teams() {
  std::vector<TeamModel> teams;
  teams.push_back(whole_world());
  teams.push_back(split_world(npes - 1, -1, npes));
  if (npes >= 3) teams.push_back(split_world(0, 2, (npes + 1) / 2));
  if (npes >= 3) teams.push_back(split_world(npes / 2, 1, npes - npes / 2));
  if (npes >= 2) teams.push_back(split_world(npes - 1, 0, 1));
  return teams;
}

/// Whether to run case `turn` on team `team` of some_teams(): all of them with few PEs; with many, which share few
/// cores in the test machines, the world always and one of the others in turn.
inline bool worth_running(size_t turn, size_t team) { return npes <= 5 || team == 0 || turn % 4 + 1 == team; }

inline void destroy(std::vector<TeamModel>& teams) {
  shmem_barrier_all();
  for (TeamModel& team : teams)
    if (team.handle != SHMEM_TEAM_WORLD) shmem_team_destroy(team.handle);
  teams.clear();
}

}  // namespace conformance
