# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays and typed access to single elements: a facade of :mod:`shoal`.

    features = shm.alloc(100, dtype=np.float32)
    value = shm.float_get(features[7], pe=3)

A public package of this name has a submodule ``shmem``. Where it is installed besides, in another folder, ``from shmem4py import shmem``
finds it. In the same folder Python takes that package for both, and these names are not there.
"""
from __future__ import annotations

import functools as _functools
import importlib.util as _util
import os as _os
import sys as _sys
from typing import Any

import numpy as _np
import shoal as _shoal

__all__ = ["Array", "init", "finalize", "my_pe", "n_pes", "alloc", "free", "float_get", "float_put", "double_get", "double_put", "get", "put", "fence",
           "quiet", "barrier_all"]

_here = _os.path.realpath(__file__)
# This module is a package as far as imports go: its submodules are those of the public one.
__path__ = [folder for folder in (_os.path.join(place or ".", "shmem4py") for place in _sys.path)
            if _os.path.isfile(_os.path.join(folder, "__init__.py")) and _os.path.realpath(_os.path.join(folder, "__init__.py")) != _here]


@_functools.lru_cache(maxsize=None)
def _public() -> Any:
    """The public package without its submodules."""
    place = _util.spec_from_file_location(__name__, _os.path.join(__path__[0], "__init__.py"))
    assert place is not None and place.loader is not None
    package = _util.module_from_spec(place)
    place.loader.exec_module(package)
    return package


def __getattr__(name: str) -> Any:
    # What the public package itself has, such as its options `rc`: its submodules look for that here.
    if __path__ and not name.startswith("__"):
        return getattr(_public(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Array(_shoal.Array):
    """A symmetric array whose elements keep their place: ``x[3]`` is a number that :func:`float_get` can find on other PEs."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if all(isinstance(part, (int, _np.integer)) for part in parts):
            return super().__getitem__((*parts, ...))
        return super().__getitem__(key)


def init() -> None:
    """Starts the library. Collective."""
    _shoal.init()


def finalize() -> None:
    """Ends the library. Collective."""
    _shoal.finalize()


def my_pe() -> int:
    """This PE's number."""
    return _shoal.my_pe()


def n_pes() -> int:
    """The number of PEs."""
    return _shoal.n_pes()


def alloc(n: Any, dtype: Any = float) -> Array:
    """A symmetric array of `n` zeros (a number, or a shape). Collective."""
    return _shoal.zeros(n, dtype).view(Array)


def free(array: Array) -> None:
    """Gives an array back. Collective."""
    _shoal.free(array.base if isinstance(array.base, _shoal.Array) else array)


def _element(call: str, address: Any, dtype: str) -> _np.ndarray:
    if not isinstance(address, _np.ndarray) or address.size != 1:
        raise TypeError(f"{call}: needs one element of an array that alloc returned, as features[3], not {type(address).__name__}")
    if address.dtype != dtype:
        raise TypeError(f"{call}: the element is {address.dtype}, not {dtype}")
    return address


def float_get(address: Any, pe: int) -> float:
    """PE `pe`'s float32 at the place of an element: ``float_get(features[3], pe=2)``."""
    return float(_shoal.get(_element("float_get", address, "float32"), pe))


def float_put(address: Any, value: float, pe: int) -> None:
    """Sets PE `pe`'s float32 at the place of an element."""
    _shoal.put(_element("float_put", address, "float32"), value, pe)


def double_get(address: Any, pe: int) -> float:
    """PE `pe`'s float64 at the place of an element."""
    return float(_shoal.get(_element("double_get", address, "float64"), pe))


def double_put(address: Any, value: float, pe: int) -> None:
    """Sets PE `pe`'s float64 at the place of an element."""
    _shoal.put(_element("double_put", address, "float64"), value, pe)


def get(array: Any, pe: int) -> _np.ndarray:
    """PE `pe`'s copy of an array or a slice of one."""
    return _shoal.get(array, pe)


def put(array: Any, values: Any, pe: int) -> None:
    """Sets PE `pe`'s copy of an array or a slice of one."""
    _shoal.put(array, values, pe)


def fence() -> None:
    """Puts to a PE before it arrive before those after it; gets are complete anyway."""
    _shoal.fence()


def quiet() -> None:
    """Waits until all of this PE's puts have arrived."""
    _shoal.quiet()


def barrier_all() -> None:
    """Completes this PE's puts and waits for all PEs."""
    _shoal.barrier()
