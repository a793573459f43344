#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHOAL_RACE=1: unordered accesses are reported with both places, ordered ones are not (nor in the suite: suite_test.py).

Needs SHOALRUN, RACE_PROGRAMS, RACE_FLAG_PROGRAMS, RACE_OVERLOADS and RACE_SOURCE in the environment.
"""
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("RACE_PROGRAMS", "race_programs")
SOURCE = os.environ.get("RACE_SOURCE", "race_programs.c")
DEADLINE = 240  # seconds
WRITES, READS = r"PE {0} writes it by {1} at (\S+:\d+|\S+).*", r"PE {0} reads it by {1} at (\S+:\d+|\S+).*"
# As checks and tables have it.
PLACE = r"(heap \+ 0x[0-9a-f]+|static data \+ 0x[0-9a-f]+ \(\w+( \+ 0x[0-9a-f]+)?\))"
# case -> whose memory, and the two accesses, in either order
CASES = {
    "put_put": (2, WRITES.format(0, "shmem_long_put"), WRITES.format(1, "shmem_long_put")),
    "all_put": (2, WRITES.format(r"\d", "shmem_long_put"), WRITES.format(r"\d", "shmem_long_put")),
    "put_get": (2, WRITES.format(0, "shmem_long_p"), READS.format(1, "shmem_long_get")),
    "no_fence": (1, WRITES.format(0, "shmem_long_put"), READS.format(1, "shmem_long_get")),
    "far_behind": (1, WRITES.format(0, "shmem_long_put"), WRITES.format(2, "shmem_long_p")),
    "sync_only": (1, WRITES.format(0, "shmem_long_put"), READS.format(2, "shmem_long_get")),
    "barrier_of_another": (1, WRITES.format(0, "shmem_ctx_long_put"), READS.format(2, "shmem_long_get")),
    "fence_of_another": (1, WRITES.format(0, "shmem_ctx_long_put"), READS.format(1, "shmem_long_get")),
    "flag_of_another": (1, WRITES.format(0, "shmem_ctx_long_put"), READS.format(1, "shmem_long_get")),
    "quiet_of_another": (1, WRITES.format(0, "shmem_ctx_long_put"), READS.format(2, "shmem_long_get")),
    "broadcast_leaf": (0, WRITES.format(1, "shmem_long_p"), READS.format(2, "shmem_long_get")),
    "scan_from_behind": (1, WRITES.format(2, "shmem_long_p"), READS.format(0, "shmem_long_get")),
    "reduce_only": (1, WRITES.format(0, "shmem_long_put"), READS.format(2, "shmem_long_get")),
    "dest_of_another": (1, WRITES.format(1, "shmem_long_fcollect"), READS.format(2, "shmem_long_get")),
    "source_of_another": (1, READS.format(1, "shmem_long_sum_reduce"), WRITES.format(2, "shmem_long_p")),
    "no_elements": (1, WRITES.format(0, "shmem_long_put"), READS.format(2, "shmem_long_get")),
    "source_nbi": (0, READS.format(0, "shmem_long_put_nbi"), WRITES.format(0, "shmem_long_get")),
    "dest_nbi": (0, WRITES.format(0, "shmem_long_get_nbi"), READS.format(0, "shmem_long_put")),
    "read_nbi": (2, READS.format(0, "shmem_long_get_nbi"), WRITES.format(1, "shmem_long_put")),
    "result_nbi": (0, WRITES.format(0, "shmem_long_atomic_fetch_add_nbi"), READS.format(0, "shmem_long_put")),
    "other_team": (1, WRITES.format(0, "shmem_long_put"), READS.format(2, "shmem_long_get")),
}
# The same of race_flag_programs.c.
FLAGS = os.environ.get("RACE_FLAG_PROGRAMS", "race_flag_programs")
FLAG_CASES = {
    "beside_flag": (1, WRITES.format(0, "shmem_int_p"), READS.format(1, "shmem_int_get")),
    "beside_counter": (1, WRITES.format(0, "shmem_int_p"), READS.format(2, "shmem_int_get")),
}
# The data of a flag that a call for several has not seen.
UNSEEN = ["any_other", "any_excluded", "all_excluded", "some_excluded", "some_others", "test_any_excluded", "test_some_excluded", "test_all_excluded"]
FLAG_RIGHT = ["beside_fenced", "all_of_very_many", "seen_by_each"]
# And of programs compiled as `shoalcc --race` does it; the patterns of both accesses, in either order.
OVERLOADS = os.environ.get("RACE_OVERLOADS", "race_overloads")
PLAIN = os.environ.get("RACE_PLAIN_PROGRAMS")
PLAIN_CASES = {
    "store_put": (1, WRITES.format(0, "shmem_long_put"), WRITES.format(1, "a store")),
    "load_put": (1, WRITES.format(0, "shmem_long_p"), READS.format(1, "a load")),
    "get_store": (1, READS.format(2, "shmem_long_get"), WRITES.format(1, "a store")),
    "peer_store": (1, WRITES.format(0, "a store"), READS.format(1, "a load")),
    "stored_late": (0, WRITES.format(1, "a store"), READS.format(0, "a load")),
    "stored_unfenced": (0, WRITES.format(1, "shmem_long_p"), READS.format(0, "a load")),
    "store_nbi": (0, READS.format(0, "shmem_long_put_nbi"), WRITES.format(0, "a store")),
    "load_nbi": (0, WRITES.format(0, "shmem_long_get_nbi"), READS.format(0, "a load")),
    "set_get": (1, WRITES.format(1, "a store"), READS.format(2, "shmem_getmem")),
}
PLAIN_RIGHT = ["barrier", "signalled", "apart", "locked", "many", "reduced", "not_blocking", "stored_flag"]
RIGHT = ["barrier", "fence", "signalled", "polled", "locked", "counted", "apart", "met_by_two", "context_destroyed", "allocated", "collectives", "semaphore", "heaps", "synced_the_other_way", "teams_of_the_same", "large", "contexts", "team_destroyed", "flows", "active_sets", "not_blocking", "answered",
         "polled_nbi", "double_buffer", "some_of_many", "pipeline", "tried"]


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
    return {**kept, "SHOAL_RACE": "1", "SHOAL_TEST_PES": "3", **variables}


def run(arguments, **variables):
    found = subprocess.run([SHOALRUN, "--timeout", str(DEADLINE - 20), "-n", "3", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment(**variables), timeout=DEADLINE, stdin=subprocess.DEVNULL)
    # How far a search has come is told where the machine is busy.
    found.stderr = "".join(line for line in found.stderr.splitlines(True) if " % done after " not in line)
    return found


def races(text):
    return [line for line in text.splitlines() if line.startswith("shoal: race: PE")]


def racing_lines(source):
    """{case: numbers of the lines that race}"""
    lines, case = {}, None
    with open(source, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"static void (\w+)\(", line)
            case = found.group(1) if found else case
            if line.rstrip().endswith("// race"):
                lines.setdefault(case, set()).add(number)
    return lines


class Race(unittest.TestCase):
    def test_unordered_accesses_are_reported_once_with_both_places(self):
        self.check_races(PROGRAM, CASES, SOURCE)

    def test_memory_is_told_by_its_place_as_everywhere(self):
        for case, place in (("first_of_heap", r"heap \+ 0x0"), ("beside_flag", r"static data \+ 0x\w+ \(halves \+ 0x4\)")):
            with self.subTest(case):
                found = run([FLAGS, case])
                self.assertRegex(found.stderr, rf"race: PE 1's {place}: ")

    def test_only_the_bytes_that_are_waited_for_are_no_data(self):
        self.check_races(FLAGS, FLAG_CASES, os.path.join(os.path.dirname(SOURCE), "race_flag_programs.c"))
        self.check_right(FLAGS, FLAG_RIGHT)

    def test_only_the_flags_that_were_seen_order(self):
        for case in UNSEEN:
            with self.subTest(case):
                found = run([FLAGS, case])
                self.assertEqual((found.returncode, len(races(found.stderr))), (66, 1), found.stderr)
                writes, reads = r"PE [12] writes it by shmem_long_p at .*", "PE 0 reads it by shmem_long_get at .*"
                self.assertRegex(found.stderr, f"race: PE 0's {PLACE}: ({writes}, and {reads}|{reads}, and {writes}); nothing orders the two")

    @unittest.skipUnless(PLAIN, "built without the hooks of shoalcc --race")
    def test_loads_and_stores_of_the_program_are_seen(self):
        self.check_races(PLAIN, PLAIN_CASES, os.path.join(os.path.dirname(SOURCE), "race_plain_programs.c"))
        self.check_right(PLAIN, PLAIN_RIGHT)

    def test_two_calls_of_one_overload_are_two_places(self):
        found = run([OVERLOADS])
        self.assertEqual(found.returncode, 66, found.stderr)
        self.assertEqual(len(races(found.stderr)), 2, found.stderr)

    def check_races(self, program, cases, source):
        lines = racing_lines(source)
        for case, (target, first, second) in cases.items():
            with self.subTest(case):
                found = run([program, case])
                self.assertEqual(found.returncode, 66, found.stderr)
                self.assertRegex(found.stderr, r"(?m)^shoal: race: 1 found, so PE 0 ends with status 66 if")
                self.assertEqual(len(races(found.stderr)), 1, found.stderr)
                line = races(found.stderr)[0]
                self.assertRegex(line, rf"race: PE {target}'s {PLACE}: ({first}, and {second}|{second}, and {first}); (nothing orders|no quiet is between) the two")
                if shutil.which("addr2line"):
                    told = {int(number) for number in re.findall(os.path.basename(source) + r":(\d+)", line)}
                    self.assertEqual(told, lines[case], line)

    def test_the_status_is_left_on_request_and_where_it_is_not_0(self):
        for variables, arguments, status in (({"SHOAL_RACE_STATUS": "0"}, [], 0), ({"SHOAL_RACE_STATUS": "9"}, [], 9), ({}, ["5"], 5)):
            with self.subTest(f"{variables}, {arguments}"):
                found = run([PROGRAM, "put_put", *arguments], **variables)
                self.assertEqual(found.returncode, status, found.stderr)
                self.assertEqual(len(races(found.stderr)), 1, found.stderr)
                self.assertEqual("so PE 0 ends with" in found.stderr, variables.get("SHOAL_RACE_STATUS") != "0")
                self.assertIn("exit handler ran", found.stdout)  # those of the program run all the same

    def test_ordered_accesses_raise_no_alarm(self):
        self.check_right(PROGRAM, RIGHT)
        self.check_right(PROGRAM, ["far_strides"], SHMEM_SYMMETRIC_SIZE="5g")

    def test_what_collectives_over_nodes_are_made_of_raises_no_alarm(self):
        self.check_right(PROGRAM, ["collectives"], SHOAL_FAKE_NODES="3")

    def test_what_a_pe_with_too_many_calls_ordered_raises_no_alarm(self):
        found = run([PROGRAM, "endless"])
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertRegex(found.stderr, r"^shoal: race: the last \d+ calls and accesses of PE 0 were not looked at, nor what other PEs did meanwhile: only 400000 are kept\n$")

    def test_a_long_search_says_how_far_it_has_come(self):
        """PE 0 tells more than a pipe holds that nobody reads yet: so it is in its search until somebody does."""
        read_end, write_end = os.pipe()
        fcntl.fcntl(read_end, fcntl.F_SETPIPE_SZ, 4096)
        with os.fdopen(read_end, encoding="ascii") as told:
            with subprocess.Popen([SHOALRUN, "--timeout", str(DEADLINE - 20), "-n", "3", "bash", "-c", f'exec "$0" many_calls 2>&{write_end}', FLAGS],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(SHOAL_RACE_PROGRESS="0"),
                                  stdin=subprocess.DEVNULL, pass_fds=[write_end]) as process:
                os.close(write_end)
                looking = r"^shoal: race: looking on PE 0 for unordered accesses: \d+ % done after \d+ s$"
                try:
                    lines = [told.readline()]
                    while not re.search(looking, lines[-1]):
                        self.assertTrue(lines[-1], lines)
                        lines.append(told.readline())
                    finalizing = r"^shoalrun: PE {} \(pid \d+\): in shmem_finalize, which all PEs have called: {}looking on PE 0 for unordered accesses"
                    until = time.monotonic() + DEADLINE / 2
                    while True:
                        self.assertLess(time.monotonic(), until)
                        process.send_signal(signal.SIGUSR1)
                        if not select.select([process.stderr], [], [], 1)[0]:
                            continue  # the launcher takes two that come close to each other for one
                        table = [process.stderr.readline() for _ in range(4)]  # below its title
                        self.assertRegex(table[1], finalizing.format(0, "race: ") + r": \d+ % done")
                        if re.search(finalizing.format(1, ""), table[2]):
                            break  # until then PE 1 is on its way there
                    for line in told:
                        self.assertRegex(line, looking)
                    self.assertEqual(process.wait(DEADLINE), 0)
                finally:
                    process.terminate()

    def test_what_is_not_looked_at_is_said(self):
        found = run([PROGRAM, "strided"])
        self.assertEqual((found.returncode, found.stderr),
                         (0, "shoal: race: of each of 1 strided calls with more, only the first 262144 blocks were looked at\n"))
        found = run([PROGRAM, "early"])
        self.assertEqual(found.returncode, 3, found.stderr)
        self.assertIn("shoal: PE 1: SHOAL_RACE: no report, since this PE ends the job, with status 3, before all have called shmem_finalize\n", found.stderr)

    def check_right(self, program, cases, **variables):
        for case in cases:
            with self.subTest(case):
                found = run([program, case], **variables)
                self.assertEqual((found.returncode, found.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
