#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHOAL_CHAOS: forgotten fences and quiets show, correct programs never fail.

Needs SHOALRUN and CHAOS_PROGRAMS in the environment. With SHOAL_TEST_FULL=1 more seeds.
"""
import itertools
import os
import subprocess
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("CHAOS_PROGRAMS", "chaos_programs")
FULL = os.environ.get("SHOAL_TEST_FULL") == "1"
DEADLINE = 240  # seconds
NODES = (None, "3")  # of the three PEs: one for all, one each
CASES = ("fence", "sync", "reuse", "get", "twice", "own", "fetch", "context", "reduce")
SEEDS = range(1, 11 if FULL else 4)


def run(arguments, pes=3, nodes=None, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
    environment.update(variables, SHOAL_TEST_PES=str(pes))
    return subprocess.run([SHOALRUN, "--timeout", str(DEADLINE - 20), "-n", str(pes), *(["--fake-nodes", nodes] if nodes else []), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=environment, timeout=DEADLINE, stdin=subprocess.DEVNULL)


class Chaos(unittest.TestCase):
    def test_forgotten_fences_and_quiets_show(self):
        for case, nodes, seed in itertools.product(CASES, NODES, SEEDS):
            with self.subTest(f"{case}, nodes {nodes}, seed {seed}"):
                found = run([PROGRAM, case, "wrong"], nodes=nodes, SHOAL_CHAOS=str(seed))
                self.assertEqual(found.returncode, 1, found.stdout)
                self.assertRegex(found.stdout, r"PE \d: element \d+ is -?\d+, not \d+")

    def test_they_show_inside_a_node_of_several(self):
        for seed in SEEDS:
            with self.subTest(f"seed {seed}"):
                found = run([PROGRAM, "neighbour", "wrong"], nodes="0,0,1", SHOAL_CHAOS=str(seed))
                self.assertEqual(found.returncode, 1, found.stdout)
                self.assertIn("PE 1: element", found.stdout)
                found = run([PROGRAM, "neighbour", "right"], nodes="0,0,1", SHOAL_CHAOS=str(seed))
                self.assertEqual(found.returncode, 0, found.stdout)

    def test_one_round_shows_a_mistake_under_most_seeds(self):
        # Which puts overtake others is the seed's to say; whether PE 1 looks in time at a flag that came early, the machine's.
        for case, least in (("twice", 12), ("fence", 4)):
            with self.subTest(case):
                found = [seed for seed in range(1, 21) if run([PROGRAM, case, "wrong", "1"], SHOAL_CHAOS=str(seed)).returncode == 1]
                self.assertGreaterEqual(len(found), least, f"only seeds {found}")

    def test_correct_programs_do_not_fail(self):
        for case, nodes, seed in itertools.product(CASES, NODES, SEEDS):
            with self.subTest(f"{case}, nodes {nodes}, seed {seed}"):
                found = run([PROGRAM, case, "right"], nodes=nodes, SHOAL_CHAOS=str(seed))
                self.assertEqual(found.returncode, 0, found.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
