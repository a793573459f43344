// SPDX-License-Identifier: Apache-2.0
#include "job/job.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "job/greeting.hpp"
#include "job/node_memory.hpp"
#include "job/static_segment.hpp"

namespace shoal {
namespace {

constexpr std::size_t kHeapAlignment = kLeastHeapBytes;
constexpr int kSpins = 4000;             // some 50 microseconds: longer than any wait for a PE that is running
constexpr int kOversubscribedSpins = 20; // the one waited for may need this very core

LogLevel log_level(const Options& options) {
  if (options.debug) return LogLevel::debug;
  static constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
  for (int i = 0; i < 4; ++i)
    if (options.log == kNames[i]) return static_cast<LogLevel>(i);
  throw Error(Code::invalid_option, strf("SHOAL_LOG=\"%s\" is not valid: expected error, warning, info or debug", options.log.c_str()));
}

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Warns where the heaps cannot all be filled: they are committed page by page, so an excess shows late, as an OOM kill.
void warn_of_limits(const Log& log, std::size_t bytes, int n_pes, std::uint64_t limit) {
  if (limit != 0 && static_cast<std::uint64_t>(n_pes) > limit / bytes)
    log.warning("%d heaps of %zu MiB exceed the %llu MiB that this control group may use: if they are all filled, a PE will be killed. "
                "Lower SHMEM_SYMMETRIC_SIZE", n_pes, bytes >> 20, static_cast<unsigned long long>(limit >> 20));
}

}  // namespace

std::unique_ptr<Job> Job::start(JobSetup setup) {
  const bool static_data = setup.static_data && setup.options.static_data;
  std::unique_ptr<Job> job(new Job(std::move(setup)));
  job->build_communication(job->share_memory(static_data));
  job->bootstrap_->barrier();  // everyone's words are in place before anyone uses them
  job->bootstrap_->watch();
  return job;
}

Job::Job(JobSetup setup)
    : options_(std::move(setup.options)), bootstrap_(setup.bootstrap),
      log_(log_level(options_), bootstrap_->rank()), status_(setup.status) {
  domain_.me = bootstrap_->rank();
  domain_.n_pes = bootstrap_->size();
}

int Job::share_memory(bool static_data) {
  const bool threads = bootstrap_->same_process();
  const auto n = static_cast<std::size_t>(domain_.n_pes);
  const std::size_t heap_bytes = round_up(options_.symmetric_size, kHeapAlignment);
  const std::size_t stride = round_up(ControlLayout(domain_.n_pes).bytes + heap_bytes, kHugePageBytes);
  if (stride < heap_bytes || stride > (std::size_t{1} << 46) / n)
    throw Error(Code::out_of_memory, strf("%zu heaps of %zu bytes (SHMEM_SYMMETRIC_SIZE) exceed the address space", n, heap_bytes));

  StaticPlan plan = static_data ? StaticPlan::of_this_program() : StaticPlan::none();
  std::vector<std::pair<const char*, std::size_t>> files{{"shoal-heap", stride * n}};
  if (plan.bytes() != 0) files.emplace_back("shoal-static", plan.bytes() * n);

  SegmentOffer offer;
  if (domain_.me == 0) offer = SegmentOffer::make(files, threads);
  const std::string choices = strf("SHOAL_BARRIER=%s, SHOAL_REDUCE=%s, SHOAL_KERNELS=%s, SHOAL_COUNTER_START=%lld", options_.barrier.c_str(),
                                   options_.reduce.c_str(), options_.kernels.c_str(), static_cast<long long>(options_.counter_start));
  const Greetings greetings = greet(*bootstrap_, {heap_bytes, choices, offer.name()}, plan);
  if (domain_.me != 0) {
    std::vector<std::size_t> sizes{stride * n};
    if (greetings.static_bytes != 0) sizes.push_back(greetings.static_bytes * n);
    offer = SegmentOffer::take(greetings.offer, sizes, threads);
  }
  map_heap(offer.mapping(0), stride);
  heap_mapping_ = offer.take_mapping(0);
  bootstrap_->barrier();  // all have taken the leader's files
  offer.close();
  if (greetings.static_bytes != 0) {
    static_data_ = std::make_unique<StaticSegment>(plan, offer.take_mapping(1), offer.fd(1), greetings.static_members, domain_.me);
    for (auto& segment : static_data_->segments()) segments_.add(std::move(segment));
  }
  if (domain_.me == 0) warn_of_limits(log_, heap_bytes, domain_.n_pes, greetings.memory_limit);
  return greetings.processors;
}

void Job::map_heap(const Mapping& mapping, std::size_t stride) {
  char* first = reinterpret_cast<char*>(mapping.data());
  const std::size_t control_bytes = ControlLayout(domain_.n_pes).bytes;
  const std::size_t heap_bytes = round_up(options_.symmetric_size, kHeapAlignment);
  auto segment = std::make_unique<Segment>();
  segment->name = "heap";
  for (int pe = 0; pe < domain_.n_pes; ++pe) {
    char* part = first + static_cast<std::size_t>(pe) * stride;
    domain_.controls.emplace_back(part, domain_.n_pes);
    segment->peers.push_back(part + control_bytes);
  }
  char* own = segment->peers[static_cast<std::size_t>(domain_.me)];
  segment->base = reinterpret_cast<std::uintptr_t>(own);
  segment->bytes = heap_bytes;
  heap_segment_ = segment.get();
  segments_.add(std::move(segment));
  heap_ = std::make_unique<SymmetricHeap>(own, heap_bytes, kHeapAlignment);
  if (mapping.owned()) {
    if (options_.huge_pages) mapping.advise_huge_pages();
    const std::size_t before = static_cast<std::size_t>(domain_.me) * stride, after = before + stride;
    mapping.exclude_from_core_dump(0, before);
    mapping.exclude_from_core_dump(after, mapping.size() - after);
  }
}

void Job::check(const Options& options) {
  log_level(options);
  if (options.spin < -1)
    throw Error(Code::invalid_option, strf("SHOAL_SPIN=\"%lld\" is not valid: expected -1 or a number of polls", static_cast<long long>(options.spin)));
  choose_barrier(options.barrier.c_str(), false);
  tune_collectives(options.reduce, options.kernels);
}

void Job::build_communication(int processors) {
  const bool oversubscribed = domain_.n_pes > processors;
  const int spins = options_.spin >= 0 ? static_cast<int>(std::min<std::int64_t>(options_.spin, 1'000'000'000))
                    : oversubscribed   ? kOversubscribedSpins
                                       : kSpins;
  domain_.segments = &segments_;
  domain_.fatal = this;
  const auto counter_start = static_cast<std::uint64_t>(options_.counter_start);
  Control& own = domain_.controls[static_cast<std::size_t>(domain_.me)];
  own.doorbell().word.store(static_cast<std::uint32_t>(counter_start), std::memory_order_relaxed);
  waiter_ = std::make_unique<Waiter>(own.doorbell(), domain_.controls[0].node(),
                                     status_ == nullptr ? nullptr : status_->record(domain_.me), spins);
  domain_.waiter = waiter_.get();
  world_ = std::make_unique<Context>(domain_, *heap_segment_,
                                     Context::Members{domain_.n_pes, nullptr, heap_segment_->peers.data()});
  pair_sync_ = std::make_unique<PairSync>(domain_, counter_start);

  team_space_.world = world_.get();
  team_space_.heap = heap_segment_;
  team_space_.barrier = &choose_barrier(options_.barrier.c_str(), oversubscribed);
  team_space_.counter_start = counter_start;
  coll_tuning_ = tune_collectives(options_.reduce, options_.kernels);
  std::vector<int> all(static_cast<std::size_t>(domain_.n_pes));
  for (int pe = 0; pe < domain_.n_pes; ++pe) all[static_cast<std::size_t>(pe)] = pe;
  team_space_.slots.take(0);
  team_space_.slots.take(1);
  team_space_.slots.take(2);
  world_team_ = std::make_unique<Team>(team_space_, all, 0, 0);
  shared_team_ = std::make_unique<Team>(team_space_, all, 1, 0);
  leaving_team_ = std::make_unique<Team>(team_space_, all, 2, 0);
  log_.debug("%d PEs on %d processors: barrier %s, %s kernels, %d polls before yielding; symmetric: %s", domain_.n_pes, processors,
             team_space_.barrier->name, coll_tuning_.kernels->name, spins, segments_.describe().c_str());
}

std::uintptr_t Job::create_heap(Team& team, std::size_t bytes, std::size_t alignment, const char* call) {
  auto heap = TeamHeap::create(team, segments_, bytes, alignment, bootstrap_->same_process(), call);
  return heap == nullptr ? 0 : heaps_.insert(std::move(heap));
}

void Job::stop() {
  world_->quiet();
  leaving_team_->sync("shmem_finalize");
  bootstrap_->leave();
}

Job::~Job() = default;

void Job::global_exit(int status) const noexcept {
  bootstrap_->abort(status, "");
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

void Job::fatal(const char* call, const std::string& what) const noexcept {
  bootstrap_->abort(1, strf("shoal: PE %d: %s: %s", domain_.me, call, what.c_str()));
  __builtin_unreachable();
}

}  // namespace shoal
