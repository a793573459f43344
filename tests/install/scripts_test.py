#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts' command lines, their package check, and the combined ctest folder; nothing is built here."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=60, env={**os.environ, **env}, check=False)


def script(name):
    return os.path.join(ROOT, "scripts", name)


class CommandLines(unittest.TestCase):
    def refused(self, says, *command):
        result = run(*command)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(says, result.stderr)

    def test_help_names_every_option(self):
        for name, options in (("build.sh", "--build-type --sanitize --compiler --prefix --jobs --tests --python --clean --no-install"),
                              ("test.sh", "--full --only --filter --jobs --no-install")):
            result = run(script(name), "--help")
            self.assertEqual(result.returncode, 0)
            for option in options.split():
                self.assertIn(f"  {option}", result.stdout)

    def test_bad_arguments_are_refused_with_what_is_accepted(self):
        self.refused("unknown argument '--fast'", script("build.sh"), "--fast")
        self.refused("unknown argument 'all'", script("test.sh"), "all")
        self.refused("--jobs needs a value", script("build.sh"), "--jobs")
        self.refused("--jobs 0: must be a whole number from 1 on", script("build.sh"), "--jobs", "0")
        self.refused("--jobs 2x: must be a whole number from 1 on", script("test.sh"), "--jobs=2x")
        self.refused("--sanitize memory: must be address, thread or none", script("build.sh"), "--sanitize", "memory")
        self.refused("--compiler icc: must be gcc or clang", script("build.sh"), "--compiler=icc")
        self.refused("--build-type fast: must be release, debug or relwithdebinfo", script("build.sh"), "--build-type", "fast")
        self.refused("--tests maybe: must be on or off", script("build.sh"), "--tests", "maybe")
        self.refused("--python 3: must be on or off", script("build.sh"), "--python", "3")
        self.refused("--only everything: no such part", script("test.sh"), "--only", "everything")


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = folder.name

    def fake(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def need(self, install, *packages):
        line = f'root=; . "{script("lib.sh")}"; need_packages {install} {" ".join(packages)}'
        return run("bash", "-c", line, PATH=self.bin + os.pathsep + os.environ["PATH"])

    def test_present_packages_cost_no_call_of_apt(self):
        self.fake("dpkg-query", "echo installed\n")
        self.fake("apt-get", "echo called >&2; exit 1\n")
        result = self.need("yes", "cmake", "g++")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_missing_packages_are_named_when_none_may_be_installed(self):
        self.fake("dpkg-query", 'case "$*" in *g++) echo installed ;; *) exit 1 ;; esac\n')
        result = self.need("no", "cmake", "g++", "ninja-build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing packages; install them with: apt-get install cmake ninja-build", result.stderr)

    def test_missing_packages_are_installed_from_fresh_lists(self):
        log = os.path.join(self.bin, "log")
        self.fake("dpkg-query", 'case "$*" in *g++) echo installed ;; *) exit 1 ;; esac\n')
        self.fake("sudo", 'exec "$@"\n')
        self.fake("apt-get", f'echo "$*" >>{log}\ncase "$*" in *update) exit 100 ;; esac\n')
        result = self.need("yes", "cmake", "g++", "clang")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(log, encoding="utf-8") as file:
            calls = [line.split("-o DPkg::Lock::Timeout=600 ")[1] for line in file.read().splitlines()]
        self.assertEqual(calls, ["update", "install -y --no-install-recommends cmake clang"])

    def test_failed_installation_is_a_failure(self):
        self.fake("dpkg-query", "exit 1\n")
        self.fake("sudo", 'exec "$@"\n')
        self.fake("apt-get", "exit 100\n")
        result = self.need("yes", "cmake", "clang")
        self.assertEqual((result.returncode, result.stderr), (1, "bash: could not install: cmake clang\n"))


class Combined(unittest.TestCase):
    """Two parts, one failing test: names, picks, properties and the exit status survive the combination."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shoal combine ")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.part("a", 'add_test([=[unit.sees_env]=] "/bin/sh" "-c" "test \\"$V\\" = \\"1 2\\"")\n'
                       'set_tests_properties([=[unit.sees_env]=] PROPERTIES ENVIRONMENT "V=1 2;W=3")\n'
                       'add_test(unit.skipped_one /bin/false)\n')
        self.part("b", 'add_test(unit.fails /bin/false)\nadd_test(unit.expects_failure /bin/false)\n'
                       'set_tests_properties(unit.expects_failure PROPERTIES WILL_FAIL TRUE)\n')

    def part(self, name, text):
        os.makedirs(os.path.join(self.folder, name))
        with open(os.path.join(self.folder, name, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(text)

    def combine(self, *words):
        return run(sys.executable, script("combine_tests.py"), os.path.join(self.folder, "all"), *words)

    def test_one_run_covers_both_parts(self):
        a, b = os.path.join(self.folder, "a"), os.path.join(self.folder, "b")
        result = self.combine("a", a, "sees", "env X=1", "b", b, ".", "")
        self.assertEqual((result.returncode, result.stdout), (0, "a: 1 tests\nb: 2 tests\n"), result.stderr)
        tested = run("ctest", "--test-dir", os.path.join(self.folder, "all"))
        self.assertEqual(tested.returncode, 8, tested.stdout)
        self.assertIn("67% tests passed, 1 tests failed out of 3", tested.stdout)
        self.assertIn("b/unit.fails (Failed)", tested.stdout + tested.stderr)

    def test_part_without_a_matching_test_is_an_error(self):
        result = self.combine("a", os.path.join(self.folder, "a"), "nothing", "")
        self.assertEqual((result.returncode, result.stderr), (1, "combine_tests.py: a: no test matches 'nothing'\n"))


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main(verbosity=2)
