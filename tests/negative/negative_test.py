#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that must not compile. Each case is one statement that is wrong and a twin that differs in the wrong thing
only and compiles, so that a case can't fail for another reason; the compiler must point at the statement's line."""
import os
import re
import sys
import tempfile
import unittest
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit"))
import api_names

C, CXX = "c", "c++"
BOTH = (C, CXX)

# hard: no warning that C compilers let pass by default, but an error without any option.
Case = namedtuple("Case", "name wrong right languages hard")

DECLARATIONS = """
#include <shmemx.h>
struct point { int x, y; };
extern int ints[8], others[8];
extern const int constants[8];
extern short shorts[8];
extern long longs[8];
extern long long longlongs[8];
extern unsigned int uints[8];
extern float floats[8];
extern double doubles[8];
extern char chars[8];
extern uint64_t word;
extern uint32_t half_word;
extern struct point points[8];
extern void *nowhere;
extern SHMEM_COMPLEXF *complexes;
extern shmemx_half_t halves[8];
extern shmemx_bfloat16_t bfloats[8];
extern shmem_ctx_t ctx;
extern shmem_team_t team;
extern shmemx_heap_t heap;
extern shmemx_sem_t sem;
"""


def case(name, wrong, right, languages=BOTH, hard=True):
    return Case(name, wrong, right, languages, hard)


CASES = [
    # types that a routine doesn't have
    case("put of void", "shmem_put(nowhere, ints, 1, 0);", "shmem_putmem(nowhere, ints, 1, 0);"),
    case("put of structures", "shmem_put(points, points, 1, 0);", "shmem_putmem(points, points, 8, 0);"),
    case("put of structures in a context", "shmem_put(ctx, points, points, 1, 0);",
         "shmem_ctx_putmem(ctx, points, points, 8, 0);"),
    case("get of complex numbers", "shmem_get(complexes, complexes, 1, 0);",
         "shmem_getmem(complexes, complexes, 8, 0);"),
    case("float bitwise atomic", "shmem_atomic_and(floats, 1, 0);", "shmem_atomic_and(uints, 1, 0);"),
    case("float bitwise atomic in a context", "shmem_atomic_and(ctx, floats, 1, 0);",
         "shmem_atomic_and(ctx, uints, 1, 0);"),
    case("long long bitwise atomic", "(void)shmem_atomic_fetch_xor(longlongs, 1, 0);",
         "(void)shmem_atomic_fetch_xor(longs, 1, 0);"),
    case("atomic add of float", "shmem_atomic_add(floats, 1, 0);", "shmemx_float_atomic_add(floats, 1, 0);"),
    case("atomic add of short", "shmem_atomic_add(shorts, 1, 0);", "shmem_atomic_add(ints, 1, 0);"),
    case("compare and swap of double", "(void)shmem_atomic_compare_swap(doubles, 1, 2, 0);",
         "(void)shmem_atomic_compare_swap(longs, 1, 2, 0);"),
    case("increment of float, old name", "shmem_inc(floats, 0);", "shmem_inc(ints, 0);"),
    case("wait for char", "shmem_wait_until(chars, SHMEM_CMP_EQ, 1);", "shmem_wait_until(shorts, SHMEM_CMP_EQ, 1);"),
    case("test of float", "(void)shmem_test(floats, SHMEM_CMP_EQ, 1);", "(void)shmem_test(ints, SHMEM_CMP_EQ, 1);"),
    case("and of floats", "shmem_and_reduce(team, floats, floats, 1);", "shmem_and_reduce(team, uints, uints, 1);"),
    case("maximum of complex numbers", "shmem_max_reduce(team, complexes, complexes, 1);",
         "shmem_sum_reduce(team, complexes, complexes, 1);"),
    case("scan of structures", "shmem_sum_inscan(team, points, points, 1);", "shmem_sum_inscan(team, ints, ints, 1);"),
    case("broadcast of void", "shmem_broadcast(team, nowhere, nowhere, 1, 0);",
         "shmem_broadcastmem(team, nowhere, nowhere, 1, 0);"),
    # constness and mixed types
    case("put into constants", "shmem_put(constants, ints, 1, 0);", "shmem_put(ints, constants, 1, 0);"),
    case("atomic on constants", "shmem_atomic_inc(constants, 0);", "(void)shmem_atomic_fetch(constants, 0);"),
    case("wait for a constant", "shmem_wait_until(constants, SHMEM_CMP_EQ, 1);",
         "shmem_wait_until(ints, SHMEM_CMP_EQ, 1);"),
    case("source of another type", "shmem_put(ints, longs, 1, 0);", "shmem_put(ints, others, 1, 0);", hard=False),
    case("reduction of another type", "shmem_sum_reduce(team, ints, uints, 1);",
         "shmem_sum_reduce(team, ints, others, 1);", hard=False),
    case("fetched into another type", "shmem_atomic_fetch_nbi(ints, longs, 0);",
         "shmem_atomic_fetch_nbi(ints, others, 0);", hard=False),
    case("a pointer as a value", "shmem_p(ints, others, 0);", "shmem_p(ints, others[0], 0);", hard=False),
    # contexts and teams
    case("a team where a context stands", "shmem_put(team, ints, others, 1, 0);",
         "shmem_put(ctx, ints, others, 1, 0);"),
    case("a context where a team stands", "shmem_broadcast(ctx, ints, others, 1, 0);",
         "shmem_broadcast(team, ints, others, 1, 0);", hard=False),
    case("a number as a context", "shmem_put(1, ints, others, 1, 0);",
         "shmem_put(SHMEM_CTX_DEFAULT, ints, others, 1, 0);"),
    case("a context form without its context", "shmem_ctx_int_put(ints, others, 1, 0);",
         "shmem_int_put(ints, others, 1, 0);"),
    case("a plain form with a context", "shmem_int_put(ctx, ints, others, 1, 0);",
         "shmem_ctx_int_put(ctx, ints, others, 1, 0);"),
    case("sync of a context", "shmem_sync(ctx);", "shmem_sync(team);", hard=False),
    case("a context from a number", "ctx = 1;", "ctx = SHMEM_CTX_DEFAULT;", hard=False),
    case("a team from a context", "team = ctx;", "team = SHMEM_TEAM_WORLD;", hard=False),
    case("a heap as a team", "shmem_team_destroy(heap);", "shmem_team_destroy(team);", hard=False),
    # numbers of arguments
    case("put without its PE", "shmem_put(ints, others, 1);", "shmem_put(ints, others, 1, 0);"),
    case("put with one too many", "shmem_put(ints, others, 1, 0, 0);", "shmem_put(ints, others, 1, 0);"),
    case("wait without its value", "shmem_wait_until(ints, SHMEM_CMP_EQ);",
         "shmem_wait_until(ints, SHMEM_CMP_EQ, 1);"),
    case("sync with half an active set", "shmem_sync(0, 0);", "shmem_sync(0, 0, 1, longs);"),
    case("sync with nothing", "shmem_sync();", "shmem_sync(team);"),
    # signals
    case("a signal of 32 bits", "shmem_signal_set(&half_word, 1, 0);", "shmem_signal_set(&word, 1, 0);", hard=False),
    case("a signal of 32 bits in a context", "shmem_signal_add(ctx, &half_word, 1, 0);",
         "shmem_signal_add(ctx, &word, 1, 0);", hard=False),
    case("put with a signal of 32 bits", "shmem_put_signal(ints, others, 1, &half_word, 1, SHMEM_SIGNAL_SET, 0);",
         "shmem_put_signal(ints, others, 1, &word, 1, SHMEM_SIGNAL_SET, 0);", hard=False),
    # extensions
    case("bfloat16 as float16", "shmemx_half_sum_reduce(team, bfloats, bfloats, 1);",
         "shmemx_bfloat16_sum_reduce(team, bfloats, bfloats, 1);", hard=False),
    case("float16 as a number", "floats[0] = halves[0];", "floats[0] = shmemx_half_to_float(halves[0]);"),
    case("a semaphore that is a number", "shmemx_sem_post(longs, 0);", "shmemx_sem_post(&sem, 0);", hard=False),
    case("sync of a PE in C", "shmem_sync(1);", "shmemx_sync_pe(1);", languages=(C,), hard=False),
    # C has conversions that C++ hasn't, and the other way round
    case("void pointers convert to none", "ints[0] = *shmem_malloc(4);", "ints[0] = *(int *)shmem_malloc(4);"),
]


class Negative(unittest.TestCase):
    def compile(self, language, compiler, statements, options):
        """Compiles a file with a function for each statement. Returns the process, and which statements it mentions."""
        file = "case." + ("c" if language == C else "cpp")
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, file)
            with open(source, "w", encoding="utf-8") as out:
                out.write(DECLARATIONS)
                for number, statement in enumerate(statements):
                    out.write(f"void call_{number}(void); void call_{number}(void) {{ {statement} }}\n")
            limit = ["-ferror-limit=0"] if "clang" in compiler else []
            done = api_names.compile_source(compiler, "c11" if language == C else "c++17", source, *options, *limit)
        lines = re.findall(re.escape(file) + r":(\d+):", done.stderr)
        return done, {int(line) - DECLARATIONS.count("\n") - 1 for line in lines}

    @staticmethod
    def for_each_compiler():
        for language in BOTH:
            for compiler in api_names.compilers(language):
                yield language, compiler, [item for item in CASES if language in item.languages]

    def test_the_right_twins_compile(self):
        for language, compiler, cases in self.for_each_compiler():
            done, _ = self.compile(language, compiler, [item.right for item in cases], api_names.WARNINGS)
            self.assertEqual(done.returncode, 0, f"{compiler}: {done.stderr[:3000]}")

    def test_the_wrong_statements_are_refused(self):
        for language, compiler, cases in self.for_each_compiler():
            hard = [item for item in cases if item.hard or language == CXX]
            soft = [item for item in cases if item not in hard]
            for group, options in ((hard, ["-w"]), (soft, api_names.WARNINGS)):
                done, refused = self.compile(language, compiler, [item.wrong for item in group], options)
                passed = [item.name for number, item in enumerate(group) if number not in refused]
                self.assertFalse(passed, f"{compiler} lets these pass")
                self.assertEqual(done.returncode != 0, bool(group), compiler)

    def test_a_wrong_type_in_a_context_is_named_as_such(self):
        for compiler in api_names.compilers(C):
            done, _ = self.compile(C, compiler, ["shmem_put(ctx, points, points, 1, 0);"], ["-w"])
            self.assertIn("shmem_no_routine_for_this_type", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
