# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory as plain bytes: malloc, put and get by PE, offset and address. A facade of :mod:`shoal`.

Elements are float32 unless `dtype` says otherwise; offsets and counts are in elements. They reach into the memory that was
allocated last, or the one given as `buffer`.
"""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
import shoal
from shoal import _core

__all__ = ["init", "finalize", "my_pe", "n_pes", "malloc", "free", "put", "get", "barrier"]

_buffers: list[shoal.Array] = []


def init() -> None:
    """Starts the library. Collective."""
    shoal.init()


def finalize() -> None:
    """Ends the library. Collective."""
    _buffers.clear()
    shoal.finalize()


def my_pe() -> int:
    """This PE's number; before init, what the launcher's environment says."""
    return shoal._launched()[0]


def n_pes() -> int:
    """The number of PEs; before init, what the launcher's environment says."""
    return shoal._launched()[1]


def malloc(size: int) -> shoal.Array:
    """`size` bytes on the symmetric heap, as an array of uint8, aligned to 64. Collective.

    ``torch.frombuffer(memory, dtype=torch.float32)`` and ``numpy.frombuffer(memory, "float32")`` show it without a copy.
    Raises MemoryError on all PEs alike.
    """
    _buffers.append(shoal.empty(size, "uint8"))
    return _buffers[-1]


def free(memory: shoal.Array) -> None:
    """Gives memory back. Collective."""
    _buffers[:] = [one for one in _buffers if one is not memory]
    shoal.free(memory)


def _remote(call: str, pe: int, index: int, nelems: int, dtype: Any, buffer: Optional[shoal.Array]) -> np.ndarray:
    """The elements of the buffer that are meant, here; PE `pe` has the like."""
    _core.require(call)
    _core.check_pe(call, pe, _core.n_pes())
    if buffer is None:
        if not _buffers:
            raise ValueError(f"{call}: there is no symmetric memory yet: allocate it by shmem.malloc, on all PEs")
        buffer = _buffers[-1]
    kind = np.dtype(dtype)
    whole = shoal._remote._symmetric(call, "buffer", buffer)
    if not whole.flags.c_contiguous:
        raise ValueError(f"{call}: buffer must be contiguous")
    whole = whole.reshape(-1).view(np.uint8)
    whole = whole[:whole.size // kind.itemsize * kind.itemsize].view(kind)
    if index < 0 or nelems < 0 or index + nelems > whole.size:
        raise IndexError(f"{call}: elements {index} to {index + nelems} of {kind} are not all in memory of {whole.size}")
    return whole[index:index + nelems]


def _array(call: str, name: str, memory: Any, like: np.ndarray, filled: bool) -> np.ndarray:
    """As much local memory as `like` has, of its dtype or as bytes."""
    array = shoal._array.as_numpy(memory, call)
    if not shoal._array.is_memory(memory, array):
        if filled:
            raise TypeError(f"{call}: {name} must be an array or a tensor, not {type(memory).__name__}: it could not be filled")
        array = np.ascontiguousarray(shoal._remote._values(call, memory, like.dtype), like.dtype)
    if array.dtype not in (like.dtype, np.uint8):
        raise TypeError(f"{call}: {name} is of {array.dtype}, but dtype is {like.dtype}")
    if array.nbytes < like.nbytes or not array.flags.c_contiguous:
        raise ValueError(f"{call}: {name} must be {like.nbytes} contiguous bytes, but has {array.nbytes}")
    if filled and not array.flags.writeable:
        raise ValueError(f"{call}: {name} must be writeable")
    return array


def _transfer(put_: bool, name: str, memory: Any, there: np.ndarray, pe: int) -> None:
    call = "put" if put_ else "get"
    array = None if isinstance(memory, (int, np.integer)) else _array(call, name, memory, there, not put_)  # which lives until the end
    address = int(memory) if array is None else array.ctypes.data
    if address == 0 or address % there.itemsize != 0:
        raise ValueError(f"{call}: {name}={address:#x} is not aligned to elements of {there.itemsize} bytes: allocate it by shmem.malloc, "
                         "or pass the data_ptr() of a tensor of this dtype")
    _core.transfer(put_, there.ctypes.data, address, (there.size,), (there.itemsize,), there.itemsize, pe, 1, True)


def put(dest: int, dest_idx: int, source: Any, nelems: int, dtype: Any = "float32", buffer: Optional[shoal.Array] = None) -> None:
    """Copies `nelems` elements from the local `source` to PE `dest`'s memory, from element `dest_idx` on. Arrived after barrier().

    `source` is an address, as Tensor.data_ptr() gives it, a tensor or an array of `dtype` or of bytes, or a sequence of numbers.
    Raises IndexError (PE or elements out of range), TypeError (dtype), ValueError (address that isn't aligned, no symmetric memory).
    """
    there = _remote("put", dest, dest_idx, nelems, dtype, buffer)
    _transfer(True, "source", source, there, dest)


def get(dest: Any, source: int, source_idx: int, nelems: int, dtype: Any = "float32", buffer: Optional[shoal.Array] = None) -> None:
    """Copies `nelems` elements of PE `source`'s memory, from element `source_idx` on, to the local `dest`: an address, a tensor or an
    array. Complete on return. Raises as :func:`put`."""
    there = _remote("get", source, source_idx, nelems, dtype, buffer)
    _transfer(False, "dest", dest, there, source)


def barrier() -> None:
    """Completes this PE's puts and waits for all PEs."""
    shoal.barrier()
