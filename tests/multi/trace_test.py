#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHOAL_TRACE and SHOAL_PROFILE: every call is there, clocks are one, a killed job leaves its trace; tables and the page.

Needs SHOALRUN, SHOAL_TOP and TRACE_PE in the environment.
"""
import collections
import fcntl
import json
import os
import random
import re
import select
import signal
import subprocess
import tempfile
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("TRACE_PE", "trace_pe")
DEADLINE = 60  # seconds
PES = 3


class Traced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, command, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(variables)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.folder)

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def written(self, name, by="shoal"):
        return f"{by}: trace of {PES} PEs written to {os.path.realpath(self.folder)}/{name}\n"

    def run_job(self, *arguments, **variables):
        return self.finish(self.start([SHOALRUN, "-n", str(PES), PROGRAM, *arguments], **variables))

    def events(self, name="t.json", others=()):
        """{PE: [event]}, of calls. `others`: files that are there besides"""
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            trace = json.load(file)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([name, *others]), "pieces are left")
        found = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                found[event["pid"]].append(event)
        self.assertEqual(sorted(e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"), [f"PE {i}" for i in range(PES)])
        return found

    def test_a_trace_has_every_call_on_one_clock(self):
        run = self.run_job(SHOAL_TRACE="t.json")
        self.assertEqual((run.returncode, run.stderr), (0, self.written("t.json")))
        events = self.events()
        for pe in range(PES):
            calls = collections.Counter(event["name"] for event in events[pe])
            self.assertEqual(calls, {"shmem_long_p": 100, "shmem_long_put": 10, "shmem_long_atomic_add": 1, "shmem_quiet": 1,
                                     "shmem_barrier_all": 1, "shmem_long_sum_reduce": 1})
            puts = [event["args"] for event in events[pe] if event["name"] == "shmem_long_put"]
            self.assertEqual(puts, [{"bytes": 8192, "pe": (pe + 1) % PES}] * 10)
            for before, after in zip(events[pe], events[pe][1:]):
                self.assertLessEqual(before["ts"], after["ts"])
        self.check_barrier(events, 5)

    def check_barrier(self, events, tolerance_us):
        """Nobody leaves a barrier before all have entered it."""
        barriers = [event for pe in range(PES) for event in events[pe] if event["name"] == "shmem_barrier_all"]
        self.assertGreaterEqual(min(e["ts"] + e["dur"] for e in barriers) + tolerance_us, max(e["ts"] for e in barriers))

    def test_a_killed_job_leaves_its_trace(self):
        run = self.run_job("kill", SHOAL_TRACE="t.json")
        self.assertEqual(run.returncode, 137, run.stderr)
        events = self.events()
        self.assertEqual(len([e for e in events[1] if e["name"] == "shmem_long_p"]), 100)
        self.assertTrue(any(e["name"] == "shmem_long_wait_until" and e["args"].get("unfinished") for e in events[0]), events[0][-3:])

    def test_where_a_trace_is_told(self):
        run = self.run_job("kill", SHOAL_TRACE="t.json", SHOAL_PROFILE="p.html")
        self.assertIn(self.written("t.json", "shoalrun"), run.stderr)
        self.assertIn("shoalrun: SHOAL_PROFILE: no report, since the job ended before all PEs had called shmem_finalize\n", run.stderr)
        run = self.run_job(SHOAL_TRACE="t.json", SHOAL_PROFILE="p.html")
        self.assertIn(self.written("t.json"), run.stderr)
        self.assertIn(f"shoal: profile written to {os.path.realpath(self.folder)}/p.html\n", run.stderr)
        self.assertNotIn("no report", run.stderr)

    def test_switches_that_are_0_are_off(self):
        run = self.run_job(SHOAL_TRACE="0", SHOAL_PROFILE="0", SHOAL_CHAOS="0", SHOAL_RACE="0", SHOAL_CHECK="0")
        self.assertEqual((run.returncode, run.stderr, os.listdir(self.folder)), (0, "", []))
        for chaos, pointer in (("0", "mapped"), ("1", "none")):
            self.assertEqual(self.run_job("pointer", SHOAL_CHAOS=chaos).stdout, pointer + "\n")

    def hanging(self):
        """A traced job of which all PEs wait. @return its guard, and the pids of the process that runs it and of its PEs"""
        guard = self.start([SHOALRUN, "-n", str(PES), PROGRAM, "hang"], SHOAL_TRACE="t.json")
        self.addCleanup(guard.kill)
        pes = [int(guard.stdout.readline()) for _ in range(PES)]
        with open(f"/proc/{guard.pid}/task/{guard.pid}/children", encoding="ascii") as file:
            return guard, int(file.read()), pes

    def test_of_a_launcher_that_is_killed_the_other_half_joins_the_trace(self):
        guard, runner, _ = self.hanging()
        os.kill(runner, signal.SIGKILL)
        run = self.finish(guard)
        self.assertEqual(run.returncode, 137, run.stderr)
        self.assertIn(self.written("t.json", "shoalrun"), run.stderr)
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_what_a_job_leaves_that_was_killed_whole_can_be_joined(self):
        guard, runner, pes = self.hanging()
        ends = [os.pidfd_open(pid) for pid in (runner, *pes)]
        for pid in (guard.pid, runner):
            os.kill(pid, signal.SIGKILL)
        self.finish(guard)
        for end in ends:  # readable once the process has ended
            self.assertTrue(select.select([end], [], [], DEADLINE)[0])
            os.close(end)
        self.assertEqual(sorted(os.listdir(self.folder)), [f"t.json.pe-{pe}" for pe in range(PES)])
        run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))
        self.assertEqual((run.returncode, run.stderr), (0, self.written("t.json", "shoalrun")))
        self.assertEqual(sorted(self.events()), list(range(PES)))
        run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))
        self.assertEqual((run.returncode, run.stderr), (1, f"shoalrun: --join-trace t.json: there are no pieces {os.path.realpath(self.folder)}/t.json.pe-N of it\n"))

    def test_of_two_jobs_with_one_trace_the_second_is_refused_and_the_first_keeps_it(self):
        guard, runner, _ = self.hanging()
        taken = r'SHOAL_TRACE="/\S*/t.json" is taken: another job writes /\S*/t.json.pe-\d \(process \d+\); give each job a name of its own\n'
        run = self.finish(self.start([SHOALRUN, "-n", "5", PROGRAM], SHOAL_TRACE="t.json"))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"PE 0: shmem_init: " + taken)
        self.assertNotIn("left alone", run.stderr)  # what it has not begun is not for its launcher to join
        run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))  # nor is that of a job that runs joined
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"^shoalrun: the pieces /\S*/t.json.pe-\* of the trace are left alone: a job that runs writes them \(process \d+\)\n$")
        self.assertEqual(sorted(os.listdir(self.folder)), [f"t.json.pe-{pe}" for pe in range(PES)])
        os.kill(runner, signal.SIGKILL)
        run = self.finish(guard)
        self.assertIn(self.written("t.json", "shoalrun"), run.stderr)
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_a_job_in_another_pid_namespace_is_seen(self):
        apart = ["unshare", "-Urpf", "--mount-proc"]
        if subprocess.run([*apart, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no pid namespaces for users here")
        guard, runner, _ = self.hanging()
        run = self.finish(self.start([*apart, SHOALRUN, "-n", str(PES), PROGRAM], SHOAL_TRACE="t.json"))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"is taken: another job writes /\S*/t.json.pe-\d \(a process of another container\); give")
        run = self.finish(self.start([*apart, SHOALRUN, "--join-trace", "t.json"]))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"are left alone: a job that runs writes them \(a process of another container\)\n")
        os.kill(runner, signal.SIGKILL)
        self.finish(guard)
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_what_somebody_joins_is_left_alone(self):
        guard, runner, _ = self.hanging()
        with open(os.path.join(self.folder, "t.json.pe-1"), "r+b") as piece:
            fcntl.lockf(piece, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1)  # as one does who joins it
            os.kill(runner, signal.SIGKILL)
            alone = rf"shoalrun: the pieces /\S*/t.json.pe-\* of the trace are left alone: they are being joined already \(process {os.getpid()}\)\n"
            self.assertRegex(self.finish(guard).stderr, alone)
            self.assertRegex(self.finish(self.start([SHOALRUN, "--join-trace", "t.json"])).stderr, f"^{alone}$")
            run = self.run_job(SHOAL_TRACE="t.json")
            self.assertRegex(run.stderr, rf"is taken: what an earlier job wrote is being joined, among it /\S*/t.json.pe-1 \(process {os.getpid()}\); give")
        self.assertEqual(sorted(os.listdir(self.folder)), [f"t.json.pe-{pe}" for pe in range(PES)])
        run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))
        self.assertEqual((run.returncode, run.stderr), (0, self.written("t.json", "shoalrun")))
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_whoever_may_not_join_a_trace_does_not_hold_it_up(self):
        guard, runner, _ = self.hanging()
        with open(os.path.join(self.folder, "t.json.pe-0"), "r+b") as piece:
            fcntl.lockf(piece, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1)  # whoever locked before it looks for writers would name us
            run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))
        self.assertRegex(run.stderr, r"are left alone: a job that runs writes them \(process \d+\)\n")
        os.kill(runner, signal.SIGKILL)
        self.finish(guard)
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_what_is_no_piece_is_not_joined_and_told(self):
        with open(os.path.join(self.folder, "t.json.pe-1"), "w", encoding="ascii") as file:
            file.write("garbage")
        run = self.finish(self.start([SHOALRUN, "--join-trace", "t.json"]))
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"^shoalrun: --join-trace t.json: no piece of a trace of this version of Shoal, or cut short, and so left there: /\S*/t.json.pe-1\n$")

    def test_a_trace_in_another_folder_is_told_by_its_whole_name(self):
        inside = os.path.join(os.path.realpath(self.folder), "inside")
        os.makedirs(os.path.join(inside, "t.json.unfinished"))  # so it cannot be written
        run = self.finish(self.start([SHOALRUN, "-n", str(PES), "--wdir", "inside", PROGRAM, "kill"], SHOAL_TRACE="t.json"))
        self.assertIn(f"cannot write the trace {inside}/t.json, so its pieces {inside}/t.json.pe-* are left: Is a directory", run.stderr)
        os.rmdir(os.path.join(inside, "t.json.unfinished"))
        run = self.finish(self.start([SHOALRUN, "--wdir", "inside", "--join-trace", "t.json"]))
        self.assertEqual((run.returncode, run.stderr), (0, self.written("inside/t.json", "shoalrun")))

    def test_pieces_of_an_earlier_job_of_more_pes_are_removed(self):
        for name in ("t.json.pe-3", "t.json.pe-17"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii"):
                pass
        for name in ("t.json.pe-x", "other.json.pe-9"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii"):
                pass
        self.assertEqual(self.run_job(SHOAL_TRACE="t.json").returncode, 0)
        self.events(others=["t.json.pe-x", "other.json.pe-9"])

    def test_a_trace_that_is_lost_is_told(self):
        for command in ([SHOALRUN, "-n", str(PES), PROGRAM, "lose"], [PROGRAM, "lose"]):
            run = self.finish(self.start(command, SHOAL_TRACE="t.json"))
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertRegex(run.stderr, r"shmem_finalize: the trace (/\S*/t.json) is lost: its pieces \1.pe-\* were removed while the job ran")
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_trace_of_an_earlier_session_that_is_another_jobs_by_now_is_left_alone(self):
        first = self.start([SHOALRUN, "-n", str(PES), PROGRAM, "plain", "hang"], SHOAL_TRACE="t.json")
        self.addCleanup(first.kill)
        pes = [int(first.stdout.readline()) for _ in range(PES)]
        guard, runner, _ = self.hanging()
        os.kill(pes[0], signal.SIGKILL)
        run = self.finish(first)
        self.assertEqual(run.stderr.count("trace of"), 2, run.stderr)
        self.assertIn(self.written("t-2.json", "shoalrun"), run.stderr)
        self.assertNotIn("left alone", run.stderr)
        os.kill(runner, signal.SIGKILL)
        self.finish(guard)
        self.assertEqual(sorted(self.events(others=["t-2.json"])), list(range(PES)))

    def test_times_of_a_killed_job_are_right(self):
        run = self.run_job("kill", SHOAL_TRACE="t.json")
        first, second = [e["ts"] for e in self.events()[1] if e["name"] == "shmem_quiet"][-2:]
        self.assertLess(second - first, 1.2 * float(run.stdout))
        self.assertGreater(second - first, 0.8 * 100000)  # that it slept
        self.check_barrier(self.events(), 1000)

    def test_a_later_session_has_files_of_its_own(self):
        run = self.run_job("plain", "many", SHOAL_TRACE="t.json", SHOAL_PROFILE="p.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        others = ["p.html", "p-2.html"]
        for name, other, puts in (("t.json", "t-2.json", 100), ("t-2.json", "t.json", 20100)):
            for events in self.events(name, [other, *others]).values():
                self.assertEqual(sum(event["name"] == "shmem_long_p" for event in events), puts, name)

    def test_a_later_session_that_is_killed_leaves_its_trace(self):
        run = self.run_job("plain", "kill", SHOAL_TRACE="t.json")
        self.assertEqual(run.returncode, 137, run.stderr)
        self.assertTrue(any(e["args"].get("unfinished") for e in self.events("t-2.json", ["t.json"])[0]))

    def test_a_job_after_an_init_that_was_refused_is_the_first(self):
        run = self.run_job("refused", "kill", SHOAL_TRACE="t.json")
        self.assertEqual(run.returncode, 137, run.stderr)
        self.assertTrue(any(e["args"].get("unfinished") for e in self.events()[0]))

    def test_of_several_launchers_that_see_all_pieces_that_of_node_0_joins_them(self):
        address = "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))
        nodes = [self.start([SHOALRUN, "--nnodes", str(PES), "--node-rank", str(rank), "--rdzv", address, "--no-tls", "-n", "1", PROGRAM, "hang"],
                            SHOAL_TRACE="t.json", SHOAL_FAKE_NODES=str(PES)) for rank in range(PES)]
        try:
            pes = [int(node.stdout.readline()) for node in nodes]
            with open(f"/proc/{nodes[0].pid}/task/{nodes[0].pid}/children", encoding="ascii") as file:
                launcher = int(file.read())  # that runs the job; the other one is its guard
            os.kill(launcher, signal.SIGSTOP)
            os.kill(pes[2], signal.SIGKILL)
            self.assertEqual(self.finish(nodes[2]).returncode, 137)
            # It has ended, and PE 0 has not: its trace is not to be touched.
            self.assertEqual(sorted(os.listdir(self.folder)), [f"t.json.pe-{pe}" for pe in range(PES)])
        finally:
            os.kill(launcher, signal.SIGCONT)
        for node in nodes[:2]:
            self.assertNotEqual(self.finish(node).returncode, 0)
        self.assertEqual(sorted(self.events()), list(range(PES)))

    def test_where_calls_are_checked_too_the_check_is_a_part_of_the_call(self):
        run = self.run_job("differ", SHOAL_TRACE="t.json", SHOAL_CHECK="1")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, "do not call the same")
        for pe, name in enumerate(("shmem_barrier_all", "shmem_long_sum_reduce", "shmem_long_sum_reduce")):
            self.assertTrue(any(e["name"] == name and e["args"].get("unfinished") for e in self.events()[pe]), pe)

    def test_what_a_call_is_made_of_is_no_call(self):
        for nodes in ("", "3"):
            with self.subTest(nodes=nodes):
                run = self.run_job("locks", SHOAL_PROFILE="1", SHOAL_FAKE_NODES=nodes)
                self.assertEqual(run.returncode, 0, run.stderr)
                for name in ("set", "clear"):
                    self.assertRegex(run.stderr, rf"(?m)^  shmem_{name}_lock +10 ")
                self.assertRegex(run.stderr, r"(?m)^  shmemx_sem_wait +1 +0 +(\S+ \S+) +\1 ")  # all of its time is waiting
                run = self.run_job("large", SHOAL_PROFILE="1", SHOAL_FAKE_NODES=nodes)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertRegex(run.stderr, r"(?m)^  shmem_long_sum_reduce +6 +1\.57M ")
                self.assertRegex(run.stderr, r"(?m)^  shmem_long_broadcast +3 +")
                if nodes:  # the bytes that went from PE 0 to PE 2 are seen all the same
                    self.assertRegex(run.stderr, r"(?m)^ +0 +\S+ +\d\S* +\d\S*$")

    def test_a_batch_is_one_call_with_the_bytes_of_its_blocks(self):
        for nodes in ("", "3"):
            with self.subTest(nodes=nodes):
                run = self.run_job("batch", SHOAL_PROFILE="p.html", SHOAL_TRACE="t.json", SHOAL_FAKE_NODES=nodes)
                self.assertEqual(run.returncode, 0, run.stderr)
                for name in ("put", "get"):
                    self.assertRegex(run.stderr, rf"(?m)^  shmemx_{name}mem_batch +3 +480 ")
                with open(os.path.join(self.folder, "p.html"), encoding="utf-8") as file:
                    # 110 calls and 82720 bytes of the others, and those 2 calls
                    self.assertIn('title="0 to 1: 112 calls, 83040 bytes"', file.read())
                for pe, events in self.events(others=["p.html"]).items():
                    self.assertEqual([(event["name"], event["args"]) for event in events if "batch" in event["name"]],
                                     [(f"shmemx_{name}mem_batch", {"bytes": 160, "pe": (pe + 1) % PES}) for name in ("put", "get")])

    def test_what_a_call_is_made_of_is_not_traced(self):
        run = self.run_job("locks", SHOAL_TRACE="t.json")
        self.assertEqual((run.returncode, run.stderr), (0, self.written("t.json")))
        events = self.events()
        self.assertEqual(sum(event["name"] == "shmem_set_lock" for event in events[0]), 10)
        self.assertEqual(sum(event["name"] == "shmemx_sem_wait" for event in events[1]), 1)

    def test_a_program_without_launcher_that_changes_its_folder_leaves_its_trace_where_it_began(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(SHOAL_TRACE="t.json", SHOAL_PROFILE="p.html")
        run = subprocess.run([PROGRAM, "chdir"], cwd=self.folder, text=True, timeout=DEADLINE, env=environment, stderr=subprocess.PIPE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.html", "t.json"])

    def test_a_profile_counts_calls_and_bytes(self):
        run = self.run_job(SHOAL_PROFILE="p.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, rf"(?m)^shoal: calls of {PES} PEs, by time$")
        self.assertRegex(run.stderr, r"(?m)^  shmem_long_p +300 +2\.40k ")
        self.assertRegex(run.stderr, r"(?m)^  shmem_long_put +30 +246k ")
        self.assertRegex(run.stderr, r"(?m)^  shmem_barrier_all +3 +0 +\S+ \S+ +\S+ \S+ ")
        # Each wrote 100 * 8 + 10 * 8192 bytes to its neighbour, and 8 to PE 0.
        self.assertRegex(run.stderr, r"(?m)^ +0 +8 +82\.7k +-$")
        self.assertRegex(run.stderr, r"(?m)^ +1 +8 +- +82\.7k$")
        self.assertRegex(run.stderr, r"(?m)^ +2 +82\.7k +- +-$")
        with open(os.path.join(self.folder, "p.html"), encoding="utf-8") as file:
            page = file.read()
        sentence = "bytes that a PE (row) wrote to, or read from, a PE (column), but for collectives on one node; k, M, G: powers of 1000"
        self.assertIn(sentence + "\n", run.stderr)
        self.assertIn(f">{sentence}<", page)
        self.assertIn('<td class="name">shmem_long_put</td><td>30</td>', page)
        self.assertIn('title="0 to 1: 110 calls, 82720 bytes"', page)

    def test_a_profile_tells_what_collectives_wait(self):
        for nodes in ("", "3"):
            with self.subTest(nodes=nodes):
                run = self.run_job("late", SHOAL_PROFILE="1", SHOAL_FAKE_NODES=nodes)
                self.assertEqual(run.returncode, 0, run.stderr)
                for call in ("shmem_long_max_reduce", "shmem_malloc"):
                    self.assertRegex(run.stderr, rf"(?m)^  {call} +30 +\S+ +[0-9.]+ \w+ +[0-9.]+ [um]?s ")

    def test_a_profile_counts_atomics_without_blocking_here_and_on_other_nodes(self):
        for nodes in ("", "3"):
            with self.subTest(nodes=nodes):
                run = self.run_job("nbi", SHOAL_PROFILE="1", SHOAL_FAKE_NODES=nodes)
                self.assertEqual(run.returncode, 0, run.stderr)
                for name in ("fetch", "compare_swap", "fetch_add"):
                    self.assertRegex(run.stderr, rf"(?m)^  shmem_long_atomic_{name}_nbi +3 +24 ")

    def on_a_small_disk(self, kibibytes, *arguments, kept=""):
        """Runs the job traced in a folder of a file system that has so much room, and lists what it leaves there, which is copied to `kept`."""
        inside = ["unshare", "-Urm", "bash", "-c", f'mount -t tmpfs -o size={kibibytes}k none "$PWD" && cd "$PWD" && "$@"; s=$?; ls; [ -z "$KEPT" ] || cp t.json.pe-* "$KEPT"; exit $s', "bash"]
        if subprocess.run([*inside, "true"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mounts in user namespaces here")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        return subprocess.run([*inside, SHOALRUN, "-n", str(PES), PROGRAM, *arguments], cwd=self.folder, text=True, timeout=DEADLINE,
                              env=environment | {"SHOAL_TRACE": "t.json", "KEPT": kept}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_full_disk_is_refused_by_init(self):
        run = self.on_a_small_disk(100)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r'PE \d: shmem_init: SHOAL_TRACE="/\S*t.json" is not valid: .*t.json.pe-\d: No space left on device')
        self.assertNotIn("Bus error", run.stderr)

    def test_a_disk_that_fills_up_is_told_at_the_end(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        run = self.on_a_small_disk(PES * 200 + 100, "many", kept=kept.name)  # room for some thousand calls of each PE
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"cannot write the trace (/\S*/t.json), so its pieces \1.pe-\* are left: No space left on device")
        self.assertEqual(run.stderr.count("cannot write the trace"), 1, run.stderr)
        self.assertNotIn("Bus error", run.stderr)
        self.assertIn("t.json.pe-0\n", run.stdout)
        self.assertEqual(self.finish(self.start([SHOALRUN, "--join-trace", f"{kept.name}/t.json"])).returncode, 0)
        with open(f"{kept.name}/t.json", encoding="utf-8") as file:
            self.assertRegex(file.read(), r'"\d+ later calls are not in this trace: No space left on device"')

    def test_a_limit_of_file_sizes_is_refused_by_init(self):
        shell = 'test "$SHOAL_PE" = 1 && ulimit -f 100000; exec "$@"'  # of the first PE of its node it would forbid the heap
        run = self.finish(self.start([SHOALRUN, "-n", str(PES), "bash", "-c", shell, "bash", PROGRAM], SHOAL_TRACE="t.json"))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r'PE 1: shmem_init: SHOAL_TRACE="/\S*t.json" is not valid: .*t.json.pe-1: File too large')

    def test_many_calls_are_traced_all(self):
        run = self.run_job("many", SHOAL_TRACE="t.json")
        self.assertEqual((run.returncode, run.stderr), (0, self.written("t.json")))
        for pe, events in self.events().items():
            self.assertEqual(sum(event["name"] == "shmem_long_p" for event in events), 20100, pe)

    def test_a_page_may_be_a_link_to_what_is_not_there_yet(self):
        os.mkdir(os.path.join(self.folder, "pages"))
        os.symlink("pages/next.html", os.path.join(self.folder, "p.html"))
        os.symlink("real.html", os.path.join(self.folder, "pages", "next.html"))
        run = self.run_job(SHOAL_PROFILE="p.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "pages"))), ["next.html", "real.html"])
        os.symlink("/nowhere/q.html", os.path.join(self.folder, "q.html"))
        run = self.run_job(SHOAL_PROFILE="q.html")
        self.assertRegex(run.stderr, r"PE 0: shmem_init: .* expected a page that can be written, but /\S*/q.html: No such file or directory")

    def test_bad_names_are_refused_by_init(self):
        for variable, value, pattern in (("SHOAL_PROFILE", "yes", "expected 0, 1 or the name of a page"),
                                         ("SHOAL_PROFILE", "/nowhere/p.html", "expected a page that can be written, but /nowhere/p.html: No such"),
                                         ("SHOAL_TRACE", "1", "expected 0 or the name of a file that ends with .json"),
                                         ("SHOAL_TRACE", "t.txt", "expected 0 or the name of a file that ends with .json"),
                                         ("SHOAL_TRACE", "/nowhere/t.json", "expected a file that can be written")):
            run = self.run_job(**{variable: value})
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, rf'PE \d: shmem_init: {variable}="{value}" is not valid: {pattern}')
        os.mkdir(os.path.join(self.folder, "p.html"))
        run = self.run_job(SHOAL_PROFILE="p.html")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, r"PE 0: shmem_init: .* expected a page that can be written, but /\S*/p.html: Is a directory")
        os.mkdir(os.path.join(self.folder, "t.json"))
        self.assertRegex(self.run_job(SHOAL_TRACE="t.json").stderr, r"expected a file that can be written, but /\S*/t.json: Is a directory")


if __name__ == "__main__":
    unittest.main(verbosity=2)
