// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix products fused with the communication after or before them, tile by tile: matmul + all-reduce, matmul + reduce-scatter,
/// all-gather + matmul. Each is an object that owns its workspace: made and destroyed by all PEs of the job together, run by a launch.
/// The constructors throw std::invalid_argument for tiles without rows or columns, and for cores that the device doesn't have.
///
/// Engine::automatic reads peers' tiles in place where their memory is mapped, which is best where the cores do the moving anyway;
/// Engine::xdma has the copy engine move them beside the computation.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "../detail/owner.hpp"
#include "../device/device.hpp"
#include "multiply.hpp"

namespace shoal::ops {

/// What a core works on at a time.
struct TileShape {
  std::size_t rows = 128, columns = 128;
};

namespace detail {

/// A tile of the result and where it lies.
struct Tile {
  std::size_t row = 0, column = 0, rows = 0, columns = 0;
  bool empty() const noexcept { return rows == 0; }
};

/// Who puts which tile together, and when: in each round every member has one tile of its own, or none.
struct Plan {
  std::size_t rows = 0, columns = 0;
  TileShape shape;
  int members = 1;
  bool scatter = false;  ///< member m owns the m-th part of the rows; else tiles are dealt out

  std::size_t across() const noexcept { return (columns + shape.columns - 1) / shape.columns; }
  std::size_t rows_of_part() const noexcept { return scatter ? rows / static_cast<std::size_t>(members) : rows; }
  std::size_t tiles_of_part() const noexcept { return (rows_of_part() + shape.rows - 1) / shape.rows * across(); }
  std::size_t rounds() const noexcept {
    const auto n = static_cast<std::size_t>(members);
    return scatter ? tiles_of_part() : (tiles_of_part() + n - 1) / n;
  }
  Tile tile(int member, std::size_t round) const noexcept {
    const auto m = static_cast<std::size_t>(member);
    const std::size_t index = scatter ? round : round * static_cast<std::size_t>(members) + m;
    if (index >= tiles_of_part()) return {};
    const std::size_t row = index / across() * shape.rows, column = index % across() * shape.columns;
    return {row + (scatter ? m * rows_of_part() : 0), column, std::min(shape.rows, rows_of_part() - row), std::min(shape.columns, columns - column)};
  }
  std::size_t tile_elements() const noexcept { return shape.rows * shape.columns; }
  std::size_t slot(int member, std::size_t round) const noexcept { return round * static_cast<std::size_t>(members) + static_cast<std::size_t>(member); }
};

template <class T>
struct ReduceArguments {
  Plan plan;
  Matrix<T> c;
  Matrix<const T> a, b;
  T* parts;              ///< symmetric, a slot for each round and member: read in place, this PE's part of the members' tiles, packed;
                         ///< moved by an engine, the members' parts of this PE's tiles
  T* staging;            ///< local: what an engine is moving; kStaged tiles for each core
  std::uint64_t* ready;  ///< symmetric: how many peers have their part of this member's tile of a round; then one more (moved_word)
  std::uint64_t generation;
  bool by_engine;
};

/// Tiles of one core that may be on their way to their members while it computes the next.
inline constexpr std::size_t kStaged = 8;

/// One core's walk through the rounds. It waits for no other member before its last product: what is ready is put together between two products.
template <class T>
class PartialProducts {
 public:
  PartialProducts(const device::Core& core, const device::TeamView& team, const ReduceArguments<T>& arguments)
      : core_(core), team_(team), x_(arguments), by_engine_(arguments.by_engine), next_(static_cast<std::size_t>(core.id())) {
    // What cannot be read in place must be moved.
    for (int member = 0; member < team.size; ++member) by_engine_ = by_engine_ || engine_to(member) == device::Engine::rdma;
  }

  void run() {
    if (core_.id() == 0) core_.set(moved_word(), static_cast<std::uint64_t>(by_engine_), core_.my_pe());
    core_.barrier(team_);  // everyone's c and workspace may be written
    if (core_.id() == 0 && core_.fetch(moved_word(), team_.world[(team_.rank + 1) % team_.size]) != static_cast<std::uint64_t>(by_engine_))
      device::prim::fail(core_.handle(), "matmul", "engine", device::Fault::text, nullptr, 0, -1,
                         "another member launches with another engine: all members of the team must give the same");
    for (auto round = static_cast<std::size_t>(core_.id()); round < x_.plan.rounds(); round += static_cast<std::size_t>(core_.count())) {
      for (int k = 1; k <= team_.size; ++k) {  // the others' first: they are on their way while this PE computes its own
        compute(round, (team_.rank + k) % team_.size);
        while (next_ < round && is_ready(next_)) combine_next();
      }
    }
    while (next_ < x_.plan.rounds()) combine_next();
    core_.barrier(team_);
  }

 private:
  device::Engine engine_to(int member) const noexcept {
    return device::prim::sync_words(core_.handle(), team_.world[member]) == nullptr ? device::Engine::rdma : device::Engine::xdma;
  }
  /// Says whether this PE has an engine move the parts.
  std::uint64_t* moved_word() const noexcept { return x_.ready + x_.plan.rounds(); }
  T* part(int member, std::size_t round) const noexcept { return x_.parts + x_.plan.slot(member, round) * x_.plan.tile_elements(); }

  /// This PE's part of a member's tile.
  void compute(std::size_t round, int member) {
    const Tile tile = x_.plan.tile(member, round);
    if (tile.empty()) return;
    if (!by_engine_ || member == team_.rank) {
      product(tile, part(member, round));
      if (member == team_.rank) return;
      // The part alone, which this core stored itself: Core::fence would wait for the tiles that are under way, too.
      device::prim::full_fence(core_.handle());
      core_.signal(x_.ready + round, 1, device::SignalOp::add, team_.world[member]);
      return;
    }
    const std::size_t slot = staged_++ % kStaged;
    T* const here = x_.staging + (static_cast<std::size_t>(core_.id()) * kStaged + slot) * x_.plan.tile_elements();
    core_.wait(sent_[slot]);
    product(tile, here);
    core_.put_signal_nbi(part(team_.rank, round), here, tile.rows * tile.columns, x_.ready + round, 1, device::SignalOp::add,
                         team_.world[member], engine_to(member), &sent_[slot]);
  }
  void product(const Tile& tile, T* to) {
    multiply(core_, Matrix<T>{to, tile.rows, tile.columns, tile.columns}, x_.a.block(tile.row, 0, tile.rows, x_.a.columns),
             x_.b.block(0, tile.column, x_.b.rows, tile.columns));
  }

  std::uint64_t all_parts() const noexcept { return x_.generation * static_cast<std::uint64_t>(team_.size - 1); }
  bool is_ready(std::size_t round) const noexcept {
    return x_.plan.tile(team_.rank, round).empty() || core_.test(x_.ready + round, device::Cmp::ge, all_parts());
  }
  /// Adds up the members' parts of this member's tile of the next round and hands the result out.
  void combine_next() {
    using A = device::Accumulator<T>;
    const std::size_t round = std::exchange(next_, next_ + static_cast<std::size_t>(core_.count()));
    const Tile tile = x_.plan.tile(team_.rank, round);
    if (tile.empty()) return;
    core_.wait_until(x_.ready + round, device::Cmp::ge, all_parts());
    // c is this member's part alone, or everyone's whole.
    const std::size_t row = x_.plan.scatter ? tile.row - static_cast<std::size_t>(team_.rank) * x_.plan.rows_of_part() : tile.row;
    const Matrix<T> result = x_.c.block(row, tile.column, tile.rows, tile.columns);
    // Parts are packed, so the sum goes over strips of many rows.
    const std::size_t all = tile.rows * tile.columns, strip = std::min<std::size_t>(all, 2048), mark = core_.scratch_mark();
    auto* sum = core_.scratch<typename A::type>(strip);
    for (std::size_t begin = 0; begin < all; begin += strip) {
      const std::size_t count = std::min(strip, all - begin);
      for (int member = 0; member < team_.size; ++member) {
        const T* from = part_of(member, round) + begin;
        if (member == 0)
          for (std::size_t j = 0; j < count; ++j) sum[j] = A::widen(from[j]);
        else
          for (std::size_t j = 0; j < count; ++j) sum[j] += A::widen(from[j]);
      }
      for (std::size_t j = 0; j < count;) {
        const std::size_t column = (begin + j) % tile.columns, n = std::min(count - j, tile.columns - column);
        T* to = result.row((begin + j) / tile.columns) + column;
        for (const std::size_t end = j + n; j < end; ++j) *to++ = A::narrow(sum[j]);
      }
    }
    core_.release_scratch(mark);
    if (!x_.plan.scatter) hand_out(result);
  }
  const T* part_of(int member, std::size_t round) {
    if (member == team_.rank || by_engine_) return part(member, round);
    const T* own = part(team_.rank, round);
    return reinterpret_cast<const T*>(device::prim::reach(core_.handle(), own, x_.plan.tile_elements() * sizeof(T), team_.world[member], "matmul", "part"));
  }
  void hand_out(const Matrix<T>& result) {
    const auto stride = static_cast<std::ptrdiff_t>(result.stride);
    for (int k = 1; k < team_.size; ++k) {
      const int member = (team_.rank + k) % team_.size;
      if (by_engine_)
        core_.put_2d_nbi(result.data, result.data, stride, stride, result.columns, result.rows, team_.world[member], engine_to(member));
      else
        core_.put_2d(result.data, result.data, stride, stride, result.columns, result.rows, team_.world[member]);
    }
  }

  device::Core core_;
  device::TeamView team_;
  const ReduceArguments<T>& x_;
  bool by_engine_;
  std::size_t next_;        ///< the round that is put together next
  std::size_t staged_ = 0;  ///< tiles so far
  device::TransferEvent sent_[kStaged];
};

template <class T>
SHOAL_KERNEL void matmul_reduce(device::DeviceView view, device::TeamView team, ReduceArguments<T> arguments) {
  PartialProducts<T>(device::Core(view), team, arguments).run();
}

/// Symmetric device memory with an end; null for no elements.
template <class T>
class Workspace : private shoal::detail::CollectiveOwner {
 public:
  Workspace(const Device& on, std::size_t n) : device_(on), data_(n == 0 ? nullptr : on.allocate<T>(n)) {
    if (data_ == nullptr && n != 0) throw std::bad_alloc();
  }
  ~Workspace() {
    if (data_ != nullptr && may_release() && device_.is_current()) device_.free(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  T* get() const noexcept { return data_; }

 private:
  Device device_;
  T* data_;
};

inline int checked_cores(const Device& device, int cores) {
  if (cores < 1 || cores > device.cores()) throw std::invalid_argument("shoal::ops: the device doesn't have that many cores, or none are asked for");
  return cores;
}

/// What matmul + all-reduce and matmul + reduce-scatter have in common.
template <class T>
class MatmulReduce {
 public:
  MatmulReduce(const Device& device, const device::TeamView& team, const Plan& plan, int cores)
      : team_(team), plan_(checked(plan)), cores_(checked_cores(device, cores)), parts_(device, plan.rounds() * static_cast<std::size_t>(team.size) * plan.tile_elements()),
        staging_(device, static_cast<std::size_t>(cores) * kStaged * plan.tile_elements()),
        ready_(device, plan.rounds() + 1) {
    std::fill_n(ready_.get(), plan.rounds() + 1, std::uint64_t{0});
    shmem_barrier_all();
  }
  void launch(const Stream& stream, const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b, device::Engine engine) {
    const std::size_t c_rows = plan_.scatter ? plan_.rows_of_part() : plan_.rows;
    if (a.rows != plan_.rows || b.columns != plan_.columns || a.columns != b.rows || c.rows != c_rows || c.columns != plan_.columns)
      throw std::invalid_argument("shoal::ops: the matrices don't have the sizes that the operator was made for");
    shoal::launch(matmul_reduce<T>, cores_, stream, team_,
                  ReduceArguments<T>{plan_, c, a, b, parts_.get(), staging_.get(), ready_.get(), ++generation_, engine == device::Engine::xdma});
  }

 private:
  static const Plan& checked(const Plan& plan) {
    if (plan.shape.rows == 0 || plan.shape.columns == 0) throw std::invalid_argument("shoal::ops: a tile has at least one row and column");
    return plan;
  }

  device::TeamView team_;
  Plan plan_;
  int cores_;
  Workspace<T> parts_, staging_;
  Workspace<std::uint64_t> ready_;
  std::uint64_t generation_ = 0;
};

}  // namespace detail

/// c on all members = the sum over the members of a * b: each has a part of the inner dimension. a is rows x k, b is k x columns, any
/// memory; c is rows x columns, symmetric. All members launch, with the same engine.
template <class T>
class MatmulAllReduce {
 public:
  MatmulAllReduce(const Device& device, const device::TeamView& team, std::size_t rows, std::size_t columns, int cores, TileShape shape = {})
      : reduce_(device, team, {rows, columns, shape, team.size, false}, cores) {}
  /// Throws std::invalid_argument for matrices of other sizes. c is complete when the kernel is.
  void launch(const Stream& stream, const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
              device::Engine engine = device::Engine::automatic) {
    reduce_.launch(stream, c, a, b, engine);
  }

 private:
  detail::MatmulReduce<T> reduce_;
};

/// c on member m = the m-th part of the rows of that sum: rows / members x columns, any memory. All
/// members launch, with the same engine.
template <class T>
class MatmulReduceScatter {
 public:
  /// Throws std::invalid_argument unless the rows can be shared out evenly.
  MatmulReduceScatter(const Device& device, const device::TeamView& team, std::size_t rows, std::size_t columns, int cores, TileShape shape = {})
      : reduce_(device, team, {even(rows, team), columns, shape, team.size, true}, cores) {}
  void launch(const Stream& stream, const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
              device::Engine engine = device::Engine::automatic) {
    reduce_.launch(stream, c, a, b, engine);
  }

 private:
  static std::size_t even(std::size_t rows, const device::TeamView& team) {
    if (rows % static_cast<std::size_t>(team.size) != 0)
      throw std::invalid_argument("shoal::ops: the rows can't be shared out evenly over the members");
    return rows;
  }
  detail::MatmulReduce<T> reduce_;
};

namespace detail {

template <class T>
struct GatherArguments {
  Matrix<T> c;
  Matrix<const T> a, b;
  T* gathered;
  std::size_t tile_rows;
  bool by_engine;
};

template <class T>
SHOAL_KERNEL void gather_matmul(device::DeviceView view, device::TeamView team, GatherArguments<T> x) {
  const device::Core core(view);
  core.barrier(team);  // everyone's a is there
  const auto engine_to = [&](int member) {
    return device::prim::sync_words(core.handle(), team.world[member]) == nullptr ? device::Engine::rdma : device::Engine::xdma;
  };
  for (int member = 0; member < team.size; ++member) x.by_engine = x.by_engine || engine_to(member) == device::Engine::rdma;
  const std::size_t part = x.a.rows, width = x.a.columns, per_part = (part + x.tile_rows - 1) / x.tile_rows;
  const auto step = static_cast<std::size_t>(core.count()), first = static_cast<std::size_t>(core.id());
  const std::size_t all = per_part * static_cast<std::size_t>(team.size);
  // Tile `index` in the order of this PE: its own rows first, then those of the members after it.
  const auto member_of = [&](std::size_t index) { return static_cast<int>((static_cast<std::size_t>(team.rank) + index / per_part) % static_cast<std::size_t>(team.size)); };
  const auto rows_at = [&](std::size_t index) { return std::min(x.tile_rows, part - index % per_part * x.tile_rows); };
  const auto place = [&](std::size_t index) { return (static_cast<std::size_t>(member_of(index)) * part + index % per_part * x.tile_rows) * width; };
  constexpr std::size_t kAhead = 16;  // tiles that are under way, from the start on: while the core computes its own rows, too
  device::TransferEvent arrived[kAhead];
  std::size_t asked = first;  // the tile that is fetched next
  while (asked < per_part) asked += step;
  const auto fetch_until = [&](std::size_t end) {
    for (; x.by_engine && asked < std::min(end, all); asked += step)
      core.get_nbi(x.gathered + place(asked), const_cast<T*>(x.a.data) + asked % per_part * x.tile_rows * width, rows_at(asked) * width,
                   team.world[member_of(asked)], engine_to(member_of(asked)), &arrived[asked / step % kAhead]);
  };
  for (std::size_t index = first; index < all; index += step) {
    fetch_until(std::max(index, per_part) + kAhead * step);
    const int member = member_of(index);
    const T* rows = x.a.data + index % per_part * x.tile_rows * width;
    if (member != team.rank && x.by_engine) {
      core.wait(arrived[index / step % kAhead]);
      rows = x.gathered + place(index);
    } else if (member != team.rank) {
      rows = reinterpret_cast<const T*>(device::prim::reach(core.handle(), rows, rows_at(index) * width * sizeof(T), team.world[member], "matmul", "a"));
    }
    const Matrix<T> c = x.c.block(static_cast<std::size_t>(member) * part + index % per_part * x.tile_rows, 0, rows_at(index), x.c.columns);
    // Columns in pieces: what a core holds of c in its scratch is limited.
    for (std::size_t column = 0; column < c.columns; column += 128) {
      const std::size_t n = std::is_same_v<typename device::Accumulator<T>::type, T> ? c.columns : std::min<std::size_t>(128, c.columns - column);
      multiply(core, c.block(0, column, c.rows, n), Matrix<const T>{rows, rows_at(index), width, width}, x.b.block(0, column, x.b.rows, n));
      if (n == c.columns) break;
    }
  }
  core.barrier(team);  // nobody reads a any more
}

}  // namespace detail

/// c = the members' a, one above the other, times b: each has a part of the rows. a is rows / members x k, symmetric, with nothing
/// between its rows; b is k x columns and c is rows x columns, any memory.
template <class T>
class AllGatherMatmul {
 public:
  AllGatherMatmul(const Device& device, const device::TeamView& team, std::size_t rows_of_part, std::size_t inner, int cores, std::size_t tile_rows = 64)
      : team_(team), rows_(rows_of_part), inner_(inner), cores_(detail::checked_cores(device, cores)), tile_rows_(checked(tile_rows)),
        gathered_(device, static_cast<std::size_t>(team.size) * rows_of_part * inner) {}
  void launch(const Stream& stream, const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
              device::Engine engine = device::Engine::automatic) const {
    if (a.rows != rows_ || a.columns != inner_ || a.stride != inner_ || b.rows != inner_ || c.columns != b.columns ||
        c.rows != rows_ * static_cast<std::size_t>(team_.size))
      throw std::invalid_argument("shoal::ops: the matrices don't have the sizes that the operator was made for");
    shoal::launch(detail::gather_matmul<T>, cores_, stream, team_,
                  detail::GatherArguments<T>{c, a, b, gathered_.get(), tile_rows_, engine == device::Engine::xdma});
  }

 private:
  static std::size_t checked(std::size_t tile_rows) {
    if (tile_rows == 0) throw std::invalid_argument("shoal::ops: a tile has at least one row");
    return tile_rows;
  }

  device::TeamView team_;
  std::size_t rows_, inner_;
  int cores_;
  std::size_t tile_rows_;
  detail::Workspace<T> gathered_;
};

}  // namespace shoal::ops
