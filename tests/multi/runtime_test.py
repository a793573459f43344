#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose PEs see different things: processors, options; and what the table says of PEs that wait.

Needs SHOALRUN, RUNTIME_PE and LIBRARY (libshoal.so) in the environment.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PE = os.environ.get("RUNTIME_PE", "runtime_pe")
LIMIT = 60  # seconds after which a run counts as hung


def run(*arguments, **variables):
    done = subprocess.run([SHOALRUN, *arguments], env=dict(os.environ, **variables), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


class Differences(unittest.TestCase):
    def test_pes_with_different_processors_meet(self):
        first = min(os.sched_getaffinity(0))
        script = f'if [ "$SHOAL_PE" = 0 ]; then exec taskset -c {first} {PE} barriers; else exec {PE} barriers; fi'
        for n in "2", "3":
            self.assertEqual(run("-n", n, "sh", "-c", script), (0, "met\n", ""))

    def test_bound_pes_meet(self):
        self.assertEqual(run("-n", "2", "--bind", "core", PE, "barriers"), (0, "met\n", ""))

    def test_options_that_differ_are_named(self):
        for name, value, default in (("SHOAL_BARRIER", "central", "auto"), ("SHMEM_SYMMETRIC_SIZE", "2m", "1073741824"),
                                     ("SHOAL_DEVICE_HEAP", "1m", "1073741824"), ("SHOAL_CHAOS", "7", "0"), ("SHOAL_TRACE", "/tmp/a, b.json", "")):
            script = f'[ "$SHOAL_PE" = 1 ] && export {name}="{value}"; exec {PE} barriers'
            status, _, err = run("-n", "2", "sh", "-c", script)
            self.assertNotEqual(status, 0)
            given = value.replace("2m", "2097152").replace("1m", "1048576")
            self.assertRegex(err, rf"PE 1 has {name}={given}; PE 0 has {name}={default}: set these to the same everywhere")

    def test_two_copies_in_one_process_are_refused(self):
        library = os.environ.get("LIBRARY", "libshoal.so")
        sanitizer = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_odr_violation=0"}
        self.assertEqual(run("-n", "2", PE, "two_copies", library, **sanitizer), (0, "", ""))  # the same one once more
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "libshoal_of_another.so")
            shutil.copy(library, copy)
            status, out, err = run("-n", "2", PE, "two_copies", copy, **sanitizer)
        self.assertEqual((status, out), (3, ""), err)
        self.assertRegex(err, rf"(?m)PE \d: shmem_init_thread: this process has two copies of libshoal, \S+ and {copy}: let")

    def test_a_bad_option_is_said_once(self):
        for name, value in (("SHOAL_BARRIER", "butterfly"), ("SHOAL_REDUCE", "ring"), ("SHOAL_KERNELS", "mmx"), ("SHOAL_LOG", "loud")):
            status, _, err = run("-n", "3", PE, "barriers", **{name: value})
            self.assertNotEqual(status, 0)
            self.assertIn(f'{name}="{value}" is not valid', err)


class Ends(unittest.TestCase):
    def test_a_signal_handler_may_end_the_program_in_the_middle_of_finalize(self):
        status, _, err = run("-n", "2", "--timeout", str(LIMIT // 2), PE, "handler")
        self.assertEqual(status, 1, err)
        self.assertRegex(err, r"PE 0 .* exited with status 0 while in shmem_finalize")


class Table(unittest.TestCase):
    def table(self, mode):
        status, _, err = run("-n", "2", "--timeout", "1", PE, mode)
        self.assertEqual(status, 3, err)
        return {int(pe): text for pe, text in re.findall(r"PE (\d+) \(pid \d+\): (.*)", err)}

    def test_says_who_waits_in_finalize(self):
        table = self.table("forgotten")
        self.assertIn("shmem_finalize", table[0])
        self.assertIn("shmem_barrier_all", table[1])

    def test_says_who_waits_at_its_exit(self):
        table = self.table("exit0")
        self.assertIn("shmem_barrier_all", table[0])
        self.assertIn("shmem_finalize", table[1])

    def test_says_what_a_second_thread_waits_for(self):
        table = self.table("second")
        for pe in 0, 1:
            self.assertRegex(table[pe], r"shmem_long_wait_until\(static data \+ 0x[0-9a-f]+ \(\w+\), == -5\)")


class Fork(unittest.TestCase):
    def test_a_child_that_calls_the_library_is_told(self):
        status, out, err = run("-n", "2", PE, "child")
        self.assertEqual((status, out), (0, "child ended with 1\n" * 2))
        for pe in 0, 1:
            self.assertIn(f"shoal: PE {pe}: shmem_barrier_all: called in a forked child", err)


class Locks(unittest.TestCase):
    def test_only_the_holder_can_clear(self):
        status, _, err = run("-n", "3", PE, "steal")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"^shoal: PE 1: shmem_clear_lock: this PE does not hold the lock at static data \+ 0x\w+ \(lock\): PE 0 is the last in its queue\n$")

    def test_work_in_the_heap_of_a_team(self):
        for n in "2", "5":
            self.assertEqual(run("-n", n, PE, "team_lock"), (0, "", ""))


class Threads(unittest.TestCase):
    def test_split_teams_at_the_same_time(self):
        for n in "2", "3":
            self.assertEqual(run("-n", n, PE, "splits"), (0, "", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
