// SPDX-License-Identifier: Apache-2.0
// What is concluded from made-up states of PEs.
#include "base/verdict.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kNow = 10'000'000'000;

PeState computing() { return {{Phase::running, 0, 1}}; }
PeState waiting(const char* call, Wait wait, std::uint64_t since = 0) { return {{Phase::waiting, since, 1, call, "...", wait}}; }
PeState meeting(const char* call, std::uint64_t number, int members, std::uint64_t group = 0) {
  Wait wait{WaitKind::meeting};
  wait.group = group;
  wait.meeting = number;
  PeState state = waiting(call, wait);
  for (int pe = 0; pe < members; ++pe) state.status.members.add(pe);
  return state;
}
PeState lock(int previous, std::uint64_t offset = 8) {
  Wait wait{WaitKind::lock, previous};
  wait.offset = wait.address = offset;
  return waiting("shmem_set_lock", wait);
}
std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

TEST(Verdict, NothingIsSaidOfAJobThatComputes) {
  EXPECT_TRUE(explain({computing(), computing()}, kNow).empty());
}

TEST(Verdict, CallsThatMayBePassingCountForNothing) {
  Wait wait{WaitKind::value};
  EXPECT_TRUE(explain({waiting("shmem_long_wait_until", wait, kNow - 1'000'000)}, kNow).empty());
  EXPECT_FALSE(explain({waiting("shmem_long_wait_until", wait, kNow - 100'000'000)}, kNow).empty());
}

TEST(Verdict, ANumberOfTheSameTeamTellsMeetingsApart) {
  const auto text = all(explain({meeting("shmem_barrier_all", 2, 3), meeting("shmem_barrier_all", 2, 3), meeting("shmem_sync_all", 1, 3)}, kNow));
  EXPECT_NE(text.find("PE 2 never entered the shmem_barrier_all that PEs 0 and 1 wait in: it is in shmem_sync_all"), std::string::npos) << text;
}

TEST(Verdict, DisjointTeamsOfOneSlotAreNotOneMeeting) {
  PeState first = meeting("shmem_team_sync", 1, 0, 5), second = first;
  first.status.members.add(0);
  first.status.members.add(1);
  second.status.members.add(2);
  second.status.members.add(3);
  const auto text = all(explain({first, computing(), second, computing()}, kNow));
  EXPECT_NE(text.find("PE 1 never entered the shmem_team_sync that PE 0 waits in"), std::string::npos) << text;
  EXPECT_NE(text.find("PE 3 never entered the shmem_team_sync that PE 2 waits in"), std::string::npos) << text;
  EXPECT_EQ(text.find("PE 3 never entered the shmem_team_sync that PE 0"), std::string::npos) << text;
}

TEST(Verdict, TheEndOfALocksQueueIsItsHolder) {
  const auto text = all(explain({computing(), lock(0), lock(1), lock(2)}, kNow));
  EXPECT_NE(text.find("PE 1 waits for is held by PE 0, which is computing"), std::string::npos) << text;
  EXPECT_EQ(text.find("held by PE 1"), std::string::npos) << text;
}

TEST(Verdict, ALockIsLostWithItsHolderOnceThatWaitsInFinalize) {
  PeState holder = meeting("shmem_finalize", 1, 2);
  const auto found = find_deadlock({holder, lock(0)}, kNow, 1);
  ASSERT_EQ(found.size(), 1u) << all(found);
  EXPECT_NE(found[0].find("PE 1 waits for is held by PE 0, which can no longer clear it: it is in shmem_finalize"), std::string::npos) << found[0];
  holder.status.others = Others::act;  // another thread of it may clear the lock
  EXPECT_TRUE(find_deadlock({holder, lock(0)}, kNow, 1).empty());
  // That the lock is cleared may not have arrived.
  EXPECT_TRUE(find_deadlock({{{Phase::leaving, 0, 1, "shmem_finalize"}}, lock(0)}, kNow, 1).empty());
}

TEST(Verdict, AValueMayBeUnderWayForASecond) {
  PeState value = waiting("shmem_long_wait_until", {WaitKind::value}, kNow - 900'000'000), met = meeting("shmem_finalize", 1, 2);
  EXPECT_TRUE(find_standstill({value, met}, kNow, 1).empty());
  EXPECT_EQ(find_standstill({value, met}, kNow + 200'000'000, 1).size(), 1u);
  EXPECT_TRUE(find_standstill({value, {{Phase::leaving, 0, 1, "shmem_finalize"}}}, kNow + 200'000'000, 1).empty());
}

TEST(Verdict, ACircleOfThreeLocksIsFoundOnce) {
  const std::vector<PeState> pes{lock(1, 8), lock(2, 16), lock(0, 24)};
  const auto found = find_deadlock(pes, kNow, 1);
  ASSERT_EQ(found.size(), 1u) << all(found);
  EXPECT_EQ(found[0].rfind("PEs 0 to 2 wait for each other", 0), 0u) << found[0];
}

TEST(Verdict, AComputingMemberIsNoDeadlock) {
  EXPECT_TRUE(find_deadlock({meeting("shmem_barrier_all", 1, 2), computing()}, kNow, 1).empty());
  PeState left = computing();
  left.status.phase = Phase::left;
  EXPECT_EQ(find_deadlock({meeting("shmem_barrier_all", 1, 2), left}, kNow, 1).size(), 1u);
}

TEST(Verdict, WhatIsUnknownIsNotBlamed) {
  PeState elsewhere = computing();
  elsewhere.known = false;
  EXPECT_TRUE(explain({meeting("shmem_barrier_all", 1, 2), elsewhere}, kNow).empty());
}

PeState in_phase(Phase phase, const char* call = "shmem_finalize") { return {{phase, 0, 77, call}}; }

TEST(Verdict, WhoHasPassedAMeetingIsNotBlamedForIt) {
  // PE 0 was stopped, or had no processor, in a meeting that the others have left.
  EXPECT_EQ(all(explain({meeting("shmem_finalize", 1, 3), in_phase(Phase::closing), in_phase(Phase::left, "")}, kNow)), "");
  const auto text = all(explain({meeting("shmem_barrier_all", 4, 2), meeting("shmem_barrier_all", 5, 2)}, kNow));
  EXPECT_EQ(text.find("PE 1 never"), std::string::npos) << text;
  EXPECT_NE(text.find("PE 0 never entered the shmem_barrier_all that PE 1 waits in"), std::string::npos) << text;
  EXPECT_TRUE(find_deadlock({meeting("shmem_barrier_all", 4, 2), meeting("shmem_barrier_all", 5, 2)}, kNow, 1).empty());
}

TEST(Verdict, WhoHasJustComeIsThere) {
  PeState late = meeting("shmem_barrier_all", 1, 2);
  late.status.since_ns = kNow - 1000;
  EXPECT_EQ(all(explain({meeting("shmem_barrier_all", 1, 2), late}, kNow)), "");
}

TEST(Verdict, WhoIsStoppedInAMeetingMayHaveLetTheOthersGo) {
  // PE 2 has not seen yet that the barrier is over; PE 1 has, and has gone on to finalize, or to wait for PE 0.
  PeState stopped = meeting("shmem_barrier_all", 1, 3), left = computing();
  stopped.stopped = "stopped by signal 19 (Stopped)";
  left.status.phase = Phase::left;
  EXPECT_TRUE(find_deadlock({meeting("shmem_barrier_all", 1, 3), left, stopped}, kNow, 1).empty());
  const std::vector<PeState> pair{meeting("shmem_barrier_all", 1, 3), meeting("shmem_team_sync", 1, 2, 5), stopped};
  EXPECT_TRUE(find_deadlock(pair, kNow, 1).empty());
  const std::vector<PeState> next{meeting("shmem_broadcast32", 0, 3, 9), meeting("shmem_broadcast32", 0, 3, 9), [&] {
                                    PeState state = meeting("shmem_barrier", 0, 3, 9);
                                    state.stopped = stopped.stopped;
                                    return state;
                                  }()};
  EXPECT_TRUE(find_deadlock(next, kNow, 1).empty());
}

TEST(Verdict, AnActiveSetOnTwoArraysNeverMeets) {
  PeState first = meeting("shmem_barrier", 0, 2, 9), second = first;
  first.status.wait.offset = 64;
  second.status.wait.offset = 128;
  EXPECT_EQ(find_deadlock({first, first}, kNow, 1).size(), 0u);
  const auto found = find_deadlock({first, second}, kNow, 1);
  ASSERT_EQ(found.size(), 1u) << all(found);
  EXPECT_EQ(found[0].rfind("PEs 0 and 1 wait for each other", 0), 0u) << found[0];
}

TEST(Verdict, LeavingByExitAndByFinalizeIsTheSameMeeting) {
  const std::vector<PeState> pes{meeting("shmem_finalize", 1, 3), meeting("shmem_finalize at exit", 1, 3), computing()};
  EXPECT_EQ(all(explain(pes, kNow)), "PE 2 never entered the shmem_finalize that PEs 0 and 1 wait in: it is computing, in no call that waits\n");
  EXPECT_TRUE(find_deadlock(pes, kNow, 1).empty());
  EXPECT_TRUE(find_deadlock({meeting("shmem_finalize", 1, 2), in_phase(Phase::leaving)}, kNow, 1).empty());
}

TEST(Verdict, WhoIsStoppedIsToldToBeContinued) {
  PeState stopped = meeting("shmem_finalize", 1, 2);
  stopped.stopped = "stopped by a signal";
  stopped.status.pid = 77;
  for (const PeState& other : {meeting("shmem_finalize", 1, 2), in_phase(Phase::closing)})
    EXPECT_EQ(all(explain({other, stopped}, kNow)), "PE 1 is stopped by a signal: what waits for it goes on once process 77 is continued\n");
  stopped = computing();
  stopped.stopped = "stopped by a debugger";
  const auto text = all(explain({meeting("shmem_barrier_all", 1, 2), stopped}, kNow));
  EXPECT_NE(text.find("PE 1 never entered the shmem_barrier_all that PE 0 waits in: it is stopped by a debugger, computing"), std::string::npos) << text;
  EXPECT_TRUE(find_deadlock({lock(1), [] { PeState other = lock(0, 16); other.stopped = "x"; return other; }()}, kNow, 1).empty());
}

TEST(Verdict, WhoHasNotCalledInitIsNamed) {
  EXPECT_EQ(all(explain({in_phase(Phase::starting, "shmem_init"), in_phase(Phase::starting, ""), in_phase(Phase::left, "")}, kNow)),
            "PE 1 never entered the shmem_init that PE 0 waits in: it runs, and has not called it yet\n"
            "PE 2 never entered the shmem_init that PE 0 waits in: it has finished (shmem_finalize)\n");
}

TEST(Verdict, WhatAnotherThreadMayDoIsNoDeadlock) {
  std::vector<PeState> pes{lock(1, 8), lock(0, 16)};
  EXPECT_EQ(find_deadlock(pes, kNow, 1).size(), 1u);
  pes[0].status.others = Others::store;
  EXPECT_EQ(find_deadlock(pes, kNow, 1).size(), 1u);
  pes[0].status.others = Others::act;
  EXPECT_TRUE(find_deadlock(pes, kNow, 1).empty());
  PeState value = waiting("shmem_long_wait_until", {WaitKind::value});
  EXPECT_EQ(find_standstill({value, in_phase(Phase::left)}, kNow, 1).size(), 1u);
  value.status.others = Others::act;
  EXPECT_TRUE(find_standstill({value, in_phase(Phase::left)}, kNow, 1).empty());
  value.status.others = Others::store;  // by itself, without a call
  EXPECT_TRUE(find_standstill({value, in_phase(Phase::left)}, kNow, 1).empty());
  EXPECT_TRUE(explain({value, in_phase(Phase::left)}, kNow).empty());
  PeState left = in_phase(Phase::left);
  left.status.others = Others::store;
  EXPECT_TRUE(find_standstill({waiting("shmem_long_wait_until", {WaitKind::value}), left}, kNow, 1).empty());
  PeState here = meeting("shmem_barrier_all", 1, 2);
  here.status.others = Others::act;
  EXPECT_EQ(find_deadlock({here, meeting("shmem_finalize at exit", 1, 2, 2)}, kNow, 1).size(), 1u);
}

TEST(Verdict, AStandstillIsOneOnlyForThoseWhoLookedAgain) {
  StandstillWatch watch;
  std::vector<PeState> pes{lock(1, 8), lock(0, 16)};
  const auto look = [&](std::uint64_t polls0, std::uint64_t polls1) {
    pes[0].status.polls = polls0;
    pes[1].status.polls = polls1;
    return watch.look(pes, kNow, 1, false);
  };
  EXPECT_TRUE(look(10, 20).empty());
  EXPECT_TRUE(look(50, 20).empty());  // PE 1 has had no processor since
  EXPECT_TRUE(look(80, 21).empty());
  EXPECT_EQ(look(90, 23).size(), 1u);
  pes[1].status.since_ns = 5;  // another wait
  EXPECT_TRUE(look(99, 33).empty());
}

TEST(Verdict, WhoHasJustLeftMayHaveBeenInTheMeetingThatOthersAreStillSeenIn) {
  StandstillWatch watch;
  std::vector<PeState> pes{meeting("shmem_barrier_all", 1, 2), meeting("shmem_barrier_all", 1, 2)};
  const auto look = [&](std::uint64_t polls) {
    pes[0].status.polls = pes[1].status.polls = polls;
    return watch.look(pes, kNow, 1, true);
  };
  EXPECT_TRUE(look(10).empty());
  EXPECT_TRUE(look(20).empty());
  pes[1] = {{Phase::leaving, 9'000'000'000, 1, "shmem_finalize", "..."}};
  EXPECT_TRUE(look(30).empty());
  ASSERT_EQ(look(40).size(), 1u);
  pes[1].ended = "exited with status 0";
  EXPECT_TRUE(look(50).empty());
  const auto text = all(look(60));
  EXPECT_EQ(text, "PE 1 can no longer enter the shmem_barrier_all that PE 0 waits in: it exited with status 0\n");
  EXPECT_EQ(all(look(70)), text);  // the same again, whenever it is asked
}

TEST(Verdict, OfAPeThatHasEndedASentenceIsTold) {
  PeState gone = computing();
  gone.ended = kHasEnded;
  const auto text = all(explain({meeting("shmem_barrier_all", 1, 2), gone}, kNow));
  EXPECT_EQ(text, "PE 1 never entered the shmem_barrier_all that PE 0 waits in: it has ended\n");
}

TEST(Verdict, PesAreListedShortly) {
  EXPECT_EQ(list_pes({3}), "PE 3");
  EXPECT_EQ(list_pes({0, 1}), "PEs 0 and 1");
  EXPECT_EQ(list_pes({0, 1, 2, 3, 7}), "PEs 0 to 3 and 7");
  EXPECT_EQ(list_pes({0, 2, 4}), "PEs 0, 2 and 4");
}

}  // namespace
}  // namespace shoal
