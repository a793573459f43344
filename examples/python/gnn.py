#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Neighbour aggregation of a graph neural network on a real graph: which installed Debian package depends on which.

    shoalrun -n 4 python3 examples/python/gnn.py

Vertices and their features are spread over the PEs. For each layer a PE gets the features of exactly those neighbours that its
vertices have, wherever they are, a batch of rows from each PE; nobody has to know who reads what.
"""
import re
import sys

import numpy as np

import shoal

FEATURES, LAYERS = 16, 3


def dependency_graph(path):
    """[(package, package that it depends on)], and the packages' names."""
    names, wanted = {}, []
    with open(path, encoding="utf-8", errors="replace") as file:
        for paragraph in file.read().split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.M))
            if "Package" in fields:
                names.setdefault(fields["Package"], len(names))
                for other in re.split(r"[,|]", fields.get("Depends", "") + "," + fields.get("Pre-Depends", "")):
                    wanted.append((fields["Package"], other.split("(")[0].split(":")[0].strip()))
    return sorted({(names[a], names[b]) for a, b in wanted if b in names}), list(names)


def initial(vertices):
    """Made-up features, the same wherever a vertex is."""
    return np.sin(np.outer(vertices + 1, np.arange(1, FEATURES + 1))).astype("float32")


def main(path="/var/lib/dpkg/status"):
    """The program."""
    shoal.init()
    me, n = shoal.my_pe(), shoal.n_pes()
    edges, names = dependency_graph(path)
    each = -(-len(names) // n)
    features = shoal.zeros((each, FEATURES), "float32")  # of vertices me * each, me * each + 1, ...
    first, last = me * each, min((me + 1) * each, len(names))
    features[:max(last - first, 0)] = initial(np.arange(first, last))
    mine = np.array([edge for edge in edges if first <= edge[0] < last]).reshape(-1, 2)
    owners = mine[:, 1] // each
    degree = np.maximum(np.bincount(mine[:, 0] - first, minlength=each), 1)[:, None]

    shoal.barrier()
    for _ in range(LAYERS):
        total = np.zeros((each, FEATURES), "float32")
        for pe in range(n):
            there = owners == pe
            rows, where = np.unique(mine[there, 1] - pe * each, return_inverse=True)
            got = features.on(pe)[rows]  # irregular, one-sided: each neighbour once
            np.add.at(total, mine[there, 0] - first, got[where])
        shoal.barrier()  # all have read what is now replaced
        features[...] = np.tanh(features + total / degree)
        shoal.barrier()

    whole = initial(np.arange(len(names)))
    all_edges = np.array(edges)
    for _ in range(LAYERS):
        total = np.zeros_like(whole)
        np.add.at(total, all_edges[:, 0], whole[all_edges[:, 1]])
        whole = np.tanh(whole + total / np.maximum(np.bincount(all_edges[:, 0], minlength=len(names)), 1)[:, None])
    worst = shoal.all_reduce([np.abs(features[:max(last - first, 0)] - whole[first:last]).max(initial=0)], "max")[0]
    far = shoal.all_reduce([np.count_nonzero(owners != me)])[0]
    if me == 0:
        print(f"{len(names)} packages, {len(edges)} dependencies, {far} of them to another PE; {LAYERS} layers on {n} PEs agree with one: "
              f"{'yes' if worst < 1e-4 else 'NO'}")
    shoal.finalize()
    sys.exit(0 if worst < 1e-4 else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
