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
    whole = buffer.view(np.ndarray)
    whole = whole[:whole.size // kind.itemsize * kind.itemsize].view(kind)
    if index < 0 or nelems < 0 or index + nelems > whole.size:
        raise IndexError(f"{call}: elements {index} to {index + nelems} of {kind} are not all in memory of {whole.size}")
    return whole[index:index + nelems]


def _local(call: str, name: str, memory: Any, like: np.ndarray) -> int:
    """The address of as much local memory: a number (as Tensor.data_ptr() gives), a tensor or an array."""
    if isinstance(memory, (int, np.integer)):
        address = int(memory)
    else:
        array = shoal._array.as_numpy(memory, call)
        if array.nbytes < like.nbytes or not array.flags.c_contiguous:
            raise ValueError(f"{call}: {name} must be {like.nbytes} contiguous bytes, but has {array.nbytes}")
        address = array.ctypes.data
    if address == 0 or address % like.itemsize != 0:
        raise ValueError(f"{call}: {name}={address:#x} is not aligned to elements of {like.itemsize} bytes: allocate it by shmem.malloc, "
                         "or pass the data_ptr() of a tensor of this dtype")
    return address


def put(dest: int, dest_idx: int, source: Any, nelems: int, dtype: Any = "float32", buffer: Optional[shoal.Array] = None) -> None:
    """Copies `nelems` elements from the local `source` to PE `dest`'s memory, from element `dest_idx` on. Arrived after barrier().

    Raises IndexError (PE or elements out of range), ValueError (address that isn't aligned, no symmetric memory).
    """
    there = _remote("put", dest, dest_idx, nelems, dtype, buffer)
    here = _local("put", "source", source, there)
    _core.transfer(True, there.ctypes.data, here, (there.size,), (there.itemsize,), there.itemsize, dest, 1, True)


def get(dest: Any, source: int, source_idx: int, nelems: int, dtype: Any = "float32", buffer: Optional[shoal.Array] = None) -> None:
    """Copies `nelems` elements of PE `source`'s memory, from element `source_idx` on, to the local `dest`. Complete on return."""
    there = _remote("get", source, source_idx, nelems, dtype, buffer)
    here = _local("get", "dest", dest, there)
    _core.transfer(False, there.ctypes.data, here, (there.size,), (there.itemsize,), there.itemsize, source, 1, True)


def barrier() -> None:
    """Completes this PE's puts and waits for all PEs."""
    shoal.barrier()
