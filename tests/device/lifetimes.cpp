// SPDX-License-Identifier: Apache-2.0
// Streams and events that are destroyed late: with work in flight, after finalize, in a later job, at the program's exit.
#include "support.hpp"

#include <atomic>
#include <memory>
#include <thread>

using namespace device_test;

namespace {

/// Destroyed after main, when the library has ended the job.
std::unique_ptr<Stream> until_exit;

void a_stream_finishes_what_it_was_given() {
  const Device device;
  Memory<long> words(device, 1);
  std::atomic<bool> go{false};
  std::thread other;
  long* word = words.get();
  {
    const Stream stream(device);
    const Event event(device);
    stream.call([&] {
      while (!go.load()) std::this_thread::yield();
    });
    launch([=](const device::DeviceView& view) { device::Core(view).add(word, 1L, device::Core(view).my_pe()); }, 3, stream);
    event.record(stream);
    other = std::thread([&] { go.store(true); });
  }
  other.join();
  CHECK_EQ(words[0], 3L);
}

}  // namespace

int main() {
  std::unique_ptr<Stream> first, second;
  std::unique_ptr<Event> event;
  shmem_init();
  const Device before;
  CHECK(before.is_current());
  a_stream_finishes_what_it_was_given();
  first = std::make_unique<Stream>(before);
  second = std::make_unique<Stream>(before);
  event = std::make_unique<Event>(before);
  std::atomic<int> calls{0};
  for (int i = 0; i < 3; ++i) second->call([&] { ++calls; });
  event->record(*second);
  shmem_finalize();
  CHECK_EQ(calls.load(), 3);
  CHECK(!before.is_current());
  first.reset();  // after finalize

  shmem_init();
  {
    const Device now;
    CHECK(now.is_current() && !before.is_current());
    event.reset();  // in a later job
    second.reset();
    a_stream_finishes_what_it_was_given();
    until_exit = std::make_unique<Stream>(now);
    until_exit->call([] {});
  }
  shmem_finalize();
  return 0;
}
