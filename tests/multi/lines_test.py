#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which line a message names where C++ calls through headers: the program's own, by whatever compiler and optimisation.

Needs SHOALRUN, LINES_SOURCE, INCLUDE and LIBRARY in the environment: the launcher, the program's source, the folders of the
public headers and of the library.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
SOURCE = os.environ.get("LINES_SOURCE", "lines_programs.cpp")
DEADLINE = 60  # seconds
COMPILERS = [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]


def marked_lines():
    """{case: numbers of the lines that are wrong, or race}"""
    lines, case = {}, None
    with open(SOURCE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"(?:inline )?int (\w+)\(", line)
            case = found.group(1) if found else case
            if re.search(r"// (wrong|race)$", line.rstrip()):
                lines.setdefault({"put_one": "own_inline"}.get(case, case), set()).add(number)
    return lines


@unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
class Lines(unittest.TestCase):
    def compile(self, folder, compiler, level):
        program = os.path.join(folder, f"{compiler}{level}")
        library = os.environ["LIBRARY"]
        for options in ((program,), (program + ".so", "-shared", "-fPIC", "-DPLUGIN")):
            subprocess.run([compiler, "-std=c++20", "-g", level, "-I" + os.environ["INCLUDE"], SOURCE, "-o", *options, "-L" + library,
                            "-lshoal", "-Wl,-rpath," + library], check=True, timeout=4 * DEADLINE)
        return program

    def run_case(self, program, case):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment["SHOAL_RACE" if case.startswith("race") else "SHOAL_CHECK"] = "1"
        return subprocess.run([SHOALRUN, "--timeout", "40", "-n", "3", program, case], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=environment, timeout=DEADLINE)

    def test_the_line_of_the_program_is_named(self):
        lines = marked_lines()
        self.assertGreater(len(lines), 20)
        with tempfile.TemporaryDirectory() as folder:
            for compiler in COMPILERS:
                for level in ("-O0", "-O2"):
                    program = self.compile(folder, compiler, level)
                    for case, wanted in lines.items():
                        with self.subTest(case, compiler=compiler, level=level):
                            run = self.run_case(program, case)
                            self.assertEqual(run.returncode, 66 if case.startswith("race") else 1, run.stderr)
                            told = re.findall(r"at ([\w.+]+):(\d+) \(", run.stderr)
                            self.assertTrue(told, run.stderr)
                            self.assertEqual({file for file, _ in told}, {os.path.basename(SOURCE)}, run.stderr)
                            self.assertLessEqual({int(line) for _, line in told}, wanted | self.others(case), run.stderr)
                            self.assertTrue({int(line) for _, line in told} & wanted, run.stderr)
                            if case.startswith("race"):
                                self.assertEqual({int(line) for _, line in told}, wanted, run.stderr)

    def test_what_nobody_can_tell_is_not_guessed(self):
        with tempfile.TemporaryDirectory() as folder:
            program = self.compile(folder, COMPILERS[0], "-s")
            run = self.run_case(program, "native_free")
            self.assertRegex(run.stderr, rf"; at {re.escape(os.path.basename(program))}\+0x[0-9a-f]+\n$")

    def others(self, case):
        """What the other member calls, where two do not call the same."""
        if case != "overload_sync":
            return set()
        with open(SOURCE, encoding="utf-8") as file:
            return {number for number, line in enumerate(file, 1) if line == "    shmem_barrier_all();\n"}


if __name__ == "__main__":
    unittest.main(verbosity=2)
