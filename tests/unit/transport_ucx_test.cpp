// SPDX-License-Identifier: Apache-2.0
// Somebody who speaks UCX, knows where a PE is, and says anything: nothing may crash or be believed, and the PE goes
// on. SHOAL_TEST_FUZZ_ROUNDS sets how many messages (500), SHOAL_TEST_FUZZ_SEED the seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/options.hpp"
#include "transport/ucx/peer.hpp"
#include "ucx_support.hpp"

namespace shoal::test {
namespace {

constexpr std::uint64_t kDeadlineNs = 30'000'000'000;
constexpr std::uint32_t kMemory = 7;

class Victim final : public Target {
 public:
  char* admit(int, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access) noexcept override {
    const bool fits = key == kMemory && offset <= sizeof memory && bytes <= sizeof memory - offset;
    return fits && (access != Access::atomic || offset % bytes == 0) ? memory + offset : nullptr;
  }
  std::span<char> region(int, std::uint32_t key) noexcept override {
    return key == kMemory ? std::span<char>(memory) : std::span<char>();
  }
  void refused(const std::string&, const std::string&) noexcept override { ++refusals; }
  void wake() noexcept override {}
  [[noreturn]] void fail(const std::string& what) noexcept override {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
  }
  std::uint64_t word(std::size_t i) {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(memory)[i]).load(std::memory_order_acquire);
  }
  alignas(8) char memory[4096] = {};
  std::atomic<int> refusals{0};
};

/// Sends what it likes to one worker.
class Rogue {
 public:
  explicit Rogue(const std::string& address) {
    ucp_config_t* config = nullptr;
    ucp_.ucp_config_read(nullptr, nullptr, &config);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | UCP_FEATURE_RMA;
    ucp_.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    ucp_.ucp_config_release(config);
    const ucp_worker_params_t alone{};
    ucp_.ucp_worker_create(context_, &alone, &worker_);
    std::string bytes;
    for (std::size_t i = address.rfind(' ') + 1; i + 1 < address.size(); i += 2)
      bytes += static_cast<char>(std::stoi(address.substr(i, 2), nullptr, 16));
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    to.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    to.address = reinterpret_cast<const ucp_address_t*>(bytes.data());
    ucp_.ucp_ep_create(worker_, &to, &ep_);
  }
  ~Rogue() {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    finish(ucp_.ucp_ep_close_nbx(ep_, &param));
    ucp_.ucp_worker_destroy(worker_);
    ucp_.ucp_cleanup(context_);
  }
  bool say(const std::string& message) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    return finish(ucp_.ucp_am_send_nbx(ep_, 0, nullptr, 0, message.data(), message.size(), &param));
  }
  void progress() { ucp_.ucp_worker_progress(worker_); }

 private:
  bool finish(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) return !UCS_PTR_IS_ERR(request);
    const std::uint64_t deadline = now_ns() + kDeadlineNs;
    while (ucp_.ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < deadline) progress();
    const bool done = ucp_.ucp_request_check_status(request) == UCS_OK;
    ucp_.ucp_request_free(request);
    return done;
  }
  const UcpFunctions& ucp_ = load_ucp();
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

template <class T>
std::string bytes_of_value(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string head(std::uint32_t from) { return bytes_of_value(MessageHead{MessageHead::kMagic, from}); }
std::string put_of(std::uint64_t offset, std::uint64_t value) {
  return bytes_of_value(wire::Frame{wire::Type::put, 0, 0, 0, kMemory, offset, 8}) + bytes_of_value(value);
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = process_environment(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class UcxRogue : public testing::Test {
 protected:
  void SetUp() override { skip_without_ucx(); }
};

TEST_F(UcxRogue, WhateverItSaysThePeGoesOn) {
  Victim victim;
  const auto transport = make_ucx(0, 2, UcxSettings{}, victim);
  const std::string address = transport->address();
  transport->leaving();  // else the first nonsense of PE 1 would end the job
  transport->start({address, address});
  Rogue rogue(address);

  const std::uint64_t seed = number_from("SHOAL_TEST_FUZZ_SEED", std::random_device()());
  std::printf("SHOAL_TEST_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = number_from("SHOAL_TEST_FUZZ_ROUNDS", 500); round > 0; --round) {
    std::string message = random() % 8 == 0 ? std::string() : head(random() % 8 == 0 ? 77 : 1);
    for (std::size_t frames = random() % 4; frames > 0; --frames) {
      // All kinds, and some more; in the first words at most, which are nobody's.
      wire::Frame frame{static_cast<wire::Type>(random() % 11),      static_cast<std::uint8_t>(random() % 10),
                        static_cast<std::uint8_t>(random() % 3 * 4), 0,
                        static_cast<std::uint32_t>(random() % 9),    random() % 2048,
                        random() % 4 == 0 ? random() : random() % 64};
      if (frame.type == wire::Type::refused) continue;  // which would end the job, rightly
      message += bytes_of_value(frame);
      message.append(random() % 64, static_cast<char>(random()));
    }
    ASSERT_TRUE(rogue.say(message));
  }
  // Frames that say more than there is.
  const std::string some(8, '\xff');
  ASSERT_TRUE(rogue.say(head(1) + bytes_of_value(wire::Frame{wire::Type::put, 0, 0, 0, kMemory, 3000, 16}) + some));
  ASSERT_TRUE(rogue.say(head(1) + bytes_of_value(wire::Frame{wire::Type::update, 3, 8, 0, kMemory, 3008, 0}) + some));
  ASSERT_TRUE(rogue.say(head(1) + put_of(4000, 42) + put_of(5000, 42)));
  for (const std::uint64_t deadline = now_ns() + kDeadlineNs; victim.word(500) != 42 && now_ns() < deadline;)
    rogue.progress();
  EXPECT_EQ(victim.word(500), 42u);
  EXPECT_EQ(victim.word(375), 0u);
  EXPECT_EQ(victim.word(376), 0u);
  EXPECT_GT(victim.refusals, 0);
  transport->close();
}

}  // namespace
}  // namespace shoal::test
