// SPDX-License-Identifier: Apache-2.0
//
// Pipeline: blocks of numbers go from PE to PE, each adds its part; while PE 3 works on block 7, PE 2 works on block 8.
// Shows: put-with-signal (data and the news that it has come, in one operation), shmem_signal_wait_until, and a signal
// in the other direction that says which buffer is free again, so that no barrier is needed at all.
#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kBlocks = 60;
constexpr std::uint64_t kBuffers = 2;

// Symmetric. My left neighbour writes `inbox` and `full`, my right neighbour writes `taken`.
std::int64_t inbox[kBuffers][kBlock];
std::uint64_t full[1];   // blocks that have come to me so far
std::uint64_t taken[1];  // blocks that my right neighbour is done with

std::int64_t start_value(std::uint64_t block, std::size_t i) { return static_cast<std::int64_t>(block * 1000 + i); }

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  const bool first = me == 0;
  const bool last = me == pes - 1;
  std::uint64_t wrong = 0;
  const auto outbox = std::make_unique<std::int64_t[]>(kBlock);  // what is sent from needn't be symmetric

  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    if (!first) shmem_signal_wait_until(full, SHMEM_CMP_GE, block + 1);
    const std::int64_t* in = inbox[block % kBuffers];
    shmem_quiet();  // the block before has arrived: the outbox is free, and the signals count blocks in their order
    for (std::size_t i = 0; i < kBlock; ++i) outbox[i] = (first ? start_value(block, i) : in[i]) + me;
    if (!first) shmem_signal_add(taken, 1, me - 1);

    if (!last) {
      // The buffer of this block was last used by the block kBuffers before: wait until that one is taken.
      if (block >= kBuffers) shmem_signal_wait_until(taken, SHMEM_CMP_GE, block - kBuffers + 1);
      shmem_put_signal_nbi(inbox[block % kBuffers], outbox.get(), kBlock, full, 1, SHMEM_SIGNAL_ADD, me + 1);
    } else {
      const std::int64_t added = static_cast<std::int64_t>(pes) * (pes - 1) / 2;
      for (std::size_t i = 0; i < kBlock; ++i) wrong += outbox[i] != start_value(block, i) + added;
    }
  }
  if (last) {
    std::printf("%llu blocks of %zu numbers went through %d PEs\n", static_cast<unsigned long long>(kBlocks), kBlock,
                pes);
    if (wrong != 0) {
      std::fprintf(stderr, "pipeline: %llu numbers are wrong at the end\n", static_cast<unsigned long long>(wrong));
    }
  }
  shmem_finalize();
  return wrong == 0 ? 0 : 1;
}
