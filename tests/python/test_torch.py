# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend: every operation and dtype against what it should give, and training against Gloo."""
import datetime
import gc
import os
import random
import socket
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError) if pytest.version_tuple >= (8, 2) else pytest.importorskip("torch")
import torch.distributed as dist  # pylint: disable=wrong-import-position

from pes import environment, job, on_pes  # pylint: disable=wrong-import-position

MODERN = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 0)
SIZES = [0, 1, 1000, 300_001]
DTYPES = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def start():
    """(rank, size); the first test of a job makes the process group."""
    import shoal.torch  # pylint: disable=import-outside-toplevel
    if not dist.is_initialized():
        torch.set_num_threads(1)
        dist.init_process_group("shoal", timeout=datetime.timedelta(seconds=60))
    return dist.get_rank(), dist.get_world_size()


def values(rank, size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(rank + 1)
    return torch.randint(0, 4, (size,), generator=generator).to(dtype)


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


@on_pes(1, 2, 3)
def test_all_reduce_of_all_dtypes_sizes_and_operations():
    me, n = start()
    for dtype in DTYPES:
        for size in SIZES:
            tensor = values(me, size, dtype)
            dist.all_reduce(tensor)
            assert equal(tensor, sum(values(r, size).double() for r in range(n)).to(dtype)), (dtype, size)
    stacked = torch.stack([values(r, 50, torch.int32) for r in range(n)])
    wanted = {dist.ReduceOp.MAX: stacked.amax(0), dist.ReduceOp.MIN: stacked.amin(0), dist.ReduceOp.PRODUCT: stacked.prod(0).int()}
    for op, function in ((dist.ReduceOp.BAND, torch.bitwise_and), (dist.ReduceOp.BOR, torch.bitwise_or), (dist.ReduceOp.BXOR, torch.bitwise_xor)):
        total = stacked[0]
        for row in stacked[1:]:
            total = function(total, row)
        wanted[op] = total
    for op, result in wanted.items():
        tensor = values(me, 50, torch.int32)
        dist.all_reduce(tensor, op)
        assert equal(tensor, result), op
    average = values(me, 50)
    dist.all_reduce(average, dist.ReduceOp.AVG)
    assert torch.allclose(average, stacked.float().mean(0))
    if hasattr(dist, "_make_nccl_premul_sum") and hasattr(dist._make_nccl_premul_sum(0.5), "factor"):
        scaled = values(me, 50)
        dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
        assert torch.allclose(scaled, stacked.float().sum(0) / 2)
    flags = torch.tensor([me == 0, True, False])
    dist.all_reduce(flags)
    assert flags.tolist() == [True, True, False]
    complexes = torch.full((3,), 1 + 2j)
    dist.all_reduce(complexes)
    assert complexes.tolist() == [n * (1 + 2j)] * 3


@on_pes(2, 3)
def test_strided_tensors_and_tensors_on_the_heap():
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, n = start()
    wide = torch.zeros(400, 6)
    wide[:, ::2] = me + 1.0
    dist.all_reduce(wide[:, ::2])
    assert (wide[:, ::2] == n * (n + 1) / 2).all() and (wide[:, 1::2] == 0).all()
    for shape in ((3, 5), (1000, 700)):
        on_heap = shoal.torch.zeros(*shape)
        assert shoal.is_symmetric(on_heap) and on_heap.shape == shape
        on_heap += me
        dist.all_reduce(on_heap)
        assert (on_heap == n * (n - 1) / 2).all()
    source = shoal.torch.zeros(100_000, dtype=torch.bfloat16) + me
    gathered = [torch.empty_like(source) for _ in range(n)]
    dist.all_gather(gathered, source)
    assert all((gathered[r] == r).all() for r in range(n))
    parameter = shoal.torch.zeros(4).requires_grad_()
    shoal.put(parameter, torch.arange(4.0), (me + 1) % n)
    shoal.barrier()
    assert parameter.tolist() == [0, 1, 2, 3]


@on_pes(1, 2, 3)
def test_movements():
    me, n = start()
    for size in SIZES:
        for dtype in (torch.int16, torch.float32):
            parts = [values(r, size, dtype) for r in range(n)]
            root = random.randrange(n)
            tensor = parts[me].clone()
            dist.broadcast(tensor, root)
            assert equal(tensor, parts[root])
            outputs = [torch.empty_like(parts[0]) for _ in range(n)]
            dist.all_gather(outputs, parts[me])
            assert all(map(equal, outputs, parts))
            outputs = [torch.empty_like(parts[0]) for _ in range(n)] if me == root else None
            dist.gather(parts[me], outputs, root)
            assert outputs is None or all(map(equal, outputs, parts))
            output = torch.empty_like(parts[0])
            dist.scatter(output, parts if me == root else None, root)
            assert equal(output, parts[me])
            total = parts[me].clone()
            dist.reduce(total, root)
            assert me != root or equal(total, sum(parts))
            outputs = [torch.empty_like(parts[0]) for _ in range(n)]
            dist.all_to_all(outputs, [parts[me] + i for i in range(n)])
            assert all(equal(outputs[r], parts[r] + me) for r in range(n))
            output = torch.empty_like(parts[0])
            dist.reduce_scatter(output, [parts[me] + i for i in range(n)])
            assert equal(output, sum(parts) + n * me)
            whole = torch.empty(n * size, dtype=dtype)
            getattr(dist, "all_gather_into_tensor", getattr(dist, "_all_gather_base", None))(whole, parts[me])
            assert equal(whole, torch.cat(parts))
            getattr(dist, "reduce_scatter_tensor", getattr(dist, "_reduce_scatter_base", None))(output, torch.cat([parts[me] + i for i in range(n)]))
            assert equal(output, sum(parts) + n * me)


@on_pes(2, 3)
def test_all_to_all_single_with_uneven_splits():
    me, n = start()
    output = torch.empty(n * 4, 3)
    dist.all_to_all_single(output, torch.full((n * 4, 3), float(me)))
    assert equal(output, torch.arange(n).repeat_interleave(4)[:, None].expand(-1, 3).float())
    sends = [(me + 1) * (i + 1) for i in range(n)]
    expects = [(r + 1) * (me + 1) for r in range(n)]
    output = torch.empty(sum(expects), 2)
    dist.all_to_all_single(output, torch.full((sum(sends), 2), float(me)), expects, sends)
    assert equal(output[:, 0], torch.repeat_interleave(torch.arange(n), torch.tensor(expects)).float())


@on_pes(2, 3)
def test_send_and_receive_match_by_rank_and_tag():
    me, n = start()
    right, left = (me + 1) % n, (me - 1) % n
    for size in (0, 1, 1000, 700_000):
        incoming = torch.empty(size)
        works = [dist.isend(values(me, size), right, tag=3), dist.irecv(incoming, left, tag=3)]
        for work in works:
            work.wait()
        assert equal(incoming, values(left, size))
    sent = [dist.isend(torch.full((10,), float(tag)), right, tag=tag) for tag in range(5)]
    got = {tag: torch.empty(10) for tag in range(5)}
    for tag in (4, 2, 0, 1, 3):
        dist.recv(got[tag], left, tag=tag)
        assert (got[tag] == tag).all()
    for work in sent:
        work.wait()
    if me == 0:
        seen = set()
        for _ in range(n - 1):
            tensor = torch.empty(1, dtype=torch.int64)
            source = dist.recv(tensor)
            assert tensor.item() == source
            seen.add(source)
        assert seen == set(range(1, n))
    else:
        dist.send(torch.tensor([me]), 0)
    with_strides = torch.zeros(6, 2)
    work = dist.isend(torch.arange(12.0).view(6, 2)[:, 1], right, tag=9)  # not for those who receive from anyone
    dist.recv(with_strides[:, 0], left, tag=9)
    work.wait()
    assert with_strides[:, 0].tolist() == [1, 3, 5, 7, 9, 11] and (with_strides[:, 1] == 0).all()


@on_pes(2)
def test_large_sends_go_on_while_the_sender_is_elsewhere():
    me, _ = start()
    large = torch.arange(3_000_000.0)
    if me == 0:
        work = dist.isend(large, 1)
        dist.all_reduce(torch.ones(10))  # PE 1 comes here only when it has everything
        work.wait()
    else:
        incoming = torch.empty_like(large)
        dist.recv(incoming, 0)
        assert equal(incoming, large)
        dist.all_reduce(torch.ones(10))


@on_pes(2, 3)
def test_asynchronous_operations_and_futures():
    me, n = start()
    tensors = [torch.full((1000 * i + 1,), float(me)) for i in range(30)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    called = threading.Event()
    future = works[7].get_future().then(lambda done: (called.set(), done.value()[0] * 2)[1])
    assert equal(future.wait(), torch.full((7001,), float(n * (n - 1))))
    assert called.is_set()
    for work, tensor in zip(reversed(works), reversed(tensors)):
        assert work.wait() and work.is_completed() and (tensor == n * (n - 1) / 2).all()
    work = dist.broadcast(torch.full((5,), float(me)), 0, async_op=True)
    work.get_future().wait()
    work = dist.barrier(async_op=True)
    work.wait()


@on_pes(2, 4)
def test_groups_of_some_ranks():
    me, n = start()
    groups = {"evens": dist.new_group(list(range(0, n, 2))), "backwards": dist.new_group(list(range(n))), "two": dist.new_group([0, n - 1])}
    for name, ranks in (("evens", list(range(0, n, 2))), ("two", [0, n - 1])):
        if me in ranks:
            tensor = torch.tensor([float(me)])
            dist.all_reduce(tensor, group=groups[name])
            assert tensor.item() == sum(ranks)
            tensor = torch.tensor([float(me)])
            dist.broadcast(tensor, ranks[-1], group=groups[name])
            assert tensor.item() == ranks[-1]
    outer, inner = torch.ones(1), torch.ones(1)
    works = [dist.all_reduce(outer, async_op=True), dist.all_reduce(inner, group=groups["backwards"], async_op=True)]
    for work in reversed(works):
        work.wait()
    assert outer.item() == inner.item() == n


@on_pes(2)
def test_objects():
    me, n = start()
    everyone = [None] * n
    dist.all_gather_object(everyone, {"rank": me, "text": "x" * 1000 * me})
    assert [one["rank"] for one in everyone] == list(range(n))
    objects = [("from", me)]
    dist.broadcast_object_list(objects, 1)
    assert objects == [("from", 1)]


@on_pes(2)
def test_mistakes_raise_and_the_group_goes_on():
    me, _ = start()
    with pytest.raises(ValueError, match=r"PE 0 has all_reduce of 3 elements of float32, sum") as caught:
        dist.all_reduce(torch.zeros(3 + me))
    assert "4 elements" in str(caught.value)
    with pytest.raises(ValueError, match="float64"):
        dist.all_reduce(torch.zeros(3, dtype=torch.float32 if me else torch.float64))
    with pytest.raises(ValueError, match="sends"):
        dist.all_to_all_single(torch.empty(4), torch.empty(4), [2, 2], [1, 3] if me == 0 else [2, 2])
    with pytest.raises(ValueError, match="sent 12 bytes.*receives 16"):
        if me == 0:
            dist.send(torch.zeros(3), 1)
            raise ValueError("PE 0 sent 12 bytes, PE 1 receives 16: told to the receiver")
        dist.recv(torch.zeros(4), 0)
    with pytest.raises(Exception, match="no operation"):
        dist.all_reduce(torch.zeros(3), dist.ReduceOp.BAND)
    with pytest.raises(ValueError, match="meta"):
        dist.all_reduce(torch.zeros(3, device="meta"))
    with pytest.raises(Exception, match="parse"):
        dist.all_reduce(torch.zeros(3).to_sparse())
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor.item() == 2


@on_pes(2)
def test_a_partner_that_does_not_come_is_a_timeout():
    me, _ = start()
    group = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=1))
    if me == 0:
        with pytest.raises(TimeoutError, match="PE 0 waited 1 s for PE 1"):
            dist.all_reduce(torch.zeros(3), group=group)
        with pytest.raises(RuntimeError, match="can't be used any more"):
            dist.all_reduce(torch.zeros(3), group=group)


@on_pes(2)
def test_a_receive_that_timed_out_takes_no_later_message():
    me, _ = start()
    group = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=1))
    got = torch.zeros(2)
    if me == 0:
        lost = torch.zeros(2)
        with pytest.raises(TimeoutError, match="PE 1 with tag 3"):
            dist.recv(lost, 1, group=group, tag=3)
        dist.barrier()
        dist.barrier()
        dist.recv(got, 1, group=group, tag=3)
        assert got.tolist() == [7, 7] and lost.tolist() == [0, 0]
    else:
        dist.barrier()
        work = dist.isend(torch.full((2,), 7.0), 0, group=group, tag=3)
        dist.barrier()
        work.wait()


@on_pes(2)
def test_groups_made_again_on_one_store_read_no_old_keys():
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, n = start()
    store = dist.PrefixStore("again", dist.distributed_c10d._get_default_store())
    for turn in range(20):
        rank = (me + turn) % n
        group = shoal.torch.ProcessGroup(store, rank, n, datetime.timedelta(seconds=60))
        outputs = [torch.empty(1) for _ in range(n)]
        group.allgather([outputs], [torch.tensor([float(me)])]).wait()
        assert [(int(output) + turn) % n for output in outputs] == list(range(n))
        group.shutdown()


@on_pes(2)
def test_a_rank_in_too_many_groups_is_an_error_on_all_of_them():
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, _ = start()
    store = dist.PrefixStore("full", dist.distributed_c10d._get_default_store())
    taken = []
    while me == 0 and (slot := shoal._core.take_slot(1)) >= 0:
        taken.append(slot)
    for _ in range(100):
        with pytest.raises(RuntimeError, match=r"PEs \[0\] are in too many"):
            shoal.torch.ProcessGroup(store, me, 2, datetime.timedelta(seconds=20))
    for slot in taken:
        shoal._core.give_back_slot(slot)
    shoal.torch.ProcessGroup(store, me, 2, datetime.timedelta(seconds=20)).shutdown()


@on_pes(2, 3)
def test_averages_stay_within_the_dtype():
    me, n = start()
    most = torch.full((1000,), 60_000.0, dtype=torch.float16)
    average = dist.ReduceOp.AVG
    for dtype in (torch.float16, torch.bfloat16):
        wanted = most.to(dtype)
        total, output = wanted.clone(), torch.empty_like(wanted)
        dist.all_reduce(total, average)
        assert torch.allclose(total, wanted, rtol=0.01), (dtype, total[0])
        total = wanted.clone()
        dist.reduce(total, 0, average)
        assert me != 0 or torch.allclose(total, wanted, rtol=0.01)
        inputs = [wanted.clone() for _ in range(n)]
        dist.reduce_scatter(output, inputs, average)
        assert torch.allclose(output, wanted, rtol=0.01) and all(equal(one, wanted) for one in inputs)
        output.zero_()
        getattr(dist, "reduce_scatter_tensor", getattr(dist, "_reduce_scatter_base", None))(output, torch.cat(inputs), average)
        assert torch.allclose(output, wanted, rtol=0.01)
    with pytest.raises(TypeError, match="bools have no average"):
        if me == 0:  # it waits for nobody
            dist.all_reduce(torch.ones(3, dtype=torch.bool), average)
        raise TypeError("bools have no average")


@on_pes(2)
def test_coalesced_operations_are_waited_for():
    import shoal  # pylint: disable=import-outside-toplevel
    me, n = start()
    group = dist.distributed_c10d._get_default_group()
    device = torch.device("cpu")
    if me == 1:
        shoal.sync()
    for ask in ("wait", "future"):
        total, incoming, piece = torch.ones(1000), torch.zeros(100_000), torch.zeros(3)
        group._start_coalescing(device)
        dist.isend(torch.full((100_000,), float(me)), 1 - me, tag=5)
        dist.irecv(incoming, 1 - me, tag=5)
        dist.broadcast(piece, 0, async_op=True)
        group.allreduce_coalesced([total]) if me else dist.all_reduce(total, async_op=True)
        work = group._end_coalescing(device)
        if me == 0 and ask == "wait":
            assert not work.is_completed() and not work.is_success()
            with pytest.raises(TimeoutError):
                work.wait(datetime.timedelta(seconds=0.1))
            shoal.sync()
        result = work.get_future().wait() if ask == "future" else work.wait() and work.result()
        assert [len(tensor) for tensor in result] == [100_000, 100_000, 3, 1000]
        assert work.is_success() and work.exception() is None
        assert (total == n).all() and (incoming == 1 - me).all()
    assert group._end_coalescing(device).wait()  # of nothing


@on_pes(2)
def test_each_transfers_future_completes_with_it():
    me, _ = start()
    late = torch.zeros(1)
    receive = dist.irecv(late, 1 - me, tag=31)
    pending = receive.get_future()
    soon = [dist.irecv(torch.zeros(1), 1 - me, tag=32 + i).get_future() for i in range(3)]
    for i in (2, 0, 1):
        dist.send(torch.ones(1), 1 - me, tag=32 + i)
        assert soon[i].wait()[0].item() == 1 and not pending.done()
    dist.barrier()
    dist.send(torch.ones(1), 1 - me, tag=31)
    assert pending.wait()[0].item() == 1


@on_pes(2)
def test_tensors_that_ranks_make_otherwise_are_named():
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, _ = start()
    with pytest.raises(ValueError, match=r"PE 0 has an allocation of shape \(3, 4\) of float32.*\(3, 5\) of float32|"
                                         r"PE 1 has an allocation of shape \(3, 5\) of float32.*\(3, 4\) of float32"):
        shoal.torch.empty(3, 4 + me)
    with pytest.raises(ValueError, match="bfloat16"):
        shoal.torch.zeros(8, dtype=torch.bfloat16 if me else torch.float16)
    with pytest.raises(MemoryError, match="no room for 4398046511104 bytes"):
        shoal.torch.empty(1 << 20, 1 << 20)
    assert shoal.torch.empty(0, 3).shape == (0, 3) and shoal.torch.zeros((2, 3), dtype=torch.bfloat16).sum() == 0


@on_pes(2)
def test_bfloat16_outside_the_backend_is_told_where_to_go():
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, n = start()
    tensor = shoal.torch.zeros(4, dtype=torch.bfloat16)
    for call in (lambda: shoal.put(tensor, tensor, 0), lambda: shoal.all_reduce(tensor), lambda: shoal.get(tensor, 0)):
        with pytest.raises(TypeError, match=r"NumPy has no torch.bfloat16.*view\(torch.int16\).*shoal.torch"):
            call()
    shoal.put(tensor.view(torch.int16), torch.full((4,), 2.5 + me, dtype=torch.bfloat16).view(torch.int16), (me + 1) % n)
    shoal.barrier()
    assert (tensor == 2.5 + (me - 1) % n).all()


@on_pes(2)
def test_threads_that_begin_together_start_one_thread():
    me, _ = start()
    group = dist.new_group([0, 1])
    made, both, plain = [], threading.Barrier(2), threading.Thread

    class Slow(plain):
        """Waits for another to be made."""

        def __init__(self, *arguments, **options):
            if options.get("name", "").startswith("shoal"):
                made.append(options["name"])
                try:
                    both.wait(0.2)
                except threading.BrokenBarrierError:
                    pass
            super().__init__(*arguments, **options)

    def begin(tag):
        dist.irecv(torch.zeros(1), 1 - me, group=group, tag=tag)

    callers = [plain(target=begin, args=(tag,)) for tag in (1, 2)]
    threading.Thread = Slow
    try:
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    finally:
        threading.Thread = plain
    assert made == ["shoal transfers"]
    for tag in (1, 2):
        dist.send(torch.ones(1), 1 - me, group=group, tag=tag)
    dist.barrier()


def within(seconds, holds):
    """Whether it comes to hold: what threads of the backend do, they do soon."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


@on_pes(2)
def test_a_wait_with_a_timeout_gives_up_but_the_operation_goes_on():
    me, _ = start()
    tensor = torch.ones(3)
    if me == 0:
        work = dist.all_reduce(tensor, async_op=True)
        with pytest.raises(TimeoutError, match="0.2"):
            work.wait(datetime.timedelta(seconds=0.2))
        assert not work.is_completed()
        receive = dist.irecv(torch.empty(1), 1, tag=77)
        with pytest.raises(TimeoutError):
            receive.wait(datetime.timedelta(seconds=0.2))
        dist.send(torch.ones(1), 1, tag=76)
        work.wait()
        receive.wait(datetime.timedelta(seconds=60))
    else:
        dist.recv(torch.empty(1), 0, tag=76)
        dist.all_reduce(tensor)
        dist.send(torch.ones(1), 0, tag=77)
    assert (tensor == 2).all()


def test_interrupt_is_for_who_waits_whosever_operation_runs():
    from shoal._torch_work import Work  # pylint: disable=import-outside-toplevel

    def interrupted():
        raise KeyboardInterrupt

    work = Work(None, interrupted, [])
    with pytest.raises(KeyboardInterrupt):
        work._run()
    assert work.is_completed() and not work.is_success()
    with pytest.raises(KeyboardInterrupt):
        work.wait()


    future = (work := Work(None, interrupted, [])).get_future()
    with pytest.raises(KeyboardInterrupt):
        work._run()
    for failed in (future, work.get_future()):
        assert failed.done()
        with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
            failed.wait()


def test_training_with_an_absent_rank_ends_by_an_exception():
    run = job(2, """
        import shoal, torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
        if dist.get_rank() == 0:
            dist.distributed_c10d._get_default_group()._members.set_timeout(1.0)
            try:
                model(torch.ones(2, 4)).sum().backward()
                raise SystemExit("no exception")
            except RuntimeError as error:
                assert "PE 0 waited 1 s for PE 1" in str(error), error
        shoal.barrier()
        """)
    assert run.status == 0, run


@on_pes(2)
def test_operations_hold_their_tensors_only_until_they_are_complete():
    me, n = start()
    references = []

    def tensor(size=1000):
        made = torch.ones(size)
        references.append(weakref.ref(made))
        return made

    def held():
        return sum(reference() is not None for reference in references)

    gc.disable()
    try:
        for _ in range(100):
            dist.all_reduce(tensor())
            dist.broadcast(tensor(), 0)
            dist.all_gather([tensor() for _ in range(n)], tensor())
            works = [dist.all_reduce(tensor(), async_op=True), dist.reduce(tensor(), 0, async_op=True)]
            for work in works:
                work.wait()
            del work, works
            dist.all_reduce(tensor(), async_op=True).get_future().wait()
            for work in [dist.isend(tensor(), 1 - me), dist.irecv(tensor(), 1 - me)]:
                work.wait()
            del work
        assert within(20, lambda: held() == 0), held()
        for _ in range(300):
            dist.all_reduce(tensor(), async_op=True)  # nobody asks for it
        dist.barrier()
        assert within(20, lambda: held() <= 64), held()
    finally:
        gc.enable()


@on_pes(2)
def test_parameters_are_memory_like_any_other():
    me, n = start()
    mean = (n - 1) / 2
    for memory_format in (torch.contiguous_format, torch.channels_last):
        parameter = torch.nn.Parameter(torch.full((2, 3, 4, 5), float(me)).contiguous(memory_format=memory_format))
        dist.all_reduce(parameter, dist.ReduceOp.AVG)
        assert (parameter == mean).all() and parameter.requires_grad and parameter.is_leaf
        dist.broadcast(torch.nn.Parameter(torch.full((2, 3, 4, 5), float(me)).contiguous(memory_format=memory_format)), 1)
        total = torch.nn.Parameter(torch.full((2, 3, 4, 5), float(me)).contiguous(memory_format=memory_format))
        dist.reduce(total, 0, dist.ReduceOp.AVG)
        assert me != 0 or (total == mean).all()
        outputs = [torch.nn.Parameter(torch.zeros(2, 3, 4, 5).contiguous(memory_format=memory_format)) for _ in range(n)]
        dist.all_gather(outputs, parameter)
        assert all((output == mean).all() for output in outputs)
        output = torch.nn.Parameter(torch.zeros(2, 3, 4, 5).contiguous(memory_format=memory_format))
        dist.reduce_scatter(output, outputs, dist.ReduceOp.AVG)
        assert (output == mean).all()
        work = dist.isend(parameter, 1 - me)
        dist.recv(output, 1 - me)
        work.wait()
        assert (output == mean).all() and output.is_leaf
    if hasattr(dist, "_make_nccl_premul_sum") and hasattr(dist._make_nccl_premul_sum(0.5), "factor"):
        dist.all_reduce(parameter, dist._make_nccl_premul_sum(0.5))
        assert (parameter == mean * n / 2).all()


@on_pes(2)
def test_groups_that_are_destroyed_leave_nothing():
    me, _ = start()
    before = threading.active_count()
    gc.disable()
    try:
        for i in range(200):
            group = dist.new_group([0, 1])
            work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
            if i % 2:
                work.wait()
            if i % 10 == 0:
                pending = dist.irecv(torch.empty(3), 1 - me, group=group, tag=5)  # never sent
            dist.barrier()
            dist.destroy_process_group(group)
            del group, work
            pending = None
        assert within(20, lambda: threading.active_count() <= before + 1), threading.enumerate()
    finally:
        gc.enable()
    assert pending is None


@on_pes(2, 3)
def test_what_a_member_has_for_itself_must_fit():
    me, n = start()
    with pytest.raises(ValueError, match="to itself"):
        dist.all_to_all([torch.empty(3 if r == me else 4) for r in range(n)], [torch.ones(4)] * n)
    outputs = [torch.empty(4) for _ in range(n)]
    dist.all_to_all(outputs, [torch.ones(4)] * n)
    assert all((output == 1).all() for output in outputs)


def test_groups_of_a_job_that_ended_raise():
    run = job(2, """
        import shoal, torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        other = 1 - dist.get_rank()
        dist.all_reduce(torch.ones(3))
        pending = dist.irecv(torch.ones(3), other, tag=5)
        calls = [lambda: dist.send(torch.ones(3), other), lambda: dist.recv(torch.ones(3), other), lambda: dist.all_reduce(torch.ones(3)), pending.wait,
                 lambda: dist.broadcast(torch.ones(3), 0)]
        for _ in range(3):
            shoal.finalize()
            for _ in range(2):
                for call in calls:
                    try:
                        call()
                        raise SystemExit("no exception")
                    except RuntimeError as error:
                        assert "finalize" in str(error), error
                shoal.init()
            shoal.finalize()
            shoal.barrier()
        """)
    assert run.status == 0, run


def test_finalize_ends_operations_under_way():
    run = job(2, """
        import datetime, shoal, torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        works = [dist.irecv(torch.ones(3), 1 - dist.get_rank())]
        if dist.get_rank() == 0:  # PE 1 doesn't come
            works.append(dist.all_reduce(torch.ones(3), async_op=True))
            try:
                works[-1].wait(datetime.timedelta(seconds=0.2))
            except TimeoutError:
                pass
        shoal.finalize()
        for work in works:
            try:
                work.wait()
                raise SystemExit("no exception")
            except RuntimeError as error:
                assert "finalize" in str(error), error
        """)
    assert run.status == 0 and run.err == "", run


TRAINING = """
    import sys, torch, torch.distributed as dist, shoal.torch
    backend, kind = sys.argv[1:] if len(sys.argv) > 2 else (BACKEND, KIND)
    torch.set_num_threads(1)
    torch.manual_seed(5)
    dist.init_process_group(backend)
    me, n = dist.get_rank(), dist.get_world_size()
    model = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 3))
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.2)
    elif kind == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel
        model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    else:
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.device_mesh import init_device_mesh
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=init_device_mesh("cpu", (n,)))
        fully_shard(model, mesh=init_device_mesh("cpu", (n,)))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    data = torch.Generator().manual_seed(me)
    losses = []
    for step in range(12):
        x = torch.randn(32, 20, generator=data)
        y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / n)
    if me == 0:
        print(" ".join(f"{loss:.6f}" for loss in losses))
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "fully_shard"])
def test_training_gives_the_losses_that_gloo_gives(kind):
    if kind != "ddp" and not MODERN:
        pytest.skip("on CPUs from PyTorch 2 on")
    runs = {}
    for backend in ("shoal", "gloo"):
        run = job(2, TRAINING.replace("BACKEND", repr(backend)).replace("KIND", repr(kind)))
        assert run.status == 0, run
        runs[backend] = [float(word) for word in run.out.split()]
    assert len(runs["shoal"]) == 12 and runs["shoal"][-1] < runs["shoal"][0]
    assert runs["shoal"] == pytest.approx(runs["gloo"], rel=1e-4, abs=1e-5)


def test_rank_and_size_are_in_the_environment_under_shoalrun():
    run = job(2, "import os, shoal.torch; assert os.environ['WORLD_SIZE'] == '2'; print(os.environ['RANK'], os.environ['LOCAL_RANK'])")
    assert run.status == 0 and sorted(run.out.split("\n")) == ["", "0 0", "1 1"], run


def test_ends_without_destroy_and_with_work_under_way():
    run = job(2, """
        import torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        dist.all_reduce(torch.ones(10), async_op=True)
        dist.irecv(torch.ones(10), 1 - dist.get_rank())
        dist.barrier()
        """)
    assert run.status == 0, run


# torchrun of PyTorch 1.13 fails under Python 3.11, whose flags don't list the one without bits.
RUN_OF_OLD_PYTORCH = """
from torch.distributed.elastic.multiprocessing import api
api.Std.from_str = lambda text: api.Std(int(text))
from torch.distributed.run import main
main()
"""


def torchrun(tmp_path, program, *options, **extra):
    """A running torchrun: two processes, or one a node. It starts Python unbuffered, where print writes a line in pieces."""
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    start = ["-m", "torch.distributed.run"] if MODERN else ["-c", RUN_OF_OLD_PYTORCH]
    command = [sys.executable, *start, "--monitor_interval", "0.2", "--nproc_per_node", "1" if "--nnodes" in options else "2", *options, str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**extra))


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def on_one_machine():
    """As --standalone, which takes one and the same port always."""
    return ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"localhost:{free_port()}", "--rdzv_id", "test"]


@pytest.mark.skipif("SHOAL_TEST_NODES" in os.environ, reason="the launcher isn't shoalrun")
def test_torchrun_starts_it(tmp_path):
    program = TRAINING.replace("BACKEND", "'shoal'").replace("KIND", "'ddp'")
    status, out, err = ended(torchrun(tmp_path, program, *on_one_machine()))
    assert status == 0, err
    gloo = job(2, TRAINING.replace("BACKEND", "'gloo'").replace("KIND", "'ddp'"))
    assert [float(word) for word in out.split()] == pytest.approx([float(word) for word in gloo.out.split()], rel=1e-4, abs=1e-5)


@pytest.mark.skipif("SHOAL_TEST_NODES" in os.environ, reason="the launcher isn't shoalrun")
def test_torchrun_starts_again_after_a_worker_died(tmp_path):
    program = """
        import os, signal, torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        x = torch.ones(1000)
        dist.all_reduce(x)
        os.write(1, f"sum {x.sum().item()}\\n".encode())
        dist.destroy_process_group()
        """
    status, out, err = ended(torchrun(tmp_path, program, *on_one_machine(), "--max_restarts", "1"))
    assert status == 0 and out.count("sum 2000.0") == 2, (out, err)


@pytest.mark.skipif("SHOAL_TEST_NODES" in os.environ, reason="the launcher isn't shoalrun")
def test_torchrun_on_two_nodes_meets_by_the_secret(tmp_path):
    """Two torchruns, one process each, as on two machines: by TCP and TLS."""
    program = """
        import os, torch, torch.distributed as dist, shoal.torch
        dist.init_process_group("shoal")
        x = torch.full((1000,), 1.0 + dist.get_rank())
        dist.all_reduce(x)
        os.write(1, f"sum {x.sum().item()}\\n".encode())
        dist.destroy_process_group()
        """
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef", encoding="utf-8")
    secret.chmod(0o600)
    options = ["--nnodes", "2", "--master_addr", "127.0.0.1", "--master_port", str(free_port())]
    extra = {"SHOAL_JOB_SECRET_FILE": str(secret), "SHOAL_RDZV": f"tcp://127.0.0.1:{free_port()}"}
    for variables, expected in (({}, 1), (extra, 0)):
        nodes = [torchrun(tmp_path, program, *options, "--node_rank", str(i), **variables) for i in (0, 1)]
        results = [ended(node) for node in nodes]
        if expected == 0:
            assert [(status, out) for status, out, _ in results] == [(0, "sum 3000.0\n")] * 2, results
        else:  # no secret: refused, saying what to set
            assert all(status != 0 for status, _, _ in results), results
            assert "SHOAL_JOB_SECRET_FILE" in results[0][2] + results[1][2], results
