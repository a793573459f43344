#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any PE, or of the launcher, at random moments: the job ends, one line says who and why, nothing is left.

Needs SHOALRUN and KILL_TARGET in the environment. SHOAL_TEST_KILLS: how many (default 25, with SHOAL_TEST_FULL 100); SHOAL_TEST_SEED: replays a run.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
TARGET = os.environ.get("KILL_TARGET", "kill_target")
KILLS = int(os.environ.get("SHOAL_TEST_KILLS", "100" if "SHOAL_TEST_FULL" in os.environ else "25"))
SEED = int(os.environ.get("SHOAL_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
LIMIT = 20  # seconds after which a job counts as hung; on an idle machine it is gone within a tenth of one


def processes_with(mark):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def descendants_of(pid):
    found = children_of(pid)
    for child in list(found):
        found += descendants_of(child)
    return found


def leftovers():
    """Names that a library of this kind could leave behind; not those of other tests, which may run beside."""
    return {os.path.join(folder, name) for folder in ("/tmp", "/dev/shm", "/var/tmp") if os.path.isdir(folder)
            for name in os.listdir(folder) if name.lower().startswith(("shoal-", "shmem")) and not name.startswith("shoal-test-")}


def runs_target(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == os.path.basename(TARGET)
    except OSError:
        return False


class Kill(unittest.TestCase):
    def setUp(self):
        self.mark = f"SHOAL_KILL_TEST={os.getpid()}-{random.SystemRandom().randrange(1 << 40)}"
        name, value = self.mark.split("=")
        self.environment = dict(os.environ, **{name: value})
        self.before = leftovers()
        self.ends = []

    def start(self, n):
        return subprocess.Popen([SHOALRUN, "-n", str(n), TARGET], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, job, what):
        killed = time.monotonic()
        try:
            out, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            left = processes_with(self.mark)
            job.kill()
            self.fail(f"{what}: the job hangs; processes {left}")
        while processes_with(self.mark):
            if time.monotonic() - killed > LIMIT:
                self.fail(f"{what}: processes {processes_with(self.mark)} are left")
            time.sleep(0.01)
        self.ends.append(time.monotonic() - killed)
        self.assertEqual(leftovers() - self.before, set(), what)
        return out, err

    def test_a_pe(self):
        draw = random.Random(SEED)
        for kill in range(KILLS):
            n = draw.choice([2, 3, 5, 8])
            delay = draw.choice([0.0, 0.01, 0.05, 0.3]) * draw.random()
            pick = draw.random()
            job = self.start(n)
            deadline = time.monotonic() + LIMIT
            while sum(map(runs_target, descendants_of(job.pid))) < n and time.monotonic() < deadline and job.poll() is None:
                time.sleep(0.001)
            time.sleep(delay)  # the random moment
            pes = [pid for pid in descendants_of(job.pid) if runs_target(pid)]
            what = f"kill {kill} of seed {SEED}: one of {n} PEs after {delay:.3f} s"
            self.assertEqual(len(pes), n, what)
            victim = pes[int(pick * n)]
            os.kill(victim, signal.SIGKILL)
            out, err = self.finish(job, what)
            self.assertEqual(job.returncode, 128 + signal.SIGKILL, f"{what}\n{err}")
            lines = err.splitlines()
            self.assertEqual(len(lines), 1, f"{what}\n{err}")
            said = re.search(r"PE (\d+) \(pid (\d+) on \S+\) was killed by signal 9", lines[0])
            self.assertTrue(said, f"{what}\n{err}")
            self.assertEqual(int(said.group(2)), victim, what)
            announced = re.search(rf"^PE (\d+) pid {victim}$", out, re.M)
            if announced:
                self.assertEqual(said.group(1), announced.group(1), what)
        print(f"{KILLS} PEs killed, seed {SEED}: gone after {sorted(self.ends)[KILLS // 2]:.3f} s (median), "
              f"{max(self.ends):.3f} s at most", file=sys.stderr)

    def test_the_launcher(self):
        draw = random.Random(SEED + 1)
        count = max(1, KILLS // 3)
        for kill in range(count):
            n = draw.choice([2, 3, 5])
            delay = 0.3 * draw.random()
            job = self.start(n)
            time.sleep(delay)  # the random moment
            what = f"kill {kill} of seed {SEED}: the launcher of {n} PEs after {delay:.3f} s"
            job.kill()
            self.finish(job, what)
            self.assertEqual(job.returncode, -signal.SIGKILL, what)
        print(f"{count} launchers killed, seed {SEED}: all gone after {sorted(self.ends)[count // 2]:.3f} s (median), "
              f"{max(self.ends):.3f} s at most", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
