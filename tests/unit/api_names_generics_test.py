#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every generic name, with every distinct type, with and without a context, calls the routine of that type with the
arguments in their places: in C (macros) and in C++ (overloads). A stand-in library that is generated from the API list
records which routine was called with what."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

import api_names

VALUE = 42  # what every stand-in returns
STANDARDS = {"c": ["c11", "c17", "c2x"], "c++": ["c++17", "c++20", "c++2b"]}

RECORD_H = """
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
extern const char *called;
extern uint64_t seen[12];
extern int seen_count;
void expect(const char *line, const char *routines, int count, const uint64_t *want);
#ifdef __cplusplus
}
#endif
"""

RECORD_C = """
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char *called = "nothing";
uint64_t seen[12];
int seen_count;
/* `routines`: names with a space before and after each, any of which is right. */
void expect(const char *line, const char *routines, int count, const uint64_t *want) {
  char name[100];
  int wrong = count != seen_count;
  snprintf(name, sizeof name, " %s ", called);
  for (int i = 0; i < count && !wrong; ++i) wrong = seen[i] != want[i];
  if (!strstr(routines, name) || wrong) {
    printf("%s called %s, expected one of%s\\n", line, called, routines);
    for (int i = 0; i < seen_count; ++i) printf("  argument %d: %" PRIx64 ", expected %" PRIx64 "\\n", i, seen[i], want[i]);
    exit(1);
  }
  called = "nothing";
}
"""


def split(parameters):
    """'const int *source, int pe' -> [('const int *', 'source'), ('int', 'pe')]"""
    if parameters == "void":
        return []
    return [(p[:p.rindex(re.search(r"\w+$", p).group())].strip(), re.search(r"\w+$", p).group())
            for p in parameters.split(", ")]


def as_bits(kind, expression):
    return f"(uint64_t)(uintptr_t)({expression})" if "*" in kind or kind.endswith("_t") and "shmem" in kind \
        else f"(uint64_t)({expression})"


def stand_in(functions):
    """A C file with a definition of every routine."""
    out = ["#define SHMEM_NO_GENERICS", "#include <shmem.h>", '#include "record.h"', "#include <stdlib.h>"]
    for function in functions:
        parameters = split(function.parameters.replace(", ...", ""))
        body = [f'called = "{function.name}";', f"seen_count = {len(parameters)};"]
        body += [f"seen[{i}] = {as_bits(kind, name)};" for i, (kind, name) in enumerate(parameters)]
        if function.name == "shmem_global_exit":
            body.append("exit(0);")
        elif function.result != "void":
            result = f"({function.result}){VALUE}"
            if "*" in function.result:
                result = f"({function.result})(uintptr_t){VALUE}"
            body.append(f"return {result};")
        out.append(f"{function.result} {function.name}({function.parameters}) {{ {' '.join(body)} }}")
    return "\n".join(out) + "\n"


class Calls:
    """The statements that call each generic name."""

    def __init__(self, api):
        self.names = {f.name for f in api.functions}
        self.statements = []
        self.types = {}
        for pattern, group in self._groups(api.generics):
            typed = [f for f in group if f.typename]
            chosen = set(api_names.distinct([f.typename for f in typed]))
            for function in group:
                if function.typename is None or function.typename in chosen:
                    for variant in ("arrays", "const", "volatile"):
                        self._call(pattern, function, variant)

    @staticmethod
    def _groups(generics):
        groups = {}
        for function in generics:
            with_context = "shmem_ctx_t ctx" in function.parameters
            groups.setdefault((function.pattern, with_context), []).append(function)
        return [(key[0], group) for key, group in groups.items()]

    def _routines(self, name, function):
        """The names of the typed routines that a call may reach: all names of the C type that the list has."""
        rest = name[len("shmem_"):]
        context = "ctx_" if function.parameters.startswith("shmem_ctx_t") else ""
        if function.typename is None:
            return {"sync": ["shmem_team_sync"], "global_exit": ["shmem_global_exit"]}.get(rest, ["shmem_ctx_" + rest])
        same = api_names.SAME_TYPE.get(function.typename, function.typename)
        aliases = [same] + [alias for alias, target in api_names.SAME_TYPE.items() if target == same]
        names = [f"shmem_{context}{alias}_{rest}" for alias in aliases]
        if same == "long":
            names.append(name)  # shmem_wait_until: in C++ the old function of this name is the better match
        return [n for n in names if n in self.names]

    def _buffers(self, typename):
        c_type = api_names.c_type(typename)
        self.types[typename] = [f"static {c_type} {typename}_dest[4];", f"static {c_type} {typename}_other[4];",
                                f"static {c_type} {typename}_source[4];",
                                f"static const {c_type} *const {typename}_const = {typename}_source;",
                                f"static volatile {c_type} *const {typename}_volatile = {typename}_dest;"]

    def _call(self, name, function, variant):
        parameters = split(function.parameters)
        is_wait = re.fullmatch(r"shmem_(wait_until|test).*", name)
        if variant == "volatile" and not is_wait or variant == "const" and "const" not in function.parameters:
            return
        if name == "shmem_global_exit":
            return
        arguments, number = [], 2
        typename = function.typename
        if typename:
            self._buffers(typename)
            c_type = api_names.c_type(typename)
        pointers = iter(["dest", "other"])
        for kind, _ in parameters:
            number += 1
            if typename and kind == f"const {c_type} *":
                arguments.append(f"{typename}_const" if variant == "const" else f"{typename}_source")
            elif typename and kind == f"{c_type} *":
                which = next(pointers)
                if which == "dest" and is_wait and variant == "volatile":
                    which = "volatile"
                arguments.append(f"{typename}_{which}")
            else:
                arguments.append({"shmem_ctx_t": "a_context", "shmem_team_t": "a_team", "uint64_t *": "a_signal",
                                  "size_t *": "some_indices", "const int *": "a_status"}.get(kind, str(number)))
        call = f"{name}({', '.join(arguments)})"
        want = ", ".join(as_bits(kind, argument) for (kind, _), argument in zip(parameters, arguments))
        routines = " " + " ".join(self._routines(name, function)) + " "
        if function.result != "void":
            call = f"if ({call} != {VALUE}) called = \"a wrong result\""
        self.statements.append(f'{{ const uint64_t want[] = {{{want}}}; {call}; '
                               f'expect("{name} ({typename})", "{routines}", {len(parameters)}, want); }}')

    def source(self):
        lines = ["#include <shmem.h>", "#ifdef __cplusplus", "#include <complex>", "#endif", '#include "record.h"', "static shmem_ctx_t a_context = SHMEM_CTX_DEFAULT;",
                 "static shmem_team_t a_team = SHMEM_TEAM_SHARED;", "static uint64_t a_signal[1];",
                 "static size_t some_indices[4];", "static const int a_status[4] = {0, 1, 0, 1};"]
        for declarations in self.types.values():
            lines += declarations
        parts = [self.statements[i:i + 100] for i in range(0, len(self.statements), 100)]
        for number, part in enumerate(parts):
            lines += [f"static void part_{number}(void) {{"] + ["  " + s for s in part] + ["}"]
        lines += ["static int ends(void) { shmem_global_exit(0); }", "int main(void) {"]
        lines += [f"  part_{number}();" for number in range(len(parts))]
        # the forms that share a name with a generic: active-set sync, signals without context
        lines += ["  { static long sync[8];", "    shmem_sync(1, 2, 3, sync);",
                  '    const uint64_t want[] = {1, 2, 3, (uint64_t)(uintptr_t)sync};',
                  '    expect("shmem_sync of an active set", " shmem_sync ", 4, want); }']
        for name in ("shmem_signal_add", "shmem_signal_set"):
            lines += [f"  {{ {name}(a_signal, 5, 6); const uint64_t want[] = {{(uint64_t)(uintptr_t)a_signal, 5, 6}};",
                      f'    expect("{name} without a context", " {name} ", 3, want); }}']
        return "\n".join(lines + ["  return ends();", "}"]) + "\n"


class Generics(unittest.TestCase):
    wanted = {"c": None, "c++": None}
    quick = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.api = api_names.openshmem()
        cls.calls = Calls(cls.api)
        cls.write("record.h", RECORD_H)
        cls.write("record.c", RECORD_C)
        cls.write("stand_in.c", stand_in(cls.api.functions))
        for suffix in ("c", "cpp"):
            cls.write("generics." + suffix, cls.calls.source())
        compiler = api_names.compilers("c", cls.wanted["c"])[0]
        for name in ("record", "stand_in"):
            subprocess.run([*compiler.split(), "-std=c11", "-I" + api_names.INCLUDE, "-c", f"{name}.c", "-o",
                            f"{name}.o"], check=True, cwd=cls.folder.name, timeout=300)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, text):
        with open(os.path.join(cls.folder.name, name), "w", encoding="utf-8") as out:
            out.write(text)

    def build_and_run(self, compiler, standard, suffix, *options):
        command = [*compiler.split(), f"-std={standard}", "-I" + api_names.INCLUDE, *api_names.WARNINGS,
                   "-Wno-unused", "-Werror=return-type", *options, "generics." + suffix, "record.o", "stand_in.o",
                   "-o", "generics"]
        done = subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{compiler} -std={standard}:\n" + done.stderr[:4000])
        ran = subprocess.run([os.path.join(self.folder.name, "generics")], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, f"{compiler} -std={standard}: {ran.stdout}{ran.stderr}")

    def test_every_generic_line_of_the_list_is_called(self):
        called = {re.match(r'.*expect\("(\w+) ', s).group(1) for s in self.calls.statements} | {"shmem_global_exit"}
        self.assertEqual(called, {f.name for f in self.api.generics})
        self.assertGreater(len(self.calls.statements), 1000)

    def test_c_generics_reach_the_routine_of_the_type(self):
        for compiler in api_names.compilers("c", self.wanted["c"]):
            for standard in STANDARDS["c"][:1] if self.quick else STANDARDS["c"]:
                with self.subTest(compiler=compiler, standard=standard):
                    self.build_and_run(compiler, standard, "c")

    def test_cxx_overloads_reach_the_routine_of_the_type(self):
        for compiler in api_names.compilers("c++", self.wanted["c++"]):
            for standard in STANDARDS["c++"][:1] if self.quick else STANDARDS["c++"]:
                with self.subTest(compiler=compiler, standard=standard):
                    self.build_and_run(compiler, standard, "cpp")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", help="C compilers, with commas between them; default: gcc and clang, where installed")
    parser.add_argument("--cxx", help="C++ compilers")
    arguments = parser.parse_args()
    Generics.wanted = {"c": arguments.cc, "c++": arguments.cxx}
    Generics.quick = not os.environ.get("SHOAL_TEST_FULL")  # one standard of each language
    unittest.main(argv=sys.argv[:1], verbosity=2)
