#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What access through Python costs: single elements, and 1 MiB beside the same call of the C library, in turn.

    shoalrun -n 2 python3 bench/python_access.py
"""
import ctypes
import statistics
import time

import numpy as np

import shoal


def seconds(action, count):
    """Seconds of one of `count` calls."""
    began = time.perf_counter()
    for _ in range(count):
        action()
    return (time.perf_counter() - began) / count


def main():
    """The program."""
    shoal.init()
    me, n = shoal.my_pe(), shoal.n_pes()
    pe = (me + 1) % n
    x = shoal.zeros((10, 20), "float32")
    large, local = shoal.zeros(1 << 20, "uint8"), np.ones(1 << 20, "uint8")
    library = ctypes.CDLL("libshoal.so.0")  # the one that is loaded already
    call = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.shmem_putmem.argtypes = library.shmem_getmem.argtypes = call
    there, here = large.ctypes.data, local.ctypes.data

    def put_element():
        x.on(pe)[7, 12] = 5.0

    actions = {
        "x.on(pe)[i, j] = v": put_element,
        "x.on(pe)[i, j]": lambda: x.on(pe)[7, 12],
        "x.on(pe)[2:10:2]": lambda: x.on(pe)[2:10:2],
        "atomic fetch_add": shoal.atomic(shoal.zeros(1, "int64"), 0, pe).fetch_add,
    }
    for name, action in actions.items():
        shoal.barrier()
        times = [seconds(action, 2000) for _ in range(21)] if me == 0 else []
        if me == 0:  # the others are quiet meanwhile
            print(f"{name:24} {statistics.median(times) * 1e9:9.0f} ns", flush=True)
    pairs = {
        "put of 1 MiB": (lambda: shoal.put(large, local, pe), lambda: library.shmem_putmem(there, here, 1 << 20, pe)),
        "get of 1 MiB": (lambda: shoal.get(large, pe, local), lambda: library.shmem_getmem(here, there, 1 << 20, pe)),
    }
    for name, (python, c) in pairs.items():
        shoal.barrier()
        if me != 0:
            continue
        seconds(python, 20)
        samples = [(seconds(python, 20), seconds(c, 20)) for _ in range(41)]
        ours, theirs = (statistics.median(column) for column in zip(*samples))
        print(f"{name:24} {ours * 1e6:9.1f} us, by the C library {theirs * 1e6:.1f} us: {ours / theirs:.2f} times", flush=True)
    shoal.finalize()


if __name__ == "__main__":
    main()
