#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SHOAL_CHECK=1 says of mistakes: the message is read whole, the line of the program included.

Needs SHOALRUN, CHECK_PROGRAMS and CHECK_SOURCE in the environment: the launcher, the program and its source.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("CHECK_PROGRAMS", "check_programs")
SOURCE = os.environ.get("CHECK_SOURCE", "check_programs.c")
DEADLINE = 60  # seconds
DIFFER = r"the members of the team of 3 PEs do not call the same: PE 0 calls {0}\(team of 3 PEs{1}\) at .*; PE {2} calls {3}\(team of 3 PEs{4}\) at .*"
ANY = ".*"
# Symmetric memory is told by its place, which is the same on all PEs; what else is told by address.
PLACE = r" (?:(?:heap|static data)[\w ]* \+ )?0x[0-9a-f]+(?: \(\w+(?: \+ 0x[0-9a-f]+)?\))?"
# case -> pattern of the line, whoever says it
CASES = {
    "malloc_sizes": "shmem_malloc: " + DIFFER.format("shmem_malloc", ", 100 bytes", 1, "shmem_malloc", ", 200 bytes"),
    "malloc_calls": "shmem_barrier_all: " + DIFFER.format("shmem_malloc", ", 64 bytes", 1, "shmem_barrier_all", ""),
    "free_other": "shmem_free: " + DIFFER.format("shmem_free", r", ptr at heap \+ 0x[0-9a-f]+", 1, "shmem_free", r", ptr at heap \+ 0x[0-9a-f]+"),
    "free_in_other_heap": "shmemx_heap_free: " + DIFFER.format("shmemx_heap_free", ANY, 1, "shmemx_heap_free", ANY),
    "destroy_other_heap": "shmemx_heap_destroy: " + DIFFER.format("shmemx_heap_destroy", r", heap \d+", 1, "shmemx_heap_destroy", r", heap \d+"),
    "alignments": "shmem_align: " + DIFFER.format("shmem_align", ", 100 bytes, aligned to 64", 1, "shmem_align", ", 100 bytes, aligned to 4096"),
    "strides": "shmem_long_alltoalls: " + DIFFER.format("shmem_long_alltoalls", ", 2 elements, strides 1 and 1" + ANY, 1, "shmem_long_alltoalls", ", 2 elements, strides 2 and 1" + ANY),
    "splits": "shmem_team_split_strided: " + DIFFER.format("shmem_team_split_strided", ", start 0, stride 1, size 2", 1, "shmem_team_split_strided", ", start 0, stride 1, size 3"),
    "active_sets": r"shmem_long_sum_to_all: the members of the active set do not call the same: PE 0 calls shmem_long_sum_to_all\(active set of 3 PEs from PE 0 to PE 2"
                   r".*; PE 1 calls shmem_long_sum_to_all\(active set of 2 PEs from PE 0 to PE 1",
    "past_block_collect": r"shmem_long_collect: dest: 640 bytes from 0x[0-9a-f]+ run 128 bytes past the end of the block of 512 bytes",
    "freed_collect": r"shmem_long_collect: source: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "freed_alltoalls": r"shmem_long_alltoalls: dest: 0x[0-9a-f]+ is in the block of 256 bytes at 0x[0-9a-f]+, which has been freed",
    "overrun_last": r"shmem_finalize: the block of 512 bytes at 0x[0-9a-f]+ was written past its end, at bytes 512 to 519",
    "psync_again_for_two": r"shmem_long_sum_to_all: the pSync array at 0x[0-9a-f]+ is used again too early",
    "operations": "shmem_long_max_reduce: " + DIFFER.format("shmem_long_sum_reduce", ", 4 elements" + ANY, 1, "shmem_long_max_reduce", ANY),
    "types": "shmem_int_sum_reduce: " + DIFFER.format("shmem_long_sum_reduce", ANY, 2, "shmem_int_sum_reduce", ANY),
    "counts": "shmem_long_sum_reduce: " + DIFFER.format("shmem_long_sum_reduce", ", 4 elements" + ANY, 1, "shmem_long_sum_reduce", ", 5 elements" + ANY),
    "roots": "shmem_long_broadcast: " + DIFFER.format("shmem_long_broadcast", ANY + "root 0" + ANY, 2, "shmem_long_broadcast", ANY + "root 1" + ANY),
    "addresses": "shmem_long_fcollect: " + DIFFER.format("shmem_long_fcollect", ANY, 1, "shmem_long_fcollect", ANY + r"source at static data" + ANY),
    "team": r"shmem_(team_sync|barrier_all): the job can never go on: .*PEs 0 and 1 wait for each other: .*shmem_barrier_all.*shmem_team_sync",
    "never": r"shmem_(finalize|barrier_all): the job can never go on: .*can no longer enter the shmem_barrier_all that .*waits? in: it is in shmem_finalize",
    "locks": r"shmem_(set_lock|barrier_all): the job can never go on: PEs 0 and 1 wait for each other: .*lock static data",
    "freed_put": r"shmem_long_p: dest: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "freed_fetch": r"shmem_long_atomic_fetch_add_nbi: fetch: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "underrun": r"shmem_barrier_all: the block of 1000 bytes at 0x[0-9a-f]+ was written before its start, at byte -3: by a plain store",
    "underrun_first": r"shmem_barrier_all: the block of 512 bytes at 0x[0-9a-f]+ was written before its start, at bytes -8 to -1: by a plain store",
    "underrun_first_of_team_heap": r"shmem_barrier_all: the block of 100 bytes at 0x[0-9a-f]+ was written before its start, at byte -2:",
    "underrun_near": r"shmem_free: the block of 64 bytes at 0x[0-9a-f]+ was written before its start, at byte -1:",
    "overlap_broadcast": r"shmem_long_broadcast: dest and source overlap: 32 bytes at 0x[0-9a-f]+ and 32 bytes at 0x[0-9a-f]+; they may be the same",
    "freed_source": r"shmem_long_put: source: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "never_allocated": r"shmem_long_atomic_inc: dest: 0x[0-9a-f]+ is in no allocated block: the one before it, of 512 bytes at 0x[0-9a-f]+, ends 32256 bytes earlier; check the index, or allocate it",
    "past_block": r"shmem_long_put: dest: 64 bytes from 0x[0-9a-f]+ run 32 bytes past the end of the block of 512 bytes at 0x[0-9a-f]+; check the count, or allocate more",
    "past_block_batch": r"shmemx_putmem_batch: dest: 64 bytes from 0x[0-9a-f]+ run 32 bytes past the end of the block of 512 bytes",
    "past_block_get": r"shmem_long_iget: source: 568 bytes from 0x[0-9a-f]+ run 56 bytes past the end of the block of 512 bytes",
    "stride_wraps": r"shmem_long_iput: source: the bytes from 0x[0-9a-f]+ on run past the end of all memory; check the count and the stride",
    "stride_wraps_get": r"shmem_long_iget: dest: the bytes from 0x[0-9a-f]+ on run past the end of all memory; check the count and the stride",
    "wait_freed": r"shmem_long_wait_until: ivar: .*which has been freed; free it once, after its last use",
    "freed_put_later": r"shmem_long_p: dest: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "freed_source_later": r"shmem_long_put: source: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "freed_atomic_later": r"shmem_long_atomic_add: dest: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "past_block_later": r"shmem_long_put: dest: 64 bytes from 0x[0-9a-f]+ run 8 bytes past the end of the block of 64 bytes",
    "overlap_put_later": r"shmem_long_put: dest and source overlap: 32 bytes",
    "wait_freed_later": r"shmem_long_wait_until: ivar: .*which has been freed",
    "overrun_covered": r"shmem_malloc: the block of 64 bytes at 0x[0-9a-f]+ was written past its end, at bytes 64 to 71",
    "overrun": r"shmem_barrier_all: the block of 512 bytes at 0x[0-9a-f]+ was written past its end, at bytes 512 to 519",
    "overrun_freed": r"shmem_free: the block of 100 bytes at 0x[0-9a-f]+ was written past its end, at byte 102:",
    "overrun_team_heap": r"shmem_barrier_all: the block of 100 bytes at 0x[0-9a-f]+ was written past its end, at byte 103:",
    "overrun_destroyed": r"shmemx_heap_destroy: the block of 100 bytes at 0x[0-9a-f]+ was written past its end, at byte 101:",
    "overrun_team_destroyed": r"shmem_team_destroy: the block of 100 bytes at 0x[0-9a-f]+ was written past its end, at byte 101:",
    "overlap_put": r"shmem_long_put: dest and source overlap: 32 bytes at 0x[0-9a-f]+ and at 0x[0-9a-f]+ of this PE",
    "overlap_reduce": r"shmem_long_sum_reduce: dest and source overlap: 32 bytes at 0x[0-9a-f]+ and 32 bytes at 0x[0-9a-f]+; they may be the same",
    "overlap_fcollect": r"shmem_long_fcollect: dest and source overlap: 48 bytes at 0x[0-9a-f]+ and 16 bytes",
    "psync_around_ctx": r"shmem_long_sum_to_all: the pSync array at 0x[0-9a-f]+ is used again too early",
    "psync_again": r"shmem_broadcast64: the pSync array at 0x[0-9a-f]+ is used again too early",
    "psync_again_reduce": r"shmem_long_max_to_all: the pSync array at 0x[0-9a-f]+ is used again too early",
    "psync_third": r"shmem_broadcast64: the pSync array at 0x[0-9a-f]+ is used again too early",
    "psync_unset": r"shmem_broadcast64: pSync\[1\] at 0x[0-9a-f]+ is 17 and not SHMEM_SYNC_VALUE",
    "lock_of_other": r"shmem_clear_lock: this PE does not hold the lock at 0x[0-9a-f]+: PE 0 is the last in its queue",
    "lock_twice": r"shmem_set_lock: this PE holds or waits for the lock at 0x[0-9a-f]+ already",
    "team_destroyed": r"shmem_team_sync: the team 0x[0-9a-f]+ is not valid: destroyed already",
    "ctx_destroyed": r"shmem_ctx_long_p: the context 0x[0-9a-f]+ is not valid: destroyed already",
    "free_twice": r"shmem_free: 0x[0-9a-f]+ is in the block of 64 bytes at 0x[0-9a-f]+, which has been freed",
    "free_inside": r"shmem_free: 0x[0-9a-f]+ is 8 bytes inside a block of 100 bytes, not its start",
    "free_private": r"shmem_free: 0x[0-9a-f]+ is not in this symmetric heap",
    "misaligned_put": r"shmem_long_put: dest: 0x[0-9a-f]+ is misaligned: data of this type begin at a multiple of 8; shmem_putmem",
    "misaligned_put_later": r"shmem_long_put: dest: 0x[0-9a-f]+ is misaligned",
    "misaligned_source": r"shmem_long_put_signal: source: 0x[0-9a-f]+ is misaligned",
    "misaligned_get": r"shmem_long_get_nbi: dest: 0x[0-9a-f]+ is misaligned",
    "misaligned_p": r"shmem_long_p: dest: 0x[0-9a-f]+ is misaligned",
    "misaligned_strided": r"shmem_double_iget: source: 0x[0-9a-f]+ is misaligned",
    "misaligned_reduce": r"shmem_long_sum_reduce: source: 0x[0-9a-f]+ is misaligned",
    "misaligned_to_all": r"shmem_long_sum_to_all: source: 0x[0-9a-f]+ is misaligned",
    "misaligned_collect": r"shmem_long_fcollect: dest: 0x[0-9a-f]+ is misaligned",
    "pe_out_of_range": r"shmem_long_p: PE 3 is out of range",
    "thread": r"shmem_long_p: called by a thread that did not call init, though the thread level is SHMEM_THREAD_FUNNELED",
    "thread_create": r"shmem_ctx_create: called by a thread that did not call init, though the thread level is SHMEM_THREAD_FUNNELED",
    "thread_team_create": r"shmem_team_create_ctx: called by a thread that did not call init",
    "thread_session": r"shmem_ctx_session_start: called by a thread that did not call init",
    "serialized": r"shmem_long_(atomic_add|wait_until): called while another thread of this PE is in a call, though the thread level is SHMEM_THREAD_SERIALIZED",
}


def wrong_lines():
    """{case: numbers of the lines in it that are marked as wrong}"""
    lines, case = {}, None
    with open(SOURCE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"static void \*?(\w+)\(", line)
            case = found.group(1) if found else case
            if line.rstrip().endswith("// wrong"):
                lines.setdefault({"call_put": "thread"}.get(case, case.replace("call_", "thread_")), []).append(number)
    return lines


class Check(unittest.TestCase):
    def run_case(self, case, check="1", options=()):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(SHOAL_CHECK=check)
        return subprocess.run([SHOALRUN, "--timeout", "40", "-n", "3", *options, PROGRAM, case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=DEADLINE)

    def test_each_mistake_is_named_with_both_sides_and_the_line(self):
        wrong = wrong_lines()
        for case, pattern in CASES.items():
            with self.subTest(case):
                run = self.run_case(case)
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertRegex(run.stderr, rf"(?m)^shoal: PE \d: {pattern.replace(' 0x[0-9a-f]+', PLACE)}")
                # SERIALIZED and deadlocks are noticed by any of several calls.
                if shutil.which("addr2line") and case not in ("serialized", "never", "team", "locks", "overrun_last"):
                    self.assertRegex(run.stderr, rf"check_programs\.c:({'|'.join(map(str, wrong[case]))})\b", case)

    def test_symmetric_memory_is_told_by_its_place(self):
        for case, pattern in (("freed_put", r"dest: heap \+ 0x[0-9a-f]+ is in the block of 64 bytes at heap \+ 0x[0-9a-f]+, which"),
                              ("overrun", r"the block of 512 bytes at heap \+ 0x[0-9a-f]+ was"),
                              ("overlap_put", r"32 bytes at heap \+ 0x[0-9a-f]+ and at heap \+ 0x[0-9a-f]+ of"),
                              ("psync_unset", r"pSync\[1\] at static data \+ 0x[0-9a-f]+ \(psync\) is 17"),
                              ("lock_twice", r"the lock at static data \+ 0x[0-9a-f]+ \(lock\) already"),
                              ("counts", r"dest at static data \+ 0x[0-9a-f]+ \(dest\), source at static data \+ 0x[0-9a-f]+ \(source\)")):
            with self.subTest(case):
                self.assertRegex(self.run_case(case).stderr, pattern)

    def test_both_sides_are_named_between_nodes_too(self):
        run = self.run_case("counts", options=("--fake-nodes", "0,1,1"))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, rf"(?m)^shoal: PE \d: {CASES['counts']}")

    def test_right_programs_run(self):
        for check in ("1", "0"):
            run = self.run_case("right", check)
            self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_a_heap_may_go_while_another_thread_meets(self):
        run = self.run_case("right_heaps")
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[1:])
