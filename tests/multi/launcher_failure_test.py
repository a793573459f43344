#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shoalrun when PEs, or it itself, die: the job ends, one line says why, nothing is left behind."""
import os
import random
import re
import signal
import socket
import subprocess
import time
import unittest

import at_once
from launcher_support import LIMIT, PE, PROMPT, SHELL, SHOALRUN, LauncherTest, eventually, has_sanitizer, processes_with


QUIET = "exec 3>&2 2>/dev/null;"  # the shell's own line about a killed program is not what is looked at


class Failure(LauncherTest):
    def assert_dies(self, arguments, status, pattern, n=3):
        run = self.run_job("-n", str(n), *arguments)
        self.assertEqual(run.status, status, run)
        self.assert_one_line(run, pattern)
        self.assertLess(run.seconds, PROMPT, run)

    def test_a_pe_that_dies_ends_the_job_and_is_named(self):
        host = re.escape(socket.gethostname())
        others = "; the other PEs have been ended$"
        self.assert_dies([PE, "hello", "barrier", "2:kill:9", "wait"], 137,
                         rf"^shoalrun: PE 2 \(pid \d+ on {host}\) was killed by signal 9 \(Killed\) while computing" + others)
        self.assert_dies([PE, "hello", "barrier", "0:kill:6", "spin"], 134, r"PE 0 .* by signal 6 \(Aborted\) while computing" + others)
        self.assert_dies([PE, "hello", "barrier", "1:exit:5", "wait"], 5, "PE 1 .* exited with status 5 while computing" + others)
        self.assert_dies([PE, "hello", "barrier", "1:exit:0", "wait"], 1,
                         "PE 1 .* exited with status 0 while computing without shmem_finalize" + others)
        self.assert_dies([PE, "1:kill:15", "hello", "barrier"], 143, "PE 1 .* by signal 15 .* before shmem_init" + others)
        self.assert_dies([PE, "hello", "0:kill:9", "barrier"], 137, "PE 0 .* by signal 9 .* while computing" + others)
        self.assert_dies([PE, "hello", "kill:9"], 137, r"PE 0 .* by signal 9 \(Killed\) while computing$", n=1)

    def test_the_call_that_a_killed_pe_was_in_is_named(self):
        process = self.start_and_await(2, "hello", "say:ready", "wait")
        time.sleep(0.1)
        os.kill(self.pids(2)[1], signal.SIGKILL)
        run = self.finish(process)
        self.assertEqual(run.status, 137)
        self.assert_one_line(run, r"PE 1 .* while in shmem_int_wait_until\(ivar=0x10, SHMEM_CMP_EQ, 1\) for \d+\.\d s; the other")

    def test_a_pe_that_never_initialises_while_others_wait_is_an_error(self):
        self.assert_dies([PE, "1:exit:0", "hello", "barrier"], 1,
                         "PE 1 .* exited with status 0 before shmem_init, which other PEs have called; the other")
        self.assert_dies([PE, "1:exit:7", "hello", "barrier"], 7, "PE 1 .* exited with status 7 before shmem_init, which other")
        self.assert_dies([PE, "sessions:1", "1:exit:0", "hello", "barrier"], 1, "PE 1 .* before shmem_init was called again, which")

    def test_a_program_under_a_script_that_dies_ends_the_job(self):
        run = self.run_job("-n", "3", SHELL, "-c", f"exec 3>&2 2>/dev/null; {PE} hello barrier 1:kill:9 wait 2>&3; exit $?")
        self.assertEqual(run.status, 137, run)
        self.assert_one_line(run, r"PE 1 .*(was killed by|128 \+) signal 9")
        self.assert_dies([SHELL, "-c", f"{QUIET} {PE} hello barrier 1:exitnow:3 wait 2>&3; sleep 1000"], 3, r"PE 1 .* exited with status 3 while computing")

    def test_how_a_program_under_a_script_ended_is_never_taken_from_the_scripts_status(self):
        # Only since Linux 6.15 does the kernel tell others than the parent.
        told = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) >= (6, 15)
        unknown = "PE 1 .* ended while computing without shmem_finalize; how, only the process that started it was told"
        for end, status, text in (("kill:9", 137, "PE 1 .* was killed by signal 9"), ("exit:3", 3, "PE 1 .* exited with status 3 while computing")):
            for rest in ("true", "sleep 1000"):
                run = self.run_job("-n", "3", SHELL, "-c", f"{QUIET} {PE} hello barrier 1:{end} wait 2>&3; {rest}")
                self.assertNotIn("exited with status 0", run.err)
                self.assertEqual(run.status, status if told or run.status != 1 else 1, run)
                self.assert_one_line(run, text if run.status == status else unknown)

    def test_a_program_that_became_a_daemon_and_dies_ends_the_job(self):
        self.assert_dies([PE, "daemon", "hello", "barrier", "1:kill:9", "wait"], 137, "PE 1 .* was killed by signal 9 .* while computing; the other")
        self.assert_dies([PE, "daemon", "hello", "barrier", "1:exit:4", "wait"], 4, "PE 1 .* exited with status 4 while computing; the other")
        self.assert_dies([PE, "daemon", "hello", "barrier", "1:exit:0", "wait"], 1, "PE 1 .* exited with status 0 while computing without shmem_finalize")
        self.assert_dies([SHELL, "-c", f"{PE} hello barrier 1:kill:9 wait & true"], 137, "PE 1 .* was killed by signal 9")

    def test_what_a_pe_leaves_running_has_5_seconds_to_join(self):
        run = self.run_job("-n", "2", SHELL, "-c", f"[ $SHOAL_PE = 0 ] && exec {PE} hello barrier; sleep 1000 & exit 0")
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "PE 1 .* exited with status 0 before shmem_init, which other PEs have called; what it left running has not called it either")
        self.assertGreater(run.seconds, 4.5, run)

    @unittest.skipIf(has_sanitizer("thread"), "the limit stops the sanitizer itself")
    def test_a_low_limit_of_file_sizes_is_told(self):
        run = self.run_job("-n", "2", "/bin/true", preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "^shoalrun: the limit of file sizes, 0 bytes, is too low for a job of 2 PEs, .*ulimit -f$")

    def test_a_machine_without_dev_null_runs_jobs_and_is_told_of_where_it_matters(self):
        inside = ["unshare", "-Urm", "bash", "-c", 'mount -t tmpfs none /dev && exec "$@"', "bash"]
        if subprocess.run([*inside, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mounts in user namespaces here")
        for stream, status, pattern in ((0, 1, r"^shoalrun: descriptor 0 is closed, and /dev/null cannot be opened in its place: No such file"), (None, 0, "^$")):
            close = (lambda: os.close(stream)) if stream is not None else None
            process = subprocess.run([*inside, SHOALRUN, "-n", "2", PE, "hello", "leave"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, env=self.environment, timeout=LIMIT, preexec_fn=close)
            self.assertEqual(process.returncode, status, process.stderr)
            self.assertRegex(process.stderr, pattern)

    def test_abort_prints_its_line_once_and_gives_its_status(self):
        self.assert_dies([PE, "hello", "barrier", "1:abort:6:shoal: PE 1: the reason", "wait"], 6, "^shoal: PE 1: the reason$")
        self.assert_dies([PE, "hello", "barrier", "abort:6:shoal: the reason of all"], 6, "^shoal: the reason of all$")
        self.assert_dies(["--tag-output", PE, "hello", "abort:6:shoal: the reason"], 6, "^shoal: the reason$")

    def test_a_global_exit_is_silent_and_every_pe_writes_out_its_buffers(self):
        for status in (0, 3, 255):
            run = self.run_job("-n", "3", PE, "hello", "watch", "print:kept.", "barrier", f"2:abort:{status}", "wait")
            self.assertEqual((run.status, run.err), (status, ""), run)
            self.assertEqual(run.out, "kept." * 3, run)
            self.assertLess(run.seconds, PROMPT)

    def test_nonsense_on_the_channel_ends_the_job(self):
        self.assert_dies([PE, "hello", "barrier", "0:write:hello, world", "wait"], 1, "PE 0 .* broke the rules of the launcher's channel")
        self.assert_dies([PE, "hello", "0:barrier", "leave"], 1, "PE [012] .* the PEs do not run the same program")

    def test_a_pe_that_loses_its_channel_is_told(self):
        run = self.run_job("-n", "2", PE, "hello", "1:closefd", "barrier")
        self.assertEqual(run.status, 1, run)
        self.assertIn("PE 1: the program closed descriptor", run.err)

    def test_processes_in_sessions_of_their_own_go_too(self):
        run = self.run_job("-n", "2", PE, "hello", "orphan", "barrier", "1:kill:9", "wait")
        self.assertEqual(run.status, 137, run)

    def test_a_pe_killed_at_a_random_moment(self):
        seed = random.getrandbits(32)
        dice = random.Random(seed)
        for _ in range(25):
            process = self.start("-n", "4", PE, "sessions:300", "hello", "wait")
            pids = self.pids(4)
            time.sleep(dice.random() * 0.3)
            victim = dice.randrange(4)
            os.kill(pids[victim], signal.SIGKILL)
            started = time.monotonic()
            run = self.finish(process, started=started)
            self.assertEqual(run.status, 137, (seed, run))
            self.assert_one_line(run, f"PE {victim} .* was killed by signal 9")
            self.assertLess(run.seconds, PROMPT, (seed, run))
            self.assertEqual(processes_with(self.mark), {}, seed)


class DeadLauncher(LauncherTest):
    def assert_all_gone(self):
        self.assertTrue(eventually(lambda: not processes_with(self.mark), PROMPT), processes_with(self.mark))

    def test_killing_either_of_the_launchers_processes_ends_everything(self):
        script = f"setsid sleep 1000 & timeout 1000 sleep 1000 & {PE} hello say:ready wait; sleep 1000"
        for which in ("guard", "job"):
            process = self.start("--tag-output", "-n", "2", SHELL, "-c", script)
            for _ in range(2):
                self.assertIn(b"ready", process.stdout.readline())
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                job = int(file.read().split()[0])
            os.kill(process.pid if which == "guard" else job, signal.SIGKILL)
            run = self.finish(process)
            self.assert_all_gone()
            self.assertEqual(run.status, -9 if which == "guard" else 137)
            self.assert_one_line(run, "^shoalrun: the (launcher was killed; the PEs are ended|process that ran the job .* was killed by signal 9)")

    def test_killing_both_at_once_ends_the_pes(self):
        process = self.start("-n", "3", PE, "hello", "watch", "barrier", "spin")
        self.pids(3)
        time.sleep(0.2)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            job = int(file.read().split()[0])
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(job, signal.SIGSTOP)
        os.kill(job, signal.SIGKILL)
        os.kill(process.pid, signal.SIGKILL)
        self.finish(process)
        self.assert_all_gone()

    def test_killing_the_outer_process_while_the_inner_is_stopped_ends_the_pes(self):
        process = self.start("-n", "2", PE, "hello", "watch", "barrier", "spin")
        self.pids(2)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            job = int(file.read().split()[0])
        os.kill(job, signal.SIGSTOP)
        process.kill()
        self.finish(process)
        self.assert_all_gone()

    def test_the_launcher_killed_at_a_random_moment(self):
        seed = random.getrandbits(32)
        dice = random.Random(seed)
        for _ in range(25):
            process = self.start("-n", "4", SHELL, "-c", f"sleep 1000 & {PE} sessions:50 hello wait")
            time.sleep(dice.random() * 0.15)
            process.kill()
            self.finish(process)
            self.assertTrue(eventually(lambda: not processes_with(self.mark), PROMPT), (seed, processes_with(self.mark)))


if __name__ == "__main__":
    at_once.main()
