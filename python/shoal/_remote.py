# SPDX-License-Identifier: Apache-2.0
"""Transfers of more than a single number: what core/remote.cpp leaves to Python, and the explicit put and get."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core
from ._array import Array, as_numpy, bfloat16, converted, is_memory, is_symmetric, like


def _handle(context: Any) -> int:
    if context is None:
        return 1  # the default context
    if context._handle == 0:
        raise RuntimeError("the context was destroyed")
    if context._epoch != _core.epoch():
        raise RuntimeError("the context is of a job that shoal.finalize() ended")
    return context._handle


def _rows(array: np.ndarray, key: Any) -> "np.ndarray | None":
    """The row numbers of an index by one integer or boolean array; None for an index of another kind."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if not isinstance(key, (list, np.ndarray)) or np.ndim(key) == 0:
        if isinstance(key, tuple) and any(isinstance(k, (list, np.ndarray)) and np.ndim(k) > 0 for k in key):
            raise IndexError("one integer or boolean array for the first axis, or numbers and slices: not both")
        return None
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != array.shape[:1]:
            raise IndexError(f"a boolean index of shape {rows.shape} for a first axis of {array.shape[0]}")
        return np.flatnonzero(rows)
    if rows.size == 0:
        rows = rows.astype(np.int64)
    if rows.dtype.kind not in "iu":
        raise IndexError(f"an index must be of integers, not {rows.dtype}")
    rows = rows.astype(np.int64)
    size = array.shape[0]
    if rows.size and (rows.min() < -size or rows.max() >= size):
        raise IndexError(f"a row number is out of range for a first axis of {size}")
    return np.where(rows < 0, rows + size, rows)


def _view(array: np.ndarray, key: Any) -> tuple[np.ndarray, bool]:
    """array[key] as a view even where it is a single element; and whether it is."""
    parts = key if isinstance(key, tuple) else (key,)
    whole = any(part is Ellipsis for part in parts)
    view = array[parts if whole else (*parts, ...)]
    if view.size and not np.may_share_memory(view, array):
        raise IndexError(f"{key!r} is no index of numbers and slices, and no integer or boolean array for the first axis")
    return view, view.ndim == 0 and not whole


def _crosses(view: np.ndarray, local: np.ndarray) -> bool:
    """Whether a piece that is moved bit by bit might be read where it was written already, if the PE is this one."""
    return not view.flags.c_contiguous and np.may_share_memory(view, local)


def _check(array: np.ndarray) -> None:
    if not is_symmetric(array):
        raise RuntimeError("the array is not on the symmetric heap of this job: it was freed, or shoal.finalize() ended its job")


def _piece(view: np.ndarray) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple]:
    """Address, shape, strides of a view, turned so that no stride is negative; and the index that turns it."""
    turn = tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in view.strides)
    view = view[turn] if turn else view
    if any(stride == 0 and size > 1 for stride, size in zip(view.strides, view.shape)):
        raise ValueError("a broadcast view can't take part in a transfer: its elements are one in memory")
    return view.ctypes.data, view.shape, view.strides, turn


def _fetch(view: np.ndarray, pe: int, handle: int, out: np.ndarray, waits: bool = True) -> np.ndarray:
    """Fills `out`, contiguous and of the view's shape and dtype."""
    if view.size == 0:
        return out
    address, shape, strides, turn = _piece(view)
    _check(view)
    staged = any(s.step == -1 for s in turn) or _crosses(view, out)
    into = np.empty(view.shape, view.dtype) if staged else out
    _core.transfer(False, address, into.ctypes.data, shape, strides, view.itemsize, pe, handle, waits or staged)
    if staged:
        out[...] = into[turn]
    return out


def _values(call: str, value: Any, dtype: np.dtype) -> np.ndarray:
    """`value` as an array that converts to `dtype`. Python's numbers, and sequences of them, have no dtype: it's their values that must
    fit."""
    if isinstance(value, int) and dtype.kind in "iu":  # NumPy makes objects of the largest
        _check_range(value, value, dtype)
        return np.asarray(value, dtype)
    source = converted(as_numpy(value, call), dtype)
    if source.dtype.kind in "iu" and dtype.kind in "iu" and not is_memory(value, source):
        if source.size:
            _check_range(source.min(), source.max(), dtype)
    elif not np.can_cast(source.dtype, dtype, "same_kind"):
        raise TypeError(f"{call}: {source.dtype} values don't fit into an array of {dtype}: convert them by .astype()")
    return source


def _check_range(least: Any, most: Any, dtype: np.dtype) -> None:
    for value in (least, most):
        if not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
            raise OverflowError(f"{value} does not fit into {dtype}")


def _store(view: np.ndarray, value: Any, pe: int, handle: int, waits: bool = True) -> None:
    source = _values("put", value, view.dtype)
    try:
        source = np.broadcast_to(source, view.shape)
    except ValueError:
        raise ValueError(f"put: values of shape {np.shape(value)} don't fit into a piece of shape {view.shape} on PE {pe}") from None
    if view.size == 0:
        return
    address, shape, strides, turn = _piece(view)
    _check(view)
    backwards = any(s.step == -1 for s in turn)
    crosses = _crosses(view, source)
    source = np.ascontiguousarray(source[turn] if backwards else source, view.dtype)
    if crosses:
        source = source.copy()
    _core.transfer(True, address, source.ctypes.data, shape, strides, view.itemsize, pe, handle, waits or backwards or crosses)  # a copy ends here


def get_item(remote: Any, key: Any) -> Any:
    """remote[key]"""
    array = remote.array
    plain = array.view(np.ndarray)
    rows = _rows(plain, key)
    if rows is None:
        view, single = _view(plain, key)
        out = _fetch(view, remote.pe, _handle(remote.context), np.empty(view.shape, view.dtype))
        return (converted(out, np.dtype("float32")) if out.dtype == bfloat16 else out)[()] if single else out
    return _blocks(False, array, rows, np.empty(rows.shape + plain.shape[1:], plain.dtype), remote.pe, _handle(remote.context))


def set_item(remote: Any, key: Any, value: Any) -> None:
    """remote[key] = value"""
    array = remote.array
    plain = array.view(np.ndarray)
    rows = _rows(plain, key)
    if rows is None:
        _store(_view(plain, key)[0], value, remote.pe, _handle(remote.context))
        return
    wanted = rows.shape + plain.shape[1:]
    source = _values("put", value, plain.dtype)
    try:
        values = np.ascontiguousarray(np.broadcast_to(source, wanted), plain.dtype)
    except ValueError:
        raise ValueError(f"put: values of shape {source.shape} don't fit into rows of shape {wanted} on PE {remote.pe}") from None
    if np.may_share_memory(values, plain):
        values = values.copy()
    _blocks(True, array, rows, values, remote.pe, _handle(remote.context))


def _blocks(put: bool, array: np.ndarray, rows: np.ndarray, local: np.ndarray, pe: int, handle: int) -> np.ndarray:
    if local.size == 0:
        return local
    _check(array)
    plain = array.view(np.ndarray)
    if not plain[:1].flags.c_contiguous:
        raise IndexError("an index by an array needs rows that are contiguous")
    row = plain.itemsize * math.prod(plain.shape[1:])  # not plain[0].nbytes: a text loses its padding
    offsets = np.ascontiguousarray(rows.reshape(-1) * array.strides[0], np.int64)
    _core.transfer_blocks(put, array.ctypes.data, offsets.ctypes.data, offsets.size, row, local.ctypes.data, pe, handle)
    return local


def _pe(call: str, pe: int, context: Any) -> int:
    _core.require(call)
    _core.check_pe(call, pe, _core.n_pes() if context is None else context._n_pes)
    return pe


def _symmetric(call: str, name: str, array: Any) -> np.ndarray:
    if not isinstance(array, np.ndarray):
        array = as_numpy(array, call)
    if array.size and not is_symmetric(array):
        raise ValueError(f"{call}: {name} is not on the symmetric heap: make it by shoal.zeros and its like")
    return array.view(np.ndarray)


def put(dest: Any, source: Any, pe: int, context: Any = None) -> None:
    """Copies `source` to PE `pe`'s copy of `dest`, a symmetric array, a slice of one, or a CPU tensor on the heap.

    `source` is anything NumPy or DLPack takes: of `dest`'s shape or one that broadcasts to it, of a dtype that converts to
    `dest`'s without changing its kind; Python's integers need only fit. On return it may be reused; the data have arrived after :func:`quiet` or
    :func:`barrier`. OpenSHMEM 1.6, "Remote Memory Access Routines".

    Raises IndexError (PE out of range), ValueError (shape; not on the heap; on a GPU), TypeError (dtype), OverflowError (an integer
    that `dest` can't hold), RuntimeError (no job).
    """
    if not _core.copy_array(True, dest, source, pe, context, True):
        _store(_symmetric("put", "dest", dest), source, _pe("put", pe, context), _handle(context))


def get(source: Any, pe: int, out: Any = None, context: Any = None) -> np.ndarray:
    """PE `pe`'s copy of `source`, a symmetric array, a slice of one, or a CPU tensor on the heap: in `out` where it is given
    (contiguous, of `source`'s shape and dtype), else in a new NumPy array (for a tensor of bfloat16, a tensor). Complete on return.
    Raises as :func:`put`."""
    if out is not None and _core.copy_array(False, source, out, pe, context, True):
        return out
    view = _symmetric("get", "source", source)
    _pe("get", pe, context)
    return like(source, _fetch(view, pe, _handle(context), np.empty(view.shape, view.dtype) if out is None else _out(view, out)))


def _out(view: np.ndarray, out: Any) -> np.ndarray:
    into = as_numpy(out, "get")
    if not is_memory(out, into):
        raise TypeError(f"get: out must be an array or a tensor, not {type(out).__name__}: it could not be filled")
    if into.shape != view.shape or into.dtype != view.dtype:
        raise ValueError(f"get: out is {into.shape} {into.dtype}, but the source is {view.shape} {view.dtype}")
    if not into.flags.c_contiguous or not into.flags.writeable:
        raise ValueError("get: out must be contiguous and writeable")
    return into


def put_nbi(dest: Any, source: Any, pe: int, context: Any = None) -> None:
    """As :func:`put`, returning at once: `source`, contiguous and of `dest`'s shape and dtype, must stay as it is until
    :func:`quiet`."""
    if _core.copy_array(True, dest, source, pe, context, False):
        return
    view = _symmetric("put_nbi", "dest", dest)
    values = as_numpy(source, "put_nbi")
    if not is_memory(source, values):
        raise TypeError(f"put_nbi: the source must be an array or a tensor, not {type(source).__name__}: it must last until quiet()")
    if values.shape != view.shape or values.dtype != view.dtype or not values.flags.c_contiguous:
        raise ValueError(f"put_nbi: the source must be contiguous, {view.shape} {view.dtype}, but is {values.shape} {values.dtype}; shoal.put converts")
    _store(view, values, _pe("put_nbi", pe, context), _handle(context), waits=False)


def get_nbi(source: Any, pe: int, out: Any, context: Any = None) -> None:
    """As :func:`get`, returning at once: `out` is valid after :func:`quiet`."""
    if _core.copy_array(False, source, out, pe, context, False):
        return
    view = _symmetric("get_nbi", "source", source)
    _fetch(view, _pe("get_nbi", pe, context), _handle(context), _out(view, out), waits=False)


def put_signal(dest: Any, source: Any, signal: Array, value: int, pe: int, op: str = "set", context: Any = None) -> None:
    """:func:`put` of contiguous memory, then an update of `signal` on PE `pe`: whoever sees the signal sees the data.

    `signal` is one element of a symmetric uint64 array: ``flags[3:4]``. `op` is "set" or "add".
    """
    view = _symmetric("put_signal", "dest", dest)
    _pe("put_signal", pe, context)
    values = _values("put_signal", source, view.dtype)
    if values.shape != view.shape:
        raise ValueError(f"put_signal: the source has shape {values.shape}, dest {view.shape}")
    if not view.flags.c_contiguous:
        raise ValueError("put_signal: dest must be contiguous")
    values = np.ascontiguousarray(values, view.dtype)
    _core.put_signal(view.ctypes.data, values.ctypes.data, view.nbytes, signal_address("put_signal", signal), word("put_signal", value),
                     adds("put_signal", op), pe, _handle(context))


def word(call: str, value: int) -> int:
    """A signal's value."""
    if not 0 <= value < 1 << 64:
        raise OverflowError(f"{call}: {value} is no value of uint64")
    return value


def require_aligned(call: str, view: np.ndarray) -> None:
    """For what is accessed as one word."""
    if not view.flags.aligned:
        raise ValueError(f"{call}: the elements are not aligned to their {view.itemsize} bytes: make the structured dtype with align=True")


def adds(call: str, op: str) -> bool:
    """Whether a signal's update adds."""
    if op not in ("set", "add"):
        raise ValueError(f"{call}: op={op!r}: must be 'set' or 'add'")
    return op == "add"


def signal_address(call: str, signal: Any) -> int:
    """The address of one uint64 of a symmetric array."""
    view = _symmetric(call, "the signal", signal)
    if view.dtype != np.uint64 or view.size != 1:
        raise TypeError(f"{call}: the signal must be one element of a symmetric uint64 array, as flags[3:4], not {view.shape} {view.dtype}")
    require_aligned(call, view)
    return view.ctypes.data
