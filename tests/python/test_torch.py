# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend: every operation and dtype against what it should give."""
import datetime
import gc
import random
import threading
import time
import weakref

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError) if pytest.version_tuple >= (8, 2) else pytest.importorskip("torch")
import torch.distributed as dist  # pylint: disable=wrong-import-position

from pes import on_pes  # pylint: disable=wrong-import-position

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


@on_pes(2)
def test_operations_go_on_while_their_caller_computes():
    start()
    tensor, deadline = torch.ones(1_000_000), time.monotonic() + 60
    work = dist.all_reduce(tensor, async_op=True)
    while not work.is_completed():
        assert time.monotonic() < deadline, "nobody but a waiter carries it out"
        torch.ones(50, 50).mm(torch.ones(50, 50))
    assert (tensor == 2).all()


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
