#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public C headers: each compiles alone, in every standard, with every compiler, without a warning; in any order;
next to a program's own names; and says what it should say of versions and constants."""
import argparse
import glob
import os
import re
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit"))
import api_names

STANDARDS = {"c": ["c11", "c17", "c2x"], "c++": ["c++17", "c++20", "c++2b"]}
STRICT = api_names.WARNINGS + ["-Wconversion", "-Wshadow", "-Wundef"]
STRICT_CXX = STRICT + ["-Wold-style-cast", "-Wextra-semi", "-Wnon-virtual-dtor"]
FULL = os.environ.get("SHOAL_TEST_FULL")
PARTS = {"begin.h", "end.h"}  # not headers but the frame of one

USE = """
int use(void);
int use(void) {
  static long here[2];
  int there = 3;
  shmem_init();
  shmem_p(here, 1, shmem_my_pe());
  shmem_put(SHMEM_CTX_DEFAULT, &there, &there, 1, 0);
  shmem_wait_until(here, SHMEM_CMP_EQ, 1);
  shmem_sync(SHMEM_TEAM_WORLD);
  shmem_finalize();
  return there;
}
"""


def public_headers():
    top = [os.path.basename(p) for p in glob.glob(os.path.join(api_names.INCLUDE, "*shmem*.h"))]
    chapters = os.listdir(os.path.join(api_names.INCLUDE, "shmem"))
    return sorted(top) + sorted("shmem/" + name for name in chapters if name not in PARTS)


class Headers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.programs = []

    def program(self, what, text, languages=("c", "c++"), standards=None, options=(), warnings=None):
        """Adds a program that must compile, for every compiler and standard of the languages; without SHOAL_TEST_FULL
        for the oldest and the newest standard."""
        for language in languages:
            path = os.path.join(self.folder.name, f"{len(self.programs)}." + ("c" if language == "c" else "cpp"))
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            strict = STRICT_CXX if language == "c++" else STRICT
            for compiler in api_names.compilers(language):
                for standard in standards or (STANDARDS[language] if FULL else STANDARDS[language][::2]):
                    if ("++" in standard) == (language == "c++"):
                        self.programs.append((what, compiler, standard, path, [*(warnings or strict), *options]))

    def compile_all(self):
        with ThreadPoolExecutor(max_workers=2) as pool:
            done = list(pool.map(lambda p: api_names.compile_source(p[1], p[2], p[3], *p[4]), self.programs))
        for (what, compiler, standard, _, _), result in zip(self.programs, done):
            with self.subTest(what=what, compiler=compiler, standard=standard):
                self.assertEqual(result.returncode, 0, result.stderr[:3000])

    def test_each_header_compiles_alone(self):
        headers = public_headers()
        self.assertGreater(len(headers), 20)
        for header in headers:
            only = {"shmem/generic.h": ("c",), "shmem/overloads.hpp": ("c++",)}.get(header, ("c", "c++"))
            standards = ["c11", "c++17"] if header.startswith("shmem/") and not FULL else sum(STANDARDS.values(), [])
            self.program(header, f"#include <{header}>\nint nothing;\n", only, standards=standards)
        self.compile_all()

    def test_headers_may_be_included_twice_and_in_any_order(self):
        headers = ["shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h", "mpp/shmemx.h", "shmem/wait.h", "shmem/signals.h", "shmem/deprecated.h"]
        for turn in range(len(headers)):
            order = headers[turn:] + headers[:turn]
            lines = [f"#include <{h}>" for h in order + order[::-1]]
            self.program(" ".join(order), "\n".join(lines) + USE, standards=["c11", "c++17"])
        self.compile_all()

    def test_complex_headers_before_and_after(self):
        for before, after in (("", "#include <complex.h>"), ("#include <complex.h>", ""), ("#include <tgmath.h>", "")):
            text = f"{before}\n#include <shmemx.h>\n{after}\n#include <complex.h>\n"
            text += "extern float _Complex f[2];\nint sum(void);\n"
            text += "int sum(void) { return shmem_sum_reduce(SHMEM_TEAM_WORLD, f, f, 2); }\n" + USE
            self.program(f"{before} shmem.h {after}", text, ("c",))
        for before, after in (("", "#include <complex>"), ("#include <complex>", ""), ("#include <ccomplex>", "")):
            standards = ["c++17"] if "ccomplex" in before else None  # gone in C++20
            text = f"{before}\n#include <shmemx.h>\n{after}\n#include <complex>\nextern std::complex<double> d[2];\n"
            text += "int sum();\nint sum() { return shmem_prod_reduce(SHMEM_TEAM_WORLD, d, d, 2); }\n" + USE
            self.program(f"{before} shmem.h {after}", text, ("c++",), standards=standards,
                         options=["-Wno-deprecated", "-Wno-cpp"])
        self.compile_all()

    def test_the_names_that_programs_use_stay_theirs(self):
        own = "struct complex { int I; };\nextern int I, imaginary, put, get, uint_, team, ctx, pe;\n"
        self.program("own names after", "#include <shmemx.h>\n" + own + USE)
        self.program("own names before", own + "#include <shmemx.h>\n" + USE, warnings=api_names.WARNINGS)
        # macros that are no parameter's name in the specification
        macros = "".join(f"#define {m}\n" for m in
                         ["uint unsigned int", "uchar unsigned char", "ulong unsigned long", "ushort unsigned short",
                          "N 10", "T 20", "X(a) a", "S 8", "A 1", "C 2", "OP +", "SET -", "I 1", "complex 7",
                          "put puts", "get gets", "add 1", "set 2", "swap 3", "half 6", "min 7",
                          "max 8", "sum 9", "mem 3", "kind 1"])
        self.program("own macros before", macros + "#include <shmemx.h>\n" + USE)
        self.program("own macros after", "#include <shmemx.h>\n" + macros + USE)
        self.program("operators by name", "#include <iso646.h>\n#include <shmemx.h>\n" + USE)
        self.compile_all()

    def test_other_dialects(self):
        """C99 has the plain functions; options that C++ programs set; without generics."""
        plain = USE.replace("shmem_put(SHMEM_CTX_DEFAULT", "shmem_ctx_int_put(SHMEM_CTX_DEFAULT") \
            .replace("shmem_p(", "shmem_long_p(").replace("shmem_sync(", "shmem_team_sync(")
        self.program("C99", "#include <shmemx.h>\n#include <pshmem.h>\n" + plain, ("c",), standards=["c99", "gnu99"])
        self.program("gnu", "#include <shmemx.h>\n" + USE, standards=["gnu11", "gnu++17"])
        self.program("no generics", "#define SHMEM_NO_GENERICS\n#include <shmemx.h>\n" + plain,
                     standards=["c11", "c++17"])
        self.program("no exceptions", "#include <shmemx.h>\n" + USE, ("c++",), standards=["c++17"],
                     options=["-fno-exceptions", "-fno-rtti"])
        self.compile_all()

    def test_a_program_that_loses_control_at_global_exit_needs_no_return(self):
        text = "#include <shmem.h>\nint leave(void);\nint leave(void) { shmem_global_exit(3); }\n"
        self.program("noreturn", text, options=["-Werror=return-type"])
        self.compile_all()

    def test_volatile_and_unusual_expressions_as_arguments(self):
        text = """#include <shmem.h>
struct box { volatile int flag; long counts[4]; };
extern struct box box, *boxes;
extern volatile long *old;
extern size_t found[4];
int use(void);
int use(void) {
  int i = 0;
  long *at = box.counts;
  shmem_wait_until(&box.flag, SHMEM_CMP_NE, 0);
  shmem_wait_until(&boxes[1].flag, SHMEM_CMP_NE, 'a');
  shmem_wait_until(old, SHMEM_CMP_GE, 1);
  shmem_p(at + 1, i ? 1 : 2, (shmem_my_pe() + 1) % shmem_n_pes());
  shmem_p(&box.counts[2], shmem_g(&box.counts[shmem_g(at, 0)], 1), 0);
  shmem_atomic_add(*&at, shmem_atomic_fetch(box.counts, 0), 0);
  return shmem_test_some(box.counts, 4, found, NULL, SHMEM_CMP_EQ, 1L) != 4 && shmem_test(old, SHMEM_CMP_EQ, 1);
}
"""
        self.program("arguments", text)
        self.compile_all()

    def test_handles_are_constants(self):
        text = """#include <shmemx.h>
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static shmemx_heap_t heaps[] = {SHMEMX_HEAP_DEFAULT, SHMEMX_HEAP_INVALID};
int use(void);
int use(void) { return !contexts[0] + !teams[0] + !heaps[0] + (contexts[1] == SHMEM_CTX_INVALID); }
"""
        self.program("handles", text)
        self.compile_all()

    def test_constants(self):
        text = """#include <shmem.h>
#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif
#define SAME(name) CHECK(_##name == name)
#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6
#error "the version can be asked in the preprocessor"
#endif
CHECK(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
CHECK(sizeof(SHMEM_VENDOR_STRING) == sizeof(_SHMEM_VENDOR_STRING));
CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED && SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
      SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
CHECK((SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE) ==
      SHMEM_CTX_SERIALIZED + SHMEM_CTX_PRIVATE + SHMEM_CTX_NOSTORE);
CHECK((SHMEM_MALLOC_ATOMICS_REMOTE & SHMEM_MALLOC_SIGNAL_REMOTE) == 0);
CHECK(SHMEM_TEAM_NUM_CONTEXTS != 0 && SHMEM_CTX_SESSION_TOTAL_OPS != 0 && SHMEM_CTX_SESSION_BATCH != 0);
CHECK(SHMEM_SIGNAL_SET != SHMEM_SIGNAL_ADD);
CHECK(SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_BCAST_SYNC_SIZE &&
      SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_COLLECT_SYNC_SIZE &&
      SHMEM_SYNC_SIZE >= SHMEM_ALLTOALL_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE);
CHECK((1 << SHMEM_CMP_EQ | 1 << SHMEM_CMP_NE | 1 << SHMEM_CMP_GT | 1 << SHMEM_CMP_GE | 1 << SHMEM_CMP_LT |
       1 << SHMEM_CMP_LE) ==
      (1 << SHMEM_CMP_EQ) + (1 << SHMEM_CMP_NE) + (1 << SHMEM_CMP_GT) + (1 << SHMEM_CMP_GE) + (1 << SHMEM_CMP_LT) +
      (1 << SHMEM_CMP_LE));
static long sync_array[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
int use(void);
int use(void) { return sync_array[0] == SHMEM_SYNC_VALUE ? SHMEM_REDUCE_MIN_WRKDATA_SIZE : 0; }
"""
        for name in ("MAJOR_VERSION", "MINOR_VERSION", "MAX_NAME_LEN", "CMP_EQ", "CMP_NE", "CMP_GT", "CMP_GE", "CMP_LT",
                     "CMP_LE", "SYNC_VALUE", "BARRIER_SYNC_SIZE", "BCAST_SYNC_SIZE", "REDUCE_SYNC_SIZE",
                     "COLLECT_SYNC_SIZE", "ALLTOALL_SYNC_SIZE", "ALLTOALLS_SYNC_SIZE", "REDUCE_MIN_WRKDATA_SIZE"):
            text += f"SAME(SHMEM_{name});\n"
        text += "extern shmem_team_config_t team_config;\nCHECK(sizeof team_config.num_contexts == sizeof(int));\n"
        text += "extern shmem_ctx_session_config_t session;\nCHECK(sizeof session.total_ops == sizeof(size_t));\n"
        self.program("constants", text)
        self.compile_all()

    def test_the_vendor_string_is_the_version_that_is_built(self):
        with open(os.path.join(api_names.INCLUDE, "shmem", "constants.h"), encoding="utf-8") as header:
            version = re.search(r'SHMEM_VENDOR_STRING "Shoal ([\d.]+)"', header.read()).group(1)
        with open(os.path.join(api_names.ROOT, "CMakeLists.txt"), encoding="utf-8") as lists:
            self.assertEqual(version, re.search(r"project\(Shoal VERSION ([\d.]+)", lists.read()).group(1))

    def test_every_chapter_is_part_of_shmem_h_and_of_pshmem_h(self):
        def included(name):
            with open(os.path.join(api_names.INCLUDE, name), encoding="utf-8") as text:
                return set(re.findall(r"#include <shmem/(\w+\.h(?:pp)?)>", text.read()))

        chapters = set(os.listdir(os.path.join(api_names.INCLUDE, "shmem"))) - PARTS - {"half.h"}
        self.assertEqual(included("shmem.h"), chapters)
        self.assertEqual(included("pshmem.h"), chapters - {"types.h", "constants.h", "generic.h", "overloads.hpp"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*")
    unittest.main(argv=[sys.argv[0], *parser.parse_args().tests], verbosity=2)
