# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed: importable after set_env.sh, from where it was moved to, with one copy of the library."""
import os
import subprocess
import sys

import pytest
from pes import environment

BUILD = os.environ["SHOAL_BUILD"]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = """
import shoal
shoal.init()
assert shoal.all_reduce([1])[0] == 2
loaded = {line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps") if "libshoal" in line}
assert len(loaded) == 1, loaded
if shoal.my_pe() == 0: print(loaded.pop())
"""


def shell(script, *arguments, **extra):
    env = environment(**extra)
    env.pop("PYTHONPATH", None)
    return subprocess.run(["bash", "-euc", script, "bash", *arguments], capture_output=True, text=True, timeout=600, env=env, check=False)


@pytest.fixture(name="prefix", scope="module")
def installation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("an installation")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "first"], check=True, stdout=subprocess.DEVNULL)
    os.rename(folder / "first", folder / "moved to")
    return folder / "moved to"


def test_package_is_importable_after_set_env(prefix):
    run = shell('. "$1/set_env.sh"; shoalrun -n 2 "$2" -c "$3"', str(prefix), sys.executable, PROGRAM)
    assert run.returncode == 0 and run.stdout.strip() == os.path.realpath(prefix / "lib" / "libshoal.so.0.1.0"), run


def test_another_python_is_told_so(prefix):
    # The extension under the name that it would have for a Python of another version
    package = prefix / "lib" / "python" / "shoal"
    extension = next(package.glob("_core.*.so"))
    extension.rename(package / "_core.cpython-39-x86_64-linux-gnu.so")
    try:
        run = shell('. "$1/set_env.sh"; "$2" -c "import shoal"', str(prefix), sys.executable)
    finally:
        (package / "_core.cpython-39-x86_64-linux-gnu.so").rename(extension)
    assert run.returncode == 1 and "is for another Python" in run.stderr, run


@pytest.mark.skipif("SHOAL_TEST_FULL" not in os.environ, reason="builds everything anew, with packages from PyPI: with --full only")
def test_wheel_is_self_contained(tmp_path):
    run = shell('"$1" -m venv "$2/venv"; "$2/venv/bin/pip" install -q "$3"; cd "$2"; venv/bin/shoalrun -n 2 venv/bin/python -c "$4"; '
                'venv/bin/shoal-info >/dev/null', sys.executable, str(tmp_path), SOURCE, PROGRAM)
    if "Could not find a version" in run.stderr or "No matching distribution" in run.stderr:
        pytest.skip("PyPI can't be reached")
    assert run.returncode == 0 and run.stdout.strip().startswith(str(tmp_path / "venv")), run
