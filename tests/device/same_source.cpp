// SPDX-License-Identifier: Apache-2.0
// The kernels of same_source.hpp on the processor.
#include "same_source.hpp"

#include "same_source_checks.hpp"
#include "support.hpp"

int main() {
  return shoal::run([](shoal::Job&) {
    const shoal::Device device;
    const shoal::Stream stream(device);
    const auto allocate = [&](auto sample, std::size_t n) { return device.allocate<decltype(sample)>(n); };
    check_same_source(stream, device.team(), allocate);
    check_stream_operations<shoal::Event>(stream, device.team(), allocate);
  });
}
