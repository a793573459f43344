#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check: who includes whom, file sizes, licence lines, getenv, mutable globals.

    layers_test.py [--library libshoal.so] [unittest options]

The levels are read from the table in CONTRIBUTING.md, so that the table cannot go stale.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAX_LINES = 600
CODE = (".c", ".cpp", ".h", ".hpp", ".def", ".inc")
TEXT = CODE + (".py", ".sh", ".cmake", ".in", "CMakeLists.txt")
PLACES = ("src", "include", "tools", "tests", "bench", "examples", "scripts", "cmake", "python")

# Folders outside src/, and what of src/ they may include; "*" is everything. Longest match wins, nothing is the default:
# what is not named here gets by with the public headers.
OUTSIDE = {
    "tools/run": {"base", "security", "bootstrap", "topology"},  # the other end of the bootstrap; binds PEs to processors
    "tools/top": {"base", "bootstrap"},              # reads the status page
    "tools/perf": {"base"},                          # writes JSON
    "tools/info": {"base", "topology"},              # prints the options table and the machine
    "tests/unit": {"*"},                             # reaches what the library hides
    "tests/multi": {"*"},
    "tests/fuzz": {"*"},
    "bench": {"base", "memory", "coll"},             # clock and fences; micro.cpp measures what these hide
}
# Only the options table asks the environment; whoever else wants it is handed base/options.hpp's process_environment.
MAY_GETENV = re.compile(r"src/base/options\.cpp$")
# Layers below the C interface know nothing of its headers, save for these, which only hold types and constants.
SHARED_HEADERS = re.compile(r"shmem/(types|constants|begin|end|half)\.h$|shoal/device/(view|runtime|backend)\.hpp$")
# Global variables that may change, with the reason beside each.
MUTABLE_GLOBALS = {
    r"shoal::current$": "the job that the C interface works on",
    r"::(life|Life::instance)\(\)::\w+$": "what init made and finalize ends: the owner of that job",
    r"::k(NoJob|NoDomain|Child|ChildDomain)$": "constants that the loader or a constructor fills in: what stands in place of a job",
    r"shoal::page_bytes\(\)::bytes$": "a constant of the machine, asked for once",
    r"::attachment$": "the program's static data, of which a process has one",
    r"::owned_(fds|words|watched)$": "which descriptors the fork handler closes in a child; a process has one",
    r"::(holding|control_memory|last_token)$": "what the handler that holds the threads must find; a process has one",
    r"::running_core_$|shoal::device::current_core$": "which kernel a thread runs: what the handler of a crash must find",
    r"::crash_(speaker|process|teller)$": "who tells of a crash: what its handler must find",
    r"::carried$": "which streams' work a thread carries out: it must not wait for them",
    r"AlternateStack::provide\(\)::key$": "by which a thread has its own stack for the handler of a crash",
    r"shoal::in_library_thread$": "which threads the library has started: what they call is no call of the program's",
    r"::(mine_?|began|depth|here)$": "a thread's own counts and calls, while somebody watches",
    r"::Turn::here_$": "whether a thread is in init or finalize, for what interrupts it",
    r"shoal::SegmentTable::unique\(\)::last$": "numbers that no two heaps share",
    r"shoal::OwnCode::now\(\)::known$": "what code is loaded, as it was looked at last",
    r"::(variable_at.*::known|ns_per_tick\(\)::first)$": "constants of the process, found out once",
    r"shoal::load_ucp\(\)::functions$": "where a library that stays has its functions: found out once",
    r"shoal::open_pmix\(\)::pmix$": "the launcher's library, which a process cannot leave and enter again",
    r"shoal::fence_word$": "what fences are made of under ThreadSanitizer",
}


def levels(root):
    """{folder: level} from the table of CONTRIBUTING.md."""
    found = {}
    with open(os.path.join(root, "CONTRIBUTING.md"), encoding="utf-8") as file:
        for line in file:
            row = re.match(r"\|\s*(\d+)\s*\|((?:\s*`\w+`,?)+)\s*\|", line)
            for folder in re.findall(r"`(\w+)`", row.group(2)) if row else []:
                found[folder] = int(row.group(1))
    return found


def files(root, endings):
    """Names relative to root, of our own text files."""
    for place in PLACES:
        for folder, _, names in os.walk(os.path.join(root, place)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def lines(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read().splitlines()


def includes(root, name):
    for number, line in enumerate(lines(root, name), 1):
        found = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
        if found:
            yield number, found.group(2), found.group(1) == '"'


def allowed_outside(name):
    best = ""
    for folder in OUTSIDE:
        if name.startswith(folder + "/") and len(folder) > len(best):
            best = folder
    return OUTSIDE.get(best, set())


def include_faults(root):
    level = levels(root)
    for name in files(root, CODE):
        parts = name.split("/")
        for number, target, quoted in includes(root, name):
            folder = target.split("/")[0] if "/" in target else ""
            here = f"{name}:{number}: includes {target}: "
            beside = os.path.exists(os.path.join(root, os.path.dirname(name), target))
            if parts[0] == "src":
                mine = parts[1]
                if mine not in level:
                    yield f"{name}: src/{mine} is in no level of CONTRIBUTING.md"
                    break
                if folder in level and not beside:
                    if folder != mine and level[folder] >= level[mine]:
                        yield here + f"{mine} is on level {level[mine]}, {folder} on level {level[folder]}; only lower levels"
                elif re.match(r"(p?shmemx?\.h$|shmem/|shoal/)", target):
                    if mine != "api" and not SHARED_HEADERS.search(target):
                        yield here + "only src/api includes the public interface"
                elif quoted and not beside:
                    yield here + "write it from src/ on: \"folder/file.hpp\""
            elif target.startswith("../") and "src/" in target:
                yield here + "reaches into src/ by a relative path"
            elif folder in level and not beside and not os.path.exists(os.path.join(root, "include", target)):
                may = allowed_outside(name)
                if "*" not in may and folder not in may:
                    yield here + "public headers only here"


def size_faults(root):
    for name in files(root, TEXT):
        count = len(lines(root, name))
        if count > MAX_LINES:
            yield f"{name}: {count} lines, more than {MAX_LINES}"


def licence_faults(root):
    for name in files(root, TEXT):
        head = lines(root, name)[:2]
        first = head[1] if len(head) > 1 and head[0].startswith("#!") else (head[0] if head else "")
        if "SPDX-License-Identifier: Apache-2.0" not in first:
            yield f"{name}: the first line (the second after #!) must be the SPDX line"


def getenv_faults(root):
    for name in files(root, CODE):
        if not name.startswith("src/") or MAY_GETENV.match(name):
            continue
        for number, line in enumerate(lines(root, name), 1):
            if re.search(r"\b(secure_)?getenv\s*\(|\benviron\b", line.split("//")[0]):
                yield f"{name}:{number}: reads the environment; use an option of base/options.def"


def listing_faults(root):
    """A source that no CMakeLists.txt (or *.cmake beside it) names is never built, and nobody notices."""
    for name in files(root, (".c", ".cpp")):
        if name.startswith("tests/install/"):  # projects of their own
            continue
        folder = os.path.dirname(name)
        listed = ""
        while folder:
            for build in os.listdir(os.path.join(root, folder)):
                if build == "CMakeLists.txt" or build.endswith(".cmake"):
                    listed += "\n".join(lines(root, f"{folder}/{build}"))
            folder = os.path.dirname(folder)
        base = os.path.basename(name)
        stem = os.path.splitext(base)[0]
        if not re.search(r"(?<![\w.])(%s|%s)(?![\w.])" % (re.escape(base), re.escape(stem)), listed):
            yield f"{name}: named by no CMakeLists.txt above it"


def global_faults(symbols):
    """`symbols`: the output of objdump -tC. Only what lies in writable sections can change."""
    for line in symbols.splitlines():
        found = re.match(r"^[0-9a-f]+ .{7} (\.bss|\.data|\.tbss|\.tdata)\S*\s+([0-9a-f]+)\s+(?:\.hidden )?(.*)$", line)
        if not found or found.group(1) == ".data" and ".data.rel.ro" in line:
            continue
        name = found.group(3).strip()
        if not re.search(r"\b(shoal|shmem)", name) or int(found.group(2), 16) == 0:
            continue
        if not any(re.search(pattern, name) for pattern in MUTABLE_GLOBALS):
            yield f"{name} ({found.group(1)}): a mutable global; only {', '.join(MUTABLE_GLOBALS)} may be one"


class House(unittest.TestCase):
    library = None

    def check(self, faults):
        found = list(faults)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_table_of_levels_names_every_folder_of_src(self):
        folders = {name for name in os.listdir(os.path.join(ROOT, "src")) if os.path.isdir(os.path.join(ROOT, "src", name))}
        self.assertEqual(folders, set(levels(ROOT)))

    def test_includes_go_down_only(self):
        self.check(include_faults(ROOT))

    def test_no_file_is_too_long(self):
        self.check(size_faults(ROOT))

    def test_every_file_opens_with_its_licence(self):
        self.check(licence_faults(ROOT))

    def test_only_the_options_table_reads_the_environment(self):
        self.check(getenv_faults(ROOT))

    def test_every_source_is_listed(self):
        self.check(listing_faults(ROOT))

    def test_library_has_no_mutable_globals_but_the_stated_ones(self):
        if self.library is None:
            self.skipTest("no --library")
        self.check(global_faults(subprocess.run(["objdump", "-tC", self.library], check=True, capture_output=True, text=True).stdout))


class Rules(unittest.TestCase):
    """The rules themselves, on a made-up tree: each must find what it is for, and nothing in a good one."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        self.write("CONTRIBUTING.md", "| level | folder | x |\n|---|---|---|\n| 7 | `api` | a |\n| 1 | `memory`, `bootstrap` | b |\n| 0 | `base` | c |\n")
        self.write("src/base/a.hpp", "")
        self.write("src/memory/m.hpp", '#include "base/a.hpp"\n#include <vector>\n')

    def write(self, name, text, licence="// SPDX-License-Identifier: Apache-2.0\n"):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(licence + text)

    def one(self, faults, text):
        found = list(faults)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])

    def test_good_tree_has_no_faults(self):
        self.write("src/api/a.cpp", '#include "memory/m.hpp"\n#include "shmem.h"\n#include "near.hpp"\n')
        self.write("src/api/near.hpp", "")
        self.write("src/api/CMakeLists.txt", "target_sources(shoal PRIVATE a.cpp)\n", "# SPDX-License-Identifier: Apache-2.0\n")
        self.write("tools/run/r.hpp", '#include "base/a.hpp"\n')
        for rule in (include_faults, size_faults, licence_faults, getenv_faults, listing_faults):
            self.assertEqual(list(rule(self.root)), [], rule.__name__)

    def test_upward_include_is_found(self):
        self.write("src/base/b.hpp", '#include "memory/m.hpp"\n')
        self.one(include_faults(self.root), "base is on level 0, memory on level 1")

    def test_sibling_include_is_found(self):
        self.write("src/bootstrap/b.hpp", '#include "memory/m.hpp"\n')
        self.one(include_faults(self.root), "only lower levels")

    def test_public_header_below_api_is_found(self):
        self.write("src/memory/n.hpp", '#include "shmem.h"\n')
        self.one(include_faults(self.root), "only src/api")

    def test_private_header_in_a_conformance_test_is_found(self):
        self.write("tests/conformance/t.cpp", '#include "memory/m.hpp"\n')
        self.one(include_faults(self.root), "public headers only")

    def test_private_header_in_a_public_one_is_found(self):
        self.write("include/shoal/x.hpp", '#include "base/a.hpp"\n')
        self.one(include_faults(self.root), "public headers only")

    def test_unknown_folder_is_found(self):
        self.write("src/odd/o.cpp", "#include <vector>\n")
        self.one(include_faults(self.root), "in no level")

    def test_long_file_is_found(self):
        self.write("src/base/long.hpp", "\n" * MAX_LINES)
        self.one(size_faults(self.root), "601 lines")

    def test_missing_licence_is_found(self):
        self.write("src/base/bare.hpp", "#pragma once\n", licence="")
        self.one(licence_faults(self.root), "bare.hpp")

    def test_getenv_is_found(self):
        self.write("src/memory/env.cpp", 'auto x = std::getenv("X");  // getenv(\n')
        self.one(getenv_faults(self.root), "env.cpp:2")

    def test_unlisted_source_is_found(self):
        self.write("src/memory/lost.cpp", "")
        self.write("src/memory/CMakeLists.txt", "target_sources(x PRIVATE not_lost.cpp lost.cpp.in)\n")
        self.write("src/memory/not_lost.cpp", "")
        self.one(listing_faults(self.root), "memory/lost.cpp")

    def test_mutable_global_is_found(self):
        dump = ("00000000000041a0 l     O .bss\t0000000000000008              shoal::(anonymous namespace)::cache\n"
                "00000000000031a0 l     O .data.rel.ro\t0000000000000008              shoal::kTable\n"
                "00000000000021a0 l     O .rodata\t0000000000000008              shoal::kName\n"
                "00000000000041b0 l     O .bss\t0000000000000001              completed.0\n")
        self.one(global_faults(dump), "cache (.bss)")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--library":
        House.library = sys.argv[2]
        del sys.argv[1:3]
    unittest.main(verbosity=2)
