// SPDX-License-Identifier: Apache-2.0
// Who may join a meeting, and how it begins when all have.
#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/rendezvous_guest.hpp"

namespace shoal {

using store::Frame;
using store::Type;

namespace {

constexpr std::uint32_t kMostPes = 1u << 20;

}  // namespace

void RendezvousServer::join(Guest& guest, const Frame& frame) {
  if (guest.member >= 0) throw Error(Code::launcher, "malformed session: join for the second time");
  std::string text;
  const auto payload = store::take_fixed<store::JoinPayload>(frame, text);
  const std::size_t newline = std::min(text.find('\n'), text.size());
  const std::string objection_text = objection(guest, payload, text.substr(std::min(newline + 1, text.size())));
  if (!objection_text.empty()) return refuse(guest, objection_text);
  guest.member = static_cast<int>(payload.member);
  guest.link.allow_all();
  Member& member = at(guest.member);
  member.guest = &guest;
  member.host = text.substr(0, std::min<std::size_t>(newline, 255));
  std::replace_if(
      member.host.begin(), member.host.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  member.address = guest.trusted ? own_address() : SocketAddress::peer_of(guest.link.fd()).host_text();
  member.pes = static_cast<int>(payload.pes);
  std::fill_n(taken_.begin() + guest.member, numbers(payload.pes), true);
  pes_ += payload.pes;
  --strangers_;
  ++joined_;
  if (all_joined() && setup_.above == nullptr) start();
}

bool RendezvousServer::all_joined() const {
  return setup_.kind == Kind::pes ? pes_ == members_.size() : static_cast<std::size_t>(joined_) == members_.size();
}

/// Where others reach this machine: where it listens, or its first address if that is everywhere.
std::string RendezvousServer::own_address() const {
  const std::string listens_at = SocketAddress::local_of(listener_.get()).host_text();
  if (listens_at != "::" && listens_at != "0.0.0.0") return listens_at;
  const auto all = own_addresses(0, "");
  return all.empty() ? "localhost" : all.front().host_text();
}

/// Why this one cannot join, or "".
std::string RendezvousServer::objection(const Guest& guest, const store::JoinPayload& payload,
                                        const std::string& tag) const {
  const char* noun = setup_.kind == Kind::launchers ? "node" : "PE";
  if (payload.magic != store::kMagic) return strf("malformed frame: join with mark %#x", payload.magic);
  if (payload.version != store::kVersion)
    return strf(
        "it speaks version %u of the protocol, this job version %u: use one installation of Shoal for the whole job",
        payload.version, store::kVersion);
  if (tag != setup_.tag) return "it belongs to another job than the one that meets here: give each job its own port";
  if (payload.members != members_.size())
    return strf("it says that there are %u %ss, where the job meets it was said that there are %zu: %s",
                payload.members, noun, members_.size(),
                setup_.kind == Kind::launchers ? "give all the same --nnodes" : "give all the same number");
  if (payload.member >= members_.size())
    return strf("%s %u is out of range: there are %zu", noun, payload.member, members_.size());
  const int member = static_cast<int>(payload.member);
  if (phase_ != Phase::joining)
    return strf(
        "the job that meets here has all its %zu %ss already, and %s is one of them: give another job another port",
        members_.size(), noun, text_of(member).c_str());
  if (payload.pes == 0 || payload.pes > kMostPes || pes_ + payload.pes > kMostPes)
    return strf("it brings %u PEs; a job has 1 to %u", payload.pes, kMostPes);
  if (numbers(payload.pes) > members_.size() - payload.member)
    return strf("it brings PEs %u to %u; there are %zu", payload.member, payload.member + payload.pes - 1,
                members_.size());
  const auto begin = taken_.begin() + member, end = begin + static_cast<std::ptrdiff_t>(numbers(payload.pes));
  if (const auto taken = std::find(begin, end, true); taken != end)
    return setup_.kind == Kind::pes
               ? strf("PE %d has joined already: each must have its own number",
                      setup_.first + static_cast<int>(taken - taken_.begin()))
               : strf("%s has joined already: give each its own --node-rank", text_of(member).c_str());
  if (setup_.kind == Kind::pes && guest.link.tls() != nullptr) {
    try {
      for (int pe = member; pe < member + static_cast<int>(payload.pes); ++pe) guest.link.tls()->check_peer(pe, "");
    } catch (const Error& error) {
      return error.what();
    }
  }
  return "";
}

void RendezvousServer::start() {
  store::StartPayload payload{};
  std::string text;
  const auto add = [&text](int first, int pes, const std::string& host, const std::string& address) {
    text += strf("%d %d %s %s\n", first, pes, host.c_str(), address.c_str());
  };
  for (Member& member : members_) {
    member.first = setup_.first + static_cast<int>(payload.total);
    payload.total += static_cast<std::uint32_t>(member.pes);
    if (member.pes != 0) add(member.first, member.pes, member.host, member.address);
  }
  if (setup_.above != nullptr) {
    const Meeting& meeting = *setup_.above->meeting();
    for (Member& member : members_) member.address = meeting.of(setup_.first).address;
    payload.total = static_cast<std::uint32_t>(meeting.total);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(meeting.nonce.data()), sizeof payload.nonce, payload.nonce);
    text.clear();
    for (const Meeting::Member& one : meeting.members) add(one.first, one.pes, one.host, one.address);
  } else if (::getrandom(payload.nonce, sizeof payload.nonce, 0) != static_cast<ssize_t>(sizeof payload.nonce)) {
    return end(1, "getrandom fails");
  }
  phase_ = Phase::running;
  for (Member& member : members_) {
    if (member.guest == nullptr) continue;
    payload.first = static_cast<std::uint32_t>(member.first);
    member.guest->link.send(frame_of(Type::start, store::with_text(payload, text)));
    set_interest(*member.guest);
  }
}

std::string RendezvousServer::missing() const {
  const char* noun = setup_.kind == Kind::launchers ? "node" : "PE";
  std::string names;
  int count = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (taken_[i] || ++count > 8) continue;
    names += strf("%s%zu", names.empty() ? "" : ", ", static_cast<std::size_t>(setup_.first) + i);
  }
  return strf("%d of %zu %ss not joined: %s%s; %s", count, members_.size(), noun, names.c_str(),
              count > 8 ? ", ..." : "",
              setup_.kind == Kind::launchers ? "is shoalrun running there, with the same --rdzv?"
                                             : "are they running, with the same meeting point?");
}

/// "node 1 (HOST, ADDRESS)", "PE 3 (HOST, ADDRESS)"
std::string RendezvousServer::text_of(int member) const {
  int by = member;  // who brings it
  while (setup_.kind == Kind::pes && at(by).pes == 0 && by > 0) --by;
  const Member& one = at(by);
  return strf("%s %d (%s, %s)", setup_.kind == Kind::launchers ? "node" : "PE", setup_.first + member, one.host.c_str(),
              one.address.c_str());
}

}  // namespace shoal
