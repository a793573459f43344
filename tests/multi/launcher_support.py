# SPDX-License-Identifier: Apache-2.0
"""What the tests of the launcher share: running it, and looking for what it left behind.

Needs SHOALRUN and LAUNCHER_PE in the environment: the launcher, and the PE that launcher_pe.cpp describes.
"""
import os
import random
import re
import signal
import subprocess
import time
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PE = os.environ.get("LAUNCHER_PE", "launcher_pe")
LIMIT = 20  # seconds that anything may take here before it counts as hung
PROMPT = 3  # seconds within which a job must be gone once one of its PEs is; it takes a fraction of one on an idle machine
SHELL = "/bin/bash"


def processes_with(mark):
    """Processes that inherited the mark in their environment, zombies apart: {pid: command line}."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() not in file.read():
                    continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                found[int(name)] = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def has_sanitizer(*kinds):
    """Whether the launcher was built with one of these, "thread" or "address"; its PEs are then, too."""
    with open(SHOALRUN, "rb") as file:
        launcher = file.read()
    return any(f"__{kind[0]}san_init".encode() in launcher for kind in kinds)


def eventually(condition, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.005)
    return False


class Run:
    """What a finished shoalrun gave."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.2f} s\n--- stdout\n{self.out}--- stderr\n{self.err}---"


class LauncherTest(unittest.TestCase):
    limit = LIMIT  # of one job

    def setUp(self):
        self.mark = f"SHOAL_TEST_MARK={os.getpid()}.{random.getrandbits(64)}"
        name, value = self.mark.split("=")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "SHMEM_"))}
        self.environment[name] = value

    def tearDown(self):
        left = processes_with(self.mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, {}, "processes are left")

    def start(self, *arguments, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([SHOALRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment, **more)

    def finish(self, process, text=None, started=None):
        started = started or time.monotonic()
        try:
            out, err = process.communicate(text, timeout=self.limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            process.kill()
            out, err = process.communicate()
            self.fail(f"shoalrun hangs; {out!r} {err!r}")
        return Run(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - started)

    def run_job(self, *arguments, text=None, **more):
        if text is not None:
            more["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **more), text)

    def pids(self, count):
        """The PEs' processes, once `count` of them run launcher_pe or sleep: {rank: pid}."""
        found = {}

        def look():
            found.clear()
            for pid in processes_with(self.mark):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        rank = re.search(rb"\0SHOAL_PE=(\d+)\0", b"\0" + file.read())
                except OSError:
                    continue
                if rank:
                    found[int(rank.group(1))] = pid
            return len(found) == count

        self.assertTrue(eventually(look), f"{count} PEs should run: {processes_with(self.mark)}")
        return dict(found)

    def start_and_await(self, ranks, *arguments, **more):
        """Starts PEs that print "ready" and gives the process once `ranks` of them did."""
        process = self.start("--tag-output", "-n", str(ranks), PE, *arguments, **more)
        ready = 0
        while ready < ranks:
            line = process.stdout.readline()
            self.assertNotEqual(line, b"", "the job ended early")
            ready += line.endswith(b"] ready\n")
        return process

    def assert_one_line(self, run, pattern):
        lines = run.err.splitlines()
        self.assertEqual(len(lines), 1, run)
        self.assertRegex(lines[0], pattern)
