# SPDX-License-Identifier: Apache-2.0
"""Where this package's library, headers and programs are. Imports nothing else of the package: that may be what is broken."""
from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def root() -> str:
    """The folder with bin, include and lib: in the package (a wheel), an installation that the package is part of, or a build folder."""
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(PACKAGE)))  # PREFIX/lib/python/shoal
    for folder in (PACKAGE, prefix, os.path.dirname(os.path.dirname(PACKAGE))):
        if os.path.exists(os.path.join(folder, "bin", "shoalrun")):
            return folder
    return PACKAGE


def library() -> str:
    """The folder that holds libshoal.so."""
    for folder in (os.path.join(root(), "lib"), os.path.join(root(), "lib64"), os.path.join(root(), "src")):
        if os.path.exists(os.path.join(folder, "libshoal.so")):
            return folder
    return os.path.join(root(), "lib")
