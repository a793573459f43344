// SPDX-License-Identifier: Apache-2.0
// What the tests work on: this PE, its peer, and symmetric memory.
#pragma once
#include <sched.h>
#include <shmem.h>

#include <cstddef>
#include <cstdint>

#include "options.hpp"
#include "raw.hpp"

namespace shoal::perf {

class World {
 public:
  /// Initializes the library, pins this PE, allocates. `capacity`: bytes of each of the two buffers on each PE.
  World(const Options& options, bool threads, std::size_t capacity, std::size_t table_bytes);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The same object on PE `pe`, as a pointer.
  template <class T>
  T* on(T* object, int pe) const {
    return static_cast<T*>(shmem_ptr(object, pe));
  }

  /// Meets all PEs by plain flags: a dissemination barrier, the least that a barrier can be.
  void meet();
  void await(const std::uint64_t* word, std::uint64_t value) const { perf::await(word, value, polling); }

  const Options& options;
  int me, n;
  int peer;           // of a pair: the other one; this PE itself if there is none
  int next;           // round the ring
  int cpus;           // processors that this PE may use
  cpu_set_t allowed;  // before it was pinned
  int thread_level;
  Polling polling;     // of plain waits
  bool mapped = true;  // every PE's memory can be reached by pointers

  std::size_t capacity;
  char* source;
  char* dest;
  std::uint64_t* table;  // null unless asked for
  std::size_t table_words;
  Line* lines;    // see the names below
  long* agreed;   // the runner's
  double* times;  // the runner's: one a PE

  enum LineNames {
    atomic_line,
    flag_line,
    signal_line,
    lock_line,
    raw_lock_line,
    tail_line,
    meet_line,
    kLines = meet_line + 16
  };
  std::uint64_t* word(int line) const { return &lines[line].word; }
  std::uint64_t sequence = 0;  // of ping-pongs: rises alike on both sides

 private:
  void choose_polling();

  static constexpr int kRounds = 16;
  std::uint64_t epoch_ = 0;
  std::uint64_t* partners_[kRounds] = {};  // the word that each round of a meeting writes
};

}  // namespace shoal::perf
