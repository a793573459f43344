#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PEs that run different versions of the library are told so at init, both versions named, and nothing else happens.

Needs SHOALRUN, PROGRAM (any that calls shmem_init) and LIBRARY (libshoal.so) in the environment. The other version is a copy of the
library in which only its name for itself differs.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
PROGRAM = os.environ.get("PROGRAM", "trace_pe")
LIBRARY = os.environ.get("LIBRARY", "libshoal.so")
DEADLINE = 60  # seconds
FORMAT, OTHER = b"Shoal %s, memory layout %u\0", b"Shoal 9.9, memory layout 7\0"  # what the library makes its name by, and another


class Versions(unittest.TestCase):
    def run_with(self, changed):
        """Two PEs; PE 1 runs a library of these bytes."""
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(os.path.dirname(LIBRARY)):  # under all its names
                if name.startswith("libshoal.so"):
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(changed)
            script = f'if [ "$SHOAL_PE" = 1 ]; then LD_LIBRARY_PATH="{folder}" exec "{PROGRAM}"; fi; exec "{PROGRAM}"'
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
            return subprocess.run([SHOALRUN, "-n", "2", shutil.which("sh"), "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=environment, timeout=DEADLINE)

    def test_another_version_is_refused(self):
        with open(LIBRARY, "rb") as file:
            library = file.read()
        self.assertEqual((library.count(FORMAT), len(OTHER)), (1, len(FORMAT)))
        run = self.run_with(library.replace(FORMAT, OTHER))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, r"(?m)PE \d: shmem_init: PE 1 runs Shoal 9\.9, memory layout 7, and PE 0 Shoal \d+\.\d+\.\d+, memory layout \d+: "
                                     "use one installation of Shoal for the whole job")

    def test_another_copy_of_the_same_version_is_not(self):
        with open(LIBRARY, "rb") as file:
            run = self.run_with(file.read())
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
