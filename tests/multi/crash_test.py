#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SHOAL_CHECK=1 says of a PE that crashes, and that it ends as it would have.

Needs SHOALRUN, CRASH_PROGRAMS and CRASH_SOURCE in the environment: the launcher, the program and its source.
"""
import contextlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from launcher_support import has_sanitizer

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("CRASH_PROGRAMS", "crash_programs")
SOURCE = os.environ.get("CRASH_SOURCE", "crash_programs.c")
DEADLINE = 60  # seconds


def wrong_lines():
    """{function: number of the line in it that is marked as wrong}"""
    lines, function = {}, None
    with open(SOURCE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"static \w+ \*?(\w+)\(.*\{", line)
            function = found.group(1) if found else function
            if line.rstrip().endswith("// wrong"):
                lines[function] = number
    return lines


def links(folder):
    """What the links in it lead to."""
    found = set()
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(os.path.join(folder, name)))
    return found


@unittest.skipIf(has_sanitizer("address", "thread"), "the sanitizer has a handler of its own")
class Crash(unittest.TestCase):
    def environment(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(SHOAL_CHECK="1")
        return environment

    def run_case(self, case, program=PROGRAM):
        return subprocess.run([SHOALRUN, "--timeout", "40", "-n", "3", program, case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment(), timeout=DEADLINE)

    def test_a_crash_is_told_with_its_line_and_ends_as_before(self):
        wrong = wrong_lines()
        overflow, program = r" at address 0x[0-9a-f]+, a stack overflow, it seems", r"crash_programs\+0x[0-9a-f]+"
        for case, at, where, function in (
                ("crash", " at address 0x0", program, "crash"), ("crash_in_put", r" at address 0x[0-9a-f]+", ".*", "crash_in_put"),
                ("crash_by_kill", "", r"libc\.so\.6\+0x[0-9a-f]+", "crash_by_kill"),
                ("crash_null_call", " at address 0x0", program, "crash_null_call"), ("crash_chained", " at address 0x0", program, "crash_chained"),
                ("crash_on_small_stack", " at address 0x0", program, "crash_on_stack"),
                ("crash_on_symmetric_stack", " at address 0x0", program, "crash_on_stack"),
                ("crash_transient", r" at address 0x[0-9a-f]+000", program, "crash_transient"),
                ("crash_in_thread", " at address 0x0", program, "crash_here"), ("crash_at_exit", " at address 0x0", program, "crash_here"),
                ("crash_below_stack", r" at address 0x[0-9a-f]+fff", program, "crash_below_stack"),
                ("crash_overflow", overflow, program, "deep"), ("crash_overflow_thread", overflow, program, "deep")):
            with self.subTest(case):
                run = self.run_case(case)
                self.assertEqual(run.returncode, 139, run.stderr)
                self.assertRegex(run.stderr, rf"(?m)^shoal: PE 1: crashed by signal 11 \(Segmentation fault\){at}; at {where}$")
                line = rf"crash_programs\.c:{wrong[function]} \({function}\)" if shutil.which("addr2line") else ".*"
                self.assertRegex(run.stderr, rf"(?m)^shoal: PE 1: crashed at {line}$")
                self.assertEqual(run.stderr.count("crashed"), 2, run.stderr)
                self.assertRegex(run.stderr, r"(?m)^shoalrun: PE 1 .* was killed by signal 11 ")
        heard = self.run_case("crash_heard")  # the program's own handler
        self.assertEqual(heard.returncode, 11, heard.stderr)
        self.assertNotIn("crashed", heard.stderr)

    def test_a_crash_of_a_forked_child_is_not_the_pe_s(self):
        run = self.run_case("crash_of_child")
        self.assertEqual((run.returncode, run.stderr.count("crashed")), (98, 0), run.stderr)

    def test_a_crash_is_told_though_malloc_is_damaged_or_held(self):
        for case, where in (("crash_malloc_damaged", r"crash_programs\+0x[0-9a-f]+"), ("crash_in_malloc", r"libc\.so\.6\+0x[0-9a-f]+")):
            with self.subTest(case):
                run = self.run_case(case)
                self.assertEqual(run.returncode, 139, run.stderr)
                self.assertRegex(run.stderr, rf"(?m)^shoal: PE 1: crashed by signal 11 \(Segmentation fault\) at address \S+; at {where}$")

    @unittest.skipUnless(shutil.which("addr2line"), "nobody knows lines")
    def test_the_line_is_told_of_a_program_that_is_no_longer_there(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.run_case("crash_deleted", shutil.copy(PROGRAM, folder))
        self.assertEqual(run.returncode, 139, run.stderr)
        self.assertRegex(run.stderr, rf"(?m)^shoal: PE 1: crashed at crash_programs\.c:{wrong_lines()['crash']} \(crash\)$")

    def test_who_finds_the_line_out_holds_nothing_and_ends_with_its_pe(self):
        ours, theirs = os.pipe()
        with open(ours, "rb") as ours, subprocess.Popen([PROGRAM, "crash_while_loading"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                                        env=self.environment(), pass_fds=[theirs]) as process:
            os.close(theirs)
            self.assertIn("crashed by signal 11", process.stderr.readline())
            free, wanted = (os.readlink(f"/proc/self/fd/{end.fileno()}") for end in (ours, process.stderr))
            until, held = time.monotonic() + DEADLINE, set()
            while free in held or wanted not in held:  # it waits for the loader's lock, so nothing else becomes of it
                self.assertLess(time.monotonic(), until, held)
                self.assertIsNone(process.poll(), held)
                with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                    for child in file.read().split():
                        held = links(f"/proc/{child}/fd")
            process.kill()
            for end in ours, process.stderr:
                self.assertTrue(select.select([end], [], [], DEADLINE)[0], "still open")
                self.assertFalse(end.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
