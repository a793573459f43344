#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job over several launchers, each of which stands for a node: over the loopback, and over network namespaces."""
import os
import random
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from launcher_support import LIMIT, PE, PROMPT, SHOALRUN, LauncherTest, eventually, processes_with

DIRECT_PE = os.environ.get("DIRECT_PE", "direct_pe")
SILENCE = 4  # seconds after which a silent machine counts as gone, in these tests


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


class NodesTest(LauncherTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.secret = self.secret_file("secret", os.urandom(24).hex() + "\n")
        self.take_address()

    def take_address(self):
        """One of its own for each job: they share no port, however many run at once."""
        self.address = "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))

    def secret_file(self, name, text, mode=0o600):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def node(self, rank, *arguments, nodes=2, secret=None, pes=2, **more):
        return self.start("--nnodes", str(nodes), "--node-rank", str(rank), "--rdzv", self.address, "--secret-file",
                          secret or self.secret, "-n", str(pes), *arguments, **more)

    def job(self, *arguments, nodes=2, **more):
        """Starts a launcher for each node, the last first, and gives what each came to."""
        started = time.monotonic()
        processes = [self.node(rank, *arguments, nodes=nodes, **more) for rank in reversed(range(nodes))]
        return [self.finish(process, started=started) for process in reversed(processes)]

    def ready_job(self, *arguments, nodes=2):
        """Starts the nodes with --tag-output and gives their launchers once all PEs have said "ready"."""
        processes = [self.node(rank, "--tag-output", PE, "hello", "barrier", "say:ready", *arguments, nodes=nodes) for rank in range(nodes)]
        for process in processes:
            for _ in range(2):
                self.assertRegex(process.stdout.readline().decode(), r"^\[\d\] ready$")
        return processes

    def assert_ends(self, process, pattern, status=None):
        run = self.finish(process)
        self.assert_one_line(run, pattern)
        if status is None:
            self.assertNotEqual(run.status, 0)
        else:
            self.assertEqual(run.status, status, run)
        self.assertLess(run.seconds, PROMPT, run)


class Start(NodesTest):
    def test_pes_are_numbered_node_by_node(self):
        processes = [self.node(rank, "sh", "-c", "echo $SHOAL_PE of $SHOAL_NPES", nodes=3, pes=rank + 1) for rank in (2, 0, 1)]
        runs = [self.finish(process) for process in processes]
        self.assertEqual([sorted(run.out.splitlines()) for run in runs],
                         [["3 of 6", "4 of 6", "5 of 6"], ["0 of 6"], ["1 of 6", "2 of 6"]], runs)
        self.assertEqual([(run.status, run.err) for run in runs], [(0, "")] * 3)

    def test_pes_of_all_nodes_exchange_bytes_again_and_again(self):
        for run in self.job(PE, "hello", "allgather", "barrier", "leave", "hello", "allgather", "leave", nodes=3):
            self.assertEqual((run.status, run.err), (0, ""), run)

    def test_standard_input_is_that_of_pe_0(self):
        other = self.node(1, "cat", pes=1)
        first = self.node(0, "cat", pes=1, stdin=subprocess.PIPE)
        self.assertEqual(self.finish(first, b"typed").out, "typed")
        self.assertEqual(self.finish(other).out, "")

    def test_largest_status_is_that_of_every_launcher(self):
        for run in self.job("sh", "-c", "exit $SHOAL_PE"):
            self.assertEqual((run.status, run.err), (3, ""), run)

    def test_global_exit_reaches_every_launcher(self):
        for run in self.job(PE, "hello", "barrier", "3:abort:9", "wait"):
            self.assertEqual((run.status, run.err), (9, ""), run)

    def test_message_of_a_pe_is_printed_by_every_launcher(self):
        for run in self.job(PE, "hello", "barrier", "3:abort:1:shoal: PE 3: what went wrong", "wait"):
            self.assert_one_line(run, r"^shoal: PE 3: what went wrong$")

    def test_the_secret_is_in_no_command_line_and_no_environment(self):
        with open(self.secret, encoding="ascii") as file:
            secret = file.read().strip()
        processes = self.ready_job("wait")
        seen = 0
        for pid in processes_with(self.mark):
            for what in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{what}", "rb") as file:
                    text = file.read()
                self.assertNotIn(secret.encode(), text)
                seen += b"SHOAL_SECRET_FD=" in text
        self.assertEqual(seen, 4)
        processes[0].send_signal(signal.SIGTERM)
        for process in processes:
            self.finish(process)

    def test_without_tls_it_works_and_says_so(self):
        arguments = ["--nnodes", "2", "--rdzv", self.address, "--no-tls", "-n", "1", "sh", "-c", "echo $SHOAL_TLS; env | grep -c SHOAL_SECRET_FD"]
        processes = [self.start("--node-rank", str(rank), *arguments) for rank in range(2)]
        for process in processes:
            run = self.finish(process)
            self.assertEqual(run.out, "0\n0\n", run)
            self.assert_one_line(run, "neither encrypted nor authenticated")

    def test_without_tls_the_pes_do_not_say_so_again(self):
        self.environment["SHOAL_FAKE_NODES"] = "2"
        arguments = ["--nnodes", "2", "--rdzv", self.address, "--no-tls", "-n", "1", DIRECT_PE, "env"]
        for process in [self.start("--node-rank", str(rank), *arguments) for rank in range(2)]:
            run = self.finish(process)
            self.assertEqual(run.status, 0, run)
            self.assert_one_line(run, "^shoalrun: .*neither encrypted nor authenticated")

    def test_table_shows_the_pes_of_all_nodes(self):
        processes = self.ready_job("wait")
        processes[1].send_signal(signal.SIGUSR1)
        lines = [processes[1].stderr.readline().decode() for _ in range(5)]
        self.assertRegex(lines[0], r"^shoalrun: 4 PEs after ")
        self.assertEqual(sorted(line.split()[2] for line in lines[1:]), ["0", "1", "2", "3"], lines)
        for line in lines[1:]:  # a PE that has said so may not have begun to wait
            self.assertRegex(line, r"PE \d \(pid \d+ on \S+\): (in shmem_int_wait_until|computing)")
        processes[0].send_signal(signal.SIGTERM)
        for process in processes:
            self.finish(process)

    def test_timeout_on_one_node_ends_all(self):
        processes = [self.node(0, "--timeout", "1", PE, "hello", "barrier", "wait"), self.node(1, PE, "hello", "barrier", "wait")]
        run, other = [self.finish(process) for process in processes]
        self.assertEqual((run.status, other.status), (3, 3))
        self.assertEqual(len(run.err.splitlines()), 5, run)
        self.assert_one_line(other, "did not end within 1 s")


class Refused(NodesTest):
    def test_two_with_different_secrets(self):
        other = self.secret_file("other", "x" * 32)
        first = self.node(0, "--rdzv-timeout", "2", "true")
        run = self.finish(self.node(1, "true", secret=other))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, r"cannot meet the job at .*:8666: the other side refused this one's job secret")
        run = self.finish(first)
        self.assertEqual(run.status, 1, run)
        self.assertRegex(run.err, r"a connection from 127\.\S+ did not join: the other side has another job secret")
        self.assertRegex(run.err, r"gave up: 1 of 2 nodes not joined: 1; is shoalrun running there")

    def test_secrets_that_are_none(self):
        for text, mode, expected in (("x" * 31, 0o600, "has 31 bytes: at least 32"), ("x" * 32, 0o644, "mode 0644.*chmod 600")):
            run = self.finish(self.node(1, "true", secret=self.secret_file("bad", text, mode)))
            self.assertEqual(run.status, 1, run)
            self.assert_one_line(run, expected)
            self.assertNotIn("xxxx", run.err)

    def test_nothing_to_prove_with(self):
        run = self.run_job("--nnodes", "2", "--rdzv", self.address, "-n", "1", "true")
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "--secret-file FILE or SHOAL_JOB_SECRET_FILE.*certificates.*--no-tls")

    def test_another_number_of_nodes(self):
        first = self.node(0, "--rdzv-timeout", "2", "true")
        run = self.finish(self.node(1, "true", nodes=3))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "there are 3 nodes, where the job meets it was said that there are 2: give all the same --nnodes")
        self.assertEqual(self.finish(first).status, 1)

    def test_a_rank_that_is_taken(self):
        processes = [self.node(0, "true", nodes=3), self.node(1, "true", nodes=3)]
        self.assertTrue(eventually(lambda: len(processes_with(self.mark)) == 4))
        third = self.node(1, "true", nodes=3)
        # Two of rank 1: whichever comes second is told, and the other one and node 2 go on.
        self.assertTrue(eventually(lambda: third.poll() is not None or processes[1].poll() is not None))
        loser, winner = (third, processes[1]) if third.poll() is not None else (processes[1], third)
        self.assert_one_line(self.finish(loser), "node 1 .* has joined already: give each its own --node-rank")
        last = self.finish(self.node(2, "true", nodes=3))
        self.assertEqual(last.status, 0, last)
        self.assertEqual([self.finish(process).status for process in (processes[0], winner)], [0, 0])

    def test_a_second_job_at_the_same_port(self):
        first = self.ready_job("wait")
        run = self.finish(self.node(0, "true"))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, f"cannot listen at {self.address}:8666 .*Address already in use.*another job uses this port")
        run = self.finish(self.node(1, "true"))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "the job that meets here has all its 2 nodes already")
        first[0].send_signal(signal.SIGTERM)
        for process in first:
            self.finish(process)

    def test_a_late_starter_is_named_and_waited_for(self):
        first, second = (self.node(rank, PE, "hello", "allgather", "leave", nodes=3) for rank in (0, 1))
        self.assertTrue(eventually(lambda: all(len(children(process.pid)) == 1 for process in (first, second))))
        line = ""
        while not line.endswith("1 of 3 nodes not joined: 2; is shoalrun running there, with the same --rdzv?\n"):
            first.send_signal(signal.SIGUSR1)  # until the second has come, it is missing, too
            line = first.stderr.readline().decode()
            self.assertRegex(line, rf"^shoalrun: waiting at {self.address}:8666: ")
        for process in (self.node(2, PE, "hello", "allgather", "leave", nodes=3), second, first):
            self.assertEqual(self.finish(process).status, 0)

    def test_who_comes_after_the_others_gave_up(self):
        run = self.finish(self.node(0, "--rdzv-timeout", "0.3", "true"))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "gave up: 1 of 2 nodes not joined: 1; is shoalrun running there")
        run = self.finish(self.node(1, "--rdzv-timeout", "0.3", "true"))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "nobody answers .*Connection refused")

    def test_nobody_there(self):
        run = self.finish(self.node(1, "--rdzv-timeout", "0.5", "true"))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, f"cannot meet the job at {self.address}:8666: nobody answers .*Connection refused")

    def test_ended_while_it_waits(self):
        first = self.node(0, "true")
        self.assertTrue(eventually(lambda: len(children(first.pid)) == 1))
        first.send_signal(signal.SIGTERM)
        run = self.finish(first)
        self.assertEqual(run.status, 128 + signal.SIGTERM, run)

    def test_bad_usage(self):
        for arguments, expected in (
                (["--nnodes", "2"], "--nnodes needs --rdzv"),
                (["--rdzv", "localhost"], "--rdzv needs --nnodes N"),
                (["--nnodes", "2", "--node-rank", "2", "--rdzv", "x"], "--node-rank 2: with --nnodes 2 it is from 0 to 1"),
                (["--nnodes", "0"], "--nnodes 0: expected a whole number from 1"),
                (["--nnodes", "2", "--rdzv", "x:y"], "expected HOST:PORT")):
            run = self.run_job("-n", "1", *arguments, "true")
            self.assertEqual(run.status, 2, run)
            self.assert_one_line(run, expected)


class Death(NodesTest):
    def test_of_a_pe(self):
        pes = self.ready_job("3:kill:9", "wait")
        for process in pes:
            self.assert_ends(process, r"^shoalrun: PE 3 \(pid \d+ on \S+, 127\.\S+\) was killed by signal 9 \(Killed\).*; the other PEs have been ended$", 137)

    def test_of_a_pe_before_it_joins(self):
        for run in self.job(PE, "3:exit:4", "hello", "barrier", "wait"):
            self.assertEqual(run.status, 4, run)
            self.assert_one_line(run, r"PE 3 .* exited with status 4 before shmem_init")

    def test_of_all_pes_of_a_node_before_they_join(self):
        for run in self.job("sh", "-c", f"[ $SHOAL_PE -ge 2 ] || exec {PE} hello barrier wait"):
            self.assertEqual(run.status, 1, run)
            self.assert_one_line(run, r"all PEs of node 1 \(\S+, 127\.\S+\) have ended with status 0, and those of node 0 .* wait for them")

    def test_of_a_launcher(self):
        for victim in range(2):
            processes = self.ready_job("wait")
            # The guard last: the launcher would have time to say that it has lost it.
            for pid in [*children(processes[victim].pid), processes[victim].pid]:
                os.kill(pid, signal.SIGKILL)
            self.finish(processes[victim])
            run = self.finish(processes[1 - victim])
            self.assertEqual(run.status, 1, run)
            self.assert_one_line(run, rf"^shoalrun: the launcher of node {victim} \(\S+, 127\.\S+\) is gone: the connection (was closed|broke)")
            self.assertLess(run.seconds, PROMPT, run)
            self.take_address()  # the port may still be the victim's

    def test_of_a_launchers_child(self):
        processes = self.ready_job("wait")
        for pid in children(processes[1].pid):
            os.kill(pid, signal.SIGKILL)
        self.assert_ends(processes[0], "the launcher of node 1 .* is gone", 1)
        self.assertEqual(self.finish(processes[1]).status, 137)

    def test_by_a_signal_to_one_launcher(self):
        processes = self.ready_job("wait")
        processes[1].send_signal(signal.SIGINT)
        for process in processes:
            self.assert_ends(process, "the job was ended by signal 2 ", 130)

    def test_a_stopped_launcher_is_waited_for(self):
        processes = self.ready_job("wait")
        child = children(processes[1].pid)[0]
        os.kill(child, signal.SIGSTOP)
        time.sleep(1)  # nothing is to happen: there is nothing to wait for
        self.assertEqual([process.poll() for process in processes], [None, None])
        os.kill(child, signal.SIGCONT)
        processes[0].send_signal(signal.SIGTERM)
        for process in processes:
            self.assert_ends(process, "the job was ended by signal 15 ", 143)


def namespaces_work():
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("nsenter") is None:
        return False
    made = subprocess.run(["ip", "netns", "add", "shoal-probe"], capture_output=True, check=False).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", "shoal-probe"], check=False)
    return made


@unittest.skipUnless(namespaces_work(), "network namespaces need root and iproute2")
class Cable(NodesTest):
    """Two network namespaces with a veth pair between them for a cable."""

    def setUp(self):
        super().setUp()
        tag = "shoal%06x" % random.getrandbits(24)
        self.spaces = [tag + "a", tag + "b"]
        for space in self.spaces:
            self.ip("netns", "add", space)
            self.addCleanup(self.ip, "netns", "del", space)
        self.ip("link", "add", tag + "0", "netns", self.spaces[0], "type", "veth", "peer", "name", tag + "1", "netns", self.spaces[1])
        for i, space in enumerate(self.spaces):
            self.links = getattr(self, "links", []) + [f"{tag}{i}"]
            self.ip("-n", space, "addr", "add", f"10.213.7.{i + 1}/24", "dev", self.links[i])
            self.ip("-n", space, "addr", "add", f"fd5a:213::{i + 1}/64", "dev", self.links[i], "nodad")
            self.ip("-n", space, "link", "set", self.links[i], "up")
            self.ip("-n", space, "link", "set", "lo", "up")
        self.address = "10.213.7.1"
        self.environment["SHOAL_SILENCE"] = str(SILENCE)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, timeout=LIMIT)

    def start(self, *arguments, **more):
        rank = int(arguments[arguments.index("--node-rank") + 1])
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(["ip", "netns", "exec", self.spaces[rank], SHOALRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment, **more)

    def test_jobs_meet_over_ipv4_and_ipv6(self):
        for self.address in ("10.213.7.1", "[fd5a:213::1]:8667"):
            for run in self.job(PE, "hello", "allgather", "leave"):
                self.assertEqual((run.status, run.err), (0, ""), run)

    def test_cut_cable_ends_the_job_on_both_sides(self):
        processes = self.ready_job("wait")
        self.ip("-n", self.spaces[0], "link", "set", self.links[0], "down")
        cut = time.monotonic()
        for process, node in zip(processes, (1, 0)):
            run = self.finish(process)
            self.assertEqual(run.status, 1, run)
            self.assert_one_line(run, rf"the launcher of node {node} \(\S+, 10\.213\.7\.{node + 1}\) is gone: ")
        self.assertLess(time.monotonic() - cut, SILENCE + 5)

    def test_cut_cable_of_the_data_is_named_by_the_pes(self):
        # The launchers talk over the first cable, the PEs over a second one.
        data = [link + "d" for link in self.links]
        self.ip("link", "add", data[0], "netns", self.spaces[0], "type", "veth", "peer", "name", data[1], "netns", self.spaces[1])
        for i, space in enumerate(self.spaces):
            self.ip("-n", space, "addr", "add", f"10.214.7.{i + 1}/24", "dev", data[i])
        self.environment.update(SHOAL_INTERFACE="10.214.", SHOAL_FAKE_NODES="2")
        for what, stopped in (("hang", False), ("flood", False), ("flood", True)):
            for i, space in enumerate(self.spaces):
                self.ip("-n", space, "link", "set", data[i], "up")
            processes = [self.node(rank, DIRECT_PE, "env", what, pes=1) for rank in range(2)]
            line = processes[0].stdout.readline()
            self.assertEqual(line, b"ready\n", processes[0].stderr.read() if not line else "")
            if stopped:  # then its kernel is asked for room all the time, and what is cut does not answer either
                pids = self.pids(2)
                os.kill(pids[1], signal.SIGSTOP)
                self.assertTrue(eventually(lambda: asks_for_room(pids[0])))
            self.ip("-n", self.spaces[0], "link", "set", data[0], "down")
            cut = time.monotonic()
            runs = [self.finish(process) for process in processes]
            for run in runs:
                self.assertEqual(run.status, 1, run)
                run.err = "".join(line for line in run.err.splitlines(True) if "is stopped by signal" not in line)
                self.assert_one_line(run, r"PE [01]: .*the connection to PE [01] \(on \S+, 10\.214\.7\.[12]:\d+\) ")
                self.assertRegex(run.err, f"was lost: .*(nothing has been heard from its machine for {SILENCE} s|Connection timed out)")
            self.assertLess(time.monotonic() - cut, SILENCE + 8)

    def test_dead_pe_is_named_across_machines(self):
        for process in self.ready_job("2:kill:9", "wait"):
            self.assert_ends(process, r"PE 2 \(pid \d+ on \S+, 10\.213\.7\.2\) was killed by signal 9", 137)


def asks_for_room(pid):
    """Whether a connection of the process's network waits for the other side to take more."""
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
            if any(line.split()[5].startswith("04:") for line in file):
                return True
    return False


class Stopped(LauncherTest):
    """A PE that is stopped, in a debugger say, is waited for: its kernel answers."""

    def test_with_its_buffers_full(self):
        self.environment["SHOAL_SILENCE"] = "2"
        process = self.start("-n", "2", "--fake-nodes", "2", DIRECT_PE, "env", "flood")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        pids = self.pids(2)
        os.kill(pids[1], signal.SIGSTOP)
        self.assertTrue(eventually(lambda: asks_for_room(pids[0])))
        # The kernel asks at 0.2, 0.6, 1.4, 3, 6.2 s: twice after a silence of more than two seconds.
        with self.assertRaises(subprocess.TimeoutExpired, msg="the job has ended"):
            process.wait(8)
        os.kill(pids[1], signal.SIGCONT)
        process.terminate()
        self.assertEqual(self.finish(process).status, 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2)
