# SPDX-License-Identifier: Apache-2.0
"""The programs that a wheel brings along, as commands of the environment that it is installed in."""
from __future__ import annotations

import os
import sys

from . import _place


def _run(name: str) -> None:
    program = os.path.join(_place.root(), "bin", name)
    os.execv(program, [program, *sys.argv[1:]])


def shoalrun() -> None:
    """The launcher."""
    _run("shoalrun")


def shoal_info() -> None:
    """Says what this build is and what the machine offers."""
    _run("shoal-info")
