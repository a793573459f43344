#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shoalrun as its users meet it: exit statuses, messages, output, sessions, signals."""
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import at_once
from launcher_support import LIMIT, PE, PROMPT, SHELL, SHOALRUN, LauncherTest, eventually, has_sanitizer

# A shell as far as it takes: starts its arguments in the foreground, takes the terminal back without a signal, finds what is typed,
# and asks the launcher for its table, then to end.
SESSION_LEADER = """
import os, select, signal, subprocess, sys, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def foreground():
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
job = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=foreground)
assert job.stdout.readline() == b"ready\\n"
time.sleep(0.1)
os.tcsetpgrp(0, os.getpgrp())
print("in the background", flush=True)
assert select.select([0], [], [], 10)[0]
time.sleep(0.2)
job.send_signal(signal.SIGUSR1)
if select.select([job.stderr], [], [], 5)[0]:
    sys.stderr.write(job.stderr.readline().decode())
    print(os.read(0, 100).decode(), end="", flush=True)
    job.terminate()
else:
    os.killpg(job.pid, signal.SIGKILL)
sys.exit(job.wait())
"""


class PlainPrograms(LauncherTest):
    def test_programs_that_never_initialise_run_and_give_the_largest_status(self):
        self.assertEqual(self.run_job("-n", "4", "/bin/true").status, 0)
        run = self.run_job("-n", "4", SHELL, "-c", "exit $((SHOAL_PE * 3))")
        self.assertEqual((run.status, run.err), (9, ""), run)

    def test_every_spelling_of_the_number_of_pes(self):
        for option in (["-n", "2"], ["-n2"], ["-np", "2"], ["--np", "2"], ["--np=2"]):
            self.assertEqual(self.run_job(*option, SHELL, "-c", "echo $SHOAL_NPES").out, "2\n2\n", option)

    def test_options_of_the_program_are_the_programs(self):
        self.assertEqual(self.run_job("-n", "1", "/bin/echo", "-n", "0", "--help").out, "0 --help")
        self.assertEqual(self.run_job("-n", "1", "--", "/bin/echo", "-e", "x").out, "x\n")

    def test_64_pes_start_and_end_quickly(self):
        run = self.run_job("-n", "64", "/bin/true")
        self.assertEqual(run.status, 0, run)
        self.assertLess(run.seconds, PROMPT, run)

    def test_a_killed_program_ends_the_others(self):
        run = self.run_job("-n", "3", SHELL, "-c", "[ $SHOAL_PE = 1 ] && kill -SEGV $$; sleep 1000")
        self.assertEqual(run.status, 128 + signal.SIGSEGV, run)
        self.assert_one_line(run, r"^shoalrun: PE 1 \(pid \d+ on .+\) was killed by signal 11 \(Segmentation fault\) before shmem_init; "
                                  r"the other PEs have been ended$")
        self.assertLess(run.seconds, PROMPT, run)

    def test_a_script_without_interpreter_line_runs_as_a_shell_runs_it(self):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write("echo script $1\n")
        os.chmod(file.name, 0o755)
        try:
            self.assertEqual(self.run_job("-n", "1", file.name, "x").out, "script x\n")
        finally:
            os.unlink(file.name)

    def test_what_a_script_leaves_in_the_background_may_finish_but_not_stay(self):
        run = self.run_job("-n", "1", SHELL, "-c", "exec 1> >(sleep 0.05; cat); echo late")
        self.assertEqual((run.status, run.out), (0, "late\n"), run)
        run = self.run_job("-n", "2", SHELL, "-c", "sleep 1000 & setsid sleep 1000 & exit 0")
        self.assertEqual(run.status, 0, run)
        self.assertLess(run.seconds, PROMPT, run)
        self.assert_one_line(run, r"^shoalrun: all PEs have ended; what they left in the background is ended too: (sleep \(pid \d+\)(, )?){4}$")

    def test_binding_gives_each_pe_its_core(self):
        cores = sorted(os.sched_getaffinity(0))
        run = self.run_job("--bind", "core", "--tag-output", "-n", "5", SHELL, "-c", "grep Cpus_allowed_list /proc/self/status")
        self.assertEqual(run.status, 0, run)
        given = dict(re.findall(r"\[(\d)\] Cpus_allowed_list:\s*(\d+)\n", run.out))
        self.assertEqual(given, {str(pe): str(cores[pe % len(cores)]) for pe in range(5)})

    def test_directory_and_environment_are_set(self):
        run = self.run_job("-n", "1", "--wdir", "/usr", "--env", "A=1=2", "-x", "B=", "-x", "HOME", "--env", "A=3", SHELL, "-c",
                           'echo "$PWD $A [$B] $HOME"')
        self.assertEqual(run.out, f"/usr 3 [] {os.environ['HOME']}\n", run)

    def test_verbose_tells_what_is_started_and_how_it_ended(self):
        run = self.run_job("--verbose", "-n", "2", SHELL, "-c", "exit $SHOAL_PE")
        for text in ("starting 2 PEs of /bin/bash", "PE 1 is process ", "PE 1 exited with status 1", "the job ended with status 1"):
            self.assertIn(text, run.err)

    def test_streams_closed_from_the_start_do_no_harm(self):
        run = subprocess.run([SHELL, "-c", f'exec "$0" -n 2 {SHELL} -c "read x; exit 5" 0<&- 1>&- 2>&-', SHOALRUN],
                             env=self.environment, timeout=LIMIT)
        self.assertEqual(run.returncode, 5)


class BadUsage(LauncherTest):
    def assert_refused(self, arguments, status, text):
        run = self.run_job(*arguments)
        self.assertEqual(run.status, status, (arguments, run))
        self.assert_one_line(run, "^shoalrun: ")
        self.assertIn(text, run.err, arguments)
        self.assertEqual(run.out, "")

    def test_each_mistake_has_its_message_and_status_2(self):
        true = "/bin/true"
        for arguments, text in (
                (["-n", "0", true], "-n 0: the number of PEs must be from 1 to 32768"),
                (["-n", "-4", true], "-n -4: the number of PEs"),
                (["-n", "abc", true], "-n abc: the number of PEs must be a whole number"),
                (["-n", "4x", true], "-n 4x: the number of PEs"),
                (["-n", "", true], "the number of PEs must be a whole number"),
                (["-n", "99999999999999999999", true], "the number of PEs"),
                (["-np", "40000", true], "-np 40000: the number of PEs"),
                (["-n"], "-n needs a value"),
                (["-n", "./app", "1"], "-n needs a number; its value is missing before ./app"),
                (["-n", "2", "--timeout", "./app", "100"], "--timeout needs a number; its value is missing before ./app"),
                (["--timeout", "-n", "2", true], "--timeout needs a number; its value is missing before -n"),
                (["--join-trace", "t.txt"], "--join-trace t.txt: expected the name of a trace, NAME.json"),
                ([], "no program given"),
                (["-n", "2"], "no program given"),
                (["-n", "2", ""], "the program's name is empty"),
                ([true], "the number of PEs is missing: give -n N"),
                (["--frob", "-n", "2", true], "unknown option --frob"),
                (["-q", true], "unknown option -q"),
                (["-n", "2", "--tag-output=yes", true], "--tag-output takes no value"),
                (["-n", "2", "--bind", "socket", true], "--bind socket: expected none or core"),
                (["-n", "2", "--fake-nodes", "x", true], '--fake-nodes "x" is not valid: expected a number of nodes'),
                (["-n", "2", "--fake-nodes", "0,1,0", true], "it has the nodes of 3 PEs, the job has 2"),
                (["-n", "2", "--timeout", "0", true], "--timeout 0: expected seconds"),
                (["-n", "2", "--timeout", "5s", true], "--timeout 5s: expected seconds"),
                (["-n", "2", "--timeout", "nan", true], "--timeout nan: expected seconds"),
                (["-n", "2", "--timeout", "1.2.3", true], "--timeout 1.2.3: expected seconds"),
                (["-n", "2", "--env", "A", true], "--env A: expected NAME=VALUE"),
                (["-n", "2", "--env", "=1", true], "--env =1: expected NAME=VALUE"),
                (["-n", "2", "-x", "NO_SUCH_VARIABLE", true], "-x NO_SUCH_VARIABLE: there is no such variable"),
                (["-n", "2", "-x", "SHOAL_PE=3", true], "shoalrun sets this variable itself"),
                (["-n", "2", "--wdir", "/no/such/place", true], "--wdir /no/such/place: No such file or directory"),
                (["-n", "2", "--wdir=", true], "--wdir: the directory's name is empty")):
            self.assert_refused(arguments, 2, text)

    def test_pretended_nodes_are_those_of_all_machines(self):
        run = self.run_job("-n", "2", "--nnodes", "2", "--rdzv", "unix:" + self.mark, "--no-tls", "--rdzv-timeout", "0.1", "--fake-nodes", "0,1,0,1", PE)
        self.assertEqual(run.status, 1, run)
        self.assertIn("1 of 2 nodes not joined", run.err)

    def test_a_program_that_cannot_run_is_reported_once_with_the_shells_status(self):
        with tempfile.TemporaryDirectory() as folder:
            def make(name, content, mode=0o755):
                path = os.path.join(folder, name)
                with open(path, "wb") as file:
                    file.write(content)
                os.chmod(path, mode)
                return path

            for arguments, status, text in (
                    (["no-such-program"], 127, "cannot run no-such-program: there is no such program in PATH"),
                    (["./no-such-program"], 127, "cannot run ./no-such-program: No such file"),
                    (["/etc/passwd"], 126, "cannot run /etc/passwd: Permission denied; make it executable, if it is a program: chmod +x /etc/passwd"),
                    ([make("skew.c", b"", 0o644)], 126, f"skew.c: Permission denied; it is a source: compile it first, shoalcc {folder}/skew.c -o PROGRAM"),
                    ([make("skew.py", b"", 0o644)], 126, f"skew.py: Permission denied; run it by its interpreter, python3 {folder}/skew.py, or"),
                    (["/etc"], 126, "cannot run /etc: Is a directory"),
                    (["/etc/passwd/x"], 127, "Not a directory"),
                    ([make("interpreter", b"#!/no/such/interpreter\n")], 126, "the interpreter or loader that it names does not exist"),
                    ([make("machine", b"\x7fELF" + b"\xff" * 60)], 126, "built for another kind of machine?")):
                self.assert_refused(["-n", "3", *arguments], status, text)
            make("here", b"#!/bin/sh\n")
            self.assert_refused(["-n", "3", "--wdir", folder, "here"], 127, "did you mean ./here?")

    def test_too_few_descriptors_for_all_pes_is_an_error_that_leaves_nothing(self):
        command = f'ulimit -n 64; exec "$0" -n 40 --tag-output {PE} hello barrier wait'
        run = subprocess.run([SHELL, "-c", command, SHOALRUN], env=self.environment, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, rb"^shoalrun: cannot start PE \d+ of 40: .*: Too many open files; .*ulimit -n")

    def test_too_few_descriptors_for_the_launcher_are_an_error_that_says_what_to_do(self):
        for limit in (4, 6, 8, 10, 12):
            command = f'ulimit -n {limit}; exec "$0" -n 4 {PE} hello leave'
            run = subprocess.run([SHELL, "-c", command, SHOALRUN], env=self.environment, stderr=subprocess.PIPE, timeout=LIMIT)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, rb"^shoalrun: [^\n]*: Too many open files; [^\n]*ulimit -n[^\n]*\n$")

    def test_help_and_version_suffice(self):
        run = self.run_job("--help")
        self.assertEqual((run.status, run.err), (0, ""))
        for option in ("-n N", "--np N", "--bind", "--tag-output", "--timeout S", "--env NAME=VALUE", "-x NAME", "--wdir", "--verbose",
                       "--version", "Exit status", "USR1"):
            self.assertIn(option, run.out)
        self.assertRegex(self.run_job("--version").out, r"^shoalrun \d+\.\d+\.\d+ \(Shoal\)\n$")


class Output(LauncherTest):
    def test_each_line_is_tagged_on_both_streams_and_the_last_gets_its_newline(self):
        run = self.run_job("-n", "3", "--tag-output", SHELL, "-c", r"printf 'a\n\nb'; printf 'c\nd' >&2")
        self.assertEqual(sorted(run.out.splitlines(True)), sorted(f"[{pe}] {t}\n" for pe in range(3) for t in ("a", "", "b")))
        self.assertEqual(sorted(run.err.splitlines(True)), sorted(f"[{pe}] {t}\n" for pe in range(3) for t in "cd"))

    def test_no_line_is_lost_or_mixed_when_all_write_at_once(self):
        lines = 3000
        run = self.run_job("-n", "4", "--tag-output", SHELL, "-c",
                           f"for ((i = 0; i < {lines}; ++i)); do echo line $i of PE $SHOAL_PE; done")
        seen = {pe: [] for pe in "0123"}
        for line in run.out.splitlines():
            pe, number, again = re.fullmatch(r"\[(\d)\] line (\d+) of PE (\d)", line).groups()
            self.assertEqual(pe, again)
            seen[pe].append(int(number))
        self.assertEqual(seen, {pe: list(range(lines)) for pe in "0123"})

    def test_long_lines_stay_whole_up_to_a_mebibyte(self):
        script = "import sys; sys.stdout.write('x' * {} + '\\n')"
        run = self.run_job("-n", "2", "--tag-output", sys.executable, "-c", script.format(1_000_000))
        self.assertEqual(sorted(map(len, run.out.splitlines())), [1_000_004] * 2)
        run = self.run_job("-n", "1", "--tag-output", sys.executable, "-c", script.format(5_000_000))
        self.assertEqual(run.out.replace("\n", "").replace("[0] ", ""), "x" * 5_000_000)

    def test_what_a_dying_pe_wrote_is_not_lost(self):
        run = self.run_job("-n", "2", "--tag-output", PE, "hello", "say:before", "barrier", "1:kill:9", "wait")
        self.assertEqual(sorted(run.out.splitlines()), ["[0] before", "[1] before"], run)
        self.assert_one_line(run, "PE 1 .* was killed by signal 9")

    def test_a_reader_that_goes_away_ends_the_writers(self):
        for options in ([], ["--tag-output"]):
            run = subprocess.run([SHELL, "-c", '"$0" "$@" | head -1; exit ${PIPESTATUS[0]}', SHOALRUN, "-n", "2", *options, "yes"],
                                 env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
            self.assertEqual(run.returncode, 128 + signal.SIGPIPE, run)
            self.assertIn(b"was killed by signal 13 (Broken pipe)", run.stderr)

    def test_tagged_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([SHOALRUN, "-n", "2", "--tag-output", "echo", "x"], env=self.environment, stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual(run.returncode, 1, run)
        self.assertEqual(run.stderr, "shoalrun: cannot write standard output, and what the PEs wrote there is lost: No space left on device\n")

    def test_a_slow_reader_of_tagged_output_does_not_stop_the_launchers_other_duties(self):
        process = self.start("--tag-output", "-n", "2", SHELL, "-c", "[ $SHOAL_PE = 0 ] && exec yes; sleep 0.5; kill -9 $$")
        self.assertRegex(process.stderr.readline().decode(), "PE 1 .* was killed by signal 9")
        self.assertEqual(self.finish(process).status, 137)

    def test_standard_input_goes_to_pe_0_and_the_others_read_its_end(self):
        text = os.urandom(300_000).hex().encode()
        run = self.run_job("-n", "3", SHELL, "-c", "cat", text=text)
        self.assertEqual(run.out.encode(), text)
        run = self.run_job("-n", "3", "--tag-output", SHELL, "-c", "wc -c", text=b"hello")
        self.assertEqual(sorted(run.out.split("\n")), ["", "[0] 5", "[1] 0", "[2] 0"], run)

    def test_a_writer_to_standard_input_notices_when_pe_0_is_gone(self):
        run = subprocess.run([SHELL, "-c", 'yes | "$0" -n 2 /bin/true; echo ${PIPESTATUS[*]}', SHOALRUN], env=self.environment,
                             stdout=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(run.stdout, b"141 0\n")

    def test_a_terminal_is_pumped_to_pe_0(self):
        outer, inner = pty.openpty()
        process = self.start("-n", "2", SHELL, "-c", "cat", stdin=inner, start_new_session=True,
                             preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(inner)
        os.write(outer, b"typed line\n\x04")
        run = self.finish(process)
        os.close(outer)
        self.assertEqual((run.status, run.out), (0, "typed line\n"), run)

    def test_a_job_stopped_from_the_terminal_takes_no_input_and_obeys_bg_and_kill(self):
        outer, inner = pty.openpty()
        shell = subprocess.Popen([SHELL, "--norc", "--noprofile", "-i"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                                 env=dict(self.environment, PS1="", TERM="dumb"),
                                 preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(inner)
        os.set_blocking(outer, False)
        seen = b""

        def type_and_see(text, pattern):
            nonlocal seen
            seen = b""
            os.write(outer, text)

            def look():
                nonlocal seen
                try:
                    seen += os.read(outer, 65536)
                except OSError:
                    pass
                return re.search(pattern, seen)

            self.assertTrue(eventually(look), (text, pattern, seen))

        # PEs that do not stop: so nothing wakes the launcher after the signal, and it still waits for input as it did before.
        program = "'trap \"\" TSTP; echo re$((1))ady; exec sleep 1000'"
        type_and_see(f"{SHOALRUN} -n 2 {SHELL} -c {program}\n".encode(), rb"re1ady\r\nre1ady")
        type_and_see(b"\x1a", rb"Stopped")
        type_and_see(b"echo se''en\n", rb"\nseen")
        type_and_see(b"bg\n", rb"sleep 1000' &")
        type_and_see(b"echo ag''ain; jobs\n", rb"\nagain\r\n.*Running")
        type_and_see(b"kill %1; wait; echo wa''ited\n", rb"\nwaited")
        os.write(outer, b"exit\n")
        try:
            shell.wait(LIMIT)
        except subprocess.TimeoutExpired:
            shell.kill()
            raise
        finally:
            os.close(outer)

    def test_input_for_the_shell_does_not_stop_a_launcher_that_waited_for_it(self):
        outer, inner = pty.openpty()
        leader = subprocess.Popen([sys.executable, "-c", SESSION_LEADER, SHOALRUN, "-n", "1", SHELL, "-c", "echo ready; sleep 1000"],
                                  stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, start_new_session=True,
                                  preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(inner)
        self.assertEqual(leader.stdout.readline(), b"in the background\n")
        os.write(outer, b"typed\n")
        run = self.finish(leader)
        os.close(outer)
        self.assertEqual((run.out, run.status), ("typed\n", 143), run)
        self.assertRegex(run.err, "1 PEs after")


class Sessions(LauncherTest):
    def test_pes_find_each_other_and_leave(self):
        for n in ("1", "2", "5", "16"):
            run = self.run_job("-n", n, PE, "hello", "watch", "allgather", "barrier", "allgather", "leave")
            self.assertEqual((run.status, run.err), (0, ""), run)

    def test_many_sessions_in_one_process(self):
        run = self.run_job("-n", "2", PE, "sessions:1000")
        self.assertEqual((run.status, run.err), (0, ""), run)

    def test_several_programs_in_turn_under_one_pe(self):
        run = self.run_job("-n", "3", SHELL, "-c", f"{PE} sessions:2 && {PE} hello allgather leave && {PE} sessions:3")
        self.assertEqual((run.status, run.err), (0, ""), run)

    def test_a_pe_that_becomes_a_daemon_is_waited_for(self):
        acts = "hello barrier pause:700 leave pause:700 say:result"
        background = f"{PE} {acts} &"
        for program in ([PE, "daemon", *acts.split()], [SHELL, "-c", background], [SHELL, "-c", f"setsid {background}"]):
            run = self.run_job("-n", "2", "--tag-output", *program)
            self.assertEqual((run.status, sorted(run.out.splitlines()), run.err), (0, ["[0] result", "[1] result"], ""), run)
        for daemon in ("daemon", "daemon:300"):  # the one that started it may outlive it
            run = self.run_job("-n", "2", PE, daemon, "hello", "barrier", "leave", "1:exit:4")
            self.assertEqual((run.status, run.err), (4, ""), run)
        run = self.run_job("--timeout", "1", "-n", "2", PE, "daemon", "hello", "barrier", "wait")
        self.assertEqual(run.status, 3, run)
        self.assertRegex(run.err, r"PE 1 \(pid \d+\): in shmem_int_wait_until")

    def test_a_signal_reaches_a_pe_that_became_a_daemon(self):
        process = self.start_and_await(2, "daemon", "hello", "barrier", "say:ready", "wait")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).status, 143)

    @unittest.skipIf(has_sanitizer("thread"), "the sanitizer's own thread lives on")
    def test_a_pe_whose_last_thread_ends_exits_with_0(self):
        run = self.run_job("-n", "2", PE, "hello", "watch", "barrier", "leave", "threadexit")
        self.assertEqual((run.status, run.err), (0, ""), run)
        run = self.run_job("-n", "2", PE, "hello", "watch", "barrier", "0:threadexit", "wait")
        self.assertEqual(run.status, 1, run)  # the monitor does not keep it alive; exit(0) alone does not leave here
        self.assert_one_line(run, "PE 0 .* exited with status 0 while computing without shmem_finalize")

    def test_two_programs_of_a_pe_at_once_are_told_apart(self):
        for _ in range(5):
            run = self.run_job("-n", "2", SHELL, "-c", f"{PE} hello barrier pause:300 leave & {PE} hello barrier pause:300 leave; wait")
            lines = run.err.splitlines()
            self.assertEqual(len(lines), 2, run)
            for line in lines:
                self.assertRegex(line, r"another process is PE [01] already \(pid \d+\), and two of a PE cannot use the launcher's channel at once")

    def test_forked_children_may_exit_and_execute(self):
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # its leak detector wonders where the child's threads are
        run = self.run_job("-n", "2", PE, "hello", "watch", "fork", "barrier", "leave")
        self.assertEqual((run.status, run.err), (0, ""), run)

    def test_a_second_pe_in_the_place_of_one_is_refused(self):
        run = self.run_job("-n", "1", SHELL, "-c", f"{PE} hello wait & sleep 0.3; {PE} hello; kill %1")
        self.assertIn("another process is PE 0 already", run.err)

    def test_a_closed_channel_is_named(self):
        run = self.run_job("-n", "1", sys.executable, "-c", f"import subprocess; exit(subprocess.run([{PE!r}, 'hello']).returncode)")
        self.assertEqual(run.status, 1, run)
        self.assertRegex(run.err, r"SHOAL_(STORE|SECRET)_FD")
        self.assertIn("close_fds=False", run.err)

    def test_a_status_after_leave_is_passed_on_and_the_others_finish(self):
        run = self.run_job("-n", "2", "--tag-output", PE, "hello", "barrier", "leave", "1:exit:4", "0:say:finished")
        self.assertEqual((run.status, run.out, run.err), (4, "[0] finished\n", ""), run)

    def test_another_launcher_is_refused_and_ours_is_preferred(self):
        self.environment.update(OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="1")
        run = subprocess.run([PE, "hello"], env=self.environment, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"OMPI_COMM_WORLD_SIZE=4", run.stderr)
        self.assertEqual(self.run_job("-n", "2", PE, "hello", "allgather", "leave").status, 0)


class Signals(LauncherTest):
    TRAP = "trap 'echo got {0}; exit 0' {0}; echo ready; while :; do sleep 0.02; done"

    def start_script(self, script, n=2, options=()):
        process = self.start("--tag-output", *options, "-n", str(n), SHELL, "-c", script)
        for _ in range(n):
            self.assertIn(b"ready", process.stdout.readline())
        return process

    def test_signals_reach_every_pe(self):
        for name in ("INT", "TERM", "HUP", "QUIT", "USR2"):
            process = self.start_script(self.TRAP.format(name))
            process.send_signal(getattr(signal, "SIG" + name))
            run = self.finish(process)
            self.assertEqual(run.status, 0, (name, run))
            self.assertEqual(sorted(run.out.splitlines()), [f"[0] got {name}", f"[1] got {name}"])

    def test_pes_killed_by_a_forwarded_signal_give_its_status(self):
        process = self.start_and_await(2, "hello", "say:ready", "wait")
        process.send_signal(signal.SIGTERM)
        run = self.finish(process)
        self.assertEqual(run.status, 143, run)
        self.assert_one_line(run, r"^shoalrun: the job was ended by signal 15 \(Terminated\)$")

    def test_a_second_interrupt_kills_but_one_that_came_twice_at_once_does_not(self):
        stubborn = "trap 'echo got it' INT; echo ready; for ((i = 0; i < 10000; ++i)); do sleep 0.02; done"
        process = self.start_script(stubborn)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        for _ in range(2):
            self.assertIn(b"got it", process.stdout.readline())
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertEqual(run.status, 130, run)
        self.assertLess(run.seconds, PROMPT)

    def test_pes_that_ignore_an_interrupt_are_killed_after_5_seconds(self):
        process = self.start_script("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        process.send_signal(signal.SIGTERM)
        run = self.finish(process)
        self.assertEqual(run.status, 143, run)
        self.assertGreater(run.seconds, 4.5)
        self.assertLess(run.seconds, 5 + PROMPT)

    def test_what_an_interrupted_pe_left_in_the_background_is_ended_soon(self):
        left = f"(trap '' TERM; sleep 600) & '{PE}' hello say:ready wait"
        process = self.start_script(left)
        process.send_signal(signal.SIGTERM)
        run = self.finish(process)
        self.assertEqual(run.status, 143, run)
        self.assertLess(run.seconds, 5 + PROMPT)

    def test_output_lost_to_an_interrupt_is_told(self):
        process = self.start("--verbose", "--tag-output", "-n", "1", "seq", "30000")  # more than a pipe holds, and nobody reads
        line = b"so far nothing"
        while line and b"exited with status 0" not in line:
            line = process.stderr.readline()
        self.assertTrue(line, "the PE's end was not told")

        def interrupted():  # the first may come too soon: while the end of the PE is looked at
            process.send_signal(signal.SIGTERM)
            return process.poll() is not None

        self.assertTrue(eventually(interrupted))
        run = self.finish(process)
        self.assertEqual(run.status, 143, run.err)
        self.assertIn("signal 15 (Terminated): what the PEs wrote and nobody has read yet is lost", run.err)

    def test_an_interrupt_ends_a_job_whose_output_and_errors_nobody_reads(self):
        process = subprocess.Popen([SHOALRUN, "--tag-output", "-n", "1", "seq", "30000"], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(process.stdout.read(5), b"[0] 1")

        def interrupted():
            process.send_signal(signal.SIGTERM)
            return process.poll() is not None

        ended = eventually(interrupted)
        process.kill()
        process.communicate()
        self.assertTrue(ended)

    def test_usr1_prints_what_every_pe_does_and_the_job_goes_on(self):
        process = self.start_and_await(3, "hello", "say:ready", "1:wait", "barrier")
        os.kill(self.pids(3)[2], signal.SIGSTOP)
        self.assertRegex(process.stderr.readline().decode(), r"^shoalrun: PE 2 \(pid .*\) is stopped by signal 19 .*; the job waits for it")
        time.sleep(0.2)
        process.send_signal(signal.SIGUSR1)
        lines = [process.stderr.readline().decode() for _ in range(4)]
        self.assertRegex(lines[0], r"^shoalrun: 3 PEs after \d+\.\d s:")
        self.assertRegex(lines[1], r"^shoalrun: PE 0 \(pid \d+\): computing$")
        self.assertRegex(lines[2], r"^shoalrun: PE 1 \(pid \d+\): in shmem_int_wait_until\(ivar=0x10, SHMEM_CMP_EQ, 1\) for \d+\.\d s$")
        self.assertRegex(lines[3], r"^shoalrun: PE 2 \(pid \d+\): computing \(stopped by signal 19 ")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, 130)

    def test_usr1_before_there_is_a_job_ends_nothing(self):
        reader, writer = os.pipe()  # full, so that the launcher stays where it prints
        os.set_blocking(writer, False)
        filled = 0
        try:
            while True:
                filled += os.write(writer, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        process = subprocess.Popen([SHOALRUN, "--help"], stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)

        def holds_usr1():
            with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
                blocked = re.search(r"SigBlk:\s*(\w+)", file.read())
            return blocked is not None and int(blocked[1], 16) >> (signal.SIGUSR1 - 1) & 1

        held = eventually(holds_usr1)
        process.send_signal(signal.SIGUSR1)
        with open(reader, "rb") as file:
            said = file.read()[filled:]
        self.assertEqual((held, process.wait(), process.stderr.read()), (True, 0, b""))
        process.stderr.close()
        self.assertIn(b"USR1", said)

    def test_a_stop_from_the_terminal_reaches_the_pes_and_is_undone(self):
        def state(pid):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]

        process = self.start_and_await(2, "hello", "say:ready", "spin")
        pids = self.pids(2)
        process.send_signal(signal.SIGTSTP)
        watched = [process.pid, *pids.values()]
        self.assertTrue(eventually(lambda: all(state(pid) == "T" for pid in watched)), {pid: state(pid) for pid in watched})
        process.send_signal(signal.SIGCONT)
        self.assertTrue(eventually(lambda: all(state(pid) != "T" for pid in watched)), {pid: state(pid) for pid in watched})
        process.send_signal(signal.SIGTERM)
        run = self.finish(process)
        self.assertEqual(run.status, 143)
        self.assertNotIn("is stopped", run.err)

    def test_timeout_prints_the_table_and_gives_status_3(self):
        run = self.run_job("--timeout", "0.7", "-n", "2", PE, "hello", "watch", "0:barrier", "wait")
        self.assertEqual(run.status, 3, run)
        self.assertGreater(run.seconds, 0.69)
        self.assertLess(run.seconds, 0.7 + PROMPT)
        lines = run.err.splitlines()
        self.assertEqual(len(lines), 3, run)
        self.assertEqual(lines[0], "shoalrun: the job did not end within 0.7 s; its PEs have been ended. They were:")
        self.assertRegex(lines[1], r"^shoalrun: PE 0 \(pid \d+\): computing$")
        self.assertRegex(lines[2], r"^shoalrun: PE 1 \(pid \d+\): in shmem_int_wait_until\(.*\) for \d+\.\d s$")
        self.assertEqual(self.run_job("--timeout", "15", "-n", "2", "/bin/true").status, 0)

    def test_a_timeout_ends_stopped_and_stubborn_pes(self):
        run = self.run_job("--timeout", "0.5", "-n", "2", SHELL, "-c", "trap '' INT TERM; kill -STOP $$; sleep 1000")
        self.assertEqual(run.status, 3, run)

    def test_under_nohup_a_hangup_is_ignored(self):
        process = subprocess.Popen(["nohup", SHOALRUN, "--tag-output", "-n", "1", SHELL, "-c", "echo ready; sleep 0.5; echo end"],
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b"ready", process.stdout.readline())
        process.send_signal(signal.SIGHUP)
        run = self.finish(process)
        self.assertEqual((run.status, run.out), (0, "[0] end\n"), run)


if __name__ == "__main__":
    at_once.main()
