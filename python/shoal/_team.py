# SPDX-License-Identifier: Apache-2.0
"""Teams, their collectives, and contexts."""
from __future__ import annotations

import struct
import weakref
from typing import Any, Optional

import numpy as np

from . import _core
from ._array import as_numpy, is_memory, like, type_number
from ._remote import _handle

OPERATIONS = {"and": 0, "or": 1, "xor": 2, "max": 3, "min": 4, "sum": 5, "prod": 6}  # shmemx_op_t
KINDS = {name: number for number, name in enumerate(
    ("none", "barrier", "allocate", "free", "all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather", "gather", "scatter", "all_to_all"))}


def _operation(call: str, op: str) -> int:
    if op not in OPERATIONS:
        raise ValueError(f"{call}: op={op!r}: must be one of {', '.join(OPERATIONS)}")
    return OPERATIONS[op]


def _source(call: str, data: Any) -> np.ndarray:
    array = as_numpy(data, call)
    if array.dtype.hasobject:
        raise TypeError(f"{call}: Python objects can't be sent; arrays of numbers can")
    return np.ascontiguousarray(array).reshape(array.shape)


def _dest(call: str, out: Any, shape: tuple, dtype: np.dtype) -> np.ndarray:
    if out is None:
        return np.empty(shape, dtype)
    array = as_numpy(out, call)
    if not is_memory(out, array):
        raise TypeError(f"{call}: out must be an array or a tensor, not {type(out).__name__}: it could not be filled")
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(f"{call}: out must be {shape} {dtype}, but is {array.shape} {array.dtype}")
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"{call}: out must be contiguous and writeable")
    return array


def give_back(slots: list) -> None:
    """The slots of groups that are not made."""
    for slot in slots:
        if slot >= 0:
            _core.give_back_slot(slot)


def without_slots(pes: list, slots: list) -> str:
    """What is wrong where PEs have no slot for a group, which those who have tell by -1; else nothing."""
    full = [pe for pe, slot in zip(pes, slots) if slot < 0]
    return f"PEs {full} are in too many teams and process groups: destroy some there" if full else ""


class Team:
    """An ordered set of PEs. OpenSHMEM 1.6, "Team Management Routines".

    Teams are made and destroyed collectively, and only by explicit calls: nothing happens when Python drops one. Collectives
    are called by all members, in the same order, one at a time on a team; they take and give any array or CPU tensor,
    on the heap (then without a copy) or not, contiguous or not; a new result is a NumPy array, for a tensor of bfloat16 a tensor. Where members disagree about shape, dtype, operation or root,
    those who see it get a ValueError that names the PEs and both values. Ctrl-C ends a collective's wait.
    """

    def __init__(self, handle: int, group: Any) -> None:
        self._handle = handle
        self._group_ = group
        self._epoch = _core.epoch()
        self._contexts: "weakref.WeakSet[Context]" = weakref.WeakSet()  # which end with the team

    def __repr__(self) -> str:
        return f"<shoal.Team of PEs {self.pes}>" if self._alive() else "<shoal.Team, destroyed>"

    def _alive(self) -> bool:
        return self._group_ is not None and self._epoch == _core.epoch() and _core.running()

    def _group(self, call: str) -> Any:
        _core.require(call)
        if not self._alive():
            raise RuntimeError(f"{call}: the team was destroyed, or is of a job that shoal.finalize() ended")
        return self._group_

    @property
    def my_pe(self) -> int:
        """This PE's number in the team."""
        return self._group("my_pe").rank

    @property
    def n_pes(self) -> int:
        """The number of members."""
        return self._group("n_pes").size

    @property
    def pes(self) -> list[int]:
        """The members' numbers in the world, in order."""
        group = self._group("pes")
        return [group.pe(i) for i in range(group.size)]

    def translate(self, pe: int, team: "Team") -> "int | None":
        """The number in `team` of member `pe`; None if that isn't a member."""
        _core.check_pe("translate", pe, self.n_pes)
        world = self.pes[pe]
        return team.pes.index(world) if world in team.pes else None

    def split_strided(self, start: int, stride: int, size: int) -> "Team | None":
        """The members start, start + stride, ..., `size` of them, as a new team; None for those who aren't in it. Collective
        over this team. Raises on all: ValueError for an illegal triplet, RuntimeError where a member is in too many teams."""
        self._group("split_strided")
        code, handle = _core.team_split_strided(self._handle, start, stride, size, 0)
        if code != 0:
            raise ValueError(f"split_strided: start {start}, stride {stride}, size {size} are not members of a team of {self.n_pes}, "
                             "or there are too many teams")
        return self._made(handle)[0]

    def split_2d(self, width: int) -> "tuple[Team, Team]":
        """Rows of `width` members (the last may be shorter): the teams of this PE's row and column. Collective."""
        self._group("split_2d")
        code, row, column = _core.team_split_2d(self._handle, width)
        if code != 0:
            raise ValueError(f"split_2d: width {width}: must be 1 or more, or there are too many teams")
        return tuple(self._made(row, column))  # type: ignore[return-value]

    def _made(self, *handles: int) -> "list[Optional[Team]]":
        """Teams of the library's, with what their collectives work in; none for a handle of 0. All of this team's members come here."""
        words = f"{len(handles)}i"
        mine = [_core.take_slot(_core.team_n_pes(handle)) if handle else 0 for handle in handles]
        slots = [struct.unpack(words, theirs) for theirs in self._group("split").share(struct.pack(words, *mine))]
        if wrong := without_slots(self.pes, [min(theirs) for theirs in slots]):
            give_back([slot for handle, slot in zip(handles, mine) if handle])
            for handle in filter(None, handles):
                _core.team_destroy(handle)
            raise RuntimeError(f"split: {wrong}")
        teams: "list[Optional[Team]]" = []
        for i, handle in enumerate(handles):
            members = [_core.team_translate_pe(handle, pe, self._handle) for pe in range(_core.team_n_pes(handle))] if handle else []
            teams.append(Team(handle, _core.Group([self.pes[member] for member in members], [slots[member][i] for member in members],
                                                  f"a team of {len(members)} PEs")) if handle else None)
        return teams

    def destroy(self) -> None:
        """Ends the team. Collective over it; not for the world."""
        self._group("destroy")
        if self._handle < 3:
            raise ValueError("destroy: the world can't be destroyed")
        _core.team_destroy(self._handle)
        self._group_ = None
        for context in self._contexts:
            context._handle = 0

    def sync(self) -> None:
        """Waits for all members; completes no puts."""
        self._group("sync")
        _core.team_sync(self._handle)

    def barrier(self) -> None:
        """Completes this PE's operations on the default context, then waits for all members."""
        self._group("barrier").barrier()

    def all_reduce(self, data: Any, op: str = "sum", out: Any = None) -> np.ndarray:
        """Element i of the result, on all members, combines element i of everyone's `data`, in the members' order: the same
        bits everywhere. `op`: sum, prod, min, max, and, or, xor. `out` may be `data`; without it the result is a new array."""
        group, source = self._group("all_reduce"), _source("all_reduce", data)
        dest = _dest("all_reduce", out, source.shape, source.dtype)
        group.all_reduce(dest.ctypes.data, source.ctypes.data, type_number(source.dtype), source.size, source.shape, _operation("all_reduce", op))
        return like(data, dest)

    def reduce(self, data: Any, root: int, op: str = "sum", out: Any = None) -> "np.ndarray | None":
        """As :meth:`all_reduce`, the result on member `root` alone; None on the others."""
        group, source = self._group("reduce"), _source("reduce", data)
        _core.check_pe("reduce: root", root, group.size)
        dest = _dest("reduce", out, source.shape, source.dtype) if group.rank == root else None
        group.reduce(0 if dest is None else dest.ctypes.data, source.ctypes.data, type_number(source.dtype), source.size, source.shape,
                     _operation("reduce", op), root)
        return None if dest is None else like(data, dest)

    def reduce_scatter(self, data: Any, op: str = "sum", out: Any = None) -> np.ndarray:
        """`data` of n_pes blocks along the first axis: member i gets the combination of everyone's block i, of shape
        data.shape[1:]."""
        group, source = self._group("reduce_scatter"), self._blocks("reduce_scatter", data)
        dest = _dest("reduce_scatter", out, source.shape[1:], source.dtype)
        block = dest.nbytes
        group.reduce_scatter(dest.ctypes.data, [source.ctypes.data + i * block for i in range(group.size)], type_number(source.dtype),
                             dest.size, dest.shape, _operation("reduce_scatter", op))
        return like(data, dest)

    def scan(self, data: Any, exclusive: bool = False, out: Any = None) -> np.ndarray:
        """Element i of the result on member k is the sum of element i of members 0 to k (k left out: `exclusive`)."""
        group, source = self._group("scan"), _source("scan", data)
        dest = _dest("scan", out, source.shape, source.dtype)
        group.scan(dest.ctypes.data, source.ctypes.data, type_number(source.dtype), source.size, source.shape, exclusive)
        return like(data, dest)

    def broadcast(self, data: Any, root: int) -> Any:
        """Fills everyone's `data`, contiguous and of one shape and dtype, with member `root`'s; gives it back. A number or a sequence
        can't be filled: it gives a new array."""
        group = self._group("broadcast")
        _core.check_pe("broadcast: root", root, group.size)
        array = as_numpy(data, "broadcast")
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError("broadcast: data must be contiguous and writeable")
        sends = [array.nbytes if group.rank == root and i != root else 0 for i in range(group.size)]
        expects = [array.nbytes if group.rank != root and i == root else 0 for i in range(group.size)]
        self._exchange("broadcast", array, array.size, root, [array.ctypes.data] * group.size, sends, [array.ctypes.data] * group.size, expects)
        return data if is_memory(data, array) else array

    def all_gather(self, data: Any, out: Any = None) -> np.ndarray:
        """Everyone's `data`, of one shape and dtype, as one array of shape (n_pes, *data.shape)."""
        group, source = self._group("all_gather"), _source("all_gather", data)
        dest = _dest("all_gather", out, (group.size, *source.shape), source.dtype)
        size = [source.nbytes] * group.size
        self._exchange("all_gather", source, source.size, -1, [source.ctypes.data] * group.size, size,
                       [dest.ctypes.data + i * source.nbytes for i in range(group.size)], size)
        return like(data, dest)

    def gather(self, data: Any, root: int, out: Any = None) -> "np.ndarray | None":
        """As :meth:`all_gather`, the result on member `root` alone; None on the others."""
        group, source = self._group("gather"), _source("gather", data)
        _core.check_pe("gather: root", root, group.size)
        mine = group.rank == root
        dest = _dest("gather", out, (group.size, *source.shape), source.dtype) if mine else None
        sends = [source.nbytes if i == root else 0 for i in range(group.size)]
        from_ = [0 if dest is None else dest.ctypes.data + i * source.nbytes for i in range(group.size)]
        self._exchange("gather", source, source.size, root, [source.ctypes.data] * group.size, sends, from_, [source.nbytes if mine else 0] * group.size)
        return None if dest is None else like(data, dest)

    def scatter(self, data: Any, root: int, out: Any) -> np.ndarray:
        """Member i's `out`, of one shape and dtype on all, becomes block i (along the first axis) of member `root`'s `data`;
        the others' `data` isn't looked at."""
        group = self._group("scatter")
        _core.check_pe("scatter: root", root, group.size)
        dest = as_numpy(out, "scatter")
        _dest("scatter", out, dest.shape, dest.dtype)
        to, sends = [0] * group.size, [0] * group.size
        if group.rank == root:
            source = self._blocks("scatter", data)
            if source.shape[1:] != dest.shape or source.dtype != dest.dtype:
                raise ValueError(f"scatter: blocks of {source.shape[1:]} {source.dtype} don't fit into out of {dest.shape} {dest.dtype}")
            to, sends = [source.ctypes.data + i * dest.nbytes for i in range(group.size)], [dest.nbytes] * group.size
        expects = [dest.nbytes if i == root else 0 for i in range(group.size)]
        self._exchange("scatter", dest, dest.size, root, to, sends, [dest.ctypes.data] * group.size, expects)
        return like(out, dest)

    def all_to_all(self, data: Any, out: Any = None) -> np.ndarray:
        """Block j (along the first axis, of n_pes blocks) of member i's `data` becomes block i of member j's result."""
        group, source = self._group("all_to_all"), self._blocks("all_to_all", data)
        dest = _dest("all_to_all", out, source.shape, source.dtype)
        if dest.ctypes.data == source.ctypes.data:
            source = source.copy()
        block = source.nbytes // group.size
        size = [block] * group.size
        self._exchange("all_to_all", source, source.size, -1, [source.ctypes.data + i * block for i in range(group.size)], size,
                       [dest.ctypes.data + i * block for i in range(group.size)], size)
        return like(data, dest)

    def _blocks(self, call: str, data: Any) -> np.ndarray:
        source = _source(call, data)
        if source.ndim == 0 or source.shape[0] != self.n_pes:
            raise ValueError(f"{call}: the first axis must have one block for each of the {self.n_pes} members, but the shape is {source.shape}")
        return source

    def _exchange(self, kind: str, array: np.ndarray, count: int, root: int, to: list, sends: list, from_: list, expects: list) -> None:
        self._group(kind).exchange(KINDS[kind], type_number(array.dtype), count, array.shape, root, to, sends, from_, expects)


def world() -> Team:
    """The team of all PEs."""
    _core.require("world")
    return Team(1, _core.world_group())


class Context:
    """A domain of its own for order and completion: pass it as `context`. OpenSHMEM 1.6, "Communication Management Routines".

    `team`: PEs count in it (default: the world). The options are promises: `serialized`, one thread at a time uses it; `private`,
    the creating thread alone; `nostore`, quiet and fence needn't cover stores. Also a context manager, which destroys it.
    Raises RuntimeError if the library has no room for another.
    """

    def __init__(self, team: "Team | None" = None, *, serialized: bool = False, private: bool = False, nostore: bool = False) -> None:
        self._handle = 0
        _core.require("Context")
        members = world() if team is None else team
        self._n_pes = members.n_pes
        code, self._handle = _core.context_create(members._handle, serialized | private << 1 | nostore << 2)
        if code != 0:
            raise RuntimeError("Context: the library has no room for another context: destroy some")
        self._epoch = _core.epoch()
        members._contexts.add(self)

    def quiet(self) -> None:
        """Waits until all operations on this context are complete."""
        _core.require("quiet")
        _core.quiet(_handle(self))

    def fence(self) -> None:
        """Puts on this context to a PE before it arrive before those after it."""
        _core.require("fence")
        _core.fence(_handle(self))

    def destroy(self) -> None:
        """Completes everything on it and ends it."""
        if self._handle and _core.running() and self._epoch == _core.epoch():
            _core.context_destroy(self._handle)
        self._handle = 0

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.destroy()
