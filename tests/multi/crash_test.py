#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SHOAL_CHECK=1 says of a PE that crashes, and that it ends as it would have.

Needs SHOALRUN, CRASH_PROGRAMS and CRASH_SOURCE in the environment: the launcher, the program and its source.
"""
import os
import re
import shutil
import subprocess
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


@unittest.skipIf(has_sanitizer("address", "thread"), "the sanitizer has a handler of its own")
class Crash(unittest.TestCase):
    def run_case(self, case):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(SHOAL_CHECK="1")
        return subprocess.run([SHOALRUN, "--timeout", "40", "-n", "3", PROGRAM, case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=DEADLINE)

    def test_a_crash_is_told_with_its_line_and_ends_as_before(self):
        wrong = wrong_lines()
        overflow, program = r" at address 0x[0-9a-f]+, a stack overflow, it seems", r"crash_programs\+0x[0-9a-f]+"
        for case, at, where, function in (
                ("crash", " at address 0x0", program, "crash"), ("crash_in_put", r" at address 0x[0-9a-f]+", ".*", "crash_in_put"),
                ("crash_by_kill", "", r"libc\.so\.6\+0x[0-9a-f]+", "crash_by_kill"),
                ("crash_null_call", " at address 0x0", program, "crash_null_call"), ("crash_chained", " at address 0x0", program, "crash_chained"),
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
