# SPDX-License-Identifier: Apache-2.0
"""Jobs of sizes that divide nothing evenly: the work area's layout depends on the number of PEs, and on the heap."""
import pytest
from pes import job

PROGRAM = """
    import numpy as np
    import shoal
    from shoal import _core
    shoal.init()
    me, n = shoal.my_pe(), shoal.n_pes()
    right, left = (me + 1) % n, (me - 1) % n
    x = shoal.zeros(n, "int64")
    x.on(right)[me] = 1
    shoal.wait_until(x[left:left + 1], "==", 1, timeout=60)
    assert (shoal.all_gather(np.full(5000, me)) == np.arange(n)[:, None]).all()
    assert (shoal.all_reduce(np.full(50_000, 1.0)) == n).all()
    out, into = np.arange(150_000.0) + me, np.zeros(150_000)
    transfers = [_core.start_send(right, 1, 0, out.ctypes.data, out.nbytes), _core.start_receive(left, [], 1, 0, into.ctypes.data, into.nbytes)]
    for transfer in transfers:
        _core.wait_transfer(transfer, 60)
    assert (into == np.arange(150_000.0) + left).all()
    shoal.barrier()
    shoal.free(x)
    """


@pytest.mark.parametrize("size", [3, 5, 6, 7, 10, 11, 13, 17, 25])
def test_collectives_and_messages_at_odd_sizes(size):
    run = job(size, PROGRAM)
    assert run.status == 0, run


def test_sharing_through_windows_smaller_than_what_is_shared():
    run = job(16, """
        import gc
        import shoal
        from shoal import _core
        shoal.init()
        me, n = shoal.my_pe(), shoal.n_pes()
        of = lambda pe: bytes([pe]) * (700 * pe if pe % 2 else 0)
        for _ in range(3):
            assert _core.world_group().share(of(me)) == [of(pe) for pe in range(n)]
        for i in range(20):  # each tells the others, in 512 bytes, what it has dropped
            x = shoal.full(10, i)
            del x
            gc.collect()
            assert shoal.all_gather(me).tolist() == list(range(n))
        """, SHMEM_SYMMETRIC_SIZE="8m")
    assert run.status == 0, run


def test_a_small_heap_holds_many_members():
    run = job(25, """
        import numpy as np
        import shoal
        shoal.init()
        me, n = shoal.my_pe(), shoal.n_pes()
        for i in range(3):
            assert (shoal.all_gather(np.full(100, me + i)) == np.arange(n)[:, None] + i).all()
            assert (shoal.all_reduce(np.full(400, 1.0 + i)) == n * (1 + i)).all()
            assert (shoal.reduce_scatter(np.full((n, 30), me)) == n * (n - 1) // 2).all()
            reduced = shoal.reduce(np.full(100, me), root=i)
            assert me != i or (reduced == n * (n - 1) // 2).all()
            shoal.barrier()
        """, SHMEM_SYMMETRIC_SIZE="8m")
    assert run.status == 0, run


def test_heap_too_small_for_so_many_pes_is_an_exception_on_all():
    run = job(44, """
        import shoal
        try:
            shoal.init()
        except RuntimeError as error:
            assert "make SHMEM_SYMMETRIC_SIZE larger" in str(error), error
            assert not shoal.is_initialized()
            print("refused\\n", end="", flush=True)
        """, SHMEM_SYMMETRIC_SIZE="8m")
    assert run.status == 0 and run.out.count("refused") == 44, run
