#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed's collectives and DDP steps by the backend "shoal" and by Gloo, side by side in one run.

    shoalrun -n 2 python3 bench/torch_collectives.py [--quick] [--only WORD]

Each line: the median of many calls, in microseconds, by each backend in turn, and how many times Shoal is as fast.
"heap": the tensors are on the symmetric heap. "in place" and "copy" are what memory allows: all ranks at once add a number to a
tensor, which reads and writes it once as an all_reduce must, or copy one to another, as an all_to_all must.
"""
import argparse
import statistics
import time

import torch
import torch.distributed as dist

import shoal.torch

SIZES = [4_000, 400_000, 4_000_000, 40_000_000]


ONLY = ""  # lines whose name has this


def measure(actions, rounds):
    """Median seconds of each action's call, of the slowest rank; all ranks begin together, and the actions take turns, a few calls
    each: what follows a single call of another finds the processors busy with that one's end."""
    for action in actions:
        for _ in range(3):
            action()
    times = [[] for _ in actions]
    for turn in range(0, rounds, 5):
        for action, mine in ((a, m) for a, m in zip(actions, times) for _ in range(min(5, rounds - turn))):
            dist.barrier()
            began = time.perf_counter()
            action()
            mine.append(time.perf_counter() - began)
    slowest = torch.tensor([statistics.median(mine) for mine in times])
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return slowest.tolist()


def compare(name, action, gloo, rounds, heap_action=None):
    """One line of the table."""
    if ONLY not in name:
        return
    by_shoal, by_gloo = lambda: action(None), lambda: action(gloo)
    try:
        action(gloo)
    except RuntimeError:  # of all ranks alike: an old Gloo has no such operation
        ours, = measure([by_shoal], rounds)
        if dist.get_rank() == 0:
            print(f"{name:28} {ours * 1e6:12.1f} {'-':>12}", flush=True)
        return
    ours, theirs, *rest = measure([by_shoal, by_gloo] + ([lambda: heap_action(None)] if heap_action else []), rounds)
    heap = rest[0] if rest else None
    if dist.get_rank() == 0:
        extra = f"{heap * 1e6:12.1f} {theirs / heap:7.1f}" if heap else ""
        print(f"{name:28} {ours * 1e6:12.1f} {theirs * 1e6:12.1f} {theirs / ours:7.1f} {extra}", flush=True)


def collectives(gloo, sizes):
    """Every collective at every size."""
    n = dist.get_world_size()
    for size in sizes:
        rounds = max(15, min(200, 40_000_000 // size))
        x = torch.randn(size // 4)
        heap = shoal.torch.zeros(size // 4)
        compare(f"all_reduce {size}", lambda g: dist.all_reduce(x, group=g), gloo, rounds, lambda g: dist.all_reduce(heap, group=g))
        del heap
        part = torch.randn(size // 4 // n)
        parts = [torch.empty_like(part) for _ in range(n)]
        whole = torch.ones(part.numel() * n)
        other = torch.ones_like(whole)
        compare(f"broadcast {size}", lambda g: dist.broadcast(x, 0, group=g), gloo, rounds)
        compare(f"reduce {size}", lambda g: dist.reduce(x, 0, group=g), gloo, rounds)
        compare(f"all_gather {size}", lambda g: dist.all_gather(parts, part, group=g), gloo, rounds)
        compare(f"all_gather_into_tensor {size}", lambda g: dist.all_gather_into_tensor(whole, part, group=g), gloo, rounds)
        root = dist.get_rank() == 0
        compare(f"gather {size}", lambda g: dist.gather(part, parts if root else None, 0, group=g), gloo, rounds)
        compare(f"scatter {size}", lambda g: dist.scatter(part, parts if root else None, 0, group=g), gloo, rounds)
        compare(f"all_to_all_single {size}", lambda g: dist.all_to_all_single(other, whole, group=g), gloo, rounds)
        compare(f"reduce_scatter_tensor {size}", lambda g: dist.reduce_scatter_tensor(part, whole, group=g), gloo, rounds)
    compare("barrier", lambda g: dist.barrier(group=g), gloo, 200)


def limits(sizes):
    """What memory allows, without any communication."""
    for size in sizes:
        x, other = torch.ones(size // 4), torch.ones(size // 4)
        times = measure([lambda: x.add_(1.0), lambda: other.copy_(x)], max(15, min(200, 40_000_000 // size)))
        for name, seconds in zip((f"in place {size}", f"copy {size}"), times):
            if dist.get_rank() == 0 and ONLY in name:
                print(f"{name:28} {seconds * 1e6:12.1f}", flush=True)


class Overlap:
    """A communication hook for DDP that does what DDP does itself, and counts how much of it is done by the end of backward."""

    def __init__(self, group):
        self.group, self.pending, self.done, self.all = group, [], 0, 0

    def hook(self, _, bucket):
        """As model.register_comm_hook() asks for it."""
        buffer = bucket.buffer().div_(dist.get_world_size())
        work = dist.all_reduce(buffer, group=self.group, async_op=True)
        self.pending.append((work, buffer.numel()))
        if bucket.is_last():
            self.done += sum(count for one, count in self.pending if one.is_completed())
            self.all += sum(count for _, count in self.pending)
            self.pending.clear()
        return work.get_future().then(lambda future: future.value()[0])


def overlap(gloo, quick):
    """How much of the gradients is reduced by the time that backward hands over the last of them."""
    for width in (256, 1024) if quick else (256, 1024, 2048):
        name, shares = f"reduced in backward, {width}", []
        if ONLY not in name:
            continue
        for group in (None, gloo):
            torch.manual_seed(1)
            layers = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(width, width), torch.nn.ReLU())])
            model = torch.nn.parallel.DistributedDataParallel(layers, process_group=group, bucket_cap_mb=width * width * 4 / 2**20 / 2)
            counts = Overlap(group)
            model.register_comm_hook(None, counts.hook)
            x = torch.randn(16, width)
            for _ in range(15):
                model(x).square().mean().backward()
            shares.append(100 * counts.done / counts.all)
        if dist.get_rank() == 0:
            print(f"{name:28} {shares[0]:11.0f}% {shares[1]:11.0f}%", flush=True)


def ddp(gloo, quick):
    """A training step of models of several sizes."""
    for width in (32, 256, 1024) if quick else (32, 256, 1024, 2048):
        name, steps = f"DDP step, 4 layers of {width}", []
        if ONLY not in name:
            continue
        for group in (None, gloo):
            torch.manual_seed(1)
            layers = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(width, width), torch.nn.ReLU())])
            model = torch.nn.parallel.DistributedDataParallel(layers, process_group=group)
            optimizer = torch.optim.SGD(model.parameters(), 1e-3)
            x = torch.randn(16, width)

            def step(model=model, optimizer=optimizer, x=x):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()

            steps.append(step)
        times = measure(steps, 15 if width > 1000 else 60)
        if dist.get_rank() == 0:
            print(f"{name:28} {times[0] * 1e6:12.1f} {times[1] * 1e6:12.1f} {times[1] / times[0]:7.1f}", flush=True)


def main():
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--only", default="", metavar="WORD", help="only lines whose name has this: all_reduce, DDP, 4000000")
    options = parser.parse_args()
    quick = options.quick
    global ONLY  # pylint: disable=global-statement
    ONLY = options.only
    torch.set_num_threads(1)
    dist.init_process_group("shoal")
    gloo = dist.new_group(backend="gloo")
    if dist.get_rank() == 0:
        print(f"PyTorch {torch.__version__}, {dist.get_world_size()} PEs, times in us, sizes in bytes")
        print(f"{'':28} {'shoal':>12} {'gloo':>12} {'ratio':>7} {'shoal, heap':>12} {'ratio':>7}", flush=True)
    sizes = SIZES[::3] if quick else SIZES
    limits(sizes)
    collectives(gloo, sizes)
    ddp(gloo, quick)
    overlap(gloo, quick)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
