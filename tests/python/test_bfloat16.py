# SPDX-License-Identifier: Apache-2.0
"""bfloat16, which NumPy lacks: tensors of it outside the torch.distributed backend, and arrays that hold its bits."""
import numpy as np
import pytest
from pes import on_pes

import shoal


def bits(*numbers):
    """These, which bfloat16 holds, as shoal.bfloat16."""
    return (np.array(numbers, "float32").view("uint32") >> 16).astype("uint16").view(shoal.bfloat16)


@on_pes(2, 3)
def test_arrays_of_bfloat16_move_and_are_reduced():
    me, n = shoal.my_pe(), shoal.n_pes()
    other = (me + 1) % n
    x = shoal.zeros((2, 3), "bfloat16")
    assert x.dtype == shoal.bfloat16 and x.nbytes == 12
    x.on(other)[0] = np.array([1 + 2**-9, 1 + 3 * 2**-8, -np.inf], "float32")  # to the nearest; a tie to the even one
    x.on(other)[1, :2] = bits(me, 5)
    x.on(other)[1, 2] = 0.5
    shoal.barrier()
    assert (x == np.stack([bits(1, 1 + 2**-6, -np.inf), bits((me - 1) % n, 5, 0.5)])).all()
    assert x.on(other)[1, 2] == 0.5 and (x.on(other)[1] == bits(me, 5, 0.5)).all()
    wide = shoal.zeros((2, 3), "float32")
    shoal.put(wide, shoal.get(x, other), other)
    shoal.barrier()
    assert wide[1].tolist() == [(me - 1) % n, 5, 0.5]
    assert (shoal.ones(3, "bfloat16") == bits(1, 1, 1)).all() and np.isnan(float(shoal.full(1, np.nan, "bfloat16").on(me)[0]))
    assert (shoal.all_reduce(bits(*[2**-8] * 1000)) == bits(*[n * 2**-8] * 1000)).all()
    assert (shoal.all_reduce(bits(1, -me), "max") == bits(1, 0)).all()
    assert (shoal.array(bits(me)) == bits(me)).all()
    for bad in (lambda: shoal.put(x, np.ones((2, 3), "complex64"), other), lambda: shoal.put(shoal.array([1]), bits(1), other),
                lambda: shoal.all_reduce(bits(1), "and"), lambda: shoal.wait_until(x[0, :1], "==", 1)):
        with pytest.raises((TypeError, ValueError), match="bfloat16|float32"):
            bad()
        shoal.barrier()


@on_pes(2, 3)
def test_tensors_of_bfloat16_move_and_are_reduced():
    torch = pytest.importorskip("torch")
    import shoal.torch  # pylint: disable=import-outside-toplevel
    me, n = shoal.my_pe(), shoal.n_pes()
    other, before = (me + 1) % n, (me - 1) % n

    def of(*numbers):
        return torch.tensor(numbers, dtype=torch.bfloat16)

    heap = shoal.torch.zeros(4, dtype=torch.bfloat16)
    shoal.put(heap, of(2.5 + me, 1, 2, 3), other)
    shoal.barrier()
    assert heap.tolist() == [2.5 + before, 1, 2, 3]
    got, into = shoal.get(heap, other), torch.zeros(4, dtype=torch.bfloat16)
    assert got.dtype == torch.bfloat16 and got.tolist() == [2.5 + me, 1, 2, 3]
    assert shoal.get(heap, other, into).dtype == torch.bfloat16 and into.tolist() == got.tolist()
    flags = shoal.zeros(1, "uint64")
    shoal.put_signal(heap[:1], of(7.0 + me), flags, 1, other)
    shoal.wait_signal(flags, "==", 1)
    assert heap[0] == 7 + before
    array = shoal.zeros((2, 2), torch.bfloat16)
    array.on(other)[1] = of(1.5, me)
    array.on(other)[0] = torch.ones(2)
    shoal.barrier()
    assert torch.from_numpy(array.view("int16")).view(torch.bfloat16).tolist() == [[1, 1], [1.5, before]]
    assert shoal.zeros(3, torch.float64).dtype == np.float64 and shoal.array(of(1, 2)).dtype == shoal.bfloat16

    small = of(*[2**-9] * 600).reshape(2, 300)
    total = shoal.all_reduce(small, out=(out := torch.empty_like(small)))
    assert total.dtype == torch.bfloat16 and (total == n * 2**-9).all() and (out == total).all()
    # Accumulated in float: added one by one in bfloat16, the halves of a unit in the last place would be lost.
    assert shoal.all_reduce(of(256.0 if me == 0 else 1.0)).tolist() == [torch.tensor(256.0 + n - 1).to(torch.bfloat16).item()]
    assert shoal.all_gather(of(me)).tolist() == [[i] for i in range(n)]
    assert shoal.broadcast(of(me, 3), 1).tolist() == [1, 3]
    reduced, gathered = shoal.reduce(of(me), 0, "max"), shoal.gather(of(me), 1)
    assert (reduced is None) == (me != 0) and (gathered is None) == (me != 1) and (me != 0 or reduced.tolist() == [n - 1])
    assert shoal.all_to_all(of(*[me] * n)).tolist() == list(range(n)) and shoal.scan(of(1)).tolist() == [me + 1]
    assert shoal.reduce_scatter(of(*range(n))).item() == n * me
    assert shoal.scatter(of(*range(n)), 0, of(9)[0]).item() == me
    with pytest.raises(ValueError, match="bfloat16"):
        shoal.all_reduce(of(1) if me else torch.ones(1, dtype=torch.float16))
