#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random operations against a model, plain and under SHOAL_CHECK, SHOAL_CHAOS and SHOAL_PROFILE; many inits with flat counts.

Needs SHOALRUN, SOAK and REPEAT_INIT in the environment. SHOAL_TEST_SOAK_SECONDS sets how long each run lasts (3; 60 with
SHOAL_TEST_FULL=1), SHOAL_TEST_SOAK_SEED the first seed.
"""
import os
import subprocess
import sys
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
SOAK = os.environ.get("SOAK", "soak")
REPEAT_INIT = os.environ.get("REPEAT_INIT", "repeat_init")
FULL = os.environ.get("SHOAL_TEST_FULL") == "1"
SECONDS = float(os.environ.get("SHOAL_TEST_SOAK_SECONDS", "60" if FULL else "3"))
SEED = int(os.environ.get("SHOAL_TEST_SOAK_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


class Soak(unittest.TestCase):
    def run_job(self, pes, *arguments, limit=120, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update(variables)
        run = subprocess.run([SHOALRUN, "--timeout", str(limit), "-n", str(pes), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env=environment, timeout=limit + 60, stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, f"{variables} {pes} PEs {arguments}\n{run.stdout}")
        print(run.stdout.strip(), variables, file=sys.stderr)

    def test_random_operations_agree_with_the_model(self):
        print(f"SHOAL_TEST_SOAK_SEED={SEED}", file=sys.stderr)
        for i, (pes, variables) in enumerate(((3, {}), (5, {}), (3, {"SHOAL_CHECK": "1"}), (3, {"SHOAL_CHAOS": str(SEED % 1000)}),
                                              (2, {"SHOAL_PROFILE": "1", "SHOAL_CHECK": "1"}), (4, {"SHOAL_COUNTER_START": "-50"}))):
            with self.subTest(f"{pes} PEs, {variables}"):
                self.run_job(pes, SOAK, str(SEED + i), str(SECONDS), limit=60 + 2 * SECONDS, **variables)

    def test_many_inits_leave_nothing(self):
        self.run_job(3, REPEAT_INIT, "10000" if FULL else "100", limit=1800 if FULL else 120, SHMEM_SYMMETRIC_SIZE="4m")
        self.run_job(2, REPEAT_INIT, "30", SHMEM_SYMMETRIC_SIZE="4m", SHOAL_CHECK="1", SHOAL_CHAOS="1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
