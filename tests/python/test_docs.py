# SPDX-License-Identifier: Apache-2.0
"""The Python programs of README.md, docs/python.md and docs/pytorch.md run and print what the pages say, in any order of lines; so do the
examples; and each does so under SHOAL_CHAOS, SHOAL_CHECK and SHOAL_RACE."""
import importlib.util
import os
import re
import shlex
import subprocess
import sys

import pytest
from pes import SHOALRUN, environment

UNDER = pytest.mark.parametrize("under", [{}, {"SHOAL_CHAOS": "1"}, {"SHOAL_CHECK": "1"}, {"SHOAL_RACE": "1"}], ids=lambda under: next(iter(under), "plain"))
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


@UNDER
@pytest.mark.parametrize("page", ["../README.md", "python.md", "pytorch.md"])
def test_programs_print_what_the_page_says(page, under, tmp_path):
    if page == "pytorch.md" and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        blocks = re.findall(r"^```(python|text)\n(.*?)^```$", file.read(), re.M | re.S)
    ran = 0
    for language, text in blocks:
        if language == "python":
            (tmp_path / re.match(r"# (\w+\.py)\n", text).group(1)).write_text(text)
        elif text.startswith("$ "):
            command, *wanted = text.splitlines()
            words = [{"shoalrun": SHOALRUN, "python3": sys.executable}.get(word, word) for word in shlex.split(command[2:])]
            run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment(**under), check=False)
            assert run.returncode == 0 and sorted(run.stdout.splitlines()) == sorted(wanted), run
            ran += 1
    assert ran >= 1


@UNDER
def test_graph_example_agrees_with_one_pe(under):
    example = os.path.join(DOCS, "..", "examples", "python", "gnn.py")
    if not os.path.exists("/var/lib/dpkg/status"):
        pytest.skip("not a Debian system")
    run = subprocess.run([SHOALRUN, "-n", "3", sys.executable, example], capture_output=True, text=True, timeout=120, env=environment(**under), check=False)
    assert run.returncode == 0 and "agree with one: yes" in run.stdout, run


@UNDER
def test_digits_example_learns(under):
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("sklearn") is None:
        pytest.skip("PyTorch or scikit-learn is not installed")
    example = os.path.join(DOCS, "..", "examples", "python", "digits.py")
    run = subprocess.run([SHOALRUN, "-n", "2", sys.executable, example], capture_output=True, text=True, timeout=200, env=environment(**under), check=False)
    assert run.returncode == 0 and float(re.search(r"([\d.]+) %", run.stdout).group(1)) > 95, run
