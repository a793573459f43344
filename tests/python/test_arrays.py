# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays: making, indexing on other PEs, against NumPy on a copy."""
import gc
import itertools
import pickle
import random

import numpy as np
import pytest
import shoal
from pes import on_pes

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "longdouble", "complex64",
          "complex128", "bool", "S5", "M8[s]", [("a", "i4"), ("b", "f8", 3)]]


def neighbours():
    me, n = shoal.my_pe(), shoal.n_pes()
    return me, (me + 1) % n, (me - 1) % n


@on_pes(1, 2, 4)
def test_made_arrays_are_numpy_arrays_and_filled():
    for dtype in DTYPES:
        x = shoal.zeros((3, 4), dtype)
        assert isinstance(x, np.ndarray) and x.shape == (3, 4) and x.dtype == np.dtype(dtype) and x.flags.c_contiguous and x.flags.writeable
        assert x.ctypes.data % 64 == 0 and shoal.is_symmetric(x)
        assert (np.asarray(x) == np.zeros((3, 4), dtype)).all()
        shoal.free(x)
    assert (shoal.ones(5) == 1).all() and shoal.ones(5).dtype == float
    assert (shoal.full((2, 2), 7, "int16") == 7).all()
    assert shoal.array([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert shoal.zeros(()).shape == () and shoal.zeros(0).size == 0 and shoal.zeros((3, 0, 2)).shape == (3, 0, 2)
    assert shoal.empty(3, align=4096).ctypes.data % 4096 == 0


@on_pes(2, 4)
def test_single_elements_travel_in_every_dtype():
    _, right, left = neighbours()
    for dtype in DTYPES:
        x = shoal.zeros((2, 3), dtype)
        value = np.ones((), dtype)
        x.on(right)[1, 2] = value
        x.on(right)[-2, -3] = value[()]
        shoal.barrier()
        assert x[1, 2] == value and x[0, 0] == value and x[0, 1] == np.zeros((), dtype), dtype
        assert np.asarray(x.on(left)[1, 2] == value).all()
        shoal.barrier()
        shoal.free(x)


@on_pes(2)
def test_numbers_arrive_as_python_numbers_of_the_dtype():
    _, right, _ = neighbours()
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        x = shoal.zeros(2, dtype)
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        x.on(right)[0], x.on(right)[1] = int(least), int(most)
        shoal.barrier()
        assert (x.on(right)[0], x.on(right)[1]) == (least, most) and type(x.on(right)[0]) is int
        for beyond in (int(least) - 1, int(most) + 1, 1 << 70):
            with pytest.raises(OverflowError, match=dtype):
                x.on(right)[0] = beyond
    f = shoal.zeros(2, "float32")
    f.on(right)[0] = 0.1
    f.on(right)[1] = 3
    shoal.barrier()
    assert f.on(right)[0] == float(np.float32(0.1)) and f.on(right)[1] == 3.0


def random_index(shape):
    parts = []
    for size in shape[:random.randint(0, len(shape))]:
        if random.random() < 0.4:
            parts.append(random.randint(-size, size - 1))
        else:
            parts.append(slice(random.choice([None, random.randint(-size - 1, size + 1)]), random.choice([None, random.randint(-size - 1, size + 1)]),
                               random.choice([None, 1, 2, 3, -1, -2])))
    if random.random() < 0.2:
        parts.append(Ellipsis)
    return parts[0] if len(parts) == 1 and random.random() < 0.5 else tuple(parts)


@on_pes(2, 3)
def test_random_indices_do_what_numpy_does():
    me, right, left = neighbours()
    for shape, dtype in itertools.product([(7,), (4, 6), (3, 4, 5), (2, 3, 2, 4)], ["int8", "float32", "float64", "complex128", [("a", "i2"), ("b", "u1")]]):
        x = shoal.zeros(shape, dtype)
        count = x.size
        model = np.zeros(shape, dtype)
        if model.dtype.names:
            model["a"] = np.arange(count).reshape(shape)
        else:
            model[...] = np.arange(count).reshape(shape)
        x[...] = model
        shoal.barrier()
        for _ in range(25):
            index = random_index(shape)  # the same on all PEs: equal seeds
            got, wanted = x.on(right)[index], model[index]
            assert np.shape(got) == np.shape(wanted) and np.asarray(got == wanted).all(), (shape, dtype, index)
        shoal.barrier()
        for _ in range(10):
            index = random_index(shape)
            piece = model[index].copy()
            if piece.dtype.names:
                piece["b"] = random.randint(0, 200)
            else:
                piece = (piece * 0 + random.randint(0, 100)).astype(model.dtype)
            model[index] = piece
            x.on(right)[index] = piece
            shoal.barrier()
            assert (np.asarray(x) == model).all(), (shape, dtype, index)
            shoal.barrier()
        shoal.free(x)
    assert me == shoal.my_pe() and left is not None


@on_pes(2)
def test_values_broadcast_and_convert_like_numpys():
    _, right, _ = neighbours()
    x = shoal.zeros((3, 4), "float32")
    x.on(right)[:] = 2
    shoal.barrier()
    assert (x == 2).all()
    shoal.barrier()
    x.on(right)[1:] = np.arange(4)
    shoal.barrier()
    assert (x[2] == np.arange(4)).all() and (x[0] == 2).all()
    shoal.barrier()
    x.on(right)[:, ::2] = np.float64(0.5)
    shoal.barrier()
    assert x[1, 0] == 0.5 and x[1, 1] == 1
    with pytest.raises(ValueError, match=r"\(5,\).*\(3, 4\)"):
        x.on(right)[:] = np.arange(5)
    with pytest.raises(TypeError, match="complex"):
        x.on(right)[0] = np.zeros(4, complex)
    i = shoal.zeros(4, "int32")
    with pytest.raises(TypeError, match="float64"):
        i.on(right)[:] = np.zeros(4)
    with pytest.raises(TypeError):
        i.on(right)[0] = 0.5
    assert (i == 0).all()


@on_pes(2, 4)
def test_rows_are_gathered_and_scattered_by_an_array():
    me, right, left = neighbours()
    x = shoal.zeros((50, 3), "float32")
    x[...] = np.arange(150).reshape(50, 3) + 1000 * me
    shoal.barrier()
    rows = np.array([49, 0, 7, 7, -1])
    assert (x.on(right)[rows] == (np.arange(150).reshape(50, 3) + 1000 * right)[rows]).all()
    assert x.on(right)[[[1, 2], [3, 4]]].shape == (2, 2, 3)
    assert x.on(right)[[]].shape == (0, 3)
    mask = np.zeros(50, bool)
    mask[[3, 5]] = True
    assert (x.on(right)[mask][:, 0] == np.array([9, 15]) + 1000 * right).all()
    shoal.barrier()
    x.on(right)[[2, 4]] = np.full((2, 3), me)
    x.on(right)[mask] = -1
    shoal.barrier()
    assert (x[[2, 4]] == left).all() and (x[[3, 5]] == -1).all() and x[6, 0] == 18 + 1000 * me
    for bad in ([50], [-51], [0.5], np.zeros(49, bool)):
        with pytest.raises(IndexError):
            x.on(right)[bad]
    with pytest.raises(IndexError, match="not both"):
        x.on(right)[[1, 2], 0]


@on_pes(2)
def test_slices_views_and_transposes_are_symmetric_and_results_are_not():
    _, right, _ = neighbours()
    x = shoal.zeros((4, 6))
    assert type(x[1:3]) is shoal.Array and type(x.T) is shoal.Array
    x[1:3].T.on(right)[5, 0] = 9.0
    x[::-1].on(right)[0, 0] = 8.0
    shoal.barrier()
    assert x[1, 5] == 9 and x[3, 0] == 8
    assert type(x + 1) is np.ndarray and type(x.copy()) is np.ndarray and isinstance(x.sum(), float)
    x += 1
    assert type(x) is shoal.Array and shoal.is_symmetric(x)
    with pytest.raises(ValueError, match="not on the symmetric heap"):
        np.zeros(3).view(shoal.Array).on(0)
    restored = pickle.loads(pickle.dumps(x))
    assert type(restored) is np.ndarray and (restored == x).all()


@on_pes(2, 4)
def test_mapped_is_the_other_pes_memory():
    me, right, left = neighbours()
    x = shoal.zeros((3, 5), "int32")
    there = x[::2, 1:].mapped(right)
    if there is None:
        pytest.skip("PEs of several nodes")
    assert there.shape == (2, 4)
    there[1, 3] = 100 + me
    shoal.barrier()
    assert x[2, 4] == 100 + left


@on_pes(2, 4)
def test_mapped_keeps_its_array():
    me, right, _ = neighbours()
    x = shoal.full((3, 4), me)
    there = x[::-1, 1:].mapped(right)
    if there is None:
        pytest.skip("PEs of several nodes")
    del x
    gc.collect()
    other = shoal.full((3, 4), 100)  # not where x was
    assert there.shape == (3, 3) and (there == right).all() and (other == 100).all()
    shoal.barrier()
    address = there.ctypes.data
    del there
    gc.collect()
    assert shoal.full((3, 4), 5).mapped(right)[::-1, 1:].ctypes.data == address


@on_pes(2)
def test_dlpack_shares_the_memory():
    x = shoal.zeros((2, 3), "float32")
    y = np.from_dlpack(x)
    x[1, 2] = 4
    assert y[1, 2] == 4 and y.ctypes.data == x.ctypes.data


@on_pes(2, 4)
def test_dropped_arrays_are_given_back_by_later_allocations():
    # 4 GB in all, through a heap of one
    for i in range(64):
        x = shoal.empty(64 << 20, "uint8")
        x[i] = i
        del x
        gc.collect()
    kept = shoal.empty(600 << 20, "uint8") if shoal.my_pe() != 0 else None
    if kept is None:
        shoal.empty(600 << 20, "uint8")  # dropped here, but others keep theirs: not given back
        gc.collect()
    with pytest.raises(MemoryError, match="SHMEM_SYMMETRIC_SIZE"):
        shoal.empty(600 << 20, "uint8")
    del kept
    gc.collect()
    shoal.free(shoal.empty(600 << 20, "uint8"))


@on_pes(2, 4)
def test_arrays_dropped_in_any_order_on_each_pe():
    chance = random.Random(17 + shoal.my_pe())
    alive = []
    for round_ in range(60):
        x = shoal.full(1000, round_)
        alive.append((round_, x))
        chance.shuffle(alive)
        while len(alive) > chance.randint(0, 6):
            alive.pop()
        for number, one in alive:
            assert (one == number).all()
    cycle = [shoal.zeros(10)]
    cycle.append(cycle)
    del cycle


@on_pes(2, 4)
def test_unequal_allocations_are_named():
    me = shoal.my_pe()
    with pytest.raises(ValueError, match=r"PE 1 has an allocation of shape \(3, 4\) of float64") as caught:
        shoal.zeros((3, 4) if me == 1 else (3, 5))
    assert "(3, 5)" in str(caught.value)
    with pytest.raises(ValueError, match="float32"):
        shoal.zeros(6, "float32" if me == 0 else "int32")
    with pytest.raises(ValueError):
        shoal.zeros(6, "S3" if me == 0 else "S4")
    a, b = shoal.zeros(3), shoal.zeros(3)
    with pytest.raises(ValueError, match="array number"):
        shoal.free(a if me == 0 else b)
    shoal.free(a)
    shoal.free(b)
    with pytest.raises(RuntimeError, match="freed"):
        shoal.free(a)
    with pytest.raises(ValueError, match="on the symmetric heap"):
        a.on(0)
    shoal.barrier()


@on_pes(2)
def test_bad_arguments_raise():
    x = shoal.zeros((3, 4))
    for pe in (-1, 2, 1 << 20):
        with pytest.raises(IndexError, match="PEs 0 to 1"):
            x.on(pe)
        with pytest.raises(IndexError, match="PEs 0 to 1"):
            shoal.put(x, 1, pe)
        with pytest.raises(IndexError, match="PEs 0 to 1"):
            shoal.get(x, pe)
    for index in ((3, 0), (0, -5), (0, 0, 0), "a", range(2), (range(2), 0), True, (True, 0)):
        with pytest.raises(IndexError):
            x.on(1)[index]
        with pytest.raises(IndexError):
            x.on(1)[index] = 1
    with pytest.raises(TypeError):
        del x.on(1)[0, 0]
    with pytest.raises(TypeError):
        x.on("1")
    with pytest.raises(TypeError, match="object"):
        shoal.zeros(3, object)
    with pytest.raises(ValueError):
        shoal.zeros((3, -1))
    for shape in (3.7, "12", (2, 3.0), None):
        with pytest.raises(TypeError):
            shoal.zeros(shape)
    for shape in (1 << 62, 1 << 80, (1 << 40, 1 << 40)):
        with pytest.raises(MemoryError, match="no room"):
            shoal.zeros(shape)
    with pytest.raises(ValueError, match="align"):
        shoal.zeros(3, align=65)
    with pytest.raises(ValueError, match="slice"):
        shoal.free(x[1:])
    with pytest.raises(ValueError, match="one in memory"):
        np.broadcast_to(x[0], (3, 4), subok=True).on(1)[:]


@on_pes(1, 2)
def test_texts_keep_their_padding_in_rows():
    _, right, left = neighbours()
    for dtype in ("S5", "U3", "S1"):
        x = shoal.zeros(6, dtype)
        values = np.array(["a", "bcdef", "", "xy"]).astype(dtype)
        x.on(right)[[4, 1, 0, 5]] = values
        shoal.barrier()
        assert (x[[4, 1, 0, 5]] == values).all() and x[2] == x[3] == np.zeros((), dtype)
        assert (x.on(left)[[1, 4, 4]] == values[[1, 0, 0]]).all()
        shoal.barrier()


@on_pes(1, 2)
def test_integers_fit_or_raise_whatever_the_index():
    _, right, _ = neighbours()
    x = shoal.zeros((4, 3), "uint8")
    for bad in (300, -1, 1 << 70, [1, 2, 256], [0, -1, 0], np.int64(256)):
        for store in (lambda v: x.on(right).__setitem__(slice(None), v), lambda v: x.on(right).__setitem__([0, 2], v), lambda v: shoal.put(x, v, right),
                      lambda v: x.on(right).__setitem__(1, v)):
            with pytest.raises(OverflowError, match="does not fit into uint8"):
                store(bad)
    with pytest.raises(OverflowError, match="300 does not fit into int8"):
        shoal.zeros(2, "int8").on(right)[:] = 300
    for bad in (0.5, [0.5, 1, 2], np.zeros(3), np.zeros(3, "int64")):
        for key in (slice(None), [1, 3], 2):
            with pytest.raises(TypeError, match="convert them"):
                x.on(right)[key] = bad
    shoal.barrier()
    assert (x == 0).all()
    shoal.barrier()
    x.on(right)[[0, 2]] = [255, 0, 7]
    x.on(right)[1] = 9
    shoal.barrier()
    assert x.tolist() == [[255, 0, 7], [9, 9, 9], [255, 0, 7], [0, 0, 0]]


@on_pes(1, 2)
def test_pieces_that_overlap_on_one_pe_arrive_as_they_were():
    me, n = shoal.my_pe(), 4096
    for to, source in ((slice(0, n, 2), slice(n // 2)), (slice(1, n, 2), slice(n // 2)), (slice(None, None, -1), slice(None)), (slice(1, n), slice(n - 1)),
                       (list(range(1, n)), slice(n - 1))):
        x, wanted = shoal.array(np.arange(n)), np.arange(n)
        wanted[to] = wanted[source].copy()
        x.on(me)[to] = x[source]
        shoal.quiet()
        assert (x == wanted).all(), to
    x, wanted = shoal.array(np.arange(n)), np.arange(n)
    wanted[:n // 2] = wanted[1::2].copy()
    shoal.get(x[1::2], me, out=x[:n // 2])
    assert (x == wanted).all()
    x, wanted = shoal.array(np.arange(n)), np.arange(n)
    wanted[n // 2:] = wanted[::2].copy()
    shoal.get(x[::2], me, out=x[n // 2:])
    assert (x == wanted).all()


@on_pes(1, 2)
def test_pieces_without_elements_are_nothing_to_do():
    _, right, _ = neighbours()
    x = shoal.zeros(10)
    end = x[10:]
    assert end.on(right)[:].shape == (0,) and end.on(right)[...].shape == (0,) and shoal.get(end, right).size == 0
    end.on(right)[:] = 5
    shoal.put(end, 5, right)
    shoal.put_nbi(end, np.zeros(0), right)
    shoal.barrier()
    assert (x == 0).all()


@on_pes(1, 2)
def test_mapped_of_what_is_not_on_the_heap_raises():
    x = shoal.zeros(10)
    shoal.free(x)
    with pytest.raises(ValueError, match="heap"):
        x.mapped(0)
    assert x[3:3].mapped(0) is None or x[3:3].mapped(0).size == 0
