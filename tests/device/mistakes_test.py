#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in kernels: one line that names kernel, core, PE, call and argument; the job ends at once, with status 1 or the signal's.

mistakes_test.py SHOALRUN MISTAKES [sanitized] [unittest arguments]
"""
import os
import re
import subprocess
import sys
import unittest

SHOALRUN, PROGRAM = sys.argv[1:3]
SANITIZED = "sanitized" in sys.argv
PES = 3
DEADLINE = 30

# case -> the call and what is said of it
CASES = {
    "pe_n": r"p: pe: PE 3 is out of range: this job has PEs 0 to 2",
    "pe_minus": r"get: pe: PE -1 is out of range",
    "pe_atomic": r"add: pe: PE 99 is out of range",
    "foreign_dest": r"put: dest: 0x[0-9a-f]+ \(32 bytes\) is not symmetric memory: allocate it by shmem_malloc or Device::allocate",
    "foreign_source": r"g: source: 0x[0-9a-f]+ \(8 bytes\) is not symmetric",
    "foreign_null": r"p: dest: \S+ \(8 bytes\) is not symmetric",
    "overrun_dest": r"put: dest: 32 bytes from 0x[0-9a-f]+ run past the end",
    "overrun_source": r"put: source: 32 bytes from 0x[0-9a-f]+ run past the end",
    "overrun_get": r"get: dest: 32 bytes from 0x[0-9a-f]+ run past the end",
    "overrun_huge": r"put_nbi: dest: \d+ bytes from 0x[0-9a-f]+ run past the end",
    "overrun_local": r"get: dest: 32 bytes from 0x[0-9a-f]+ run past the end",
    "wraps": r"put: dest: 18446744073709551615 bytes from 0x[0-9a-f]+ run past the end",
    "stride_wraps": r"iput: dest: 18446744073709551615 bytes from 0x[0-9a-f]+ run past the end",
    "rows_wrap": r"put_2d: dest: 18446744073709551615 bytes from 0x[0-9a-f]+ run past the end",
    "scratch_wraps": r"ub2gm::put: source: the range must lie in this core's scratch",
    "not_member": r"put: dest: PE 0 has no memory like 0x[0-9a-f]+: that is a heap of a team of which it is no member",
    "left_out": r"barrier: core 0 of this launch has ended without this call: every core of the group must make it",
    "waits_for_itself": r"Stream::synchronize: called inside of this stream's own work",
    "team_null": r"aclshmemx_gm2gm_put: team: \S+ is not valid: null, destroyed already",
    "team_destroyed": r"aclshmemx_gm2gm_put: team: 0x[0-9a-f]+ is not valid: null, destroyed already",
    "event_null": r"aclshmemx_gm2gm_get: event: it is null",
    "overrun_scratch": r"put: source: 524288 bytes from 0x[0-9a-f]+ run past the end.*scratch",
    "overrun_scratch_later": r"put: source: 524288 bytes from 0x[0-9a-f]+ run past the end.*scratch",
    "misaligned": r"add: word: 0x[0-9a-f]+4 is misaligned: it must be a multiple of 8",
    "misaligned_wait": r"wait_until: word: 0x[0-9a-f]+2 is misaligned: it must be a multiple of 4",
    "wait_private": r"wait_until: word: 0x[0-9a-f]+ \(8 bytes\) is not symmetric",
    "stride": r"iput: dst: a stride must be at least 1",
    "strided_overrun": r"iput: dest: 104 bytes from 0x[0-9a-f]+ run past the end",
    "scratch": r"scratch: n: 800000 bytes of scratch are wanted, but 0 of the core's 196608 are taken.*SHOAL_DEVICE_SCRATCH",
    "staging": r"gm2gm::put: staging: the buffer must lie in this core's scratch",
    "not_scratch": r"ub2gm::put: source: the range must lie in this core's scratch",
    "group": r"Group: first, count: a group has this core",
    "team_rank": r"pe: rank: 7 is out of range: the team has members 0 to 2",
    "throws": r"exception: the kernel threw: no more apples",
    "throws_int": r"exception: the kernel threw something that is no std::exception",
}
# The same with SHOAL_CHECK=1, which knows of blocks.
CHECKED = {
    "pe_n": r"p: pe: PE 3 is out of range: this job has PEs 0 to 2; pass one of them; at \S+",
    "overrun_dest": r"put: dest: heap of a team of 3 PEs \+ 0x[0-9a-f]+ is in no allocated block: the one before it, of 8000 bytes at heap of a team of 3 PEs \+ 0x[0-9a-f]+, ends \d+ bytes earlier",
    "overrun_local": r"get: dest: heap of a team of 3 PEs \+ 0x[0-9a-f]+ is in no allocated block",
    "past_block": r"put: dest: 32 bytes from heap of a team of 3 PEs \+ 0x[0-9a-f]+ run 16 bytes past the end of the block of 8000 bytes at heap of a team of 3 PEs \+ 0x[0-9a-f]+",
    "past_block_local": r"get: dest: 32 bytes from heap of a team of 3 PEs \+ 0x[0-9a-f]+ run 16 bytes past the end of the block of 8000 bytes",
}
CRASHES = {"segv": (11, r"Segmentation fault.*0x10\b"), "fpe": (8, r"Floating point exception"), "abort": (6, None)}


def run(case, pes=PES, options=(), check="0"):
    done = subprocess.run([SHOALRUN, "-n", str(pes), *options, PROGRAM, case], capture_output=True, text=True, timeout=DEADLINE,
                          env=os.environ | {"SHOAL_CHECK": check})
    return done.returncode, done.stderr


class Mistakes(unittest.TestCase):
    def assert_told(self, cases, begin, check="0"):
        """Each case ends the job with a line that begins so and goes on as the case says."""
        for case, pattern in cases.items():
            with self.subTest(case):
                status, text = run(case, check=check)
                self.assertEqual(status, 1, text)
                self.assertRegex(text, begin + pattern)

    def test_each_names_kernel_core_pe_and_argument(self):
        self.assert_told(CASES, r"shoal: PE 2: kernel (\(anonymous namespace\)::)?faulty, core 1: ")
        self.assert_told(CHECKED, r"shoal: PE 2: kernel (\(anonymous namespace\)::)?faulty, core 1: ", "1")

    def test_crashes_name_kernel_core_and_pe(self):
        for case, (signal, pattern) in CRASHES.items():
            with self.subTest(case):
                status, text = run(case)
                if SANITIZED:  # which have handlers of their own
                    self.assertNotEqual(status, 0, text)
                    continue
                self.assertEqual(status, 128 + signal, text)
                self.assertRegex(text, rf"PE 2\b.*signal {signal}")
                if pattern:
                    self.assertRegex(text, r"shoal: PE 2: kernel (\(anonymous namespace\)::)?faulty, core 1: crashed: signal \d+ \(" + pattern)

    def test_launches_are_checked(self):
        self.assert_told({"cores": r"launch: kernel .*faulty: cores: 65 is out of range: this device has 1 to 8",
                          "launch_scratch": r"launch: kernel .*faulty: scratch: 1099511627776 bytes are more than a core can have",
                          "lambda": r"kernel .*, core 0: p: pe: PE -5 is out of range",
                          "named": r"kernel my operator, core 0: p: pe: PE -5 is out of range"},
                         r"shoal: PE \d: ")

    def test_what_the_stack_has_no_room_for_is_told_on_every_thread(self):
        for case in ["overflow", "overflow_on_stream"]:
            with self.subTest(case):
                status, text = run(case)
                if SANITIZED:
                    self.assertNotEqual(status, 0, text)
                    continue
                self.assertEqual(status, 128 + 11, text)
                self.assertRegex(text, r"shoal: PE 2: kernel .*bottomless, core 0: crashed: signal 11 \(Segmentation fault\)")

    def test_what_streams_are_given_is_checked(self):
        self.assert_told({"mixed": r"PE [12]: kernel .*mixed, core 0: all_reduce: dest: \S+ is another place than PE [20]'s",
                          "two_meet": r"PE 2: kernel .*lonely, core 0: barrier: team: another launch, of kernel .*lonely, meets over the same team",
                          "call_throws": r"PE 2: Stream::call: the function threw: no more pears",
                          "call_waits": r"PE 2: Stream::synchronize: called inside of this stream's own work",
                          "stale": r"PE 2: Device, Stream or Event: it belongs to a job that has ended"},
                         "shoal: ")

    def test_launches_with_unequal_cores_are_told(self):
        for options in [], ["--fake-nodes", "3"]:
            with self.subTest(options):
                status, text = run("uneven", 3, options)
                self.assertEqual(status, 1, text)
                self.assertRegex(text, r"shoal: PE 2: kernel .*uneven, core 2: barrier: PE [01] has launched this with 2 cores, and this PE with 3")

    def test_groups_that_start_at_other_cores_are_told(self):
        for case in ["shifted", "shifted_within", "shifted_apart"]:
            for options in [], ["--fake-nodes", "3"]:
                with self.subTest(case=case, options=options):
                    status, text = run(case, 3, options)
                    self.assertEqual(status, 1, text)
                    self.assertRegex(text, r"shoal: PE ([01]: kernel .*shifted, core 0: barrier: PE 2 makes it from core 1 on, and this PE from core 0 on"
                                           r"|2: kernel .*shifted, core 1: barrier: PE [01] makes it from core 0 on, and this PE from core 1 on)")

    def test_a_dest_unlike_that_of_another_node_is_told(self):
        status, text = run("mixed", 2, ["--fake-nodes", "2"])
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"PE [01]: kernel .*mixed, core 0: all_reduce: dest: \S+ is another place than PE [01]'s")

    def test_a_meeting_that_others_left_out_is_told(self):
        status, text = run("lonely")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"shoal: PE 2: kernel .*lonely, core \d: barrier: PE [01] has come to the end of the job without this call")

    def test_without_a_mistake_all_is_well(self):
        self.assertEqual(run("none"), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *[a for a in sys.argv[3:] if a != "sanitized"]])
