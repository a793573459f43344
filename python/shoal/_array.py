# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays: NumPy arrays whose memory lies on the symmetric heap."""
from __future__ import annotations

import math
import operator
import sys
from typing import Any, Iterable, Sequence, Union

import numpy as np

from . import _core

Shape = Union[int, Iterable[int]]

# By NumPy's type number: the numbers of core/types.hpp. The rest moves as bytes, without arithmetic.
_TYPES = {np.dtype(name): number for number, name in enumerate(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "longdouble", "complex64",
     "complex128", "float16", None, "bool")) if name is not None}
BFLOAT16 = 14
# NumPy has no such type: it holds the bits, and leaves arithmetic to tensors and collectives.
bfloat16 = np.dtype([("bfloat16", np.uint16)])
_TYPES[bfloat16] = BFLOAT16
BYTES = 16
_BEYOND = 1 << 62  # more than any heap, and what 64 bits hold


def type_number(dtype: np.dtype) -> int:
    """The number by which the library knows elements of `dtype`."""
    return _TYPES.get(dtype, BFLOAT16 if dtype.name == "bfloat16" else BYTES)  # of that name: the one of ml_dtypes


def _dtype_of(dtype: Any) -> np.dtype:
    """NumPy's dtype for anything that it takes, for PyTorch's, and for bfloat16."""
    name = str(dtype).rpartition(".")[2]
    if name == "bfloat16" and not isinstance(dtype, np.dtype):
        return bfloat16
    return np.dtype(name if type(dtype).__module__ == "torch" else dtype)


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`array`; where either it or `dtype` is bfloat16, in `dtype` or, from bfloat16, in float32."""
    if (array.dtype == bfloat16) == (dtype == bfloat16):
        return array
    if dtype != bfloat16:
        return (array["bfloat16"].astype(np.uint32) << np.uint32(16)).view(np.float32)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} values don't fit into an array of bfloat16")
    numbers = np.asarray(array, np.float32)
    bits = numbers.view(np.uint32)
    nearest = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))  # a tie goes to the even one
    kept = np.where(np.isnan(numbers), bits | np.uint32(0x400000), nearest)
    return np.asarray(kept >> np.uint32(16), np.uint16).view(bfloat16)


def like(data: Any, result: np.ndarray) -> Any:
    """`result`, made from `data`; as a tensor where that is one of bfloat16, with which NumPy can do nothing."""
    if result.dtype != bfloat16 or not hasattr(data, "detach"):
        return result
    torch = sys.modules["torch"]
    return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)


class _Mapped:
    """Bytes of another PE's copy of `array`, for NumPy, which keeps this: while it does, memory isn't given back."""

    def __init__(self, array: np.ndarray, address: int, size: int) -> None:
        self.array = array
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "data": (address, False), "shape": (size,)}


class Array(np.ndarray):
    """A symmetric array: each PE has one of the same shape and dtype. Here it is a NumPy array; `x.on(pe)` is another PE's.

    Made by :func:`zeros` and its like. Slices are symmetric arrays, too; results of arithmetic are plain NumPy arrays, of this
    PE alone. The memory goes back to the heap by :func:`free`, or, when all PEs have dropped the array, with a later
    allocation: no destructor waits for other PEs. After :func:`finalize` an array that is still in use holds what it held, in
    memory of this PE alone.
    """

    def on(self, pe: int, context: Any = None) -> "_core.Remote":
        """PE `pe`'s copy of this array (`pe` counted in the context's team; without one, in the world).

        ``x.on(3)[7, 12] = 5.0`` is a put, ``v = x.on(3)[2:10:2]`` a get; any index of numbers and slices, or one integer
        or boolean array for the first axis. A put is complete there after :func:`quiet` or :func:`barrier`; a get
        when it returns. A single number arrives as a Python number, more as a NumPy array of this array's dtype.

        Raises IndexError if `pe` is out of range, ValueError if this array isn't on the heap, RuntimeError after finalize.
        """
        return _core.Remote(self, pe, context)

    def mapped(self, pe: int) -> "np.ndarray | None":
        """PE `pe`'s copy as a NumPy array for plain loads and stores, where this PE can map it; else None.

        Order them by :func:`fence`, :func:`quiet` or a barrier. Valid until :func:`free` or :func:`finalize`: after either, a
        use ends the process. Raises IndexError (PE out of range), ValueError (not on the heap), RuntimeError (no job).
        """
        _core.require("mapped")
        _core.check_pe("mapped", pe, _core.n_pes())
        if self.size and not is_symmetric(self):
            raise ValueError("mapped: the array is not on the symmetric heap: it was freed, or is of an earlier job")
        address = _core.mapped(self.ctypes.data, pe)
        if address == 0:
            return None
        byte_bounds = (np.lib.array_utils if hasattr(np.lib, "array_utils") else np).byte_bounds  # type: ignore[attr-defined]
        low, high = byte_bounds(self)
        offset = self.ctypes.data - low
        memory = np.asarray(_Mapped(self, address - offset, max(high - low, 1)))
        return np.ndarray(self.shape, self.dtype, memory, offset, self.strides)

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        # What arithmetic gives is on no heap, unless it was told to write into an array that is.
        if array is self or isinstance(array, Array) and is_symmetric(array):
            return array
        plain = array.view(np.ndarray)
        return plain[()] if plain.ndim == 0 else plain

    def __reduce__(self) -> Any:
        return np.asarray(self).copy().__reduce__()  # a pickle holds the contents: a heap is for one job

    def __deepcopy__(self, memo: Any) -> np.ndarray:  # type: ignore[override]
        return np.array(self)

    def copy(self, order: str = "C") -> np.ndarray:  # type: ignore[override]
        """A plain NumPy array with the same contents."""
        return np.array(self, order=order)  # type: ignore[call-overload]


def is_symmetric(array: Any) -> bool:
    """Whether `array` (a NumPy array or a CPU tensor) lies on the symmetric heap of the job that runs."""
    address = array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()
    return bool(_core.is_symmetric(address))


def _shape_of(shape: Shape) -> tuple[int, ...]:
    sizes = tuple(map(operator.index, (shape,) if np.ndim(shape) == 0 else shape))  # type: ignore[arg-type]
    if any(n < 0 for n in sizes):
        raise ValueError(f"shape {sizes}: no size may be negative")
    return sizes


def empty(shape: Shape, dtype: Any = "float64", *, align: int = 64) -> Array:
    """A symmetric array with whatever the memory holds.

    Collective: all PEs call with the same `shape` (a number or a sequence of them) and `dtype` (anything NumPy takes, but
    no object types; PyTorch's; "bfloat16"). `align` is a power of two, in bytes, from 64 to 2 MiB.

    Raises ValueError on all PEs, with both shapes, when they differ; MemoryError on all when the heap is exhausted
    (SHMEM_SYMMETRIC_SIZE makes it larger); TypeError for object types; RuntimeError before init.
    """
    kind = _dtype_of(dtype)
    if kind.hasobject:
        raise TypeError(f"dtype {kind}: Python objects can't live on the symmetric heap; numbers and structures of them can")
    if align < 64 or align > 2 << 20 or align & (align - 1):
        raise ValueError(f"align={align}: must be a power of two from 64 to 2 MiB")
    sizes = _shape_of(shape)
    memory: Any = allocate(type_number(kind), kind.itemsize, sizes, align)  # has the buffer protocol, as only Python 3.12 can say
    return Array(sizes, kind, memory)


def allocate(number: int, itemsize: int, sizes: Sequence[int], align: int = 64) -> "_core.Block":
    """Memory for elements of a type; as :func:`empty`."""
    _core.require("empty")
    count = itemsize * math.prod(sizes)
    described = sizes if number != BYTES else [*sizes, itemsize]
    try:
        return _core.allocate(min(count, _BEYOND), align, number, [min(size, _BEYOND) for size in described])
    except MemoryError:
        raise MemoryError(f"no room for {count} bytes in the symmetric heap ({_core.heap_used()} of {_core.heap_size()} "
                          "bytes are in use): SHMEM_SYMMETRIC_SIZE makes it larger, shoal.free() gives arrays back") from None


def zeros(shape: Shape, dtype: Any = "float64", *, align: int = 64) -> Array:
    """As :func:`empty`, filled with zeros on all PEs when it returns."""
    result = empty(shape, dtype, align=align)
    if result.nbytes:
        np.frombuffer(result.base, np.uint8)[:] = 0  # type: ignore[arg-type]  # not result[...] = 0: a text's zero isn't "0"
    _core.sync_all()  # nobody may put into what isn't cleared yet
    return result


def ones(shape: Shape, dtype: Any = "float64", *, align: int = 64) -> Array:
    """As :func:`empty`, filled with ones on all PEs when it returns."""
    return full(shape, 1, dtype, align=align)


def full(shape: Shape, value: Any, dtype: Any = None, *, align: int = 64) -> Array:
    """As :func:`empty`, each PE's copy filled with its `value` when it returns; without `dtype`, that of `value`."""
    result = empty(shape, np.asarray(value).dtype if dtype is None else dtype, align=align)
    result[...] = converted(np.asarray(value), result.dtype) if bfloat16 in (result.dtype, getattr(value, "dtype", None)) else value
    _core.sync_all()  # nobody may put into what isn't filled yet
    return result


def array(values: Any, dtype: Any = None, *, align: int = 64) -> Array:
    """A symmetric array with this PE's `values` (anything NumPy or DLPack takes): shape and dtype as on all other PEs."""
    source = as_numpy(values, "array")
    return full(source.shape, source, source.dtype if dtype is None else dtype, align=align)


def free(array: Array) -> None:
    """Gives a symmetric array's memory back now. Collective, with the same array on all PEs.

    Raises ValueError on all PEs when they free different arrays, or for a slice; RuntimeError when it was freed before.
    """
    _core.require("free")
    block = array.base
    if not isinstance(block, _core.Block):
        raise ValueError("free: needs the array that shoal.zeros or its like returned, not a slice of it or a copy")
    _core.free(block)


def is_memory(data: Any, array: np.ndarray) -> bool:
    """Whether `array`, which as_numpy gave for `data`, is its memory: not the copy that a sequence or a number becomes."""
    return array is data or not array.flags.owndata


def as_numpy(data: Any, call: str) -> np.ndarray:
    """`data` as a NumPy array, without a copy where it is one, a CPU tensor or a buffer."""
    if isinstance(data, np.ndarray):
        return data
    device = getattr(data, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        raise ValueError(f"{call}: the tensor is on {device}, but the symmetric heap is in host memory: move it by .cpu()")
    if hasattr(data, "detach"):  # a tensor: NumPy 1 takes DLPack for reading only
        tensor = data.detach()
        if str(data.dtype) == "torch.bfloat16":
            return tensor.view(sys.modules["torch"].int16).numpy().view(bfloat16)
        try:
            return tensor.numpy()
        except TypeError:
            raise TypeError(f"{call}: NumPy has no {data.dtype}: move it as tensor.view(torch.int8) or the like") from None
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    result = np.asarray(data)
    if result.dtype.hasobject:
        raise TypeError(f"{call}: {type(data).__name__} is no array of numbers")
    return result
