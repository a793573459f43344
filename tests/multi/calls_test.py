#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In every kind of call: a PE that is killed ends the job with a line that names it; one that is stopped holds it up, and no more; one
that gets no more memory ends it in order or with a message. All within a bounded time.

Needs SHOALRUN, SHOAL_TOP, CALLS_TARGET and CALLS_NODES in the environment.
"""
import concurrent.futures
import json
import os
import re
import resource
import select
import signal
import subprocess
import tempfile
import time
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
TOP = os.environ.get("SHOAL_TOP", "shoal-top")
TARGET = os.environ.get("CALLS_TARGET", "calls_target")
NODES = os.environ.get("CALLS_NODES", "1")
LIMIT = 60  # seconds after which a job counts as hung; on an idle machine it takes a fraction of one
AT_ONCE = 4  # jobs that run side by side: they mostly wait

# call -> what shoal-top shows of PE 1 when it is in it; None: it makes the call again and again, or is not seen yet
CALLS = {
    "init": None,
    "wait_until": "shmem_long_wait_until",
    "signal_wait": "shmem_signal_wait_until",
    "barrier": "shmem_barrier_all",
    "reduce": "shmem_long_sum_reduce",
    "broadcast": "shmem_long_broadcast",
    "alltoall": "shmem_long_alltoall",
    "collect": "shmem_long_collect",
    "allocate": "shmem_malloc",
    "split": "shmem_team_split_strided",
    "set_lock": "shmem_set_lock",
    "quiet": None,
    "get": None,
    "atomic": None,
    "finalize": "shmem_finalize",
}
VICTIM = 1


class Job:
    """A job of 3 PEs, two of which are in `call`."""

    def __init__(self, test, call):
        self.call = call
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "go")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(SHMEM_SYMMETRIC_SIZE="16m")
        if NODES != "1":
            environment.update(SHOAL_FAKE_NODES=NODES)
        self.test, self.pids = test, {}
        self.process = subprocess.Popen([SHOALRUN, "-n", "3", TARGET, call, self.file], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            while len(self.pids) < 3:
                line = self.process.stdout.readline()
                said = re.fullmatch(r"PE (\d+) pid (\d+)\n", line)
                assert said, f"{call}: {line!r} {self.process.stderr.read() if not line else ''}"
                self.pids[int(said.group(1))] = int(said.group(2))
            if CALLS[call] is not None:
                self.until(VICTIM, lambda pe: pe["phase"] == "waiting" and pe["call"] == CALLS[call])
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    @property
    def victim(self):
        return self.pids[VICTIM]

    def until(self, pe, holds):
        """Looks at the job until `holds` of what shoal-top says of `pe`."""
        deadline = time.monotonic() + LIMIT
        while True:
            run = subprocess.run([TOP, "--json", str(self.process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            if run.returncode == 0 and holds(json.loads(run.stdout)["pes"][pe]):
                return
            assert time.monotonic() < deadline and self.process.poll() is None, f"{self.call}: {run.stdout}{run.stderr}"

    def go(self):
        with open(self.file, "w", encoding="utf-8"):
            pass

    def next_line(self):
        """The next that the launcher says on stderr."""
        ready, _, _ = select.select([self.process.stderr], [], [], LIMIT)
        assert ready, f"{self.call}: the launcher says nothing"
        return self.process.stderr.readline()

    def finish(self):
        """Its status and what it said on stderr."""
        try:
            _, said = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.call}: the job hangs") from None
        return self.process.returncode, said


def kill(test, call):
    with Job(test, call) as job:
        os.kill(job.victim, signal.SIGKILL)
        status, said = job.finish()
        test.assertEqual(status, 128 + signal.SIGKILL, f"{call}: {said}")
        test.assertRegex(said, rf"\Ashoalrun: PE {VICTIM} \(pid {job.victim} on \S+\) was killed by signal 9[^\n]*\n\Z", call)


def stop(test, call):
    with Job(test, call) as job:
        os.kill(job.victim, signal.SIGSTOP)
        test.assertRegex(job.next_line(), rf"PE {VICTIM} \(pid {job.victim} on \S+\) is stopped by", call)
        job.go()
        if call != "init":  # there, nobody can be seen to wait
            job.until(0, lambda pe: pe["phase"] in ("waiting", "leaving", "closing"))  # in vain, for the one that is stopped
        test.assertIsNone(job.process.poll(), call)
        os.kill(job.victim, signal.SIGCONT)
        status, said = job.finish()
        test.assertEqual(status, 0, f"{call}: {said}")


def starve(test, call):
    with Job(test, call) as job:
        with open(f"/proc/{job.victim}/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(job.victim, resource.RLIMIT_AS, (now, now))
        job.go()
        status, said = job.finish()
        test.assertTrue(status == 0 or re.search("shoal|Sanitizer", said), f"{call}: status {status}, and not a word why: {said!r}")


class Calls(unittest.TestCase):
    def each(self, do):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            runs = {call: pool.submit(do, self, call) for call in CALLS}
        for call, run in runs.items():
            with self.subTest(call):
                run.result()

    def test_a_killed_pe_ends_the_job_in_every_call(self):
        self.each(kill)

    def test_a_stopped_pe_holds_the_job_up_and_no_more(self):
        self.each(stop)

    def test_a_pe_that_gets_no_more_memory_ends_in_order_or_with_a_word(self):
        self.each(starve)


if __name__ == "__main__":
    unittest.main(verbosity=2)
