#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that hang: what the table says of each PE, and the verdict in words; shoal-top on a job that stands still.

Needs SHOALRUN, SHOAL_TOP and STUCK_PROGRAMS in the environment.
"""
import concurrent.futures
import fcntl
import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import at_once

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
TOP = os.environ.get("SHOAL_TOP", "shoal-top")
PROGRAM = os.environ.get("STUCK_PROGRAMS", "stuck_programs")
DEADLINE = 60  # seconds
# case -> (number of PEs, patterns that the table must show)
CASES = {
    "absent": (3, [r"PE 0: in shmem_barrier_all\(PE 0 of a team of 3 PEs, meeting 1\) for", r"PE 2: computing",
                   r"PE 2 never entered the shmem_barrier_all that PEs 0 and 1 wait in: it is computing, in no call that waits"]),
    "returned": (3, [r"PE 1 never entered the shmem_barrier_all that PEs 0 and 2 wait in: it has left by exit or a return from main"]),
    "holder": (3, [r"PE 2: in shmem_set_lock\(lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\), behind PE 0 in its queue\)",
                   r"PE 2 never entered the shmem_barrier_all that PEs 0 and 1 wait in: it is in shmem_set_lock, held by PE 0",
                   r"PEs 0 and 2 wait for each other: PE 0 is in shmem_barrier_all.* and waits for PE 2; PE 2 is in shmem_set_lock.* waits for PE 0"]),
    "lock_cycle": (2, [r"the lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\) that PE 0 waits for is held by PE 1, which is in shmem_set_lock, held by PE 0",
                       r"PEs 0 and 1 wait for each other: PE 0 is in shmem_set_lock.* waits for PE 1; PE 1 is in shmem_set_lock.* waits for PE 0"]),
    "kept": (3, [r"the lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\) that PE [12] waits for is held by PE 0, which can no longer clear it: it is in shmem_finalize\("]),
    "kept_at_exit": (2, [r"the lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\) that PE 1 waits for is held by PE 0, which can no longer clear it: it has left by exit"]),
    "value": (2, [r"PE 0: in shmem_long_wait_until\(static data \+ 0x[0-9a-f]+ \(word\), == 5\), now 7 for \d",
                  r"nobody is left to end PE 0's wait: it is in shmem_long_wait_until\(static data \+ 0x[0-9a-f]+ \(word\), == 5\), now 7"]),
    "collectives": (3, [r"different collectives meet: PE 0 is in shmem_barrier_all; PE 1 is in shmem_long_sum_reduce",
                        r"PE 2 never entered .* it is computing"]),
    "teams": (3, [r"PE 1: in shmem_team_sync\(PE 1 of a team of 2 PEs, meeting 1\)",
                  r"PE 0 never entered the shmem_team_sync that PE 1 waits in: it is in shmem_barrier_all\(PE 0 of a team of 3",
                  r"PEs 0 and 1 wait for each other"]),
    "thread_exit": (3, [r"PE 1: in shmem_finalize at exit", r"PE 1 never entered the shmem_barrier_all that PE 0 waits in: it has left by exit"]),
    "finalize": (3, [r"PE 0: in shmem_finalize\(", r"PE 2 never entered the shmem_finalize that PEs 0 and 1 wait in: it is computing"]),
    "pair": (2, [r"PE 0: in shmemx_sync_pe\(PE 1, meeting 1\)", r"PE 1: in shmem_finalize",
                 r"PE 1 never entered the shmemx_sync_pe that PE 0 waits in: it is in shmem_finalize\("]),
}


def lines_of(case, where=""):
    """The patterns, with where each PE of the table is."""
    return [re.sub(r"^PE (\d):", lambda pe: rf"PE {pe[1]} \(pid \d+{where}\):", pattern) for pattern in CASES[case][1]]


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}


class Stuck(unittest.TestCase):
    def test_the_timeout_s_table_says_why(self):
        def table(case):
            return subprocess.run([SHOALRUN, "--timeout", "1.5", "-n", str(CASES[case][0]), PROGRAM, case], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment(), timeout=DEADLINE)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they mostly wait
            runs = dict(zip(CASES, pool.map(table, CASES)))
        for case in CASES:
            with self.subTest(case):
                run = runs[case]
                self.assertEqual(run.returncode, 3, run.stderr)
                for pattern in lines_of(case):
                    self.assertRegex(run.stderr, rf"(?m)^shoalrun: {pattern}")

    def line_of(self, process, pattern):
        """The next line of the launcher's that shows `pattern`; what the job prints before does not matter."""
        deadline = time.monotonic() + DEADLINE
        while True:
            while b"\n" in process.said:
                line, process.said = process.said.split(b"\n", 1)
                if re.search(pattern, line.decode()):
                    return
            ready, _, _ = select.select([process.stderr], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"the launcher does not say {pattern}")
            more = os.read(process.stderr.fileno(), 65536)
            self.assertTrue(more, f"the launcher ended without saying {pattern}")
            process.said += more

    def test_the_launcher_says_by_itself_that_nothing_goes_on(self):
        processes = []
        for case, pattern in (("returned", r"PE 1 can no longer enter the shmem_barrier_all that PEs 0 and 2 wait in: it has left by exit or a return from main"),
                              ("thread_exit", r"PE 1 can no longer enter the shmem_barrier_all that PE 0 waits in: it has left by exit"),
                              ("pair", r"PE 1 can no longer enter the shmemx_sync_pe that PE 0 waits in"),
                              ("lock_cycle", r"PEs 0 and 1 wait for each other"),
                              ("kept", r"the lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\) that PE [12] waits for is held by PE 0, which can no longer clear it: it is in shmem_finalize"),
                              ("kept_at_exit", r"is held by PE 0, which can no longer clear it: it has left by exit"),
                              ("value", r"nobody is left to end PE 0's wait: it is in shmem_long_wait_until\(static data \+ 0x[0-9a-f]+ \(word\), == 5\), now 7")):
            processes.append((case, pattern, self.start(case, 2 if case in ("lock_cycle", "value", "pair", "kept_at_exit") else 3)))
        for case, pattern, process in processes:
            with self.subTest(case):
                self.line_of(process, rf"^shoalrun: the job cannot go on, it seems: .*{pattern}")
                self.assertIsNone(process.poll())

    def test_under_check_the_job_ends(self):
        for case, pattern in (("kept", r"held by PE 0, which can no longer clear it"), ("value", r"nobody is left to end PE 0's wait")):
            with self.subTest(case):
                run = subprocess.run([SHOALRUN, "-n", "2", PROGRAM, case], stderr=subprocess.PIPE, text=True,
                                     env=environment() | {"SHOAL_CHECK": "1"}, timeout=DEADLINE)
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertRegex(run.stderr, rf"(?m)^shoal: PE [01]: shmem_\w+: the job can never go on: .*{pattern}")

    def test_a_value_that_a_thread_may_store_is_waited_for(self):
        for check in ("0", "1"):
            with self.subTest(check=check):
                run = subprocess.run([SHOALRUN, "--timeout", "3.5", "-n", "2", PROGRAM, "value_of_thread"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, env=environment() | {"SHOAL_CHECK": check}, timeout=DEADLINE)
                self.assertEqual(run.returncode, 3, run.stderr)
                self.assertIn("PE 0 (pid ", run.stderr)
                self.assertNotRegex(run.stderr, "go on|nobody is left")

    def test_it_says_so_once(self):
        run = subprocess.run([SHOALRUN, "--timeout", "6", "-n", "2", PROGRAM, "pair"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=environment(), timeout=DEADLINE)
        self.assertEqual((run.returncode, run.stderr.count("the job cannot go on")), (3, 1), run.stderr)

    def test_it_says_nothing_of_a_job_that_may_go_on(self):
        run = subprocess.run([SHOALRUN, "--timeout", "3.5", "-n", "3", PROGRAM, "absent"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=environment(), timeout=DEADLINE)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertNotIn("cannot go on", run.stderr)

    def test_who_is_stopped_in_finalize_is_named_and_nobody_else(self):
        process = self.start("finalize", 3)
        found = self.look(process.pid, lambda job: job["pes"][0]["phase"] == job["pes"][1]["phase"] == "waiting")
        os.kill(found["pes"][0]["pid"], signal.SIGSTOP)
        found = self.look(process.pid, lambda job: any("is stopped" in verdict for verdict in job["verdicts"]))
        stopped = f"PE 0 is stopped by a signal: what waits for it goes on once process {found['pes'][0]['pid']} is continued"
        self.assertEqual(found["verdicts"],
                         [stopped, "PE 2 never entered the shmem_finalize that PEs 0 and 1 wait in: it is computing, in no call that waits"])
        self.line_of(process, r"PE 0 .* is stopped by signal 19")
        os.kill(found["pes"][2]["pid"], signal.SIGUSR1)  # PE 2 goes on, and finalizes
        self.look(process.pid, lambda job: job["pes"][1]["phase"] == job["pes"][2]["phase"] == "closing" and job["verdicts"] == [stopped])
        os.kill(process.pid, signal.SIGUSR1)
        self.line_of(process, r"^shoalrun: PE 0 \(pid \d+\): in shmem_finalize\(.*\(stopped by signal 19")
        self.line_of(process, r"^shoalrun: PE 1 \(pid \d+\): in shmem_finalize, which all PEs have called, for ")
        self.line_of(process, r"^shoalrun: PE 0 is stopped by signal 19 \(Stopped \(signal\)\): what waits for it goes on once process \d+ is continued$")
        os.kill(found["pes"][0]["pid"], signal.SIGCONT)
        self.assertEqual(process.wait(DEADLINE), 98)

    def start(self, case, pes, *options, **variables):
        process = subprocess.Popen([SHOALRUN, "-n", str(pes), *options, PROGRAM, case], env=environment() | variables, stderr=subprocess.PIPE)
        process.said = b""
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        return process

    def top(self, *arguments):
        return subprocess.run([TOP, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment(), timeout=DEADLINE)

    def look(self, pid, wanted):
        """What shoal-top --json says once `wanted(it)` holds."""
        deadline = time.monotonic() + DEADLINE
        while True:
            run = self.top("--json", pid)
            if run.returncode == 0 and wanted(json.loads(run.stdout)):
                return json.loads(run.stdout)
            self.assertLess(time.monotonic(), deadline, run.stdout + run.stderr)

    def test_top_sees_a_job_through_its_launcher_and_through_any_pe(self):
        process = self.start("holder", 3)
        found = self.look(process.pid, lambda job: any("wait for each other" in verdict for verdict in job["verdicts"]))
        self.assertEqual([pe["phase"] for pe in found["pes"]], ["waiting"] * 3)
        self.assertEqual(found["pes"][2]["call"], "shmem_set_lock")
        self.assertRegex(found["pes"][2]["arguments"], r"^lock static data \+ 0x[0-9a-f]+ \(lock_[ab]\), behind PE 0")
        self.assertGreater(found["pes"][0]["seconds"], 0)
        self.assertGreater(found["pes"][0]["waited_seconds"], 0)
        self.assertEqual((found["pes"][0]["heap_bytes"], found["pes"][0]["heap_used"]), (1 << 30, 0))
        for pid in (process.pid, found["pes"][1]["pid"]):
            run = self.top("--once", pid)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stdout, r"(?m)^PE 2 \(pid \d+\): in shmem_set_lock\(.*\) for \d+\.\d s$")
            self.assertRegex(run.stdout, r"(?m)^PE 2 never entered the shmem_barrier_all")

    def test_top_sees_a_job_without_a_launcher_through_any_pe(self):
        where = f"unix:stuck-{os.getpid()}-{time.monotonic_ns()}"
        processes = []
        for pe in range(3):
            variables = {"SHOAL_RDZV": where, "SHOAL_PE": str(pe), "SHOAL_NPES": "3"}
            processes.append(subprocess.Popen([PROGRAM, "holder"], env=environment() | variables, stderr=subprocess.DEVNULL))
            self.addCleanup(processes[-1].wait)
            self.addCleanup(processes[-1].kill)
        for process in processes:
            found = self.look(process.pid, lambda job: any("wait for each other" in verdict for verdict in job["verdicts"]))
            self.assertEqual([(pe["pid"], pe["phase"]) for pe in found["pes"]], [(one.pid, "waiting") for one in processes])

    def start_on_two(self, case, pes, *options):
        """One launcher a node, on which PEs are apart as on two machines; `options` for that of node 0."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        secret = os.path.join(folder.name, "secret")
        with open(secret, "w", encoding="ascii") as file:
            os.chmod(secret, 0o600)
            file.write(os.urandom(24).hex())
        address = "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))
        nodes = ",".join(["0"] * (pes - 1) + ["1"])
        return [self.start(case, n, "--nnodes", "2", "--node-rank", str(rank), "--rdzv", address, "--secret-file", secret,
                           *(options if rank == 0 else ()), SHOAL_FAKE_NODES=nodes) for rank, n in ((0, pes - 1), (1, 1))]

    def test_top_accuses_nobody_of_another_machine(self):
        first, _ = self.start_on_two("absent", 3)  # PE 2 computes there; nothing tells that here
        waits = lambda pe: pe["phase"] == "waiting" and pe["seconds"] > 0.5
        found = self.look(first.pid, lambda job: waits(job["pes"][0]) and waits(job["pes"][1]))
        self.assertEqual((found["pes"][2]["phase"], found["verdicts"]), ("unknown", []))
        self.assertRegex(self.top("--once", first.pid).stdout, r"(?m)^PE 2: on another machine$")

    def test_the_table_says_why_across_launchers(self):
        for case in ("absent", "holder", "collectives", "value"):
            with self.subTest(case):
                first, second = self.start_on_two(case, CASES[case][0], "--timeout", "1.5")
                said = first.stderr.read().decode()
                self.assertEqual((first.wait(DEADLINE), second.wait(DEADLINE)), (3, 3), said)
                for pattern in lines_of(case, r" on \S+"):
                    self.assertRegex(said, rf"(?m)^shoalrun: {pattern}")

    def test_the_launcher_of_node_0_says_by_itself_that_nothing_goes_on_anywhere(self):
        for case, pes, pattern in (("value", 2, r"nobody is left to end PE 0's wait: it is in shmem_long_wait_until"),
                                   ("holder", 3, r"PEs 0 and 2 wait for each other")):
            with self.subTest(case):
                first, _ = self.start_on_two(case, pes)
                self.line_of(first, rf"^shoalrun: the job cannot go on, it seems: .*{pattern}")

    def test_top_live_draws_and_ends_with_q(self):
        process = self.start("absent", 3)
        self.look(process.pid, lambda job: job["pes"][0]["phase"] == "waiting")
        import pty
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        view = subprocess.Popen([TOP, "--delay", "0.1", str(process.pid)], stdin=terminal, stdout=terminal, env=environment())
        os.close(terminal)
        drawn, deadline = b"", time.monotonic() + DEADLINE
        while not re.search(rb"PE 2 never entered.*in no call that.*PE 2 never entered", drawn, re.S):  # two pictures
            self.assertLess(time.monotonic(), deadline, drawn[-2000:])
            drawn += os.read(controller, 65536)
        text = drawn.decode(errors="replace")
        os.write(controller, b"q")
        while True:
            try:
                if not os.read(controller, 65536):
                    break
            except OSError:  # the terminal is gone
                break
        self.assertEqual(view.wait(DEADLINE), 0)
        os.close(controller)
        self.assertRegex(text, r"PE +pid +ops/s +bytes/s +waiting")
        self.assertRegex(text, r"0 +\d+ +- +- +\d+% +\d+ +0  in shmem_barr[^\r\n]*\u2026\r\n")  # cut, and says so
        lines = [re.sub(r"\033\[[?0-9]*[A-Za-z]", "", line) for line in text.split("\r\n")]
        self.assertLessEqual(max(map(len, lines)), 80)
        verdict = next(i for i, line in enumerate(lines) if line.startswith("PE 2 never entered"))
        self.assertEqual(lines[verdict : verdict + 2], ["PE 2 never entered the shmem_barrier_all that PEs 0 and 1 wait in: it is",
                                                        "  computing, in no call that waits"])

    def test_top_s_help_names_what_json_has(self):
        process = self.start("absent", 3)
        found = self.look(process.pid, lambda job: job["pes"][0]["phase"] == "waiting")
        words = set(re.findall(r"\w+", self.top("--help").stdout))
        self.assertEqual((set(found) | set(found["pes"][0])) - words, set())
        self.assertIn("status", words)

    def test_top_takes_no_other_ancestor_of_a_job(self):
        process = self.start("absent", 3)
        self.look(process.pid, lambda job: job["pes"][0]["phase"] == "waiting")
        run = self.top("--once", os.getpid())
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertRegex(run.stderr, rf"process {os.getpid()} belongs to no job .*give the pid of shoalrun or of a PE, of the same user, such as {process.pid}, which it started")

    def test_top_says_what_is_wrong(self):
        for arguments, pattern in ((["--once", "999999999"], "no process 999999999"), (["--once", str(os.getpid())], "belongs to no job"),
                                   ([], "pid is missing"), (["1", "--delay"], "--delay needs a number of seconds"),
                                   (["--delay=x", "1"], '"x" is no number of seconds'), (["x"], '"x" is no pid'), (["--twice", "1"], "no option --twice")):
            run = self.top(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertRegex(run.stderr, pattern)


if __name__ == "__main__":
    at_once.main()
