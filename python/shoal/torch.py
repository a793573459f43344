# SPDX-License-Identifier: Apache-2.0
"""A torch.distributed backend: ``import shoal.torch``, then ``dist.init_process_group("shoal")``.

For CPU tensors. Started by shoalrun, or by whatever sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Tensors on the
symmetric heap (:func:`empty` and :func:`zeros` here) move without a staging copy.
"""
from __future__ import annotations

import atexit
import collections
import datetime
import itertools
import os
import queue
import socket
import sys
import threading
import weakref
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist

import shoal

from . import _array, _core
from ._team import KINDS, OPERATIONS, give_back, without_slots
from ._torch_threads import serve, serve_transfers, started
from ._torch_work import CoalescedWork, TransferWork, Work

_TYPES = {torch.int8: 0, torch.int16: 1, torch.int32: 2, torch.int64: 3, torch.uint8: 4, torch.float32: 8, torch.float64: 9, torch.complex64: 11,
          torch.complex128: 12, torch.float16: 13, torch.bfloat16: _array.BFLOAT16, torch.bool: 15}
for _name, _number in (("uint16", 5), ("uint32", 6), ("uint64", 7)):
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = _number

_REDUCTIONS = {int(getattr(dist.ReduceOp.RedOpType, name)): operation for name, operation in (
    ("SUM", "sum"), ("AVG", "sum"), ("MAX", "max"), ("MIN", "min"), ("PRODUCT", "prod"), ("BAND", "and"), ("BOR", "or"), ("BXOR", "xor"),
    ("PREMUL_SUM", "sum"))}
_PLAIN = {kind: (OPERATIONS[operation], None, None) for kind, operation in _REDUCTIONS.items()}  # see _reduction
_AVERAGE, _PREMULTIPLIED = int(dist.ReduceOp.RedOpType.AVG), int(dist.ReduceOp.RedOpType.PREMUL_SUM)
_groups: "weakref.WeakSet" = weakref.WeakSet()
_serials = itertools.count()


@atexit.register
def _close() -> None:
    # A thread that came back from waiting after the interpreter's end could only be killed.
    for group in list(_groups):
        group._end_threads()


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor on the symmetric heap, with whatever the memory holds. Collective: the same shape and dtype on all PEs.

    It keeps its memory until all PEs have dropped theirs. Raises as :func:`shoal.empty`.
    """
    size = torch.Size(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    memory = _array.allocate(_TYPES.get(dtype, _array.BYTES), torch.empty(0, dtype=dtype).element_size(), size)
    return torch.frombuffer(memory, dtype=dtype, count=size.numel()).view(size) if size.numel() else torch.empty(size, dtype=dtype)


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """As :func:`empty`, filled with zeros on all PEs when it returns."""
    tensor = empty(*shape, dtype=dtype).zero_()
    shoal.sync()
    return tensor


def _check(call: str, tensor: Any) -> torch.Tensor:
    """`tensor` as plain memory, without its part in autograd."""
    if not tensor.is_cpu:
        raise ValueError(f"shoal: {call}: the tensor is on {tensor.device}: this backend moves CPU tensors; move it by .cpu(), or use another backend for it")
    if tensor.layout != torch.strided:
        raise ValueError(f"shoal: {call}: a {tensor.layout} tensor: dense ones only; see Tensor.to_dense()")
    if tensor.dtype not in _TYPES:
        raise TypeError(f"shoal: {call}: tensors of {tensor.dtype} can't be moved")
    return tensor.detach() if tensor.requires_grad else tensor


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _each(tensors: list) -> tuple[list, list]:
    """Addresses and bytes of contiguous tensors; zeros for None."""
    return [0 if t is None else t.data_ptr() for t in tensors], [0 if t is None else _bytes(t) for t in tensors]


def _parts(whole: torch.Tensor, n: int) -> tuple[list, list]:
    """Addresses and bytes of `n` equal parts of a contiguous tensor."""
    address, size = whole.data_ptr(), _bytes(whole) // n
    return [address + i * size for i in range(n)], [size] * n


def _rows(tensor: torch.Tensor, counts: list) -> tuple[list, list]:
    """Addresses and bytes of pieces of so many rows each, one after another, of a contiguous tensor."""
    row = _bytes(tensor) // max(tensor.size(0), 1)
    sizes = [count * row for count in counts]
    return [tensor.data_ptr() + offset for offset in itertools.accumulate(sizes[:-1], initial=0)], sizes


class ProcessGroup(dist.ProcessGroup):
    """The backend. Operations are carried out in order, by the calling thread where it waits at once, else by a thread of the
    group's; sends and receives match by rank and tag, apart from them."""

    _closed = True  # until it is made, and from shutdown on

    def __init__(self, store: Any, rank: int, size: int, timeout: datetime.timedelta) -> None:
        super().__init__(rank, size)
        if not _core.running():
            shoal.init()
        self._rank, self._n = rank, size  # what rank() and size() give, at a tenth of their cost
        self._seconds = timeout.total_seconds()
        slot = _core.take_slot(size)
        turn = store.add(f"shoal/turn/{rank}", 1)  # the same on all ranks: each has made as many groups with this store
        store.set(f"shoal/{turn}/{rank}", f"{_core.my_pe()} {slot} {next(_serials)}")
        members = [tuple(map(int, store.get(f"shoal/{turn}/{i}").decode().split())) for i in range(size)]
        pes, slots = [pe for pe, _, _ in members], [slot for _, slot, _ in members]
        wrong = without_slots(pes, slots)
        if len(set(pes)) != size or pes[rank] != _core.my_pe():
            wrong = f"the ranks of this process group are PEs {pes}: each rank must be a process of its own in one Shoal job"
        if wrong:
            give_back([slot])
            raise RuntimeError(f"shoal: {wrong}")
        self._members = _core.Group(pes, slots, f"a process group of {size}")
        self._members.set_timeout(self._seconds)
        self._pes, self._ranks = pes, {pe: i for i, pe in enumerate(pes)}
        self._number = hash(tuple(members)) & (1 << 63) - 1  # the same on all of them, and of no other group
        self._epoch = _core.epoch()
        self._lock = threading.RLock()     # held by who carries operations out
        self._queue: "collections.deque[Work]" = collections.deque()
        self._tokens: "queue.SimpleQueue" = queue.SimpleQueue()
        self._transfers: "queue.SimpleQueue" = queue.SimpleQueue()
        self._starting = threading.Lock()  # between threads that start these two
        self._thread: "Optional[threading.Thread]" = None
        self._transfer_thread: "Optional[threading.Thread]" = None
        self._ending = threading.Event()
        self._coalesced: "Optional[list[Work]]" = None  # begun since _start_coalescing()
        self._group_name = self._description = ""
        self._closed = False
        _groups.add(self)

    def __del__(self, exits: "Callable[[], bool]" = sys.is_finalizing) -> None:
        if not self._closed and not exits():
            self.shutdown()  # PyTorch 1.13 just drops a group that is destroyed

    # ---- carrying operations out

    def _require(self) -> None:
        if self._closed:
            raise RuntimeError("shoal: the process group was destroyed")
        if self._epoch != _core.epoch():
            raise RuntimeError("shoal: the process group is of a job that shoal.finalize() ended")

    def _submit(self, options: Any, action: "Callable[[], None]", result: list) -> Work:
        self._require()
        if getattr(options, "asyncOp", True):
            work = Work(self, action, result)
            self._queue.append(work)
            with self._starting:
                if self._thread is None:
                    self._thread = started("shoal", serve, self._tokens)
            self._tokens.put(work)
            return self._begun(work)
        with self._lock:
            if self._queue:
                self._run_queue(None)
            action()
        return Work(None, None, result)

    def _begun(self, work: Work) -> Work:
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def _run_queue(self, last: "Optional[Work]") -> None:
        while self._queue:
            work = self._queue.popleft()
            work._run()
            if work is last:
                return

    def _run_until(self, work: Work) -> None:
        with self._lock:
            if not work._done:
                self._run_queue(work)

    def _end_threads(self) -> None:
        """Once they have done what was asked of them."""
        self._ending.set()
        self._tokens.put(None)
        self._transfers.put(None)
        for thread in (self._thread, self._transfer_thread):
            if thread is not None and thread is not threading.current_thread():
                thread.join(2.0)

    def shutdown(self, *unused: Any) -> None:
        """Ends the group, once its threads have done what was asked of them."""
        self._closed = True
        self._end_threads()
        if self._thread is None or not self._thread.is_alive():
            self._members = None  # which gives its place in the work area back

    # ---- reductions

    def _average(self, dtype: torch.dtype) -> "tuple[Optional[Callable], Optional[Callable]]":
        """What to do to a tensor before its sum, and after."""
        size = self._n
        if dtype == torch.bool:
            raise TypeError("shoal: bools have no average: convert them to numbers first")
        if dtype == torch.float16:  # the sum might be beyond its largest number
            return lambda t: t.div_(size), None
        return None, lambda t: t.div_(size) if t.is_floating_point() or t.is_complex() else t.div_(size, rounding_mode="trunc")

    def _reduction(self, options: Any, dtype: torch.dtype) -> tuple[int, "Optional[Callable]", "Optional[Callable]"]:
        """The library's operation; what to do to a tensor before it, and after."""
        if options is None:
            return OPERATIONS["sum"], None, None
        kind = int(options.reduceOp.op)
        if kind == _AVERAGE:
            return (OPERATIONS["sum"], *self._average(dtype))
        if kind == _PREMULTIPLIED:
            if not hasattr(options.reduceOp, "factor"):
                raise ValueError("shoal: this PyTorch does not tell the factor of a premultiplied sum: multiply before a plain sum")
            factor = options.reduceOp.factor
            return OPERATIONS["sum"], lambda t: t.mul_(factor), None
        return _PLAIN[kind]

    def _all_reduce(self, tensor: torch.Tensor, reduction: tuple) -> None:
        op, before, after = reduction
        flat = tensor if tensor.is_contiguous() else tensor.contiguous()
        if before:
            flat = before(flat)
        address = flat.data_ptr()
        self._members.all_reduce(address, address, _TYPES[flat.dtype], flat.numel(), (), op)
        if after:
            after(flat)
        if flat is not tensor:
            tensor.copy_(flat)

    def allreduce(self, tensors: list, opts: Any = None) -> Work:
        """dist.all_reduce"""
        if not isinstance(tensors, (list, tuple)):
            tensors = [tensors]
        tensor = tensors[0]
        reduction = self._reduction(opts, tensor.dtype)
        if len(tensors) == 1 and reduction[1] is None and reduction[2] is None and tensor.is_contiguous() and tensor.is_cpu and \
                tensor.dtype in _TYPES and tensor.layout == torch.strided:
            address, kind, count, op = tensor.data_ptr(), _TYPES[tensor.dtype], tensor.numel(), reduction[0]
            return self._submit(opts, lambda: self._members.all_reduce(address, address, kind, count, (), op), [tensor])
        pairs = [(_check("all_reduce", one), self._reduction(opts, one.dtype)) for one in tensors]
        return self._submit(opts, lambda: [self._all_reduce(*pair) for pair in pairs] and None, list(tensors))

    allreduce_coalesced = allreduce

    def reduce(self, tensors: list, opts: Any) -> Work:
        """dist.reduce"""
        tensor, (op, before, after), root = _check("reduce", tensors[0]), self._reduction(opts, tensors[0].dtype), opts.rootRank
        self._check_rank("reduce", root)

        def action() -> None:
            flat = tensor.contiguous()
            if before:
                flat = before(flat.clone())
            address = flat.data_ptr()
            self._members.reduce(address, address, _TYPES[flat.dtype], flat.numel(), (), op, root)
            if self._rank == root:
                if after:
                    after(flat)
                if flat is not tensor:
                    tensor.copy_(flat)

        return self._submit(opts, action, [tensors[0]])

    def _reduce_scatter(self, output: torch.Tensor, inputs: list, reduction: tuple) -> None:
        """`inputs`: a tensor for each rank, or the one whole of them."""
        op, before, after = reduction
        flats = [one.contiguous() for one in inputs]
        if before:
            flats = [before(one.clone()) for one in flats]
        into = output if output.is_contiguous() else torch.empty_like(output, memory_format=torch.contiguous_format)
        sources, _ = _parts(flats[0], self._n) if len(flats) == 1 else _each(flats)
        self._members.reduce_scatter(into.data_ptr(), sources, _TYPES[into.dtype], into.numel(), (), op)
        if after:
            after(into)
        if into is not output:
            output.copy_(into)

    def reduce_scatter(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """dist.reduce_scatter"""
        output, reduction = _check("reduce_scatter", outputs[0]), self._reduction(opts, outputs[0].dtype)
        pieces = self._check_pieces("reduce_scatter", inputs[0], output)
        return self._submit(opts, lambda: self._reduce_scatter(output, pieces, reduction), [outputs[0]])

    def _reduce_scatter_base(self, output: torch.Tensor, input_: torch.Tensor, opts: Any = None) -> Work:
        """dist.reduce_scatter_tensor"""
        reduction = self._reduction(opts, output.dtype)
        whole, piece = self._check_whole("reduce_scatter", input_, output)
        return self._submit(opts, lambda: self._reduce_scatter(piece, [whole], reduction), [output])

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """Several of them at once."""
        triples = [(*self._check_whole("reduce_scatter", input_, output), self._reduction(opts, output.dtype)) for output, input_ in zip(outputs, inputs)]
        return self._submit(opts, lambda: [self._reduce_scatter(piece, [whole], reduction) for whole, piece, reduction in triples] and None, list(outputs))

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    # ---- movements

    def _check_rank(self, call: str, rank: int) -> None:
        if not 0 <= rank < self._n:
            raise IndexError(f"shoal: {call}: rank {rank} is out of range: this group has ranks 0 to {self._n - 1}")

    def _check_pieces(self, call: str, pieces: list, like: torch.Tensor) -> list:
        if len(pieces) != self._n:
            raise ValueError(f"shoal: {call}: {len(pieces)} tensors for {self._n} ranks: one for each is needed")
        checked = [_check(call, piece) for piece in pieces]
        for piece in checked:
            if piece.numel() != like.numel() or piece.dtype != like.dtype:
                raise ValueError(f"shoal: {call}: a tensor of {tuple(piece.shape)} {piece.dtype} beside one of {tuple(like.shape)} {like.dtype}")
        return checked

    def _check_whole(self, call: str, whole: torch.Tensor, piece: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if whole.numel() != piece.numel() * self._n or whole.dtype != piece.dtype:
            raise ValueError(f"shoal: {call}: {tuple(whole.shape)} {whole.dtype} is not {self._n} times {tuple(piece.shape)} {piece.dtype}")
        return _check(call, whole), _check(call, piece)

    def _exchange(self, kind: str, dtype: torch.dtype, count: int, root: int, to: tuple[list, list], from_: tuple[list, list]) -> None:
        """What goes to each rank and comes from it: addresses and bytes, zeros for nothing."""
        self._members.exchange(KINDS[kind], _TYPES[dtype], count, (), root, *to, *from_)

    def _only(self, rank: int, tensor: torch.Tensor) -> tuple[list, list]:
        """`tensor`, contiguous, for one rank alone."""
        return _each([tensor if i == rank else None for i in range(self._n)])

    @staticmethod
    def _into(tensors: list, run: "Callable[[list], None]") -> None:
        """Runs with contiguous tensors in place of `tensors`, which get what those then hold."""
        flats = [t if t is None or t.is_contiguous() else t.contiguous() for t in tensors]
        run(flats)
        for tensor, flat in zip(tensors, flats):
            if flat is not tensor:
                tensor.copy_(flat)

    def broadcast(self, tensors: list, opts: Any) -> Work:
        """dist.broadcast"""
        tensor, root, me = _check("broadcast", tensors[0]), opts.rootRank, self._rank
        self._check_rank("broadcast", root)

        def run(flat: list) -> None:
            nothing, others = _each([None] * self._n), _each([None if i == me else flat[0] for i in range(self._n)])
            to, from_ = (others, nothing) if me == root else (nothing, self._only(root, flat[0]))
            self._exchange("broadcast", tensor.dtype, tensor.numel(), root, to, from_)

        return self._submit(opts, lambda: self._into([tensor], run), [tensors[0]])

    def _all_gather(self, outputs: list, tensor: torch.Tensor) -> None:
        source = tensor.contiguous()
        self._into(outputs, lambda flats: self._exchange("all_gather", tensor.dtype, tensor.numel(), -1, _each([source] * self._n), _each(flats)))

    def allgather(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """dist.all_gather"""
        tensor = _check("all_gather", inputs[0])
        pieces = self._check_pieces("all_gather", outputs[0], tensor)
        return self._submit(opts, lambda: self._all_gather(pieces, tensor), [list(outputs[0])])

    def allgather_coalesced(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """dist.all_gather_coalesced: outputs[rank][i] is that rank's inputs[i]"""
        tensors = [_check("all_gather", tensor) for tensor in inputs]
        columns = [self._check_pieces("all_gather", [row[i] for row in outputs], tensor) for i, tensor in enumerate(tensors)]
        return self._submit(opts, lambda: [self._all_gather(c, t) for c, t in zip(columns, tensors)] and None, list(outputs))

    def _gather_whole(self, output: torch.Tensor, input_: torch.Tensor) -> None:
        source = input_.contiguous()
        self._into([output], lambda flats: self._exchange("all_gather", input_.dtype, input_.numel(), -1, _each([source] * self._n), _parts(flats[0], self._n)))

    def _allgather_base(self, output: torch.Tensor, input_: torch.Tensor, opts: Any = None) -> Work:
        """dist.all_gather_into_tensor"""
        whole, piece = self._check_whole("all_gather", output, input_)
        return self._submit(opts, lambda: self._gather_whole(whole, piece), [output])

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """Several of them at once."""
        pairs = [self._check_whole("all_gather", output, input_) for output, input_ in zip(outputs, inputs)]
        return self._submit(opts, lambda: [self._gather_whole(whole, piece) for whole, piece in pairs] and None, list(outputs))

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def gather(self, outputs: list, inputs: list, opts: Any) -> Work:
        """dist.gather"""
        tensor, root = _check("gather", inputs[0]), opts.rootRank
        self._check_rank("gather", root)
        pieces = self._check_pieces("gather", outputs[0], tensor) if self._rank == root else [None] * self._n

        def action() -> None:
            source = tensor.contiguous()
            self._into(pieces, lambda flats: self._exchange("gather", tensor.dtype, tensor.numel(), root, self._only(root, source), _each(flats)))

        return self._submit(opts, action, [list(outputs[0])] if self._rank == root else [])

    def scatter(self, outputs: list, inputs: list, opts: Any) -> Work:
        """dist.scatter"""
        output, root = _check("scatter", outputs[0]), opts.rootRank
        self._check_rank("scatter", root)
        pieces = self._check_pieces("scatter", inputs[0], output) if self._rank == root else [None] * self._n

        def action() -> None:
            to = [None if piece is None else piece.contiguous() for piece in pieces]
            self._into([output], lambda flats: self._exchange("scatter", output.dtype, output.numel(), root, _each(to), self._only(root, flats[0])))

        return self._submit(opts, action, [outputs[0]])

    def alltoall(self, outputs: list, inputs: list, opts: Any = None) -> Work:
        """dist.all_to_all"""
        for tensors in (outputs, inputs):
            if len(tensors) != self._n:
                raise ValueError(f"shoal: all_to_all: {len(tensors)} tensors for {self._n} ranks: one for each is needed")
        outs, ins = [_check("all_to_all", tensor) for tensor in outputs], [_check("all_to_all", tensor) for tensor in inputs]

        def action() -> None:
            sources = [t.contiguous() for t in ins]
            self._into(outs, lambda flats: self._exchange("all_to_all", sources[0].dtype, 0, -1, _each(sources), _each(flats)))

        return self._submit(opts, action, list(outputs))

    def alltoall_base(self, output: torch.Tensor, input_: torch.Tensor, output_sizes: list, input_sizes: list, opts: Any = None) -> Work:
        """dist.all_to_all_single"""
        def counts(name: str, tensor: torch.Tensor, sizes: list) -> list:
            """Rows for each rank."""
            if not sizes:
                if tensor.dim() == 0 or tensor.size(0) % self._n:
                    raise ValueError(f"shoal: all_to_all_single: {name} of shape {tuple(tensor.shape)} can't be split among {self._n} ranks")
                sizes = [tensor.size(0) // self._n] * self._n
            if len(sizes) != self._n or sum(sizes) != tensor.size(0) or min(sizes) < 0:
                raise ValueError(f"shoal: all_to_all_single: {name} of shape {tuple(tensor.shape)} can't be split into {list(sizes)}")
            return list(sizes)

        into, source = _check("all_to_all", output), _check("all_to_all", input_)
        if into.dtype != source.dtype:
            raise TypeError(f"shoal: all_to_all_single: output is {output.dtype}, input {input_.dtype}")
        receives, sends = counts("output", output, output_sizes), counts("input", input_, input_sizes)

        def run(flats: list) -> None:
            flat = source.contiguous()
            self._exchange("all_to_all", flat.dtype, 0, -1, _rows(flat, sends), _rows(flats[0], receives))

        return self._submit(opts, lambda: self._into([into], run), [output])

    all_to_all_single = alltoall_base

    def barrier(self, opts: Any = None) -> Work:
        """dist.barrier"""
        return self._submit(opts, lambda: self._members.barrier(), [])  # pylint: disable=unnecessary-lambda  # none once it is closed

    # ---- point to point

    def _start(self, work: TransferWork) -> Work:
        if not work.is_completed():
            with self._starting:
                if self._transfer_thread is None:
                    self._transfer_thread = started("shoal transfers", serve_transfers, self._transfers, self._ending)
            self._transfers.put(work)
        return self._begun(work)

    def send(self, tensors: list, rank: int, tag: int = 0) -> Work:
        """dist.isend"""
        self._require()
        self._check_rank("send", rank)
        flat = _check("send", tensors[0]).contiguous()
        transfer = _core.start_send(self._pes[rank], self._number, tag, flat.data_ptr(), _bytes(flat))
        return self._start(TransferWork(self, transfer, tensors[0], None, flat))

    def _receive(self, tensor: torch.Tensor, pe: int, tag: int) -> Work:
        self._require()
        checked = _check("recv", tensor)
        flat = checked if tensor.is_contiguous() else torch.empty_like(checked, memory_format=torch.contiguous_format)
        transfer = _core.start_receive(pe, self._pes, self._number, tag, flat.data_ptr(), _bytes(flat))
        return self._start(TransferWork(self, transfer, tensor, None if flat is checked else flat, flat))

    def recv(self, tensors: list, rank: int, tag: int = 0) -> Work:
        """dist.irecv"""
        self._check_rank("recv", rank)
        return self._receive(tensors[0], self._pes[rank], tag)

    def recv_anysource(self, tensors: list, tag: int = 0) -> Work:
        """dist.irecv from any rank"""
        return self._receive(tensors[0], -1, tag)

    # ---- names and hooks that torch asks for

    def getBackendName(self) -> str:  # pylint: disable=invalid-name
        """The backend's name."""
        return "shoal"

    name = getBackendName

    # torch 2 keeps names in the backends of a group, of which this one has none: it is its own.
    def _set_group_name(self, name: str) -> None:
        self._group_name = name

    def getGroupName(self) -> str:  # pylint: disable=invalid-name
        """The name that torch knows the group by."""
        return self._group_name

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def getGroupDesc(self) -> str:  # pylint: disable=invalid-name
        """What the group is for, as given to new_group."""
        return self._description

    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    def _start_coalescing(self, *unused: Any) -> None:
        self._coalesced = []

    def _end_coalescing(self, *unused: Any) -> Work:
        works, self._coalesced = self._coalesced or [], None
        return CoalescedWork(works)

    def _set_sequence_number_for_group(self) -> None:
        pass

    def _get_sequence_number_for_group(self) -> int:
        return 0


def _create(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> ProcessGroup:
    return ProcessGroup(store, rank, size, timeout)


def _rendezvous(url: str, *unused: Any, timeout: datetime.timedelta = datetime.timedelta(minutes=30), **more: Any) -> Any:
    """shoal://: the job itself tells ranks and size, and where PE 0's store listens."""
    if not _core.running():
        shoal.init()
    rank, size = _core.my_pe(), _core.n_pes()
    host = "127.0.0.1" if all(_core.maps(pe) for pe in range(size)) else socket.gethostname()
    store = dist.TCPStore(host, 0, size, True, timeout, wait_for_workers=False) if rank == 0 else None
    address = f"{host} {store.port}".encode() if store is not None else b""
    host, port = _core.world_group().share(address)[0].decode().split()
    if store is None:
        store = dist.TCPStore(host, int(port), size, False, timeout, wait_for_workers=False)
    yield store, rank, size


def _register() -> None:
    try:
        dist.Backend.register_backend("shoal", _create, devices=["cpu"])
    except TypeError:  # PyTorch 1.13 knows no devices
        dist.Backend.register_backend("shoal", _create)
    dist.register_rendezvous_handler("shoal", _rendezvous)
    if "SHOAL_PE" not in os.environ or "RANK" in os.environ:
        return
    # Started by shoalrun: programs that ask for their rank, or start by env://, the default, find what torchrun would give.
    for name, value in zip(("RANK", "WORLD_SIZE"), shoal._launched()):
        os.environ[name] = str(value)
    os.environ.setdefault("LOCAL_RANK", os.environ["RANK"])
    handlers = dist.rendezvous.__globals__["_rendezvous_handlers"]
    env = handlers["env"]
    handlers["env"] = lambda url, *rest, **more: (env if "MASTER_ADDR" in os.environ else _rendezvous)(url, *rest, **more)


_register()
