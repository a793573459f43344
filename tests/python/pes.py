# SPDX-License-Identifier: Apache-2.0
"""Tests that run on real PEs: `@on_pes(2, 4)` makes a pytest test for each size out of a function that every PE calls.

All such functions of a module run in one job for each size, one after another, since starting processes takes longer than
the tests. Run with SHOALRUN naming the launcher, and PYTHONPATH the package.
"""
import functools
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap

import pytest

SHOALRUN = os.environ.get("SHOALRUN", "shoalrun")
LIMIT = 120  # seconds that a job may take before it counts as hung
MARK = re.compile(r"^@(begins|passed|skipped) (\w+)(?: (.*))?$", re.M)


class Finished:
    """What a job gave."""

    def __init__(self, process):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}---"


def environment(**extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "SHMEM_")) or k.startswith("SHOAL_TEST")}
    kept.pop("PYTHONUNBUFFERED", None)  # a line would leave in pieces, and PEs' pieces mix
    kept.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONFAULTHANDLER="1", **extra)
    return kept


def shoalrun(size, *command, timeout=LIMIT, **extra):
    """Runs a command as a job; SHOAL_PE and the like come from the launcher."""
    nodes = ["--fake-nodes", "2:cyclic"] if "SHOAL_TEST_NODES" in os.environ and size > 1 else []
    line = [SHOALRUN, "-n", str(size), "--timeout", str(timeout), *nodes, *command]
    return Finished(subprocess.run(line, capture_output=True, text=True, timeout=timeout + 30, env=environment(**extra), check=False))


def job(size, program, timeout=LIMIT, **extra):
    """Runs a Python program, given as text, on `size` PEs."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(textwrap.dedent(program))
        file.flush()
        return shoalrun(size, sys.executable, file.name, timeout=timeout, **extra)


@functools.lru_cache(maxsize=None)
def results(path, size):
    seed = os.environ.get("SHOAL_TEST_SEED", str(random.randrange(10**6)))
    run = shoalrun(size, sys.executable, os.path.abspath(__file__), path, str(size), SHOAL_TEST_SEED=seed)
    return run, {name: (what, text) for what, name, text in MARK.findall(run.out)}


def on_pes(*sizes):
    """The function runs on every PE of jobs of these sizes, with shoal initialised; it may take `seed`."""
    def decorate(function):
        @pytest.mark.parametrize("size", sizes)
        def test(size):
            run, found = results(function.__globals__["__file__"], size)
            what, text = found.get(function.__name__, (None, ""))
            if what == "skipped":
                pytest.skip(text)
            if what is None:
                earlier = [name for name, (state, _) in found.items() if state == "begins"]
                assert what is not None, f"not run on {size} PEs: the job ended in {earlier}\n{run}"
            assert what == "passed", f"on {size} PEs: {run}"
            assert run.status == 0 or any(state == "begins" for state, _ in found.values()), f"all passed, but the job failed: {run}"

        test.__name__, test.__doc__ = function.__name__, function.__doc__
        test.body, test.sizes = function, sizes
        return test
    return decorate


def main(path, size):
    """One PE of a module's job."""
    import importlib.util  # pylint: disable=import-outside-toplevel

    import shoal  # pylint: disable=import-outside-toplevel

    specification = importlib.util.spec_from_file_location("tests_of_pes", path)
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, os.path.dirname(path))
    sys.modules["pes"] = sys.modules["__main__"]
    specification.loader.exec_module(module)
    shoal.init()
    for name, test in list(vars(module).items()):
        if not hasattr(test, "body") or size not in test.sizes:
            continue
        random.seed(int(os.environ["SHOAL_TEST_SEED"]))
        if shoal.my_pe() == 0:
            print(f"@begins {name}", flush=True)
        try:
            test.body()
        except pytest.skip.Exception as skipped:
            if shoal.my_pe() == 0:
                print(f"@skipped {name} {skipped.msg}", flush=True)
            continue
        except BaseException:  # whatever it is, the others must not wait for this PE
            import traceback
            traceback.print_exc()
            print(f"PE {shoal.my_pe()} failed in {name}; SHOAL_TEST_SEED={os.environ['SHOAL_TEST_SEED']}", file=sys.stderr, flush=True)
            os._exit(1)
        shoal.barrier()
        if shoal.my_pe() == 0:
            print(f"@passed {name}", flush=True)
    shoal.finalize()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
