// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/local.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/monitor.hpp"

namespace shoal {

class LocalWorld::Member final : public Bootstrap {
 public:
  Member(LocalWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return world_.size_; }
  Gathered allgather(std::span<const std::byte> mine) override {
    const std::vector<Bytes> all = world_.exchange(rank_, mine);
    Bytes bytes;
    for (const Bytes& one : all) bytes.insert(bytes.end(), one.begin(), one.end());
    std::vector<std::span<const std::byte>> parts;
    std::size_t at = 0;
    for (const Bytes& one : all)
      parts.push_back(std::span<const std::byte>(bytes).subspan(at, one.size())), at += one.size();
    return {std::move(bytes), std::move(parts)};
  }
  void barrier() override { world_.exchange(rank_, {}); }
  void leave() override { world_.exchange(rank_, {}); }
  [[noreturn]] void abort(int status, const std::string& why) override { world_.abort(rank_, status, why); }
  bool same_process() const override { return true; }

 private:
  LocalWorld& world_;
  const int rank_;
};

LocalWorld::LocalWorld(int size) : size_(size) {
  if (size < 1) throw Error(Code::invalid_argument, strf("a job of %d PEs: at least 1 is needed", size));
  gathering_.resize(static_cast<size_t>(size));
}

std::unique_ptr<Bootstrap> LocalWorld::join(int rank) {
  if (rank < 0 || rank >= size_)
    throw Error(Code::invalid_argument, strf("PE %d is out of range [0, %d)", rank, size_));
  return std::make_unique<Member>(*this, rank);
}

void LocalWorld::on_abort(AbortHandler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

bool LocalWorld::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

std::vector<LocalWorld::Bytes> LocalWorld::exchange(int rank, std::span<const std::byte> mine) {
  std::unique_lock lock(mutex_);
  gathering_[static_cast<size_t>(rank)].assign(mine.begin(), mine.end());
  const unsigned long round = round_;
  if (!aborted_ && ++arrived_ == size_) {
    gathered_ = std::make_shared<const std::vector<Bytes>>(std::move(gathering_));
    gathering_.assign(static_cast<size_t>(size_), {});
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return aborted_ || round_ != round; });
  if (round_ == round) throw Error(Code::peer, "another PE ended the job: " + why_);
  const auto all = gathered_;
  lock.unlock();
  return *all;
}

void LocalWorld::abort(int rank, int status, const std::string& why) {
  AbortHandler handler;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    handler = handler_;
    if (!aborted_) {
      first = aborted_ = true;
      why_ = why.empty() ? strf("PE %d, status %d", rank, status) : why;
      changed_.notify_all();
    }
  }
  if (!handler) {
    print_raw_line(why.empty() ? strf("shoal: PE %d ended the job with status %d", rank, status) : why);
    std::abort();
  }
  if (first) handler(rank, status, why);
  throw Error(Code::peer, "the job was ended: " + why);
}

}  // namespace shoal
