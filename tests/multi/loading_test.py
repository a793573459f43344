#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watches calls, and tells of crashes, waits for no thread that loads a library.

Needs SHOALRUN, LOADING_PROGRAMS, LOADING_PLUGIN and LOADING_SOURCE in the environment: the launcher, the program, the library and the
program's source.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

from launcher_support import has_sanitizer

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("LOADING_PROGRAMS", "loading_programs")
PLUGIN = os.environ.get("LOADING_PLUGIN", "loading_plugin.so")
SOURCE = os.environ.get("LOADING_SOURCE", "loading_programs.c")
DEADLINE = 60  # seconds


class Loading(unittest.TestCase):
    def run_case(self, case, **variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        return subprocess.run([SHOALRUN, "--timeout", "40", "-n", "1", PROGRAM, case, PLUGIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={**kept, **variables}, timeout=DEADLINE)

    def test_a_call_ends_while_a_constructor_waits_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for variable, value in (("SHOAL_RACE", "1"), ("SHOAL_CHECK", "1"), ("SHOAL_PROFILE", "1"), ("SHOAL_TRACE", f"{folder}/trace.json")):
                with self.subTest(variable):
                    run = self.run_case("call", **{variable: value})
                    self.assertEqual(run.returncode, 0, run.stderr)

    @unittest.skipIf(has_sanitizer("address", "thread"), "the sanitizer has a handler of its own")
    def test_a_crash_is_told_with_its_line_meanwhile(self):
        run = self.run_case("crash", SHOAL_CHECK="1")
        self.assertEqual(run.returncode, 139, run.stderr)
        with open(SOURCE, encoding="utf-8") as file:
            wrong = next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("// wrong"))
        line = rf"loading_programs\.c:{wrong} \(work\)" if shutil.which("addr2line") else ".*"
        self.assertRegex(run.stderr, rf"(?m)^shoal: PE 0: crashed at {line}$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
