#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions the hot paths take, counted by valgrind: the same number every time, whatever else the machine does.

Each bound is about twice what the operation takes today with g++ 12: it is there to notice a lock, an allocation or a search that
slipped in, not a register more. Needs HOT_PATHS in the environment, and valgrind; skips with a word without it.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

HOT_PATHS = os.environ.get("HOT_PATHS", "hot_paths")
ONCE, MORE = 1000, 11000

# Instructions a call, the caller's loop and its indirect call included.
BOUNDS = {
    "p": 50, "g": 50, "put8": 90, "get8": 90, "put4k": 1800, "iput": 400, "quiet": 50, "fetch_add": 80, "signal": 110, "wait": 300,
    "barrier": 150, "static_p": 280, "static_fetch_add": 330,
}


# The same where calls are watched: most go by a shortcut.
WATCHED = {
    "SHOAL_CHECK": {"p": 160, "put8": 240, "iput": 500, "fetch_add": 240},
    "SHOAL_PROFILE": {"p": 320, "put4k": 1400},
}


def instructions(operation, count, **variables):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", HOT_PATHS, operation, str(count)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          env=dict(os.environ, SHMEM_SYMMETRIC_SIZE="1m", **variables))
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise AssertionError(f"{operation}: status {done.returncode}\n{done.stderr}")
    return int(found.group(1))


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class HotPaths(unittest.TestCase):
    def check(self, bounds, **variables):
        counts = {}
        for operation in bounds:
            counts[operation] = (instructions(operation, MORE, **variables) - instructions(operation, ONCE, **variables)) / (MORE - ONCE)
        print(variables, ", ".join(f"{name} {count:.0f}" for name, count in counts.items()), file=sys.stderr)
        over = [f"{name}: {count:.0f} instructions, more than {bounds[name]}" for name, count in counts.items() if count > bounds[name]]
        self.assertFalse(over, "\n".join(over))

    def test_stay_short(self):
        self.check(BOUNDS)

    def test_stay_short_where_calls_are_watched(self):
        for variable, bounds in WATCHED.items():
            self.check(bounds, **{variable: "1"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
