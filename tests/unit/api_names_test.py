#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every routine of the API lists is declared with exactly its prototype, and exported by the library under its own and
its profiling name; nothing else is. --library compares names, --prototypes the headers; --names prints the list."""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest

import api_names

ARGUMENTS = None


def everything():
    return api_names.openshmem().functions + api_names.OLD_NAMES + api_names.extensions().functions


def twin(name):
    """The profiling name, None for an extension."""
    if name.startswith(("shmemx_", "aclshmemx_")):
        return None
    return api_names.TWINS_OF_OLD_NAMES.get(name, "p" + name)


def expected_names():
    names = [f.name for f in everything()]
    return set(names) | {twin(n) for n in names if twin(n)}


class Lists(unittest.TestCase):
    def test_the_list_expands_to_the_number_of_routines_that_the_tables_give(self):
        functions = api_names.openshmem().functions
        per_pattern = {}
        for function in functions:
            per_pattern.setdefault(function.pattern, []).append(function.typename)
        self.assertEqual(len({f.name for f in functions}), len(functions), "a name twice")
        self.assertEqual(len(per_pattern["shmem_{TYPENAME}_put"]), 24)
        self.assertEqual(len(per_pattern["shmem_put{SIZE}"]), 5)
        self.assertEqual(len(per_pattern["shmem_ctx_{TYPENAME}_atomic_xor"]), 7)
        self.assertEqual(len(per_pattern["shmem_{TYPENAME}_sum_exscan"]), 26)
        self.assertGreater(len(functions), 1900)


class Prototypes(unittest.TestCase):
    def check(self, standard, compiler, prefix_of):
        lines = ["#include <pshmem.h>", "#include <shmemx.h>", "#include <aclshmemx.h>"]
        if "++" in standard:
            lines += ["#include <complex>"]
        for number, function in enumerate(everything()):
            name = prefix_of(function.name)
            if name:
                lines.append(f"{function.result} (*check_{number})({function.parameters}) = {name};")
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "prototypes." + ("cpp" if "++" in standard else "c"))
            with open(source, "w", encoding="utf-8") as out:
                out.write("\n".join(lines) + "\n")
            done = api_names.compile_source(compiler, standard, source, *api_names.WARNINGS)
        self.assertEqual(done.returncode, 0, f"{compiler} -std={standard}:\n" + done.stderr[:3000])
        return len(lines) - 3

    def test_each_routine_has_exactly_its_prototype_in_c(self):
        for compiler in api_names.compilers("c"):
            with self.subTest(compiler=compiler):
                self.assertGreater(self.check("c11", compiler, lambda name: name), 1900)

    def test_each_routine_has_exactly_its_prototype_in_cxx(self):
        for compiler in api_names.compilers("c++"):
            with self.subTest(compiler=compiler):
                self.assertGreater(self.check("c++17", compiler, lambda name: name), 1900)

    def test_each_profiling_twin_has_the_same_prototype(self):
        for compiler in api_names.compilers("c"):
            with self.subTest(compiler=compiler):
                self.assertGreater(self.check("c11", compiler, twin), 1900)

    def test_a_wrong_prototype_is_noticed(self):
        """The check itself can fail: one parameter changed is an error."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "wrong.c")
            with open(source, "w", encoding="utf-8") as out:
                out.write("#include <shmem.h>\nvoid (*check)(int *, const int *, size_t, long) = shmem_int_put;\n")
            for compiler in api_names.compilers("c"):
                done = api_names.compile_source(compiler, "c11", source, *api_names.WARNINGS)
                self.assertNotEqual(done.returncode, 0)


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([ARGUMENTS.nm, "-D", "--defined-only", ARGUMENTS.library], check=True, capture_output=True,
                              text=True, timeout=60)
        cls.symbols = {}
        for line in done.stdout.splitlines():
            address, kind, name = line.split()[:3]
            cls.symbols[name.split("@")[0]] = (address, kind)

    def complain(self, names, what):
        self.assertFalse(names, f"{len(names)} {what}: {' '.join(sorted(names)[:40])}")

    def test_every_routine_is_exported(self):
        self.complain(expected_names() - set(self.symbols), "names of the API lists are missing from the library")

    def test_nothing_else_is_exported(self):
        self.complain(set(self.symbols) - expected_names(), "exported names are in no API list")

    def test_each_routine_is_a_weak_alias_of_its_profiling_twin(self):
        """So that a tool, linked statically or not, may define shmem_x and call pshmem_x."""
        wrong = set()
        for name in expected_names():
            other = twin(name) if not name.startswith("p") else None
            if other and name in self.symbols and other in self.symbols:
                (address, kind), (twin_address, _) = self.symbols[name], self.symbols[other]
                if kind != "W" or address != twin_address:
                    wrong.add(name)
        self.complain(wrong, "routines are not weak aliases of their pshmem_ twins")


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", help="libshoal.so, to compare its exported names")
    parser.add_argument("--nm", default="nm", help="the nm of the library's architecture")
    parser.add_argument("--prototypes", action="store_true", help="check the declarations of the headers")
    parser.add_argument("--names", action="store_true", help="print every name that the library must export")
    ARGUMENTS = parser.parse_args()
    if ARGUMENTS.names:
        print("\n".join(sorted(expected_names())))
        return 0
    cases = [Lists] + ([Prototypes] if ARGUMENTS.prototypes else []) + ([Library] if ARGUMENTS.library else [])
    loader = unittest.TestLoader()
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
