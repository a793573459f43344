// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "copy.hpp"
#include "runtime.hpp"

namespace shoal::python {
namespace {

constexpr const char* kKindNames[] = {"nothing", "barrier",        "an allocation", "free",       "all_reduce",
                                      "reduce",  "reduce_scatter", "broadcast",     "all_gather", "gather",
                                      "scatter", "all_to_all",     "scan"};
constexpr const char* kOpNames[] = {"and", "or", "xor", "max", "min", "sum", "prod"};

std::string shape_of(const Description& d) {
  if (d.kind == Kind::free) return "array number " + std::to_string(d.root);
  std::string text;
  if (d.dimensions == 0 && d.count != 0) {
    text = std::to_string(d.count) + " elements";
  } else {
    text = "shape (";
    for (std::uint32_t i = 0; i < d.dimensions; ++i) text += (i == 0 ? "" : ", ") + std::to_string(d.shape[i]);
    text += d.dimensions == 1 ? ",)" : ")";
  }
  return text + " of " + kTypeInfo[d.type].name;
}

std::string said_by(int pe, const Description& d) {
  std::string text = "PE " + std::to_string(pe) + " has " + kKindNames[static_cast<int>(d.kind)];
  if (d.kind == Kind::barrier) return text;
  text += " of " + shape_of(d);
  if (d.kind == Kind::all_reduce || d.kind == Kind::reduce || d.kind == Kind::reduce_scatter)
    text += std::string(", ") + kOpNames[d.op];
  if (d.root >= 0 && d.kind != Kind::free) text += ", root " + std::to_string(d.root);
  return text;
}

}  // namespace

Group::Inbox Group::Inbox::of(const Pool& pool, int members) noexcept {
  for (const std::size_t places : {std::size_t{4}, std::size_t{2}}) {
    const std::size_t each = pool.slot_bytes / (places * static_cast<std::size_t>(members)) / 64 * 64;
    if (each > sizeof(Message)) return {places, std::min<std::size_t>(each - sizeof(Message), 128 * 1024)};
  }
  return {2, 0};
}

void Group::clear_slot(Pool& pool, int slot, int members) {
  const Inbox inbox = Inbox::of(pool, members);
  for (std::size_t i = 0; i < inbox.places * static_cast<std::size_t>(members); ++i)
    std::memset(pool.slot(slot) + i * (sizeof(Message) + inbox.window), 0, sizeof(Message));
}

Group::Group(Pool& pool, std::vector<int> pes, std::vector<int> slots, std::string name, std::uint64_t epoch)
    : pool_(pool),
      pes_(std::move(pes)),
      slot_(-1),
      epoch_(epoch),
      name_(std::move(name)),
      places_(Inbox::of(pool, size()).places),
      window_(Inbox::of(pool, size()).window) {
  if (window_ == 0)
    throw std::runtime_error("a group of " + std::to_string(size()) +
                             " is too large for this heap: make SHMEM_SYMMETRIC_SIZE larger");
  const int me = shmem_my_pe();
  for (int i = 0; i < size(); ++i)
    if (pe(i) == me) rank_ = i;
  if (rank_ < 0) throw std::invalid_argument("PE " + std::to_string(me) + " is no member of the group it makes");
  slot_ = slots[static_cast<std::size_t>(rank_)];
  own_ = pool_.slot(slot_);
  for (int i = 0; i < size(); ++i) {
    Peer peer;
    peer.inbox = pool_.slot(slots[static_cast<std::size_t>(i)]) + static_cast<std::size_t>(rank_) * inbox_bytes();
    peer.mapped = static_cast<char*>(shmem_ptr(pool_.base, pe(i)));
    peer.left = pool_.left(slots[static_cast<std::size_t>(i)]);
    peers_.push_back(peer);
  }
}

Group::~Group() {
  try {
    const Stay stay(name_, epoch_);
    int member;
    shmem_fence();  // what was written into a slot comes before the word that no more will
    for (int step = 1; others(member, step); ++step)
      shmem_signal_add(peers_[static_cast<std::size_t>(member)].left, 1, pe(member));
    pool_.retire(slot_, size() - 1);
  } catch (const std::runtime_error&) {  // the job has ended, and the pool with it
  }
}

Group::Turn::Turn(Group& group) : guard_(group.mutex_), stay_(group.name_, group.epoch_) {
  if (group.broken_)
    throw std::runtime_error(
        group.name_ +
        " can't be used any more: an earlier operation was given up while it waited, by a timeout or Ctrl-C, so "
        "its members are no longer in step; make a new one");
}

std::byte* Group::next_payload(int member) const noexcept {
  const Peer& peer = peers_[static_cast<std::size_t>(member)];
  if (peer.mapped == nullptr) return nullptr;
  const Message* message = place_of(peer.inbox, peer.posted + 1);
  return reinterpret_cast<std::byte*>(there(member, reinterpret_cast<const char*>(message->payload) - pool_.base));
}

void Group::post(int member, const Description& description, const void* payload, std::size_t bytes) {
  Peer& peer = peers_[static_cast<std::size_t>(member)];
  std::byte* to = bytes == 0 ? nullptr : next_payload(member);
  Message* message = place_of(peer.inbox, ++peer.posted);
  Description sent = description;
  sent.bytes = static_cast<std::uint32_t>(bytes);
  shmem_putmem(&message->description, &sent, sizeof sent, pe(member));
  if (to != nullptr && payload != to)
    copy_block(to, payload, bytes);
  else if (to == nullptr && bytes != 0)
    shmem_putmem(message->payload, payload, bytes, pe(member));
  shmem_fence();
  shmem_signal_set(&message->sequence, peer.posted, pe(member));
}

const Group::Message& Group::take(int member) {
  Peer& peer = peers_[static_cast<std::size_t>(member)];
  Message* message = place_of(own_ + static_cast<std::size_t>(member) * inbox_bytes(), ++peer.taken);
  const std::uint64_t deadline = timeout_ns_ == 0 ? 0 : now_ns() + timeout_ns_;
  Backoff backoff(Runtime::instance().crowded(), deadline, epoch_);
  try {
    while (shmem_uint64_test(&message->sequence, SHMEM_CMP_EQ, peer.taken) == 0)
      backoff.pause([&] {
        return "PE " + std::to_string(pe(rank_)) + " waited " + std::to_string(timeout_ns_ / 1'000'000'000u) +
               " s for PE " + std::to_string(pe(member)) + " in a collective of " + name_ +
               ": has it made the same call?";
      });
  } catch (...) {
    broken_ = true;
    throw;
  }
  return *message;
}

bool Group::others(int& member, int step) const noexcept {
  if (step >= size()) return false;
  member = (rank_ + step) % size();
  return true;
}

std::int64_t Group::on_heap(const void* address) const noexcept {
  if (address == nullptr || !Runtime::instance().holds(address)) return 0;
  return static_cast<const char*>(address) - pool_.base;
}

Description Group::describe(Kind kind, const Operand& operand, int op, int root, const void* source,
                            const void* dest) const {
  Description d;
  d.kind = kind;
  d.type = static_cast<std::uint8_t>(operand.type);
  d.op = static_cast<std::uint8_t>(op);
  d.root = root;
  d.count = operand.count;
  d.source = on_heap(source);
  d.dest = on_heap(dest);
  d.dimensions = static_cast<std::uint32_t>(std::min<std::size_t>(operand.shape.size(), Description::kMostDimensions));
  std::copy_n(operand.shape.begin(), d.dimensions, d.shape);
  return d;
}

void Group::compare(const Description& mine, const Description& theirs, int member) const {
  const bool same = mine.kind == theirs.kind && mine.type == theirs.type && mine.op == theirs.op &&
                    mine.root == theirs.root && mine.count == theirs.count && mine.dimensions == theirs.dimensions &&
                    std::memcmp(mine.shape, theirs.shape, sizeof mine.shape) == 0 && mine.sends == theirs.expects &&
                    mine.expects == theirs.sends;
  if (same) return;
  std::string text = said_by(pe(rank_), mine) + ", " + said_by(pe(member), theirs);
  if (mine.sends != theirs.expects || mine.expects != theirs.sends)
    text += "; PE " + std::to_string(pe(rank_)) + " sends " + std::to_string(mine.sends) + " bytes and PE " +
            std::to_string(pe(member)) + " expects " + std::to_string(theirs.expects) + ", the other way " +
            std::to_string(theirs.sends) + " and " + std::to_string(mine.expects);
  throw std::invalid_argument("members of " + name_ + " disagree: " + text +
                              ": all must make the same call with the same shape, type, operation and root");
}

std::vector<Description> Group::agree_on(const Description& mine) {
  std::vector<Description> all(static_cast<std::size_t>(size()), mine);
  int member;
  for (int step = 1; others(member, step); ++step) post(member, mine, nullptr, 0);
  for (int step = 1; others(member, step); ++step) all[static_cast<std::size_t>(member)] = take(member).description;
  for (int step = 1; others(member, step); ++step) compare(mine, all[static_cast<std::size_t>(member)], member);
  return all;
}

void Group::meet() {
  int member;
  shmem_quiet();
  for (int step = 1; others(member, step); ++step) post(member, Description{}, nullptr, 0);
  for (int step = 1; others(member, step); ++step) take(member);
}

void Group::barrier() {
  const Turn turn(*this);
  shmem_quiet();
  Description mine;
  mine.kind = Kind::barrier;
  agree_on(mine);
}

std::vector<std::vector<std::byte>> Group::share(const Description& mine, std::span<const std::byte> bytes) {
  const Turn turn(*this);
  std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(size()));
  all[static_cast<std::size_t>(rank_)].assign(bytes.begin(), bytes.end());
  Description first = mine;
  first.source = static_cast<std::int64_t>(bytes.size());
  std::vector<Description> said(static_cast<std::size_t>(size()), first);
  const auto messages = [&](std::int64_t total) {
    return std::max<std::uint64_t>(1, (static_cast<std::uint64_t>(total) + window_ - 1) / window_);
  };
  std::vector<std::uint64_t> rounds(static_cast<std::size_t>(size()), messages(first.source));
  int member;
  for (std::uint64_t round = 0, most = 1; round < most; ++round) {
    const auto piece = bytes.subspan(std::min<std::size_t>(bytes.size(), round * window_));
    for (int step = 1; others(member, step); ++step)
      if (round < rounds[static_cast<std::size_t>(member)])
        post(member, round == 0 ? first : Description{}, piece.data(), std::min(piece.size(), window_));
    for (int step = 1; others(member, step); ++step) {
      const auto i = static_cast<std::size_t>(member);
      if (round >= rounds[i]) continue;
      const Message& message = take(member);
      all[i].insert(all[i].end(), message.payload, message.payload + message.description.bytes);
      if (round != 0) continue;
      said[i] = message.description;
      rounds[i] = std::max(rounds[i], messages(said[i].source));
      most = std::max(most, rounds[i]);
    }
    if (round != 0) continue;
    for (int step = 1; others(member, step); ++step) compare(mine, said[static_cast<std::size_t>(member)], member);
  }
  return all;
}

bool Group::direct(const std::vector<Description>& all, bool dests) const noexcept {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].source == 0 || (dests && all[i].dest == 0) || peers_[i].mapped == nullptr) return false;
  return true;
}

}  // namespace shoal::python
