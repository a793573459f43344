# SPDX-License-Identifier: Apache-2.0
"""Collectives against NumPy: sizes from nothing to many windows, all dtypes and operations, on the heap and elsewhere."""
import functools
import operator
import random
import re

import numpy as np
import pytest
import shoal
from pes import on_pes

SIZES = [0, 1, 3, 20_000, 400_001]
PES = (1, 2, 3, 4)


def contribution(pe, shape, dtype="float64"):
    """Small whole numbers, so that every order of adding gives the same."""
    rng = np.random.default_rng(pe)
    return rng.integers(0, 5 if np.dtype(dtype).itemsize > 1 else 2, shape).astype(dtype)


def placed(values, kind):
    """The values in memory of one kind: plain, on the heap, or not contiguous."""
    if kind == "heap":
        return shoal.array(values)
    if kind == "strided":
        wide = np.zeros((*values.shape, 2), values.dtype)
        wide[..., 0] = values
        return wide[..., 0]
    return values


@on_pes(*PES)
def test_all_reduce_of_all_sizes_from_all_kinds_of_memory():
    me, n = shoal.my_pe(), shoal.n_pes()
    for size in SIZES:
        wanted = sum(contribution(pe, size) for pe in range(n))
        for kind in ("plain", "heap", "strided"):
            source = placed(contribution(me, size), kind)
            assert (shoal.all_reduce(source) == wanted).all(), (size, kind)
    for size in (10, 300_000):
        inplace = contribution(me, size)
        assert shoal.all_reduce(inplace, out=inplace) is inplace
        assert (inplace == sum(contribution(pe, size) for pe in range(n))).all()
        on_heap = shoal.array(contribution(me, size))
        shoal.all_reduce(on_heap, out=on_heap)
        assert (on_heap == inplace).all()


@on_pes(2, 4)
def test_memory_on_the_heap_of_some_members_only():
    me, n = shoal.my_pe(), shoal.n_pes()
    heap = shoal.array(contribution(me, 300_000))
    mine = heap if me == 0 else contribution(me, 300_000)
    assert (shoal.all_reduce(mine) == sum(contribution(pe, 300_000) for pe in range(n))).all()
    assert (shoal.all_gather(mine) == np.stack([contribution(pe, 300_000) for pe in range(n)])).all()


@on_pes(2, 3)
def test_reductions_of_all_dtypes_and_operations():
    me, n = shoal.my_pe(), shoal.n_pes()
    combine = {"sum": operator.add, "prod": operator.mul, "min": np.minimum, "max": np.maximum, "and": operator.and_, "or": operator.or_,
               "xor": operator.xor}
    has = {"i": set(combine), "u": set(combine), "f": {"sum", "prod", "min", "max"}, "c": {"sum", "prod"}, "b": set(combine)}
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "longdouble", "complex64",
                  "complex128", "bool"):
        for op, function in combine.items():
            values = [contribution(pe, 1003, dtype) for pe in range(n)]
            if op not in has[np.dtype(dtype).kind]:
                with pytest.raises(ValueError, match="has no operation"):
                    shoal.all_reduce(values[me], op)
                continue
            got = shoal.all_reduce(values[me], op)
            assert got.dtype == values[0].dtype and (got == functools.reduce(function, values)).all(), (dtype, op)
    with pytest.raises(ValueError, match="one of"):
        shoal.all_reduce([1.0], "mean")
    with pytest.raises(ValueError, match="bytes"):
        shoal.all_reduce(np.zeros(3, "S2"))


@on_pes(2, 4)
def test_sums_have_the_same_bits_everywhere():
    for size in (100, 500_000):
        values = np.random.default_rng(shoal.my_pe()).standard_normal(size).astype("float32")
        total = shoal.all_reduce(values)
        assert len({row.tobytes() for row in shoal.all_gather(total)}) == 1


@on_pes(*PES)
def test_movements_of_all_sizes():
    me, n = shoal.my_pe(), shoal.n_pes()
    for size in SIZES:
        parts = [contribution(pe, (size,), "int32") for pe in range(n)]
        for kind in ("plain", "heap", "strided"):
            mine = placed(parts[me].copy(), kind)
            assert (shoal.all_gather(mine) == np.stack(parts)).all(), (size, kind)
            root = random.randrange(n)
            gathered = shoal.gather(mine, root)
            assert (gathered is None) == (me != root) and (gathered is None or (gathered == np.stack(parts)).all())
            blocks = placed(np.stack([parts[me] + i for i in range(n)]), kind)
            assert (shoal.all_to_all(blocks) == np.stack([parts[pe] + me for pe in range(n)])).all()
            out = np.empty(size, "int32")
            shoal.scatter(placed(np.stack([parts[root] + i for i in range(n)]), kind) if me == root or kind == "heap" else None, root, out)
            assert (out == parts[root] + me).all()
            if kind != "strided":
                shoal.broadcast(mine, root)
                assert (mine == parts[root]).all()


@on_pes(*PES)
def test_reduce_reduce_scatter_and_scan():
    me, n = shoal.my_pe(), shoal.n_pes()
    for size in SIZES:
        parts = [contribution(pe, (size,), "int64") for pe in range(n)]
        root = random.randrange(n)
        total = shoal.reduce(parts[me], root)
        assert (total is None) == (me != root) and (total is None or (total == sum(parts)).all())
        assert (shoal.reduce_scatter(np.stack([parts[me] * (i + 1) for i in range(n)])) == sum(parts) * (me + 1)).all()
        assert (shoal.scan(parts[me]) == sum(parts[:me + 1])).all()
        assert (shoal.scan(parts[me], exclusive=True) == sum(parts[:me], np.zeros_like(parts[0]))).all()


@on_pes(2, 3, 4)
def test_members_that_disagree_are_told_and_go_on():
    me = shoal.my_pe()
    cases = [
        (lambda: shoal.all_reduce(np.zeros((2, 3 + (me == 1)))), r"\(2, 4\)", r"\(2, 3\)"),
        (lambda: shoal.all_reduce(np.zeros(300_000 + (me == 1))), "300001", "300000"),
        (lambda: shoal.all_reduce(np.zeros(4, "int32" if me == 1 else "float32")), "int32", "float32"),
        (lambda: shoal.all_reduce(np.zeros(4), "max" if me == 1 else "sum"), "max", "sum"),
        (lambda: shoal.all_gather(np.zeros(5 if me == 1 else 6)), r"\(5,\)", r"\(6,\)"),
        (lambda: shoal.world().barrier() if me == 1 else shoal.all_gather(np.zeros(3)), "barrier", "all_gather"),
        (lambda: shoal.all_gather(np.zeros(3, "S4" if me == 1 else "S3")), "12", "9"),
        (lambda: shoal.all_to_all(np.zeros((shoal.n_pes(), 9), "V3" if me == 1 else "V4")), "27", "36"),
        (lambda: shoal.broadcast(np.zeros(3), 1 if me == 1 else 0), "root 1", "root 0"),
        (lambda: shoal.gather(np.zeros(300_000), 1 if me == 1 else 0), "root 1", "root 0"),
        (lambda: shoal.scatter(np.zeros((shoal.n_pes(), 5)), 1 if me == 1 else 0, np.zeros(5)), "root 1", "root 0"),
        (lambda: shoal.world().barrier() if me == 1 else shoal.broadcast(np.zeros(300_000), 0), "barrier", "broadcast"),
        (lambda: shoal.reduce(np.zeros(3), 0) if me == 1 else shoal.gather(np.zeros(3), 0), "reduce", "gather"),
    ]
    for call, one, other in cases:
        with pytest.raises(ValueError, match="PE 1 has") as caught:
            call()
        if me in (0, 1):
            assert re.search(one, str(caught.value)) and re.search(other, str(caught.value)), caught.value
        assert shoal.all_reduce([1])[0] == shoal.n_pes()  # the team still works


@on_pes(2)
def test_bad_arguments_raise_before_anyone_waits():
    for call in (lambda: shoal.broadcast(np.zeros(3), 2), lambda: shoal.reduce(np.zeros(3), -1), lambda: shoal.gather([1], 7)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match="out must be"):
        shoal.all_reduce(np.zeros(3), out=np.zeros(4))
    with pytest.raises(ValueError, match="contiguous"):
        shoal.broadcast(np.zeros((3, 2))[:, 0], 0)
    with pytest.raises(ValueError, match="first axis"):
        shoal.all_to_all(np.zeros((3, 2)))
    with pytest.raises(TypeError):
        shoal.all_reduce([object()])


@on_pes(1, 2, 3)
def test_broadcast_gives_what_was_sent_whatever_it_is_given():
    me, n = shoal.my_pe(), shoal.n_pes()
    root = n - 1
    result = shoal.broadcast([10 * me, 1], root)
    assert isinstance(result, np.ndarray) and result.tolist() == [10 * root, 1]
    assert int(shoal.broadcast(me, root)) == root and float(shoal.broadcast(np.float64(me), root)) == root
    array = np.full(3, me)
    assert shoal.broadcast(array, root) is array and (array == root).all()
    text = bytearray([me, me])
    assert shoal.broadcast(text, root) is text and text == bytes([root, root])


@on_pes(2)
def test_out_must_be_memory():
    for call in (lambda: shoal.all_reduce([1, 2], out=[0, 0]), lambda: shoal.all_gather([1], out=[[0], [0]]), lambda: shoal.scan([1], out=[0]),
                 lambda: shoal.scatter([[1], [2]], 0, [0]), lambda: shoal.all_to_all([1, 2], out=[0, 0]), lambda: shoal.get(shoal.ones(2), 0, [0.0, 0.0])):
        with pytest.raises(TypeError, match="could not be filled"):
            call()
    shoal.barrier()


@on_pes(3, 4)
def test_a_pair_that_disagrees_does_not_hold_up_the_others():
    """Of an exchange with sizes of its own for each pair, only that pair sees it."""
    from shoal import _core  # pylint: disable=import-outside-toplevel
    me, n = shoal.my_pe(), shoal.n_pes()
    size = 1 << 20
    for wrong in ((0, 1), (1, 1)):  # PE 0 sends less to PE 1 than that expects; PE 1 to itself
        source, out = np.full((n, size), me, "uint8"), np.zeros((n, size), "uint8")
        sends = [size - 100 * ((me, i) == wrong) for i in range(n)]
        call = lambda: _core.world_group().exchange(11, 4, 0, (), -1, [row.ctypes.data for row in source], sends, [row.ctypes.data for row in out], [size] * n)
        if me in wrong:
            with pytest.raises(ValueError, match=str(size - 100)):
                call()
        else:
            call()
        for pe in range(n):
            if {me, pe} != set(wrong):
                assert (out[pe] == pe).all(), (wrong, pe)
        assert shoal.all_reduce([1])[0] == n
