#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small network learns handwritten digits (scikit-learn's, 1,797 images), data-parallel over all PEs.

    shoalrun -n 4 python3 examples/python/digits.py [--backend gloo]

The global batch and the order of the images are the same for every number of PEs, so the accuracy is, too.
"""
import argparse
import time

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits

import shoal.torch  # registers the backend


def main():
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="shoal", help="shoal or gloo")
    parser.add_argument("--epochs", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    me, n = dist.get_rank(), dist.get_world_size()

    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    images, labels = torch.tensor(digits.data, dtype=torch.float32)[order] / 16, torch.tensor(digits.target)[order]
    split = 1440
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9)

    began = time.perf_counter()
    batch = 96  # of all PEs together
    for epoch in range(options.epochs):
        shuffled = torch.randperm(split, generator=torch.Generator().manual_seed(epoch))
        for first in range(0, split, batch):
            mine = shuffled[first:first + batch][me::n]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images[mine]), labels[mine]).backward()
            optimizer.step()
    seconds = time.perf_counter() - began

    mine = torch.arange(split + me, len(labels), n)
    counts = torch.tensor([(network(images[mine]).argmax(1) == labels[mine]).sum().item(), len(mine)])
    dist.all_reduce(counts)
    if me == 0:
        print(f"{options.backend}, {n} PEs: {100 * counts[0] / counts[1]:.1f} % of {counts[1]} unseen digits right, {seconds:.2f} s of training")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
