# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend in jobs of their own: training against Gloo, interrupts and ends, torchrun."""
import os
import socket
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError) if pytest.version_tuple >= (8, 2) else pytest.importorskip("torch")

from pes import environment, job  # pylint: disable=wrong-import-position

MODERN = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 0)


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


def test_gradients_are_reduced_while_backward_goes_on():
    """Backward of the first layer doesn't end before the other layers' gradients are reduced, for which nobody waits."""
    run = job(2, """
        import time, torch, torch.distributed as dist, shoal.torch
        torch.set_num_threads(1)
        torch.manual_seed(3)
        dist.init_process_group("shoal")
        first, *others = [torch.nn.Linear(600, 600) for _ in range(3)]  # each more than DDP's first bucket
        works = []

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.others = first, torch.nn.Sequential(*others)

            def forward(self, x):
                x = self.first(x)
                x.register_hook(compute)
                return self.others(x)

        def compute(gradient):
            if step == 0:  # all are one bucket, until DDP knows their order
                return
            deadline = time.monotonic() + 60
            assert works, "backward has handed over nothing yet"
            while not all(work.is_completed() for work in works):
                assert time.monotonic() < deadline, "nothing was reduced beside backward"
                gradient.mm(torch.ones(600, 600))

        def reduced(_, bucket):
            works.append(dist.all_reduce(bucket.buffer().div_(2), async_op=True))
            return works[-1].get_future().then(lambda future: future.value()[0])

        model = torch.nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=1)
        model.register_comm_hook(None, reduced)
        for step in range(3):
            works.clear()
            model(torch.full((4, 600), 1.0 + dist.get_rank())).sum().backward()
            total = first.weight.grad.clone()
            dist.all_reduce(total)
            assert torch.allclose(total / 2, first.weight.grad)
            model.zero_grad()
        dist.destroy_process_group()
        """)
    assert run.status == 0, run


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
