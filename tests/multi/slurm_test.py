#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PEs that srun starts: by PMIx, and without it. A Slurm of one machine is started for it, in a folder of its own.

Needs DIRECT_PE in the environment, root, and Slurm and munge (Debian: slurmctld, slurmd, slurm-client, munge); with SHOAL_TEST_FULL=1 only.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from launcher_support import LIMIT, LauncherTest, eventually

PE = os.environ.get("DIRECT_PE", "direct_pe")
CONFIGURATION = """ClusterName=shoal
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
SlurmdPort={next_port}
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing():
    if os.environ.get("SHOAL_TEST_FULL") != "1":
        return "with SHOAL_TEST_FULL=1 only"
    if os.geteuid() != 0:
        return "needs root"
    programs = [name for name in ("munged", "slurmctld", "slurmd", "srun", "sinfo") if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    return f"not installed: {', '.join(programs)}" if programs else ""


@unittest.skipIf(missing(), missing())
class Slurm(LauncherTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="shoal-slurm")
        os.chmod(cls.folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        key, port = os.path.join(cls.folder, "key"), random.randrange(20000, 30000)
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o400), "wb") as file:
            file.write(os.urandom(1024))
        cls.configuration = os.path.join(cls.folder, "slurm.conf")
        with open(cls.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=cls.folder, host=socket.gethostname().split(".")[0], port=port, next_port=port + 1))
        cls.daemon("munged", "--force", "-F", *(f"--{what}={cls.folder}/munge.{end}" for what, end in
                                               (("socket", "socket"), ("log-file", "log"), ("pid-file", "pid"), ("seed-file", "seed"))), f"--key-file={key}")
        if not eventually(lambda: os.path.exists(cls.folder + "/munge.socket")):
            raise AssertionError("munged does not start")
        cls.daemon("slurmctld", "-D", "-f", cls.configuration)
        cls.daemon("slurmd", "-D", "-f", cls.configuration)
        environment = {**os.environ, "SLURM_CONF": cls.configuration}
        if not eventually(lambda: subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT).stdout == "idle\n"):
            raise AssertionError("Slurm does not start")

    @classmethod
    def daemon(cls, name, *arguments):
        path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
        process = subprocess.Popen([path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait, LIMIT)
        cls.addClassCleanup(process.send_signal, signal.SIGTERM)

    def srun(self, *arguments, **variables):
        process = subprocess.Popen(["srun", "-Q", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**self.environment, "SLURM_CONF": self.configuration, **variables})
        return self.finish(process)

    def test_pes_find_each_other_by_pmix(self):
        run = self.srun("--mpi=pmix", "-n", "4", PE, "env")
        self.assertEqual((run.status, sorted(run.out.splitlines()), run.err), (0, [f"PE {rank} of 4" for rank in range(4)], ""), run)

    def test_and_talk_over_the_network(self):
        run = self.srun("--mpi=pmix", "-n", "4", PE, "env", SHOAL_FAKE_NODES="2")
        self.assertEqual((run.status, sorted(run.out.splitlines()), run.err), (0, [f"PE {rank} of 4" for rank in range(4)], ""), run)

    def test_a_pe_that_dies_ends_the_job_and_is_named(self):
        run = self.srun("--mpi=pmix", "-n", "3", PE, "env", "die", "2")
        self.assertNotEqual(run.status, 0, run)
        self.assertRegex(run.err, r"PE 2 \(\S+, \S+\) ended without shmem_finalize")

    def test_without_pmix_a_meeting_point_does(self):
        run = self.srun("--mpi=none", "-n", "3", PE, "env", SHOAL_RDZV=f"unix:{self.folder}")
        self.assertEqual((run.status, sorted(run.out.splitlines()), run.err), (0, [f"PE {rank} of 3" for rank in range(3)], ""), run)

    def test_without_either_the_pes_say_what_is_missing(self):
        run = self.srun("--mpi=none", "-n", "2", PE, "env")
        self.assertNotEqual(run.status, 0, run)
        self.assertRegex(run.err, r"one of several .*SLURM_.*SHOAL_RDZV")


if __name__ == "__main__":
    unittest.main(verbosity=2)
