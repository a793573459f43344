# SPDX-License-Identifier: Apache-2.0
"""The API lists in tests/api, expanded: each routine with each of its types. Independent of include/shmem/types.h,
so that the tests compare two statements of the same facts."""
import os
import re
import subprocess
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INCLUDE = os.path.join(ROOT, "include")
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

# typename: None where the routine has no type. signature: "int (shmem_team_t team, ...)" in its parts.
Function = namedtuple("Function", "name result parameters typename pattern")

C_TYPES = {
    "longdouble": "long double", "schar": "signed char", "longlong": "long long", "uchar": "unsigned char",
    "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long", "ulonglong": "unsigned long long",
    "size": "size_t", "ptrdiff": "ptrdiff_t", "complexf": "SHMEM_COMPLEXF", "complexd": "SHMEM_COMPLEXD",
    "half": "shmemx_half_t", "bfloat16": "shmemx_bfloat16_t",
}
# On LP64 these names are other names of the same C type.
SAME_TYPE = {"int8": "schar", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar", "uint16": "ushort",
             "uint32": "uint", "uint64": "ulong", "size": "ulong", "ptrdiff": "long"}
LEGACY_BITWISE = ["short", "int", "long", "longlong"]  # and_to_all and its kin had these, today's tables don't
TWINS_OF_OLD_NAMES = {"start_pes": "pstart_pes", "_my_pe": "p_my_pe", "_num_pes": "p_num_pes", "shmalloc": "pshmalloc",
                      "shfree": "pshfree", "shrealloc": "pshrealloc", "shmemalign": "pshmemalign"}
OLD_NAMES = [
    Function("_my_pe", "int", "void", None, "_my_pe"), Function("_num_pes", "int", "void", None, "_num_pes"),
    Function("shmalloc", "void *", "size_t size", None, "shmalloc"),
    Function("shfree", "void", "void *ptr", None, "shfree"),
    Function("shrealloc", "void *", "void *ptr, size_t size", None, "shrealloc"),
    Function("shmemalign", "void *", "size_t alignment, size_t size", None, "shmemalign"),
]


def c_type(typename):
    return C_TYPES.get(typename) or (typename + "_t" if re.search(r"\d", typename) else typename)


def distinct(typenames):
    """One name for each C type, in order."""
    seen = {}
    for name in typenames:
        seen.setdefault(SAME_TYPE.get(name, name), name)
    return list(seen.values())


def _ranges(words):
    out = []
    for word in words:
        match = re.fullmatch(r"(u?int)8\.\.u?int64", word)
        out += [match.group(1) + str(bits) for bits in (8, 16, 32, 64)] if match else [word]
    return out


class ApiList:
    def __init__(self, path):
        with open(path, encoding="utf-8") as text:
            self.text = text.read()
        self.tables = self._tables()
        self.functions = []
        self.generics = []
        for kind, prototype in re.findall(r"^(C11|C) +(.*;)$", self.text, re.M):
            (self.generics if kind == "C11" else self.functions).extend(self._expand(prototype))

    def _row(self, start, end):
        match = re.search(re.escape(start) + r"(.*?)" + end, self.text, re.S)
        return _ranges(match.group(1).split()) if match else []

    def _tables(self):
        if "TABLES" not in self.text:
            return {"half": ["half", "bfloat16"], "float": ["float", "double"]}
        amo = self._row("AMO standard", "\n")
        max_min = self._row("max/min:", "\n")
        assert self._row("AMO extended", r"\(")[:2] == ["AMO", "standard"]
        extended = amo + self._row("AMO standard + ", r"\(")
        return {
            "rma": self._row("RMA types", r"\("), "amo": amo, "extended": extended,
            "bitwise": self._row("AMO bitwise", "\n"), "p2p": self._row("P2P sync", "\n"),
            "and": self._row("and/or/xor:", "\n"), "max": max_min,
            "sum": max_min + ["complexf", "complexd"],
        }

    def types_of(self, pattern):
        """The table that {TYPENAME} of a routine ranges over."""
        if pattern.startswith("shmemx_"):
            return self.tables["half" if "reduce" in pattern else "float"]
        rest = re.sub(r"^shmem_(ctx_)?(\{TYPENAME\}_)?", "", pattern)
        rules = [
            (r"(and|or|xor)_to_all", LEGACY_BITWISE + self.tables.get("and", [])),
            (r"(and|or|xor)_reduce", self.tables["and"]),
            (r"(max|min)_(reduce|to_all)", self.tables["max"]),
            (r"(sum|prod)_(reduce|to_all|inscan|exscan)", self.tables["sum"]),
            (r"atomic_(fetch_)?(and|or|xor)(_nbi)?", self.tables["bitwise"]),
            (r"(atomic_)?(fetch|set|swap)(_nbi)?", self.tables["extended"]),
            (r"atomic_.*|add|inc|fadd|finc|cswap", self.tables["amo"]),
            (r"(wait|test)(_.*)?", self.tables["p2p"]),
        ]
        for regex, table in rules:
            if re.fullmatch(regex, rest):
                return table
        return self.tables["rma"]

    def _expand(self, prototype):
        result, pattern, parameters = re.fullmatch(r"(?:_Noreturn )?(.*?)([\w{}]+)\((.*)\);", prototype).groups()
        result = result.strip()
        if "{SIZE}" in pattern:
            sizes = self._row("RMA sizes", r"\(")
            return [Function(pattern.replace("{SIZE}", s), result, parameters, None, pattern) for s in sizes]
        if not re.search(r"\bTYPE\b", result + " " + parameters):
            return [Function(pattern, result, parameters, None, pattern)]

        def typed(text, name):
            return re.sub(r"\bTYPE\b", c_type(name), text)

        return [Function(pattern.replace("{TYPENAME}", t), typed(result, t), typed(parameters, t), t, pattern)
                for t in self.types_of(pattern)]


def openshmem():
    return ApiList(os.path.join(ROOT, "tests", "api", "openshmem-1.6.txt"))


def extensions():
    return ApiList(os.path.join(ROOT, "tests", "api", "shmemx.txt"))


def compile_source(compiler, standard, source, *options, include=INCLUDE):
    """Compiles a file without writing anything; returns the finished process."""
    language = "c++" if "++" in standard else "c"
    return subprocess.run([*compiler.split(), "-x", language, f"-std={standard}", f"-I{include}", *options,
                           "-fsyntax-only", source], capture_output=True, text=True, timeout=300)


def compilers(kind, wanted=None):
    """The installed compilers of a kind ('c' or 'c++') out of gcc and clang, or those of a comma-separated list."""
    names = wanted.split(",") if wanted else {"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}[kind]

    def installed(name):
        return any(os.access(os.path.join(d, name), os.X_OK) for d in os.environ["PATH"].split(os.pathsep))

    found = [n for n in names if os.path.isabs(n) or installed(n)]
    assert found, f"none of {names} is installed"
    return found
