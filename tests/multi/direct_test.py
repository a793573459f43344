#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PEs that shoalrun did not start: by hand, by torchrun, by mpirun (PMIx), and with a unique id.

Needs DIRECT_PE in the environment (direct_pe.c), and CFLAGS_SHOAL and LIBS_SHOAL to build a program with MPI.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from launcher_support import LIMIT, PROMPT, LauncherTest, Run, eventually, processes_with

PE = os.environ.get("DIRECT_PE", "direct_pe")


class DirectTest(LauncherTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {k: v for k, v in self.environment.items() if not k.startswith(("PMI", "OMPI", "SLURM", "RANK", "WORLD_SIZE", "MASTER"))}
        self.environment["SHOAL_RDZV_TIMEOUT"] = "15"
        self.address = "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))
        self.secret = os.path.join(self.folder.name, "secret")
        with open(self.secret, "w", encoding="ascii") as file:
            os.chmod(self.secret, 0o600)
            file.write(os.urandom(16).hex())

    def pe(self, rank, *arguments, **variables):
        return subprocess.Popen([PE, *(str(a) for a in arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.environment, **{k: str(v) for k, v in variables.items()}})

    def by_hand(self, n, *arguments, **variables):
        processes = [self.pe(rank, *arguments, SHOAL_PE=rank, SHOAL_NPES=n, **variables) for rank in reversed(range(n))]
        return [self.finish(process) for process in reversed(processes)]

    def assert_all_fine(self, runs):
        for rank, run in enumerate(runs):
            self.assertEqual((run.status, run.out, run.err), (0, f"PE {rank} of {len(runs)}\n", ""), run)


class ByHand(DirectTest):
    def test_over_tcp_with_a_secret(self):
        self.assert_all_fine(self.by_hand(3, "env", SHOAL_RDZV=f"tcp://{self.address}", SHOAL_JOB_SECRET_FILE=self.secret))

    def test_on_one_machine_without_a_secret(self):
        self.assert_all_fine(self.by_hand(3, "env", SHOAL_RDZV=f"unix:{self.address}"))

    def test_again_and_again_in_one_process(self):
        self.assert_all_fine(self.by_hand(3, "env", 8, SHOAL_RDZV=f"unix:{self.address}"))

    def test_by_attributes(self):
        where = f"tcp://{self.address}:8667"
        processes = [self.pe(rank, "rdzv", rank, 3, where, SHOAL_JOB_SECRET_FILE=self.secret) for rank in range(3)]
        self.assert_all_fine([self.finish(process) for process in processes])

    def test_by_attributes_of_the_accelerator_style(self):
        where = f"tcp://{self.address}:8667"
        del self.environment["SHOAL_RDZV_TIMEOUT"]  # it would win over the attribute
        processes = [self.pe(rank, "acl", rank, 3, where, SHOAL_JOB_SECRET_FILE=self.secret) for rank in range(3)]
        self.assert_all_fine([self.finish(process) for process in processes])
        run = self.finish(self.pe(0, "acl", 0, 2, where, SHOAL_JOB_SECRET_FILE=self.secret))
        self.assertNotEqual(run.status, 0, run)
        self.assert_one_line(run, "aclshmemx_init_attr: .*1 of 2 PEs not joined: 1")
        self.assertLess(run.seconds, 10, run)
        for pe, n, why in ((2, 2, "my_pe 2 of n_pes 2: expected"), (0, -1, "my_pe 0 of n_pes -1: expected")):
            run = self.finish(self.pe(0, "acl", pe, n, where))
            self.assert_one_line(run, f"aclshmemx_init_attr: {why}")
        run = self.run_job("-n", "1", PE, "acl", "1", "2", where)
        self.assertIn("my_pe 1 of n_pes 2, but shoalrun started this process as PE 0 of 1", run.err)

    def test_unique_id_carried_in_a_file(self):
        path = os.path.join(self.folder.name, "id")
        processes = [self.pe(rank, "id", rank, 3, path) for rank in range(3)]
        self.assert_all_fine([self.finish(process) for process in processes])

    def test_tcp_without_anything_to_prove_with_is_refused(self):
        for run in self.by_hand(2, "env", SHOAL_RDZV=f"tcp://{self.address}"):
            self.assertEqual(run.status, 1, run)
            self.assert_one_line(run, "SHOAL_JOB_SECRET_FILE.*certificates.*SHOAL_TLS=0")

    def test_tcp_without_tls_when_told_so(self):
        self.assert_all_fine(self.by_hand(2, "env", SHOAL_RDZV=f"tcp://{self.address}", SHOAL_TLS=0))

    def test_nodes_joined_in_the_clear_are_told_of(self):
        for name, value in (("SHOAL_TLS", "0"), ("SHOAL_TRANSPORT", "tcp")):
            first, second = self.by_hand(2, "env", SHOAL_RDZV=f"unix:{self.address}", SHOAL_FAKE_NODES=2, **{name: value})
            self.assertEqual((first.status, second.status, second.err), (0, 0, ""), [first, second])
            self.assert_one_line(first, rf"PE 0: .*neither encrypted nor authenticated \({name}={value}\)")

    def test_who_does_not_come_is_named(self):
        run = self.finish(self.pe(0, "env", SHOAL_PE=0, SHOAL_NPES=3, SHOAL_RDZV=f"unix:{self.address}", SHOAL_RDZV_TIMEOUT=1))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, r"PE 0: shmem_init: .*2 of 3 PEs not joined: 1, 2;")
        run = self.finish(self.pe(1, "env", SHOAL_PE=1, SHOAL_NPES=3, SHOAL_RDZV=f"unix:{self.address}", SHOAL_RDZV_TIMEOUT=1))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, r"PE 1: shmem_init: cannot meet the job at unix:\S+: nobody answers")

    def test_a_number_without_a_meeting_point_fails_loudly(self):
        run = self.finish(self.pe(0, "env", RANK=0, WORLD_SIZE=2))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "one of several .WORLD_SIZE=2, RANK=0.*SHOAL_RDZV")

    def test_a_place_without_a_meeting_point_is_told_how_to_go_by_hand(self):
        run = self.finish(self.pe(0, "env", SHOAL_PE=0, SHOAL_NPES=2))
        self.assertEqual(run.status, 1, run)
        self.assert_one_line(run, "SHOAL_STORE_FD is not set.*by hand, with SHOAL_PE, SHOAL_NPES and SHOAL_RDZV")

    def test_death_ends_all_with_one_line(self):
        for victim in range(3):
            started = time.monotonic()
            runs = self.by_hand(3, "env", "die", victim, SHOAL_RDZV=f"unix:{self.address}.{victim}")
            self.assertEqual([run.status for run in runs], [-9 if rank == victim else 1 for rank in range(3)], runs)
            lines = [line for run in runs for line in run.err.splitlines()]
            self.assertEqual(len(lines), 1, lines)
            expected = "the PE where the job meets is gone: the connection was closed" if victim == 0 else rf"PE {victim} \(\S+, localhost\) ended without shmem_finalize"
            self.assertRegex(lines[0], expected)
            self.assertLess(time.monotonic() - started, 3 * PROMPT)

    def test_an_exit_in_the_middle_ends_all_with_its_status(self):
        for victim in range(3):
            runs = self.by_hand(3, "env", "return", victim, 7, SHOAL_RDZV=f"unix:{self.address}.{victim}")
            self.assertEqual([run.status for run in runs], [7] * 3, runs)
            lines = [line for run in runs for line in run.err.splitlines()]
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], rf"PE {victim} \(\S+, localhost\) exited with status 7 without shmem_finalize; the other PEs have been ended")

    def test_global_exit_gives_all_its_status(self):
        for who in range(2):
            runs = self.by_hand(2, "env", "exit", who, 7, SHOAL_RDZV=f"unix:{self.address}.{who}")
            self.assertEqual([(run.status, run.err) for run in runs], [(7, "")] * 2, runs)


class FailingAlone(DirectTest):
    """An init that fails on one PE fails on all, with the reason; then all may try again."""

    def assert_told(self, err, pe, why, n=3):
        own = re.findall(rf"(?m)^shoal: PE {pe}: shmem_init_thread: (?!PE).*{why}", err)
        others = re.findall(rf"(?m)^shoal: PE (\d): shmem_init_thread: PE {pe} failed: shmem_init_thread: .*{why}", err)
        self.assertEqual((len(own), sorted(others)), (1, [str(other) for other in range(n) if other != pe]), err)

    def launched(self, *options, pe, how):
        run = self.run_job(*options, "-n", "3", PE, "alone", str(pe), how)
        self.assertEqual((run.status, sorted(run.out.splitlines())), (0, [f"PE {rank} of 3" for rank in range(3)]), run)
        return run.err

    def test_before_it_joins(self):
        for pe in (0, 2):
            self.assert_told(self.launched(pe=pe, how="option"), pe, 'SHOAL_SPIN="often"')

    def test_by_a_thread_level_that_is_none(self):
        for pe in (0, 2):
            self.assert_told(self.launched(pe=pe, how="level"), pe, "thread level 77 is none of SHMEM_THREAD_SINGLE")

    def test_after_it_joined(self):
        for pe in (0, 1, 2):  # 0: no memory; else its static data find no room there
            self.assert_told(self.launched(pe=pe, how="limit"), pe, "File too large")

    def test_a_thread_that_calls_init_meanwhile_waits(self):
        path = os.path.join(self.folder.name, "go")
        run = self.run_job("-n", "2", PE, "threads", path)
        self.assertEqual((run.status, sorted(run.out.splitlines())), (0, ["PE 0 of 2", "PE 1 of 2"]), run)
        self.assert_told(run.err, 0, 'SHOAL_SPIN="often"', n=2)

    def test_over_nodes(self):
        for pe in (0, 1, 2):  # the first of its node makes the memory
            self.assert_told(self.launched("--fake-nodes", "0,1,1", pe=pe, how="limit"), pe, "File too large")

    def test_by_hand(self):
        runs = self.by_hand(3, "alone", 0, "limit", SHOAL_RDZV=f"unix:{self.address}")
        for rank, run in enumerate(runs):
            self.assertEqual((run.status, run.out), (0, f"PE {rank} of 3\n"), run)
        self.assert_told("".join(run.err for run in runs), 0, "File too large")

    def test_by_hand_before_it_joins(self):
        runs = self.by_hand(3, "alone", 1, "level", SHOAL_RDZV=f"unix:{self.address}")
        for rank, run in enumerate(runs):
            self.assertEqual((run.status, run.out), (0, f"PE {rank} of 3\n"), run)
        self.assert_told("".join(run.err for run in runs), 1, "thread level 77")


class Torch(DirectTest):
    def test_variables_of_torchrun_on_one_machine(self):
        port = random.randrange(20000, 60000)
        processes = [self.pe(rank, "env", RANK=rank, WORLD_SIZE=3, LOCAL_WORLD_SIZE=3, MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in range(3)]
        self.assert_all_fine([self.finish(process) for process in processes])

    def test_variables_of_torchrun_over_machines(self):
        processes = [self.pe(rank, "env", RANK=rank, WORLD_SIZE=2, LOCAL_WORLD_SIZE=1, MASTER_ADDR=self.address, MASTER_PORT=29500,
                             SHOAL_JOB_SECRET_FILE=self.secret) for rank in range(2)]
        self.assert_all_fine([self.finish(process) for process in processes])

    def test_torchrun_itself(self):
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
        if subprocess.run([python, "-c", "import sys, torch.distributed.run as r; from torch.distributed.elastic.multiprocessing.api import to_map, Std; to_map(Std.from_str('0'), 1)"], capture_output=True, check=False).returncode != 0:
            self.skipTest("PyTorch is not installed, or its torchrun is broken under this Python")
        run = subprocess.run([python, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--redirects", "0", "--tee", "0", "--master_port", str(random.randrange(20000, 60000)), "--no_python", PE, "env"],
                             env=self.environment, capture_output=True, timeout=4 * LIMIT, text=True, check=False)
        self.assertEqual((run.returncode, sorted(run.stdout.splitlines())), (0, ["PE 0 of 2", "PE 1 of 2"]), run.stderr)


class BehindTheFirstOfTheirNode(DirectTest):
    """PEs 0 and 1 on one node, PEs 2, 3 and 4 on another, of which the first is the job's member for all three."""

    NODES = [(0, 2), (0, 2), (2, 3), (2, 3), (2, 3)]

    def start_job(self, *arguments, missing=(), **variables):
        self.environment.update({name: str(value) for name, value in variables.items()})
        return [self.pe(rank, "env", *arguments, RANK=rank, WORLD_SIZE=5, LOCAL_RANK=rank - first, LOCAL_WORLD_SIZE=count, MASTER_ADDR=self.address,
                        MASTER_PORT=29500, TORCHELASTIC_RUN_ID="none", SHOAL_JOB_SECRET_FILE=self.secret) for rank, (first, count) in enumerate(self.NODES) if rank not in missing]

    def run_job(self, *arguments, **variables):
        return [self.finish(process) for process in self.start_job(*arguments, **variables)]

    def test_they_meet_again_and_again(self):
        self.assert_all_fine(self.run_job(8))

    def test_the_first_pe_has_a_connection_a_node(self):
        processes = self.start_job("hang")
        for process in processes:
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        self.assertEqual(processes[0].stdout.readline(), b"ready\n")
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file]
        numbers = "".join("%02X" % int(part) for part in reversed(self.address.split(".")))
        self.assertEqual(sum(row[1] == f"{numbers}:{8666:04X}" and row[3] == "01" for row in rows), 2)  # PE 1's, and the other node's
        processes[4].kill()
        for process in processes:
            self.finish(process)

    def test_death_ends_all(self):
        for victim in range(5):
            started = time.monotonic()
            runs = self.run_job("die", victim)
            self.assertEqual([run.status for run in runs], [-9 if rank == victim else 1 for rank in range(5)], runs)
            lines = [line for run in runs for line in run.err.splitlines()]
            self.assertIn(len(lines), (1, 2), lines)  # one a host, and one machine is both
            told = {0: "the PE where the job meets is gone: ", 2: "the PE where those of this node meet is gone: |PE 2 .* ended without shmem_finalize"}
            for line in lines:
                self.assertRegex(line, told.get(victim, rf"PE {victim} \(\S+, \S+\) ended without shmem_finalize"))
            self.assertLess(time.monotonic() - started, 3 * PROMPT)

    def test_an_exit_in_the_middle_ends_all_with_its_status(self):
        for victim in (0, 1, 2, 4):
            runs = self.run_job("return", victim, 7)
            self.assertEqual([run.status for run in runs], [7] * 5, runs)
            lines = [line for run in runs for line in run.err.splitlines()]
            self.assertIn(len(lines), (1, 2), lines)
            for line in lines:
                self.assertRegex(line, rf"PE {victim} \(\S+, \S+\) exited with status 7 without shmem_finalize; the other PEs have been ended")

    def test_global_exit_gives_all_its_status(self):
        for who in (0, 2, 4):
            self.assertEqual([(run.status, run.err) for run in self.run_job("exit", who, 7)], [(7, "")] * 5)

    def test_who_does_not_come_is_named_on_both_nodes(self):
        runs = [self.finish(process) for process in self.start_job(missing=[3], SHOAL_RDZV_TIMEOUT=1)]
        self.assertEqual([run.status for run in runs], [1] * 4, runs)
        for run in (runs[0], runs[2], runs[3]):  # of PEs 0 and 1, on one host, one prints
            self.assertRegex(run.err, "1 of 3 PEs not joined: 3;", run)

    def test_a_node_that_does_not_come_is_named(self):
        runs = [self.finish(process) for process in self.start_job(missing=[2, 3, 4], SHOAL_RDZV_TIMEOUT=1)]
        for run in runs:
            self.assertRegex(run.err, "3 of 5 PEs not joined: 2, 3, 4;", run)
        runs = [self.finish(process) for process in self.start_job(missing=[0, 1], SHOAL_RDZV_TIMEOUT=1)]
        for run in runs:
            self.assertRegex(run.err, r"cannot meet the job at \S+:8666: nobody answers", run)


class WithForkedChildren(BehindTheFirstOfTheirNode):
    """The same, where each PE has forked a child that stays until the test is over."""

    def start_job(self, *arguments, **variables):
        times = [a for a in arguments[:1] if isinstance(a, int)]
        return super().start_job(*times, "forked", self.secret, *arguments[len(times):], **variables)

    def tearDown(self):
        os.unlink(self.secret)
        eventually(lambda: not processes_with(self.mark))
        super().tearDown()


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
class Mpirun(DirectTest):
    def mpirun(self, n, *program):
        started = time.monotonic()
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        run = subprocess.run(["mpirun", *root, "--oversubscribe", "-n", str(n), *program], env=self.environment, capture_output=True, timeout=2 * LIMIT, text=True, check=False)
        return Run(run.returncode, run.stdout, run.stderr, time.monotonic() - started)

    def setUp(self):
        super().setUp()
        if os.environ.get("WITH_PMIX") != "1":
            self.skipTest("this build is without PMIx")

    def test_programs_are_pes(self):
        run = self.mpirun(3, PE, "env")
        self.assertEqual((run.status, sorted(run.out.splitlines())), (0, ["PE 0 of 3", "PE 1 of 3", "PE 2 of 3"]), run)

    def test_again_and_again_in_one_process(self):
        run = self.mpirun(2, PE, "env", "5")
        self.assertEqual((run.status, sorted(run.out.splitlines())), (0, ["PE 0 of 2", "PE 1 of 2"]), run)

    def test_one_process_is_a_job_of_one(self):
        run = self.mpirun(1, PE, "env")
        self.assertEqual((run.status, run.out), (0, "PE 0 of 1\n"), run)

    def test_death_ends_all(self):
        run = self.mpirun(3, PE, "env", "die", "1")
        self.assertNotEqual(run.status, 0, run)
        self.assertLess(run.seconds, 10, run)

    def test_mpi_and_shoal_in_one_program(self):
        probe = subprocess.run(["mpicc", "-E", "-include", "mpi.h", "-x", "c", "/dev/null"], capture_output=True, check=False) if shutil.which("mpicc") else None
        if probe is None or probe.returncode != 0 or "CFLAGS_SHOAL" not in os.environ:
            self.skipTest("there is no mpicc with mpi.h")
        source, program = os.path.join(self.folder.name, "both.c"), os.path.join(self.folder.name, "both")
        with open(source, "w", encoding="ascii") as file:
            file.write("""#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
static int word;
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  shmem_init();
  int rank, n;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  shmem_int_p(&word, rank + 1, (rank + 1) % n);
  shmem_barrier_all();
  int sum = 0;
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == shmem_my_pe() && sum == n * (n + 1) / 2) printf("fine\\n");
  shmem_finalize();
  MPI_Finalize();
}
""")
        subprocess.run(["mpicc", source, "-o", program, *os.environ["CFLAGS_SHOAL"].split(), *os.environ["LIBS_SHOAL"].split()], check=True, timeout=LIMIT)
        run = self.mpirun(3, program)
        self.assertEqual((run.status, run.out), (0, "fine\n" * 3), run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
