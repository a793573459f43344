// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mixture of experts: tokens go to the PEs of the experts that they were given to (dispatch), pass through them, and come back,
/// weighted (combine), in one kernel: an expert starts when its tokens are there, and each of its results leaves when it is made.
#pragma once

#include <stdexcept>

#include "matmul.hpp"

namespace shoal::ops {

/// What a layer is; the same on all members.
struct ExpertShape {
  std::size_t experts_each = 1;  ///< experts of each member; expert e is at member e / experts_each
  std::size_t capacity = 0;      ///< the most tokens that one expert takes, from all members together
  std::size_t most_tokens = 0;   ///< of one member
  std::size_t choices = 1;       ///< experts of each token
  std::size_t width = 0;         ///< elements of a token
};

namespace detail {

template <class T>
struct ExpertArguments {
  ExpertShape shape;
  const T* tokens;      ///< n x width
  const int* experts;   ///< n x choices
  const float* weights; ///< n x choices
  T* out;               ///< n x width
  std::size_t n;
  // Symmetric from here on.
  std::int64_t* counts;    ///< members x all experts: how many tokens each member has for each expert
  T* inbox;                ///< of each own expert: capacity x width
  T* outbox;               ///< its results
  std::int64_t* origins;   ///< of each row: member and place there
  T* returned;             ///< most_tokens * choices x width
  std::uint64_t* arrived;  ///< of each own expert: rows so far, over all generations
  std::uint64_t* back;     ///< rows that came back, over all generations
  std::int64_t* slots;     ///< local: each choice's row at its expert
  std::uint64_t* seen;     ///< local: `arrived` of each own expert, and `back`, before this generation
};

template <class T, class Expert>
class ExpertKernel {
 public:
  ExpertKernel(const device::Core& core, const device::TeamView& team, const ExpertArguments<T>& x, const Expert& expert)
      : core_(core), all_(core), team_(team), x_(x), expert_(expert), total_(x.shape.experts_each * static_cast<std::size_t>(team.size)) {}

  void run() {
    all_.barrier(team_);  // the workspace is free again everywhere
    if (core_.id() == 0) share_counts();
    all_.barrier(team_);
    check_capacity();
    dispatch();
    for (auto e = static_cast<std::size_t>(core_.id()); e < x_.shape.experts_each; e += static_cast<std::size_t>(core_.count())) serve(e);
    core_.wait_until(x_.back, device::Cmp::ge, x_.seen[x_.shape.experts_each] + x_.n * x_.shape.choices);
    combine();
    all_.barrier(team_);
    if (core_.id() == 0) remember();
    all_.meet();
  }

 private:
  std::size_t owner(std::size_t e) const { return e / x_.shape.experts_each; }
  std::int64_t count(int member, std::size_t e) const { return x_.counts[static_cast<std::size_t>(member) * total_ + e]; }
  /// Rows of expert `e` from the members before `member`.
  std::int64_t rows_before(int member, std::size_t e) const {
    std::int64_t sum = 0;
    for (int m = 0; m < member; ++m) sum += count(m, e);
    return sum;
  }

  /// Counts this member's tokens for each expert, numbers them, and tells everyone.
  void share_counts() {
    std::int64_t* mine = x_.counts + static_cast<std::size_t>(team_.rank) * total_;
    for (std::size_t e = 0; e < total_; ++e) mine[e] = 0;
    for (std::size_t i = 0; i < x_.n * x_.shape.choices; ++i) {
      const int e = x_.experts[i];
      if (e < 0 || static_cast<std::size_t>(e) >= total_)
        device::prim::fail(core_.handle(), "experts", "experts", device::Fault::text, nullptr, 0, -1, "an expert's number is out of range");
      x_.slots[i] = mine[e]++;
    }
    for (int m = 0; m < team_.size; ++m)
      if (m != team_.rank) core_.put(mine, mine, total_, team_.world[m]);
  }
  void check_capacity() {
    for (std::size_t e = 0; e < total_; ++e)
      if (rows_before(team_.size, e) > static_cast<std::int64_t>(x_.shape.capacity))
        device::prim::fail(core_.handle(), "experts", "capacity", device::Fault::text, nullptr, 0, -1,
                           "an expert is given more tokens than its capacity: make it larger, or route otherwise");
  }
  /// This core's share of this member's tokens, expert by expert, beginning with those of the next member.
  void dispatch() {
    const device::Slice part = all_.part(x_.n, 64);
    for (std::size_t k = 0; k < total_; ++k) {
      const std::size_t e = (k + (static_cast<std::size_t>(team_.rank) + 1) * x_.shape.experts_each) % total_;
      const int pe = team_.world[owner(e)];
      const std::size_t local = e % x_.shape.experts_each;
      std::uint64_t sent = 0;
      for (std::size_t i = part.begin * x_.shape.choices; i < part.end * x_.shape.choices; ++i) {
        if (static_cast<std::size_t>(x_.experts[i]) != e) continue;
        const std::size_t row = local * x_.shape.capacity + static_cast<std::size_t>(rows_before(team_.rank, e) + x_.slots[i]);
        core_.put(x_.inbox + row * x_.shape.width, x_.tokens + i / x_.shape.choices * x_.shape.width, x_.shape.width, pe);
        core_.p(x_.origins + row, static_cast<std::int64_t>(team_.rank) << 40 | static_cast<std::int64_t>(i), pe);
        ++sent;
      }
      if (sent == 0) continue;
      core_.fence();
      core_.signal(x_.arrived + local, sent, device::SignalOp::add, pe);
    }
  }
  /// Runs an own expert on its tokens and sends the results back.
  void serve(std::size_t local) {
    const std::size_t e = static_cast<std::size_t>(team_.rank) * x_.shape.experts_each + local;
    const auto rows = static_cast<std::size_t>(rows_before(team_.size, e));
    if (rows == 0) return;
    core_.wait_until(x_.arrived + local, device::Cmp::ge, x_.seen[local] + rows);
    T* const in = x_.inbox + local * x_.shape.capacity * x_.shape.width;
    T* const out = x_.outbox + local * x_.shape.capacity * x_.shape.width;
    constexpr std::size_t kRows = 64;  // results leave in pieces of so many
    for (std::size_t begin = 0; begin < rows; begin += kRows) {
      const std::size_t n = std::min(kRows, rows - begin);
      expert_(core_, e, matrix<T>(out + begin * x_.shape.width, n, x_.shape.width), Matrix<const T>{in + begin * x_.shape.width, n, x_.shape.width, x_.shape.width});
      for (std::size_t row = begin; row < begin + n; ++row) {
        const std::int64_t origin = x_.origins[local * x_.shape.capacity + row];
        const auto place = static_cast<std::size_t>(origin & ((std::int64_t{1} << 40) - 1));
        core_.put_signal(x_.returned + place * x_.shape.width, out + row * x_.shape.width, x_.shape.width, x_.back, 1, device::SignalOp::add,
                         team_.world[origin >> 40]);
      }
    }
  }
  void combine() {
    using A = device::Accumulator<T>;
    using Wide = decltype(typename A::type{} * 1.0f);  // double for double, else float
    const device::Slice part = all_.part(x_.n, 64);
    for (std::size_t token = part.begin; token < part.end; ++token)
      for (std::size_t j = 0; j < x_.shape.width; ++j) {
        Wide sum = 0;
        for (std::size_t k = 0; k < x_.shape.choices; ++k) {
          const std::size_t i = token * x_.shape.choices + k;
          sum += x_.weights[i] * static_cast<Wide>(A::widen(x_.returned[i * x_.shape.width + j]));
        }
        x_.out[token * x_.shape.width + j] = A::narrow(static_cast<typename A::type>(sum));
      }
  }
  void remember() {
    for (std::size_t local = 0; local < x_.shape.experts_each; ++local)
      x_.seen[local] += static_cast<std::uint64_t>(rows_before(team_.size, static_cast<std::size_t>(team_.rank) * x_.shape.experts_each + local));
    x_.seen[x_.shape.experts_each] += x_.n * x_.shape.choices;
  }

  device::Core core_;
  device::Group all_;
  device::TeamView team_;
  const ExpertArguments<T>& x_;
  const Expert& expert_;
  std::size_t total_;
};

template <class T, class Expert>
SHOAL_KERNEL void run_experts(device::DeviceView view, device::TeamView team, ExpertArguments<T> arguments, Expert expert) {
  ExpertKernel<T, Expert>(device::Core(view), team, arguments, expert).run();
}

}  // namespace detail

/// A layer of experts. Made and destroyed by all PEs of the job together.
template <class T>
class Experts {
 public:
  Experts(const Device& device, const device::TeamView& team, const ExpertShape& shape, int cores)
      : team_(team), shape_(shape), cores_(detail::checked_cores(device, cores)), counts_(device, members() * members() * shape.experts_each),
        inbox_(device, shape.experts_each * shape.capacity * shape.width), outbox_(device, shape.experts_each * shape.capacity * shape.width),
        origins_(device, shape.experts_each * shape.capacity), returned_(device, shape.most_tokens * shape.choices * shape.width),
        words_(device, 2 * (shape.experts_each + 1)), slots_(device, shape.most_tokens * shape.choices) {
    std::fill_n(words_.get(), 2 * (shape.experts_each + 1), std::uint64_t{0});
    shmem_barrier_all();
  }

  /// out[i] = the sum over token i's choices of weight * expert(token). `tokens` and `out` are n x width, `experts` and `weights` n x
  /// choices, any memory. `expert(core, number, Matrix<T> out, Matrix<const T> in)` runs on the cores that have the expert, on some of
  /// its tokens at a time. All members launch. Throws std::invalid_argument for more tokens than the layer was made for; an expert
  /// that is given more than its capacity ends the job.
  template <class Expert>
  void launch(const Stream& stream, T* out, const T* tokens, const int* experts, const float* weights, std::size_t n, Expert expert) const {
    if (n > shape_.most_tokens) throw std::invalid_argument("shoal::ops: more tokens than the layer was made for");
    std::uint64_t* words = words_.get();
    const detail::ExpertArguments<T> arguments{shape_, tokens, experts, weights, out, n, counts_.get(), inbox_.get(), outbox_.get(),
                                               origins_.get(), returned_.get(), words, words + shape_.experts_each, slots_.get(),
                                               words + shape_.experts_each + 1};
    shoal::launch(detail::run_experts<T, Expert>, cores_, stream, team_, arguments, expert);
  }

 private:
  std::size_t members() const noexcept { return static_cast<std::size_t>(team_.size); }

  device::TeamView team_;
  ExpertShape shape_;
  int cores_;
  detail::Workspace<std::int64_t> counts_;
  detail::Workspace<T> inbox_, outbox_;
  detail::Workspace<std::int64_t> origins_;
  detail::Workspace<T> returned_;
  detail::Workspace<std::uint64_t> words_;
  detail::Workspace<std::int64_t> slots_;
};

}  // namespace shoal::ops
