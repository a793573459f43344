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
