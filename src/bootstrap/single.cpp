// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/single.hpp"

#include <unistd.h>

#include "base/log.hpp"
#include "bootstrap/monitor.hpp"

namespace shoal {
namespace {

class SingleBootstrap final : public Bootstrap {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Gathered allgather(std::span<const std::byte> mine) override {
    std::vector<std::byte> bytes(mine.begin(), mine.end());
    std::vector<std::span<const std::byte>> parts{bytes};
    return {std::move(bytes), std::move(parts)};
  }
  void barrier() override {}
  void leave() override {}
  [[noreturn]] void abort(int status, const std::string& why) override {
    flush_stdio_briefly();
    if (!why.empty()) print_raw_line(why);
    ::_exit(status);
  }
};

}  // namespace

std::unique_ptr<Bootstrap> make_single_bootstrap() { return std::make_unique<SingleBootstrap>(); }

}  // namespace shoal
