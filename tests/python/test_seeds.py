# SPDX-License-Identifier: Apache-2.0
"""The modules aclshmemx, shmem and shmem4py, by the samples that they were made for. A sample is changed only where it is no
valid code, or races as printed; each such place says so."""
import importlib.util
import os
import shutil
import sys
import textwrap

import pytest
from pes import job, shoalrun

torch_is_there = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not torch_is_there, reason="PyTorch is not installed")

RAISES = """
def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"no exception with {text}")
"""

TRAINING = """
import torch
import torch.distributed as dist
import aclshmemx

def setup_shmem_backend():
    aclshmemx.init(
        tls_enabled=True,
        log_level='warning'
    )
    global_team = aclshmemx.get_default_team()
    rank = aclshmemx.get_rank(global_team)
    size = aclshmemx.get_size(global_team)
    return rank, size, global_team

def allreduce_gradients(model, team):
    for param in model.parameters():
        if param.grad is not None:
            aclshmemx.allreduce(
                team,
                param.grad.data,
                op='sum'
            )
            param.grad.data.div_(aclshmemx.get_size(team))

def train_with_shmem(model, train_loader, optimizer, team):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = model(data)
        loss = torch.nn.functional.cross_entropy(output, target)  # the sample has dist.nn.functional, which has no cross_entropy
        loss.backward()
        allreduce_gradients(model, team)
        optimizer.step()

rank, size, team = setup_shmem_backend()
torch.manual_seed(1)
torch.set_num_threads(1)
data = torch.randn(8 * 12, 10)
target = (data.sum(1) > 0).long()
def model_of():
    torch.manual_seed(2)
    return torch.nn.Sequential(torch.nn.Linear(10, 30), torch.nn.ReLU(), torch.nn.Linear(30, 2))
def batches(rank, size):
    return [(data[i:i + 12][rank::size], target[i:i + 12][rank::size]) for i in range(0, len(data), 12)]
model = model_of()
train_with_shmem(model, batches(rank, size), torch.optim.SGD(model.parameters(), 0.1), team)
alone = model_of()
optimizer = torch.optim.SGD(alone.parameters(), 0.1)
for x, y in batches(0, 1):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(alone(x), y).backward()
    optimizer.step()
for a, b in zip(model.parameters(), alone.parameters()):
    assert torch.allclose(a, b, atol=1e-6), (a, b)
"""

ALL_REDUCE = RAISES + """
import shmem
import torch
import time

rank = shmem.my_pe()
n_pes = shmem.n_pes()

shmem.init()

buffer_size = 1024 * 1024 * 4  # 4MB
local_buffer = shmem.malloc(buffer_size)

local_tensor = torch.frombuffer(  # the sample has torch.from_buffer and, at the end, .npu()
    local_buffer,
    dtype=torch.float32,
    count=buffer_size // 4
)

local_tensor.fill_(rank * 1.0)

def allreduce_shmem(tensor, op='sum'):
    n_pes = shmem.n_pes()
    rank = shmem.my_pe()

    for pe in range(n_pes):
        if pe != rank:
            shmem.put(
                dest=pe,
                dest_idx=rank * tensor.numel(),  # the sample has 0: all would write to one place
                source=tensor.data_ptr(),
                nelems=tensor.numel()
            )

    shmem.barrier()

    temp_buffer = torch.empty_like(tensor)
    for pe in range(n_pes):
        if pe != rank:
            shmem.get(
                dest=temp_buffer.data_ptr(),
                source=rank,                      # the sample has pe: what it put lies here
                source_idx=pe * tensor.numel(),
                nelems=tensor.numel()
            )
            tensor += temp_buffer

    shmem.barrier()
    return tensor

assert n_pes == 3 and (local_tensor == rank).all()
local_tensor[5] = 77
assert local_buffer.view("float32")[5] == 77  # no copy
shmem.barrier()
for size in (1, 1024, 10240, 102400):
    data = torch.full((size,), float(rank + 1))
    for _ in range(3):
        assert (allreduce_shmem(data.clone()) == 6).all()
aligned = shmem.malloc(1024 * 4)
assert int(aligned.ctypes.data) % 64 == 0

raises(ValueError, "not aligned", lambda: shmem.put(dest=1, dest_idx=0, source=data.data_ptr() + 1, nelems=3))
raises(IndexError, "PE 3 is out of range", lambda: shmem.put(dest=3, dest_idx=0, source=data.data_ptr(), nelems=3))
raises(IndexError, "not all in", lambda: shmem.put(dest=1, dest_idx=1024, source=data.data_ptr(), nelems=1))
raises(ValueError, "contiguous", lambda: shmem.get(torch.zeros(2), source=1, source_idx=0, nelems=3))
shmem.finalize()
"""

NEIGHBOURS = """
import numpy as np
import shmem4py as shm

shm.init()
my_pe = shm.my_pe()
NODES_PER_PE = 20

local_features = shm.alloc(NODES_PER_PE, dtype=np.float32)
local_features[:] = np.arange(NODES_PER_PE) + 100 * my_pe
shm.barrier_all()
remote_features = local_features  # symmetric: one name for all PEs' parts

class Neighbour:
    def __init__(self, owner_pe, local_idx):
        self.owner_pe, self.local_idx = owner_pe, local_idx

rng = np.random.default_rng(my_pe)
neighbours = [[Neighbour(int(rng.integers(shm.n_pes())), int(rng.integers(NODES_PER_PE))) for _ in range(node % 5)] for node in range(NODES_PER_PE)]
aggregated = np.zeros(NODES_PER_PE, np.float32)
for node in range(NODES_PER_PE):
    for neighbor in neighbours[node]:
        remote_pe = neighbor.owner_pe
        remote_offset = neighbor.local_idx
        neighbor_feat = shm.float_get(remote_features[remote_offset], pe=remote_pe)
        aggregated[node] += neighbor_feat
shm.fence()
assert (aggregated == [sum(100 * n.owner_pe + n.local_idx for n in some) for some in neighbours]).all()

shm.barrier_all()
shm.float_put(remote_features[3], 5.5, pe=(my_pe + 1) % shm.n_pes())
shm.barrier_all()
assert local_features[3] == 5.5
for call in (lambda: shm.float_get(3.0, pe=0), lambda: shm.double_get(remote_features[0], pe=0)):
    try:
        call()
        raise SystemExit("no exception")
    except TypeError:
        pass
shm.free(local_features)
shm.finalize()
"""


@needs_torch
def test_training_loop_of_aclshmemx_trains_as_one_pe_does():
    run = job(2, TRAINING)
    assert run.status == 0, run


def test_shmem_takes_memory_that_it_can_read_and_fill():
    run = job(2, RAISES + textwrap.dedent("""
        import numpy as np, shmem, shoal
        shmem.init()
        memory = shmem.malloc(4096)
        other = 1 - shmem.my_pe()
        shmem.put(other, 0, [1.5, 2, 3], 3)
        shmem.put(other, 4, np.arange(8, dtype="uint8"), 1, dtype="int64")
        shmem.barrier()
        assert memory.view("float32")[:3].tolist() == [1.5, 2, 3] and memory[32:40].tolist() == list(range(8))
        got = np.zeros(3, "float32")
        shmem.get(got, other, 0, 3)
        assert got.tolist() == [1.5, 2, 3]
        frozen = np.zeros(3, "float32")
        frozen.flags.writeable = False
        raises(TypeError, "could not be filled", lambda: shmem.get([0.0, 0.0, 0.0], other, 0, 3))
        raises(TypeError, "float64", lambda: shmem.get(np.zeros(3), other, 0, 3))
        raises(TypeError, "float64", lambda: shmem.put(other, 0, np.zeros(3), 3))
        raises(ValueError, "writeable", lambda: shmem.get(frozen, other, 0, 3))
        for call in (lambda: shmem.put(other, 0, got, 3, buffer=np.zeros(9, "float32")), lambda: shmem.get(got, other, 0, 3, buffer=np.zeros(36, "uint8"))):
            raises(ValueError, "buffer is not on the symmetric heap", call)
        table = shoal.zeros((2, 3), "float32")
        shmem.put(other, 5, [7.0], 1, buffer=table)
        raises(IndexError, "not all in memory of 6", lambda: shmem.put(other, 6, [7.0], 1, buffer=table))
        raises(ValueError, "contiguous", lambda: shmem.put(other, 0, [7.0], 1, buffer=table[:, 1:]))
        shmem.barrier()
        assert table.tolist() == [[0, 0, 0], [0, 0, 7]]
        shmem.finalize()
        """))
    assert run.status == 0, run


@needs_torch
def test_all_reduce_by_puts_and_gets_of_shmem():
    run = job(3, ALL_REDUCE)
    assert run.status == 0, run


def test_neighbour_aggregation_of_shmem4py():
    run = job(4, NEIGHBOURS)
    assert run.status == 0, run


def test_aclshmemx_on_numpy_arrays_and_its_refusals():
    run = job(2, """
        import numpy as np, aclshmemx
        try: aclshmemx.init(log_level="loud")
        except ValueError as error: assert "loud" in str(error)
        aclshmemx.init()
        team = aclshmemx.get_default_team()
        x = np.zeros((3, 4))[:, ::2] + 1
        wide = np.ones((3, 4), "float32")
        aclshmemx.allreduce(team, x, "sum")
        aclshmemx.allreduce(team, wide[:, ::2])
        assert (x == 2).all() and wide.tolist() == [[2, 1, 2, 1]] * 3
        for bad in ([1.0], 3.0):
            try:
                aclshmemx.allreduce(team, bad)
                raise SystemExit("no exception")
            except TypeError:
                pass
        aclshmemx.barrier()
        aclshmemx.finalize()
        """)
    assert run.status == 0, run


def public(folder):
    """A package as the public shmem4py is laid out."""
    package = folder / "shmem4py"
    package.mkdir()
    (package / "__init__.py").write_text("rc = 'options'\n")
    (package / "shmem.py").write_text("from . import rc\nNAME = 'public'\nassert rc == 'options'\n")
    return str(folder)


@pytest.mark.parametrize("first", ["ours", "public"])
def test_public_shmem4py_is_let_through(tmp_path, first):
    ours = os.environ["PYTHONPATH"]
    path = os.pathsep.join([ours, public(tmp_path)] if first == "ours" else [public(tmp_path), ours])
    run = shoalrun(1, sys.executable, "-c", "from shmem4py import shmem; print(shmem.NAME)", PYTHONPATH=path)
    assert run.status == 0 and run.out == "public\n", run
    if first == "ours":
        run = shoalrun(1, sys.executable, "-c", "import shmem4py as shm; shm.init(); print(shm.my_pe(), shm.rc); from shmem4py import shmem", PYTHONPATH=path)
        assert run.status == 0 and run.out == "0 options\n", run


def test_in_one_folder_the_public_shmem4py_is_both(tmp_path):
    folder = public(tmp_path)
    shutil.copy(os.path.join(os.environ["PYTHONPATH"], "shmem4py.py"), folder)
    path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
    run = shoalrun(1, sys.executable, "-c", "import shmem4py; print(shmem4py.rc); from shmem4py import shmem; print(shmem.NAME)", PYTHONPATH=path)
    assert run.status == 0 and run.out == "options\npublic\n", run


def test_without_the_public_one_there_is_no_submodule():
    run = shoalrun(1, sys.executable, "-c", "import shmem4py\ntry:\n  from shmem4py import shmem\nexcept ImportError: print('none')")
    assert run.out == "none\n", run
