# SPDX-License-Identifier: Apache-2.0
"""Order, signals, atomics, and waiting for one's own memory."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._array import Array, type_number
from ._remote import _handle, _pe, _symmetric, adds, require_aligned, signal_address, word

_COMPARISONS = {"==": 0, "!=": 1, ">": 2, "<=": 3, "<": 4, ">=": 5}  # SHMEM_CMP_EQ and its kin
_OPERATIONS = ("fetch", "set", "swap", "add", "fetch_add", "compare_swap", "and", "fetch_and", "or", "fetch_or", "xor", "fetch_xor")


def barrier() -> None:
    """Completes this PE's operations on the default context, then waits for all PEs. OpenSHMEM 1.6, shmem_barrier_all."""
    _core.require("barrier")
    _core.barrier_all()


def sync() -> None:
    """Waits for all PEs; completes no puts."""
    _core.require("sync")
    _core.sync_all()


def sync_with(pe: int) -> None:
    """Waits until PE `pe` has made the matching call with this PE's number; what either put before is then visible."""
    _core.sync_pe(_pe("sync_with", pe, None))


def quiet(context: Any = None) -> None:
    """Waits until all of this PE's puts, on the context or the default one, have arrived and its gets are complete."""
    _core.require("quiet")
    _core.quiet(_handle(context))


def fence(context: Any = None) -> None:
    """Puts to a PE before it arrive before puts to that PE after it."""
    _core.require("fence")
    _core.fence(_handle(context))


def signal(flag: Array, value: int, pe: int, op: str = "set") -> None:
    """Sets, or adds to (`op` "add"), a signal on PE `pe`: one element of a symmetric uint64 array. Orders nothing else."""
    address = signal_address("signal", flag)
    _core.signal(address, word("signal", value), adds("signal", op), _pe("signal", pe, None))


def _own(call: str, array: Array) -> np.ndarray:
    _core.require(call)
    view = _symmetric(call, "the array", array)
    if view.dtype not in (np.int32, np.int64, np.uint32, np.uint64):
        raise TypeError(f"{call}: waits and tests are for 32- and 64-bit integers, not {view.dtype}")
    return view


def _comparison(call: str, cmp: str) -> int:
    if cmp not in _COMPARISONS:
        raise ValueError(f"{call}: {cmp!r} is no comparison: one of {', '.join(_COMPARISONS)}")
    return _COMPARISONS[cmp]


def _wait(call: str, array: Array, cmp: str, value: int, least: "int | None", timeout: "float | None") -> tuple[list, np.ndarray]:
    view = _own(call, array)
    step = view.itemsize
    words = [view.ctypes.data + step * i for i in range(view.size)] if view.flags.c_contiguous else \
        [int(view[i:i + 1].ctypes.data) for i in range(view.shape[0])] if view.ndim == 1 else None
    if words is None:
        raise ValueError(f"{call}: the array must be contiguous or have one dimension")
    require_aligned(call, view)
    least = len(words) if least is None else min(least, len(words))
    found = _core.wait(words, type_number(view.dtype), _comparison(call, cmp), value, least, timeout, call)
    return found, view


def wait_until(array: Array, cmp: str, value: int, timeout: "float | None" = None) -> None:
    """Waits until all elements of this PE's `array` (32- or 64-bit integers, on the heap) compare as wanted, as in
    ``wait_until(flags[2:3], ">=", 5)``. Whoever sees an awaited value also sees what its writer ordered before it.

    `timeout` is in seconds: None waits for ever, 0 only looks. Raises TimeoutError, TypeError (dtype), OverflowError (a value that the
    dtype can't hold), ValueError (not on the heap, comparison). Ctrl-C ends it.
    """
    _wait("wait_until", array, cmp, value, None, timeout)


def wait_until_any(array: Array, cmp: str, value: int, timeout: "float | None" = None) -> int:
    """As :func:`wait_until`, for one element at least; gives the index of one that holds. An array without elements is a ValueError."""
    found = wait_until_some(array, cmp, value, timeout)
    if not found:
        raise ValueError("wait_until_any: the array has no elements to wait for")
    return found[0]


def wait_until_some(array: Array, cmp: str, value: int, timeout: "float | None" = None) -> list[int]:
    """As :func:`wait_until`, for one element at least; gives the indices of all that hold: none, at once, of an array without elements."""
    found, view = _wait("wait_until_some", array, cmp, value, 1, timeout)
    return found


def test(array: Array, cmp: str, value: int) -> bool:
    """Whether all elements of this PE's `array` compare as wanted now."""
    found, view = _wait("test", array, cmp, value, 0, None)
    return len(found) == view.size


def wait_signal(flag: Array, cmp: str, value: int, timeout: "float | None" = None) -> int:
    """Waits for this PE's signal, one element of a symmetric uint64 array; gives its value. See :func:`put_signal`."""
    signal_address("wait_signal", flag)
    _wait("wait_signal", flag, cmp, value, None, timeout)
    return int(flag.reshape(-1)[0])


class Atomic:
    """One element of PE `pe`'s copy of a symmetric array, for atomic access: 32- and 64-bit integers (which wrap around),
    float32 and float64 (load, store, swap, add). OpenSHMEM 1.6, "Atomic Memory Operations".

    Operations that return something are complete on return; the others after :func:`quiet`. Safe from any thread.
    """

    def __init__(self, array: Array, index: Any, pe: int, context: Any = None) -> None:
        view = _symmetric("atomic", "the array", array)
        element = view[index if isinstance(index, tuple) else (index,)]
        if np.ndim(element) != 0:
            raise IndexError(f"atomic: index {index} names no single element of an array of shape {view.shape}")
        index = index if isinstance(index, tuple) else (index,)
        self._address = view.ctypes.data + sum((i + n if i < 0 else i) * s for i, n, s in zip(index, view.shape, view.strides))
        self._pe = _pe("atomic", pe, context)
        self._context = context
        self._array = array
        self._type = type_number(view.dtype)
        if not _core.has_atomic(self._type, 0):
            raise TypeError(f"atomic: there are atomics on 32- and 64-bit integers, float32 and float64, not on {view.dtype}")
        require_aligned("atomic", view)

    def _run(self, name: str, value: Any = 0, compare: Any = 0) -> Any:
        operation = _OPERATIONS.index(name)
        if not _core.is_symmetric(self._address):
            raise RuntimeError(f"{name}: the array was freed, or shoal.finalize() ended its job")
        if not _core.has_atomic(self._type, operation):
            raise TypeError(f"{name}: not on {self._array.dtype}")
        return _core.atomic(operation, self._address, self._type, self._pe, _handle(self._context), value, compare)

    def load(self) -> Any:
        """The value."""
        return self._run("fetch")

    def store(self, value: Any) -> None:
        """Sets the value."""
        self._run("set", value)

    def swap(self, value: Any) -> Any:
        """Sets the value and gives the old one."""
        return self._run("swap", value)

    def compare_swap(self, expected: int, desired: int) -> int:
        """Sets the value to `desired` if it is `expected`; gives the old one either way."""
        return self._run("compare_swap", desired, expected)

    def add(self, value: Any = 1) -> None:
        """Adds."""
        self._run("add", value)

    def fetch_add(self, value: Any = 1) -> Any:
        """Adds and gives the old value."""
        return self._run("fetch_add", value)

    def and_(self, value: int) -> None:
        """Bitwise and."""
        self._run("and", value)

    def fetch_and(self, value: int) -> int:
        """Bitwise and; gives the old value."""
        return self._run("fetch_and", value)

    def or_(self, value: int) -> None:
        """Bitwise or."""
        self._run("or", value)

    def fetch_or(self, value: int) -> int:
        """Bitwise or; gives the old value."""
        return self._run("fetch_or", value)

    def xor(self, value: int) -> None:
        """Bitwise exclusive or."""
        self._run("xor", value)

    def fetch_xor(self, value: int) -> int:
        """Bitwise exclusive or; gives the old value."""
        return self._run("fetch_xor", value)


def atomic(array: Array, index: Any, pe: int, context: Any = None) -> Atomic:
    """Element `index` of PE `pe`'s copy of `array`, for atomic access: ``shoal.atomic(counter, 0, 3).fetch_add(1)``.

    Raises IndexError (PE or index out of range), TypeError (dtype), ValueError (not on the heap).
    """
    return Atomic(array, index, pe, context)
