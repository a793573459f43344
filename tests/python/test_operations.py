# SPDX-License-Identifier: Apache-2.0
"""Explicit puts and gets, signals, waits, atomics, contexts, teams."""
import threading

import numpy as np
import pytest
import shoal
from pes import on_pes


def neighbours():
    me, n = shoal.my_pe(), shoal.n_pes()
    return me, (me + 1) % n, (me - 1) % n


@on_pes(2, 4)
def test_put_and_get_of_whole_arrays_slices_and_lists():
    me, right, left = neighbours()
    x = shoal.zeros((4, 5), "float32")
    shoal.put(x, np.full((4, 5), me), right)
    shoal.barrier()
    assert (x == left).all()
    shoal.barrier()
    shoal.put(x[1, ::2], [1, 2, 3], right)
    shoal.put(x[2:], 7, right)
    shoal.quiet()
    shoal.barrier()
    assert x[1].tolist() == [1, left, 2, left, 3] and (x[2:] == 7).all()
    assert (shoal.get(x[1], right) == [1, me, 2, me, 3]).all()
    out = np.zeros((2, 5), "float32")
    assert shoal.get(x[2:], right, out) is not None and (out == 7).all()


@on_pes(1, 2, 4)
def test_whole_arrays_and_rows_of_numpys_types():
    """What core/remote.cpp copies by itself, and what it must leave to the general way."""
    me, right, left = neighbours()
    for dtype in ("bool", "int8", "float16", "float32", "complex128"):
        x = shoal.zeros((3, 4), dtype)
        values = (np.arange(12).reshape(3, 4) + me).astype(dtype)
        theirs = (np.arange(12).reshape(3, 4) + left).astype(dtype)
        for key in (slice(None), Ellipsis):
            x.on(right)[key] = values
            shoal.barrier()
            assert (x == theirs).all() and (x.on(right)[key] == values).all()
            shoal.barrier()
        x.on(right)[:] = values[:, ::-1]  # not contiguous
        shoal.barrier()
        assert (x == theirs[:, ::-1]).all()
        shoal.barrier()
        x.on(right)[-1] = values[0]
        shoal.barrier()
        assert (x[2] == theirs[0]).all() and (x[1] == theirs[1, ::-1]).all()
        row = x.on(right)[2]
        assert type(row) is np.ndarray and row.flags.owndata and (row == values[0]).all()
        out = np.zeros((3, 4), dtype)
        assert shoal.get(x, right, out) is out and (out[2] == values[0]).all()
        out.flags.writeable = False
        with pytest.raises(ValueError, match="writeable"):
            shoal.get(x, right, out)
        for wrong in (np.zeros((2, 4), dtype), np.zeros((3, 4, 1), dtype)[:, :3]):
            with pytest.raises(ValueError, match="shape"):
                x.on(right)[...] = wrong
        with pytest.raises(IndexError, match="axis 0 of 3"):
            x.on(right)[3] = values[0]
        remote = x.on(right)
        shoal.free(x)
        for use in (lambda: remote[:], lambda: remote.__setitem__(slice(None), values), lambda: remote[0]):
            with pytest.raises(RuntimeError, match="freed"):
                use()


@on_pes(2, 4)
def test_large_transfers_arrive_whole():
    me, right, left = neighbours()
    x = shoal.zeros(1 << 20, "float64")
    shoal.put(x, np.arange(1 << 20) + me, right)
    shoal.barrier()
    assert (x == np.arange(1 << 20) + left).all()
    assert (shoal.get(x, right) == np.arange(1 << 20) + me).all()


@on_pes(2)
def test_nonblocking_forms():
    me, right, left = neighbours()
    x = shoal.zeros((3, 4))
    values = np.full((3, 4), me + 1.0)
    shoal.put_nbi(x, values, right)
    shoal.quiet()
    shoal.barrier()
    assert (x == left + 1).all()
    out = np.empty(4)
    shoal.get_nbi(x[1], right, out)
    shoal.quiet()
    assert (out == me + 1).all()
    with pytest.raises(ValueError, match="shoal.put converts"):
        shoal.put_nbi(x, values.astype("float32"), right)
    with pytest.raises(ValueError, match="contiguous"):
        shoal.get_nbi(x[1], right, np.empty(8)[::2])
    for wrong in ([1.0] * 4, 5.0):
        with pytest.raises(TypeError, match="quiet"):
            shoal.put_nbi(x[1], wrong, right)
    shoal.barrier()


@on_pes(2)
def test_nonblocking_put_of_what_is_turned_round():
    me, right, left = neighbours()
    context = shoal.Context()
    for i in range(20):
        x = shoal.zeros(50_000)
        shoal.put_nbi(x[::-1], np.arange(50_000.0) + me + i, right, context)
        np.full(50_000, -1.0)  # takes the place of a copy that is gone
        context.quiet()
        shoal.barrier()
        assert (x[::-1] == np.arange(50_000.0) + left + i).all()
    context.destroy()


@on_pes(2, 4)
def test_signal_follows_data():
    me, right, left = neighbours()
    data, flags = shoal.zeros(1000, "int64"), shoal.zeros(3, "uint64")
    for i in range(1, 200):
        shoal.put_signal(data, np.full(1000, i), flags[1:2], i, right)
        assert shoal.wait_signal(flags[1:2], ">=", i, timeout=60) == i
        assert (data == i).all()
        shoal.sync()
    shoal.put_signal(data[:2], [5, 6], flags[2:], 4, right, "add")
    shoal.signal(flags[2:], 3, right, "add")
    shoal.wait_until(flags[2:], "==", 7, timeout=60)
    assert data[:2].tolist() == [5, 6]
    shoal.signal(flags[:1], 9, left)
    shoal.wait_until(flags[:1], "==", 9, timeout=60)


@on_pes(2)
def test_waiting_wakes_for_every_way_of_writing_and_tells_whom():
    me, right, _ = neighbours()
    flags = shoal.zeros(6, "int32")
    flags.on(right)[2] = 5
    assert shoal.wait_until_any(flags, ">", 0, timeout=60) == 2
    shoal.sync()  # else the other PE may see more of them, and any may be told
    shoal.put(flags[3:5], [6, 7], right)
    shoal.wait_until(flags[2:5], ">=", 5, timeout=60)
    assert shoal.wait_until_some(flags, ">", 5, timeout=60) == [3, 4]
    assert shoal.test(flags[2:5], ">", 4) and not shoal.test(flags, ">", 0)
    shoal.atomic(flags, 0, right).add(3)
    shoal.wait_until(flags[0:1], "==", 3, timeout=60)
    assert me in (0, 1)


@on_pes(2)
def test_wait_that_nobody_fulfils_times_out_and_lets_threads_run():
    flags = shoal.zeros(1, "uint64")
    counted = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted.append(1)
            stop.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(TimeoutError, match="waited"):
        shoal.wait_until(flags, "==", 1, timeout=0.2)
    stop.set()
    thread.join()
    assert len(counted) > 10


@on_pes(2)
def test_bad_waits_and_signals_raise():
    flags = shoal.zeros(2, "uint64")
    with pytest.raises(ValueError, match="comparison"):
        shoal.wait_until(flags, "=", 1)
    with pytest.raises(TypeError, match="float64"):
        shoal.wait_until(shoal.zeros(1), "==", 1)
    with pytest.raises(TypeError, match="None is no value of uint64"):
        shoal.wait_until(flags, "==", None)
    with pytest.raises(ValueError, match="heap"):
        shoal.wait_until(np.zeros(1, "int64"), "==", 1)
    with pytest.raises(TypeError, match="one element"):
        shoal.put_signal(shoal.zeros(1), [1], flags, 1, 0)
    with pytest.raises(ValueError, match="set"):
        shoal.signal(flags[:1], 1, 0, "max")
    with pytest.raises(IndexError):
        shoal.signal(flags[:1], 1, 2)


@on_pes(2, 4)
def test_atomics_of_all_types_count_what_all_add():
    n = shoal.n_pes()
    for dtype in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        x = shoal.zeros((2, 3), dtype)
        cell = shoal.atomic(x, (1, -1), 0)
        olds = [cell.fetch_add(1) for _ in range(50)]
        for _ in range(50):
            cell.add(2)
        shoal.barrier()
        assert cell.load() == n * 150 and sorted(olds) == olds
        assert x.sum() == (n * 150 if shoal.my_pe() == 0 else 0)
        shoal.barrier()
        mine = shoal.atomic(x, (0, 0), shoal.my_pe())
        mine.store(7)
        assert mine.swap(9) == 7 and mine.load() == 9
        if np.dtype(dtype).kind in "iu":
            assert mine.compare_swap(8, 1) == 9 and mine.compare_swap(9, 12) == 9
            assert mine.fetch_and(6) == 12 and mine.fetch_or(3) == 4 and mine.fetch_xor(1) == 7
            mine.and_(2)
            mine.or_(8)
            mine.xor(3)
            assert mine.load() == 9
        else:
            for call in (mine.and_, mine.fetch_xor):
                with pytest.raises(TypeError):
                    call(1)
            with pytest.raises(TypeError):
                mine.compare_swap(1, 2)
        shoal.free(x)


@on_pes(2)
def test_bad_atomics_raise():
    x = shoal.zeros(3, "int32")
    with pytest.raises(OverflowError, match="int32"):
        shoal.atomic(x, 0, 0).add(1 << 31)
    cell = shoal.atomic(x, 0, 0)
    for call in (cell.store, cell.swap, cell.add, cell.fetch_add, lambda bad: cell.compare_swap(bad, 1), lambda bad: cell.compare_swap(1, bad)):
        for bad in (None, "a"):
            with pytest.raises(TypeError, match="no value of int32"):
                call(bad)
    assert cell.load() == 0
    packed = shoal.zeros(3, [("a", "i1"), ("b", "i8")])["b"]
    with pytest.raises(ValueError, match="aligned"):
        shoal.atomic(packed, 1, 0)
    with pytest.raises(ValueError, match="aligned"):
        shoal.wait_until(packed, "==", 0)
    packed.on(1)[2] = 7
    shoal.barrier()
    assert packed.on(1)[2] == 7 and packed.on(0)[2] == 0
    shoal.barrier()
    with pytest.raises(IndexError):
        shoal.atomic(x, 3, 0)
    with pytest.raises(IndexError):
        shoal.atomic(x, 0, 2)
    with pytest.raises(IndexError):
        shoal.atomic(shoal.zeros((2, 2), "int32"), 0, 0)
    with pytest.raises(TypeError, match="int16"):
        shoal.atomic(shoal.zeros(1, "int16"), 0, 0)


@on_pes(2, 4)
def test_contexts_and_pairs():
    me, right, left = neighbours()
    x = shoal.zeros(4, "int64")
    with shoal.Context(serialized=True) as context:
        x.on(right, context)[1] = me
        shoal.put(x[2:], [me, me], right, context)
        context.fence()
        shoal.atomic(x, 0, right, context).add(5)
        context.quiet()
    shoal.barrier()
    assert x.tolist() == [5, left, left, left]
    with pytest.raises(RuntimeError, match="destroyed"):
        x.on(right, context)[1]
    shoal.barrier()
    partner = me ^ 1
    x.on(partner)[3] = 77
    shoal.sync_with(partner)
    assert x[3] == 77


@on_pes(1, 2, 4, 5)
def test_teams_split_translate_and_end():
    me, n = shoal.my_pe(), shoal.n_pes()
    world = shoal.world()
    assert world.pes == list(range(n)) and world.my_pe == me
    evens = world.split_strided(0, 2, (n + 1) // 2)
    assert (evens is not None) == (me % 2 == 0)
    if evens:
        assert evens.pes == list(range(0, n, 2)) and evens.translate(evens.my_pe, world) == me and evens.pes[evens.my_pe] == me
        assert evens.all_reduce([me])[0] == sum(range(0, n, 2))
        evens.barrier()
        evens.destroy()
        with pytest.raises(RuntimeError, match="destroyed"):
            evens.sync()
    backwards = world.split_strided(n - 1, -1, n)
    assert backwards.pes == list(range(n - 1, -1, -1))
    row, column = backwards.split_2d(2)
    assert row.all_gather(me).tolist() == row.pes and column.all_gather(me).tolist() == column.pes
    for team in (row, column, backwards):
        team.destroy()
    with pytest.raises(ValueError, match="start"):
        world.split_strided(0, 1, n + 1)
    with pytest.raises(ValueError, match="world"):
        world.destroy()


@on_pes(2)
def test_many_teams_come_and_go():
    for _ in range(200):
        team = shoal.world().split_strided(0, 1, 2)
        assert team.all_gather(shoal.my_pe()).tolist() == [0, 1]
        team.destroy()


@on_pes(2)
def test_a_broken_team_gives_its_place_back_once_all_have_dropped_it():
    me, world = shoal.my_pe(), shoal.world()

    def broken():
        """A team out of step: PE 0 gave up waiting for PE 1 in it."""
        team = world.split_strided(0, 1, 2)
        if me == 0:
            team._group_.set_timeout(0.001)
            with pytest.raises(TimeoutError):
                team.all_gather(1)
        return team

    kept = broken()
    for _ in range(100):
        team = broken()
        shoal.barrier()
        team.destroy()
    if me == 0:
        kept._group_ = None  # as destroy() does, which would wait for PE 1
    later = [world.split_strided(0, 1, 2) for _ in range(50)]
    if me == 1:  # writes to where PE 0 had the team
        kept.all_gather(1)
    shoal.barrier()
    for team in later:
        assert team.all_gather(me + 5).tolist() == [5, 6]
        team.destroy()


@on_pes(3)
def test_a_pe_in_too_many_teams_is_an_error_on_all_members():
    me, world = shoal.my_pe(), shoal.world()
    taken = []
    while me == 1 and (slot := shoal._core.take_slot(1)) >= 0:
        taken.append(slot)
    for _ in range(100):  # they leave nothing behind
        with pytest.raises(RuntimeError, match=r"PEs \[1\] are in too many teams"):
            world.split_strided(0, 1, 2)
        with pytest.raises(RuntimeError, match=r"PEs \[1\] are in too many teams"):
            world.split_2d(2)
    for slot in taken:
        shoal._core.give_back_slot(slot)
    row, column = world.split_2d(2)
    assert row.all_gather(me).tolist() == row.pes and column.all_gather(me).tolist() == column.pes
    row.destroy()
    column.destroy()


@on_pes(2)
def test_calls_from_threads_on_different_teams():
    teams = [shoal.world().split_strided(0, 1, 2) for _ in range(4)]
    errors = []

    def work(team, number):
        try:
            for i in range(100):
                assert team.all_reduce(np.full(1000, i * number)).tolist() == [2 * i * number] * 1000
        except BaseException as error:  # for the main thread to see
            errors.append(error)

    threads = [threading.Thread(target=work, args=(team, number)) for number, team in enumerate(teams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@on_pes(2)
def test_timeouts_of_none_and_nothing():
    flags = shoal.zeros(3, "int64")
    for timeout in (0, 0.0, -1, 1e-9):
        for wait in (shoal.wait_until, shoal.wait_until_any, shoal.wait_until_some):
            with pytest.raises(TimeoutError, match="in vain"):
                wait(flags, "==", 1, timeout=timeout)
        shoal.wait_until(flags, "==", 0, timeout=timeout)
        assert shoal.wait_until_any(flags, "==", 0, timeout=timeout) == 0
    with pytest.raises(TimeoutError):
        shoal.wait_signal(shoal.zeros(1, "uint64"), ">", 0, timeout=0)
    shoal.wait_until(flags, "==", 0, timeout=float("inf"))
    nothing = flags[3:]
    shoal.wait_until(nothing, "==", 1)
    assert shoal.wait_until_some(nothing, "==", 1) == [] and shoal.test(nothing, "==", 1)
    with pytest.raises(ValueError, match="no elements"):
        shoal.wait_until_any(nothing, "==", 1)


@on_pes(2)
def test_values_that_the_dtype_lacks_raise():
    flags, signal = shoal.zeros(1, "int32"), shoal.zeros(1, "uint64")
    for call in (lambda: shoal.wait_until(flags, "==", 1 << 31), lambda: shoal.test(flags, "==", -(1 << 31) - 1), lambda: shoal.wait_signal(signal, "==", -1),
                 lambda: shoal.signal(signal, -1, 0), lambda: shoal.signal(signal, 1 << 64, 0), lambda: shoal.put_signal(flags, [1 << 31], signal, 1, 0),
                 lambda: shoal.put_signal(flags, [1], signal, -1, 0), lambda: shoal.atomic(flags, 0, 0).swap(1 << 40)):
        with pytest.raises(OverflowError):
            call()


@on_pes(2)
def test_contexts_that_ended_raise():
    _, right, _ = neighbours()
    x = shoal.zeros(4, "int64")
    team = shoal.world().split_strided(0, 1, 2)
    for end in ("context", "team"):
        context = shoal.Context(team if end == "team" else None)
        remote, cell = x.on(right, context), shoal.atomic(x, 0, right, context)
        remote[0] = 1
        if end == "team":
            team.destroy()
        else:
            context.destroy()
        for call in (context.quiet, context.fence, lambda: shoal.quiet(context), lambda: remote[0], lambda: remote[:], lambda: remote[[1, 2]],
                     lambda: remote.__setitem__(0, 1), lambda: remote.__setitem__(slice(1), [1]), cell.load, lambda: cell.add(1),
                     lambda: shoal.put(x, x, right, context), lambda: shoal.get(x, right, context=context)):
            with pytest.raises(RuntimeError, match="destroyed"):
                call()
        context.destroy()  # once more does nothing
    shoal.barrier()
