// SPDX-License-Identifier: Apache-2.0
#include "job/job.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/tuning.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/find.hpp"
#include "job/greeting.hpp"
#include "job/node_memory.hpp"
#include "job/static_segment.hpp"
#include "observe/caller.hpp"
#include "transport/socket/socket_transport.hpp"
#include "transport/ucx/ucx.hpp"

namespace shoal {
namespace {

constexpr std::size_t kHeapAlignment = kLeastHeapBytes;

/// Options that PEs must not differ in: they would wait for each other for ever, or not find each other's memory.
constexpr const char* kAlike[] = {
    "SHMEM_SYMMETRIC_SIZE", "SHOAL_BARRIER",   "SHOAL_REDUCE", "SHOAL_KERNELS",   "SHOAL_CHECK",
    "SHOAL_RACE",           "SHOAL_PROFILE",   "SHOAL_TRACE",  "SHOAL_CHAOS",     "SHOAL_COUNTER_START",
    "SHOAL_DEVICE_HEAP",    "SHOAL_TRANSPORT", "SHOAL_TLS",    "SHOAL_FAKE_NODES"};

LogLevel log_level(const Options& options) {
  if (options.debug) return LogLevel::debug;
  static constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
  for (int i = 0; i < 4; ++i)
    if (options.log == kNames[i]) return static_cast<LogLevel>(i);
  throw Error(Code::invalid_option,
              strf("SHOAL_LOG=\"%s\" is not valid: expected error, warning, info or debug", options.log.c_str()));
}

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Warns where the heaps cannot all be filled: they are committed page by page, so an excess shows late, as an OOM
/// kill.
void warn_of_limits(const Log& log, std::size_t bytes, int n_pes, std::uint64_t limit) {
  if (limit != 0 && static_cast<std::uint64_t>(n_pes) > limit / bytes)
    log.warning(
        "%d heaps of %zu MiB exceed the %llu MiB that this control group may use: if they are all filled, a PE will be "
        "killed. Lower SHMEM_SYMMETRIC_SIZE",
        n_pes, bytes >> 20, static_cast<unsigned long long>(limit >> 20));
}

enum class Wire { tls, tcp, ucx };

/// How nodes are joined. @throws Error{invalid_option}
Wire wire_of(const Options& options) {
  if (options.transport == "auto") return options.tls ? Wire::tls : Wire::tcp;
  if (options.transport == "tcp") return Wire::tcp;
  if (options.transport == "ucx") return Wire::ucx;
  if (options.transport != "tls")
    throw Error(Code::invalid_option,
                strf("SHOAL_TRANSPORT=\"%s\" is not valid: expected auto, tls, tcp or ucx", options.transport.c_str()));
  if (!options.tls)
    throw Error(Code::invalid_option, "SHOAL_TRANSPORT=tls and SHOAL_TLS=0 contradict each other: unset one of them");
  return Wire::tls;
}

}  // namespace

std::unique_ptr<Job> Job::start(JobSetup setup) {
  const bool static_data = setup.static_data && setup.options.static_data;
  std::unique_ptr<Job> job(new Job(std::move(setup)));
  const Greetings greetings = job->share_memory(static_data);
  job->join_nodes();
  job->build_communication(greetings);
  job->bootstrap_->watch();
  job->bootstrap_->barrier();  // everyone's words are in place before anyone uses them; what failed, failed before
  job->observers_->met();
  return job;
}

Job::Job(JobSetup setup)
    : options_(std::move(setup.options)),
      bootstrap_(setup.bootstrap),
      log_(log_level(options_), bootstrap_->rank()),
      status_(setup.status),
      thread_level_(setup.thread_level),
      session_(setup.session) {
  domain_.me = bootstrap_->rank();
  domain_.n_pes = bootstrap_->size();
  domain_.segments = &segments_;
  domain_.fatal = this;
}

Greetings Job::share_memory(bool static_data) {
  const auto n = static_cast<std::size_t>(domain_.n_pes);
  const std::size_t heap_bytes = round_up(options_.symmetric_size, kHeapAlignment);
  const std::size_t room = SymmetricHeap::room(heap_bytes, options_.check);
  const std::size_t stride = round_up(ControlLayout(domain_.n_pes).bytes + room, kHugePageBytes);
  if (room < heap_bytes || stride < room || stride > (std::size_t{1} << 46) / n)
    throw Error(Code::out_of_memory,
                strf("%zu heaps of %zu bytes (SHMEM_SYMMETRIC_SIZE) exceed the address space", n, heap_bytes));

  StaticPlan plan = static_data ? StaticPlan::of_this_program() : StaticPlan::none();
  Greetings greetings = greet(*bootstrap_, session_, options_, kAlike, plan);

  std::vector<NodeFile> wanted{{"shoal-heap", stride}};
  if (greetings.static_bytes != 0) wanted.push_back({"shoal-static", greetings.static_bytes});
  const bool shows_itself = !bootstrap_->launched() && !bootstrap_->same_process() && n > 1;
  if (shows_itself) wanted.push_back({kStatusFileName, StatusMapping::bytes_of(domain_.n_pes), false});
  SegmentOffer files = SegmentOffer::share(*bootstrap_, wanted, greetings.node_of, log_);
  if (shows_itself && status_ != nullptr) {
    status_->move_to(files.fd(wanted.size() - 1));
    StatusWriter(status_->record(domain_.me)).set(Phase::starting, "shmem_init", "");
  }
  domain_.node_of = greetings.node_of;
  const NodeMates mates = NodeMates::of(domain_.me, domain_.node_of);
  map_heap(files.mapping(0), stride, mates);
  heap_mapping_ = files.take_mapping(0);
  if (greetings.static_bytes != 0) {
    static_data_ =
        std::make_unique<StaticSegment>(plan, files.take_mapping(1), files.fd(1), greetings.static_members, mates);
    for (auto& segment : static_data_->segments()) segments_.add(std::move(segment));
  }
  if (mates.leads()) warn_of_limits(log_, heap_bytes, static_cast<int>(mates.pes.size()), greetings.memory_limit);
  return greetings;
}

std::unique_ptr<StreamMaker> Job::make_streams() {
  if (wire_of(options_) == Wire::tcp) return make_tcp();
  Credentials credentials = data_credentials(options_, *bootstrap_);
  if (!credentials.any() &&
      bootstrap_->same_process()) {  // threads of one process need not hide their secret from each other
    const Gathered all = bootstrap_->allgather(Secret::fresh().bytes());
    credentials.secret = Secret::from_bytes(std::span<const std::byte, Secret::kBytes>(all[0].data(), Secret::kBytes));
  }
  if (!credentials.any())
    throw Error(Code::security,
                "PEs on several machines need something to recognise each other by: a file with a secret of 32 bytes "
                "or more on each (SHOAL_JOB_SECRET_FILE), or certificates (SHOAL_TLS_CA, SHOAL_TLS_CERT, "
                "SHOAL_TLS_KEY); or, on a network that you trust, SHOAL_TLS=0");
  return make_tls(credentials.context(TlsPurpose::data));
}

std::unique_ptr<Transport> Job::make_transport() {
  const int silence_s = static_cast<int>(options_.silence);
  if (wire_of(options_) == Wire::ucx)
    return make_ucx(domain_.me, domain_.n_pes,
                    {options_.interface, silence_s, static_cast<std::size_t>(options_.ucx_gather), true}, *target_);
  const SocketSettings settings{options_.interface, find_congestion(options_.congestion), silence_s};
  return std::make_unique<SocketTransport>(domain_.me, domain_.n_pes, settings, make_streams(), *target_);
}

/// Once a job: a launcher of several nodes that itself talks in the clear has said so.
void Job::warn_of_plain_wire() const {
  const bool said =
      bootstrap_->launched() && bootstrap_->secret() == nullptr && !options_.tls && options_.tls_ca.empty();
  if (wire_of(options_) == Wire::tls || domain_.me != 0 || said) return;
  log_.warning("what travels between the nodes is neither encrypted nor authenticated (%s)",
               options_.tls ? ("SHOAL_TRANSPORT=" + options_.transport).c_str() : "SHOAL_TLS=0");
}

void Job::join_nodes() {
  const bool one_node = std::all_of(domain_.node_of.begin(), domain_.node_of.end(), [](int node) { return node == 0; });
  if (one_node) return;
  warn_of_plain_wire();
  target_ = std::make_unique<MemoryTarget>(domain_, ControlLayout(domain_.n_pes).bytes, log_, options_.security_log);
  transport_ = make_transport();
  // What follows a newline is as that of the machine's other PEs, and travels once for all of them.
  const std::string address = transport_->address();
  const std::string_view own = std::string_view(address).substr(0, address.find('\n'));
  const Gathered owns = bootstrap_->allgather(std::as_bytes(std::span(own)));
  const Gathered machines = bootstrap_->allgather(std::as_bytes(std::span(address)).subspan(own.size()));
  std::vector<std::string> addresses;
  for (std::size_t pe = 0; pe < owns.size(); ++pe)
    addresses.push_back(std::string(owns.text(pe)).append(machines.text(pe)));
  domain_.transport = transport_.get();
  domain_.unwaited = &unwaited_;
  transport_->start(std::move(addresses));
}

void Job::map_heap(const Mapping& mapping, std::size_t stride, const NodeMates& mates) {
  char* first = reinterpret_cast<char*>(mapping.data());
  const std::size_t control_bytes = ControlLayout(domain_.n_pes).bytes;
  const std::size_t heap_bytes = round_up(options_.symmetric_size, kHeapAlignment);
  auto segment = std::make_unique<Segment>();
  segment->name = "heap";
  segment->key = kHeapKey;
  segment->members.assign(static_cast<std::size_t>(domain_.n_pes), true);
  segment->peers.assign(static_cast<std::size_t>(domain_.n_pes), nullptr);
  domain_.controls.resize(static_cast<std::size_t>(domain_.n_pes));
  for (std::size_t place = 0; place < mates.pes.size(); ++place) {
    const auto pe = static_cast<std::size_t>(mates.pes[place]);
    char* part = first + place * stride;
    domain_.controls[pe] = Control(part, domain_.n_pes);
    segment->peers[pe] = part + control_bytes;
  }
  domain_.node = &domain_.controls[static_cast<std::size_t>(mates.pes[0])].node();
  char* own = segment->peers[static_cast<std::size_t>(domain_.me)];
  segment->base = reinterpret_cast<std::uintptr_t>(own);
  segment->bytes = SymmetricHeap::room(heap_bytes, options_.check);
  static_assert(HeapGuard::kBytes <= ControlLayout::kBeforeHeap);
  heap_ = std::make_unique<SymmetricHeap>(own, heap_bytes, kHeapAlignment,
                                          status_ == nullptr ? nullptr : &status_->record(domain_.me)->counters,
                                          options_.check ? &segments_ : nullptr);
  segment->blocks = heap_->guard();
  heap_segment_ = segment.get();
  segments_.add(std::move(segment));
  if (mapping.owned()) {
    if (options_.huge_pages) mapping.advise_huge_pages();
    const std::size_t before = mates.me * stride, after = before + stride;
    mapping.exclude_from_core_dump(0, before);
    mapping.exclude_from_core_dump(after, mapping.size() - after);
  }
}

void Job::check(const Options& options) {
  log_level(options);
  check_range("SHOAL_SPIN", options.spin, -1, 1'000'000'000);
  check_range("SHOAL_CHAOS", options.chaos, 0, INT64_MAX);
  check_range("SHOAL_SILENCE", options.silence, 1, 3600);
  check_range("SHOAL_UCX_GATHER", options.ucx_gather, 0, 1'000'000'000);
  check_range("SHOAL_RDZV_TIMEOUT", options.rdzv_timeout, 1, 1'000'000);
  choose_barrier(options.barrier.c_str(), false);
  JobObservers::check(options);
  tune_collectives(options.reduce, options.kernels);
  DeviceSpace::check(options);
  wire_of(options);
  if (options.congestion != "auto") find_congestion(options.congestion);
  if (!options.rdzv.empty()) parse_host_port(options.rdzv, "SHOAL_RDZV");
}

void Job::build_communication(const Greetings& greetings) {
  processors_ = greetings.processors;
  const bool oversubscribed = greetings.machine_pes > greetings.processors;
  const int spins = options_.spin >= 0 ? static_cast<int>(options_.spin)
                    : oversubscribed   ? tuned::kOversubscribedSpins
                                       : tuned::kSpins;
  const auto counter_start = static_cast<std::uint64_t>(options_.counter_start);
  Control& own = domain_.controls[static_cast<std::size_t>(domain_.me)];
  own.doorbell().word.store(static_cast<std::uint32_t>(counter_start), std::memory_order_relaxed);
  static constexpr std::atomic<std::uint32_t> kAlways{1};
  domain_.attention = domain_.spans_nodes() ? &kAlways : &domain_.node->user_sleepers;
  waiter_ =
      std::make_unique<Waiter>(own.doorbell(), *domain_.node, segments_,
                               status_ == nullptr ? nullptr : status_->record(domain_.me), spins, transport_.get());
  domain_.waiter = waiter_.get();
  observers_ = std::make_unique<JobObservers>(options_, domain_, status_, thread_level_, greetings.session, *bootstrap_);
  domain_.observer = observers_->front();
  if (options_.check) crash_line_.emplace(domain_.me);
  domain_.shortcuts = options_.chaos != 0 ? nullptr : observers_->shortcuts();
  waiter_->watch(domain_.observer);
  if (options_.chaos != 0) {
    chaos_ = std::make_unique<Chaos>(domain_, static_cast<std::uint64_t>(options_.chaos));
    domain_.chaos = chaos_.get();
    domain_.attention = &kAlways;
  }
  world_ = std::make_unique<Context>(domain_, *heap_segment_,
                                     Context::Members{domain_.n_pes, nullptr, heap_segment_->peers.data()});
  pair_sync_ = std::make_unique<PairSync>(domain_, counter_start);

  team_space_.world = world_.get();
  team_space_.heap = heap_segment_;
  team_space_.mail_bytes = oversubscribed ? tuned::kOversubscribedMailBytes : tuned::kMailBytes;
  team_space_.barrier = &choose_barrier(options_.barrier.c_str(), oversubscribed);
  team_space_.counter_start = counter_start;
  coll_tuning_ = tune_collectives(options_.reduce, options_.kernels);
  std::vector<int> all(static_cast<std::size_t>(domain_.n_pes));
  for (int pe = 0; pe < domain_.n_pes; ++pe) all[static_cast<std::size_t>(pe)] = pe;
  team_space_.slots.take(0);
  team_space_.slots.take(1);
  team_space_.slots.take(2);
  world_team_ = std::make_unique<Team>(team_space_, all, 0, 0);
  // Its members can get at each other's memory by themselves, which chaos takes from them.
  shared_team_ = std::make_unique<Team>(
      team_space_, chaos_ != nullptr ? std::vector{domain_.me} : NodeMates::of(domain_.me, domain_.node_of).pes, 1, 0);
  leaving_team_ = std::make_unique<Team>(team_space_, all, 2, 0);
  log_.debug(
      "%d PEs, %d of them on this machine's %d processors: barrier %s, %s kernels, %d polls before yielding; "
      "symmetric: %s",
      domain_.n_pes, greetings.machine_pes, greetings.processors, team_space_.barrier->name, coll_tuning_.kernels->name,
      spins, segments_.describe().c_str());
}

std::unique_ptr<TeamHeap> Job::make_heap(Team& team, std::size_t bytes, std::size_t alignment, bool guarded,
                                         const char* call) {
  return TeamHeap::create(team, segments_, bytes, alignment, bootstrap_->same_process(), guarded, call);
}

std::uintptr_t Job::create_heap(Team& team, std::size_t bytes, std::size_t alignment, const char* call) {
  auto heap = make_heap(team, bytes, alignment, options_.check, call);
  return heap == nullptr ? 0 : heaps_.insert(std::move(heap));
}

DeviceSpace& Job::device(const char* call) {
  std::call_once(device_made_, [&] {
    crash_line_.reset();  // kernels are named by a handler of their own
    device_ = std::make_unique<DeviceSpace>(*this, processors_, call);
    if (status_ != nullptr) status_->record(me())->tell_others(Others::act);
    device_number_.store(device_->number(), std::memory_order_release);
  });
  return *device_;
}

void Job::access(const void* address, std::size_t bytes, bool writes, std::uintptr_t site) noexcept {
  observers_->access(address, bytes, writes, site);
}

void Job::stop(const char* call) {
  if (device_ != nullptr) device_->leave();
  if (chaos_ != nullptr) chaos_->drain();
  world_->quiet();  // what was just handed to the transport, too
  if (const auto damage = segments_.damage(true)) fatal(call, *damage);
  observers_->stop();
  leaving_team_->sync(call);
  const auto say = [&](const char* what) {
    if (status_ != nullptr) StatusWriter(status_->record(me())).set(Phase::closing, call, what);
  };
  say("");
  observers_->report(*bootstrap_, say);
  say("");
  if (transport_ != nullptr) {
    transport_->leaving();
    bootstrap_->barrier();  // nobody needs an answer any more
    transport_->close();
  }
  bootstrap_->leave();
}

Job::~Job() = default;

void Job::ends_early(int status) const noexcept { observers_->ends_early(status); }

void Job::global_exit(int status) const noexcept {
  ends_early(status);
  bootstrap_->abort(status, "");
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

void Job::fatal(const char* call, const std::string& what) const noexcept {
  const std::uintptr_t address = options_.check ? caller_address() : 0;
  fatal_at(call, address == 0 ? what : what + "; at " + describe_code(address));
}

void Job::fatal_at(const char* call, const std::string& what) const noexcept {
  bootstrap_->abort(1, spoken_by(domain_.me, std::string(call) + ": " + what));
  __builtin_unreachable();
}

}  // namespace shoal
