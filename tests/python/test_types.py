# SPDX-License-Identifier: Apache-2.0
"""Type stubs: the extension is as they say, and mypy, where there is one, finds the package right and a user's mistakes wrong."""
import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest

import shoal

PACKAGE = os.path.dirname(os.path.abspath(shoal.__file__))
FOLDER = os.path.dirname(os.path.realpath(shoal.__file__))  # of the sources, where those are links
needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")

RIGHT = """
import numpy as np
import shoal
from shoal import Array, Context, Team

shoal.init()
x: Array = shoal.zeros((3, 4), "float32")
x.on(1)[2, 3] = 5.0
row = x.on(1)[0:2]
shoal.put(x, np.ones((3, 4), np.float32), 1)
total: np.ndarray = shoal.all_reduce([1, 2, 3], "max")
rows: "Team | None" = shoal.world().split_strided(0, 1, 2)
if rows is not None:
    with Context(rows) as context:
        shoal.put(x[0], [1.0, 2.0, 3.0, 4.0], 0, context)
    shoal.all_gather(x, team=rows)
old: "int | float" = shoal.atomic(shoal.zeros(1, "int64"), 0, 0).fetch_add(1)
pes: list[int] = shoal.world().pes
shoal.put_signal(x, x, shoal.zeros(1, "uint64"), 1, shoal.my_pe(), op="add")
shoal.finalize()
"""

# Each line is a mistake.
WRONG = """
import shoal
shoal.init(1)
shoal.barrier(3)
shoal.all_reduce([1], op=3)
shoal.all_reduce([1], root=3)
shoal.put(shoal.zeros(3), [1, 2, 3], "PE 1")
shoal.zeros(3).on("PE 1")
shoal.n_pes().pes
shoal.world().translate(0)
shoal.all_reduces([1])
"""


def stubs():
    """What _core.pyi has: functions, and classes with theirs, as (positional parameters, whether a property)."""
    def described(node):
        return len(node.args.posonlyargs + node.args.args), any(getattr(d, "id", "") == "property" for d in node.decorator_list)

    with open(os.path.join(PACKAGE, "_core.pyi"), encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    functions = {node.name: described(node) for node in body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: {one.name: described(one) for one in node.body if isinstance(one, ast.FunctionDef)} for node in body if isinstance(node, ast.ClassDef)}
    return functions, classes


def parameters(function):
    """As pybind11 says in the first line of the docstring."""
    inside = re.match(r"\w+\((.*)\) -> ", function.__doc__).group(1)
    while re.search(r"\[[^][]*\]", inside):
        inside = re.sub(r"\[[^][]*\]", "", inside)
    return len(inside.split(",")) if inside else 0


def test_stubs_and_extension_agree():
    core = shoal._core
    functions, classes = stubs()
    public = {name for name in dir(core) if not name.startswith("__")}
    assert public == set(functions) | set(classes)
    for name, (count, _) in functions.items():
        assert parameters(getattr(core, name)) == count, name
    for name, methods in classes.items():
        kind = getattr(core, name)
        own = {one for one in vars(kind) if not one.startswith("_")}
        if name == "Remote":  # made by hand: its attributes are annotations in the stub
            assert own == {"array", "context", "pe"} and all(hasattr(kind, one) for one in methods)
            continue
        assert own == {one for one in methods if not one.startswith("_")}, name
        for one, (count, is_property) in methods.items():
            if is_property:
                assert isinstance(inspect.getattr_static(kind, one), property), (name, one)
            elif one != "__buffer__":
                assert parameters(getattr(kind, one)) == count, (name, one)


def test_every_public_name_has_a_docstring_and_the_functions_their_types():
    assert set(shoal.__all__) <= set(dir(shoal))
    for name in shoal.__all__:
        thing = getattr(shoal, name)
        if name in ("Remote", "bfloat16"):  # told in the stub, and in the pages
            continue
        assert thing.__doc__, name
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            assert signature.return_annotation is not signature.empty, name
            assert all(p.annotation is not p.empty for p in signature.parameters.values()), name
    for name in ("all_reduce", "reduce", "reduce_scatter", "scan", "broadcast", "all_gather", "gather", "scatter", "all_to_all"):
        method, function = inspect.signature(getattr(shoal.Team, name)), inspect.signature(getattr(shoal, name))
        assert list(method.parameters.values())[1:] == list(function.parameters.values())[:-1], name


def mypy(tmp_path, *arguments):
    env = {**os.environ, "MYPYPATH": os.path.dirname(FOLDER)}
    return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), *arguments], capture_output=True, text=True, timeout=300,
                          env=env, check=False, cwd=tmp_path)


@needs_mypy
def test_package_is_right_by_mypy(tmp_path):
    # Not the backend for PyTorch, whose base classes differ from version to version.
    beside = os.path.dirname(FOLDER)
    run = mypy(tmp_path, os.path.join(FOLDER, "__init__.py"), os.path.join(beside, "shmem.py"), os.path.join(beside, "shmem4py.py"))
    assert run.returncode == 0, run.stdout + run.stderr


@needs_mypy
def test_typed_programs_right_and_wrong(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    run = mypy(tmp_path, "--strict", "--follow-imports", "silent", "--disable-error-code", "type-arg", "right.py")
    assert run.returncode == 0, run.stdout + run.stderr
    run = mypy(tmp_path, "--strict", "--follow-imports", "silent", "wrong.py")
    found = {int(line) for line in re.findall(r"wrong.py:(\d+): error", run.stdout)}
    assert found == set(range(3, 3 + len(WRONG.splitlines()) - 2)), run.stdout
