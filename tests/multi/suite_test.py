#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite and the examples under SHOAL_CHAOS, SHOAL_CHECK or SHOAL_RACE.

Needs in the environment SHOALRUN, UNDER (one of these names) and PROGRAMS, separated by colons; NODES, if it is there, is what
shoalrun's --fake-nodes says. With SHOAL_TEST_FULL=1 more seeds and numbers of PEs.
"""
import concurrent.futures
import os
import subprocess
import tempfile
import time
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
UNDER = os.environ.get("UNDER", "SHOAL_CHAOS")
PROGRAMS = [path for path in os.environ.get("PROGRAMS", "").split(":") if path]
NODES = ["--fake-nodes", os.environ["NODES"]] if "NODES" in os.environ else []
FULL = os.environ.get("SHOAL_TEST_FULL") == "1"
DEADLINE = 240  # seconds
AT_ONCE = 3  # under chaos a job mostly waits
NOT_UNDER = {
    "SHOAL_CHAOS": {},
    "SHOAL_CHECK": {"active_sets": "uses pSync arrays again at once, which Shoal allows, and SHOAL_CHECK does not"},
    "SHOAL_RACE": {"ordering": "its litmus tests race on purpose", "reductions": "to judge its millions of words takes minutes"},
}
SLOW = {"SHOAL_RACE": {"collectives", "rma", "wait"}}.get(UNDER, set())  # with SHOAL_TEST_FULL=1 only
RUNS = {
    "SHOAL_CHAOS": [(3, "1"), (2, "2"), (5, "3"), (4, "4")],
    "SHOAL_CHECK": [(3, "1"), (2, "1"), (5, "1")],
    "SHOAL_RACE": [(3, "1"), (2, "1"), (5, "1")],
}[UNDER]
ARGUMENTS = {"static_data": ["pie"], "static_data_no_pie": ["no-pie"]}
STATUS = {"global_exit": 7}
GRAPH = "".join(f"{i} {i * i % 97}\n{i} {(i + 1) % 97}\n" for i in range(97))


class Suite(unittest.TestCase):
    def test_passes(self):
        self.assertTrue(PROGRAMS)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as graph, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            graph.write(GRAPH)
            graph.flush()
            runs = {}
            for path in PROGRAMS:
                name = os.path.basename(path).removeprefix("conformance_")
                if name in NOT_UNDER[UNDER] or (name in SLOW and not FULL):
                    continue
                arguments = [path, "--iterations", "5", graph.name] if name == "pagerank" else [path, *ARGUMENTS.get(name, [])]
                for pes, value in RUNS if FULL else RUNS[:1]:
                    runs[path, pes, value] = pool.submit(self.run_one, arguments, pes, value)
            for (path, pes, value), future in runs.items():
                name = os.path.basename(path)
                with self.subTest(f"{name} on {pes} PEs, {UNDER}={value}"):
                    seconds, found = future.result()
                    print(f"{name} on {pes} PEs, {UNDER}={value}: {seconds:.1f} s")
                    self.assertEqual(found.returncode, STATUS.get(name.removeprefix("conformance_"), 0), found.stdout)
                    self.assertNotIn("shoal: race: PE", found.stdout)  # how much was not looked at may be told

    def run_one(self, arguments, pes, value):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        environment.update({UNDER: value, "SHOAL_TEST_PES": str(pes)})
        began = time.monotonic()
        found = subprocess.run([SHOALRUN, "--timeout", str(DEADLINE - 20), "-n", str(pes), *NODES, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=environment, timeout=DEADLINE, stdin=subprocess.DEVNULL)
        return time.monotonic() - began, found


if __name__ == "__main__":
    unittest.main(verbosity=2)
