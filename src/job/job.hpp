// SPDX-License-Identifier: Apache-2.0
// Job: the composition root. Builds the layers in order and takes them down in reverse; the rest of it is accessors.
// Several jobs may live in one process (unit tests run PEs as threads); nothing below `api/` is global.
#pragma once
#include <shmem/constants.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/handle_table.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/status_mapping.hpp"
#include "coll/collectives.hpp"
#include "comm/context.hpp"
#include "comm/memory_target.hpp"
#include "comm/pair_sync.hpp"
#include "job/device_space.hpp"
#include "job/heaps.hpp"
#include "job/observers.hpp"
#include "memory/memory_file.hpp"
#include "observe/crash_line.hpp"
#include "team/symmetric_heap.hpp"
#include "team/team.hpp"

namespace shoal {

struct Greetings;
struct NodeMates;
class StaticSegment;
class StreamMaker;

/// A context that the user made, and on what.
struct UserContext {
  Context context;
  std::uintptr_t team;  ///< the handle of its team
};

/// What a job is started with. All PEs give the same options.
struct JobSetup {
  Bootstrap* bootstrap = nullptr;  ///< outlives the job
  Options options;
  StatusMapping* status = nullptr;           ///< where to publish what this PE does; may be null
  int thread_level = SHMEM_THREAD_MULTIPLE;  ///< as the program asked for
  int session = 1;                           ///< which of this process's jobs it is
  bool static_data = false;                  ///< move the program's variables, if it is linked against the library
};

// The handles of the specification's constants are below the tables' first: 0 invalid, 1 default or world, 2 shared.
using ContextTable = HandleTable<UserContext, 2, 16384>;
using TeamTable = HandleTable<Team, 3, 2 * kTeamSlots>;
using HeapTable = HandleTable<TeamHeap, 2, 2 * SegmentTable::kMost>;

class Job final : public Fatal {
 public:
  /// Joins the job. Collective. @throws Error, on every PE alike where the cause is common to all
  static std::unique_ptr<Job> start(JobSetup setup);
  /// Options that only a job can judge, before anyone waits for this PE. @throws Error{invalid_option}
  static void check(const Options& options);
  /// Leaves in order: completes everything, waits for all PEs. Collective, last call.
  /// @param call  what the status page shows meanwhile
  void stop(const char* call = "shmem_finalize");
  /// Without stop(), only this process's memory is given back.
  ~Job() override;

  int me() const noexcept { return domain_.me; }
  /// After stop: with which status the program is to end where it would with 0; 0: as it likes.
  int end_status() const noexcept { return observers_->end_status(); }
  int n_pes() const noexcept { return domain_.n_pes; }
  const Context& world() const noexcept { return *world_; }
  Team& world_team() const noexcept { return *world_team_; }
  Team& shared_team() const noexcept { return *shared_team_; }
  TeamSpace& team_space() noexcept { return team_space_; }
  SymmetricHeap& heap() const noexcept { return *heap_; }
  PairSync& pair_sync() const noexcept { return *pair_sync_; }
  const CollTuning& coll_tuning() const noexcept { return coll_tuning_; }
  const SegmentTable& segments() const noexcept { return segments_; }

  ContextTable& contexts() noexcept { return contexts_; }
  TeamTable& teams() noexcept { return teams_; }
  HeapTable& heaps() noexcept { return heaps_; }
  /// Makes a further heap for `team`; null (0) where that fails, on all members alike. Collective over the team.
  std::unique_ptr<TeamHeap> make_heap(Team& team, std::size_t bytes, std::size_t alignment, bool guarded,
                                      const char* call);
  std::uintptr_t create_heap(Team& team, std::size_t bytes, std::size_t alignment, const char* call);

  /// The device of this PE. Made by the first call, which is collective over all PEs. Thread safe.
  DeviceSpace& device(const char* call);
  /// Its number; 0 before it was made.
  std::uint64_t device_number() const noexcept { return device_number_.load(std::memory_order_acquire); }

  /// As JobObservers has it.
  void ends_early(int status) const noexcept;
  /// As JobObservers has it. Thread safe.
  void access(const void* address, std::size_t bytes, bool writes, std::uintptr_t site) noexcept;

  const Options& options() const noexcept { return options_; }
  const Log& log() const noexcept { return log_; }
  /// Ends the job everywhere with `status`, in order.
  [[noreturn]] void global_exit(int status) const noexcept;
  /// Where calls are checked, with the line of the program that the calling thread is in.
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept override;
  [[noreturn]] void fatal_at(const char* call, const std::string& what) const noexcept override;

 private:
  explicit Job(JobSetup setup);
  /// @return what the PEs told each other
  Greetings share_memory(bool static_data);
  void map_heap(const Mapping& mapping, std::size_t stride, const NodeMates& mates);
  void build_communication(const Greetings& greetings);
  void warn_of_plain_wire() const;
  void join_nodes();
  std::unique_ptr<StreamMaker> make_streams();
  std::unique_ptr<Transport> make_transport();

  Options options_;
  Bootstrap* const bootstrap_;
  Log log_;
  StatusMapping* status_;
  const int thread_level_, session_;

  // Declared, and so built, from the bottom up.
  Mapping heap_mapping_;
  std::unique_ptr<StaticSegment> static_data_;
  SegmentTable segments_;
  const Segment* heap_segment_ = nullptr;
  Domain domain_;
  std::unique_ptr<JobObservers> observers_;
  std::optional<CrashLine> crash_line_;
  Tally unwaited_;
  std::unique_ptr<MemoryTarget> target_;
  std::unique_ptr<Transport> transport_;  // to other nodes, if there are any
  std::unique_ptr<Waiter> waiter_;
  std::unique_ptr<Chaos> chaos_;
  std::unique_ptr<Context> world_;
  std::unique_ptr<PairSync> pair_sync_;
  TeamSpace team_space_;
  std::unique_ptr<Team> world_team_, shared_team_;
  std::unique_ptr<Team> leaving_team_;  // everyone, to meet in finalize: nobody's barrier may pass for that meeting
  std::unique_ptr<SymmetricHeap> heap_;
  CollTuning coll_tuning_{};
  int processors_ = 1;  // that the PEs of this node have together
  TeamTable teams_;
  HeapTable heaps_;
  ContextTable contexts_;
  std::once_flag device_made_;
  std::unique_ptr<DeviceSpace> device_;
  std::atomic<std::uint64_t> device_number_{0};
};

}  // namespace shoal
