# SPDX-License-Identifier: Apache-2.0
"""Shoal: the memory of many processes as one global address space.

Each process, a processing element (PE), has a symmetric heap; any PE reads, writes and atomically updates any other's::

    import shoal

    shoal.init()
    x = shoal.zeros((100, 20), "float32")   # on all PEs alike; a NumPy array here
    x.on(3)[7, 12] = 5.0                    # a put: PE 3 takes no part
    shoal.barrier()
    v = x.on(3)[2:10:2]                     # a get
    shoal.finalize()

Start it on four PEs by ``shoalrun -n 4 python3 program.py``. Calls may come from any thread (collectives of one team from one
at a time); those that wait let other threads run. A call before :func:`init` or after :func:`finalize` raises RuntimeError.
"""
from __future__ import annotations

import os as _os

try:
    from . import _core
except ImportError as error:
    import sys as _sys
    _built = [name for name in _os.listdir(_os.path.dirname(__file__)) if name.startswith("_core.")]
    if _built and not any(f"-{_sys.version_info[0]}{_sys.version_info[1]}-" in name for name in _built):
        raise ImportError(f"this build of Shoal is for another Python ({', '.join(_built)}) than {_sys.executable}: run that one, or pip install "
                          "Shoal for this one") from error
    raise
from ._array import Array, array, bfloat16, empty, free, full, is_symmetric, ones, zeros
from ._collectives import all_gather, all_reduce, all_to_all, broadcast, gather, reduce, reduce_scatter, scan, scatter
from ._core import Remote
from ._remote import get, get_nbi, put, put_nbi, put_signal
from ._sync import (Atomic, atomic, barrier, fence, quiet, signal, sync, sync_with, test, wait_signal, wait_until, wait_until_any,
                    wait_until_some)
from ._team import Context, Team, world

__version__ = "0.1.0"
__all__ = [
    "Array", "Atomic", "Context", "Remote", "Team", "all_gather", "all_reduce", "all_to_all", "array", "atomic", "barrier", "bfloat16", "broadcast",
    "empty", "fence", "finalize", "free", "full", "gather", "get", "get_nbi", "global_exit", "init", "is_initialized", "is_symmetric", "my_pe", "n_pes",
    "ones", "put", "put_nbi", "put_signal", "quiet", "reduce", "reduce_scatter", "scan", "scatter", "signal", "sync", "sync_with", "test",
    "wait_signal", "wait_until", "wait_until_any", "wait_until_some", "world", "zeros",
]

_THREAD_LEVELS = {"single": 0, "funneled": 1, "serialized": 2, "multiple": 3}


def init(thread_level: str = "multiple") -> None:
    """Starts the library. Collective over all PEs; may be called again, and each call needs its :func:`finalize`.

    Without a launcher the process is a job of one PE. Raises RuntimeError if no start is possible; stderr says why.
    """
    if thread_level not in _THREAD_LEVELS:
        raise ValueError(f"init: thread_level={thread_level!r}: must be one of {', '.join(_THREAD_LEVELS)}")
    _core.init(_THREAD_LEVELS[thread_level])


def finalize() -> None:
    """Completes all communication and ends the library. Collective. Before init, and once too often, it does nothing.

    Arrays that are still in use keep what they hold, each for its own PE. A program that ends without it, with status 0,
    is finalized at its exit; one that ends by an exception ends the job.
    """
    _core.finalize()


def is_initialized() -> bool:
    """Whether the library runs: after init, before the last finalize."""
    return bool(_core.running())


def my_pe() -> int:
    """This PE's number, from 0 on."""
    _core.require("my_pe")
    return _core.my_pe()


def n_pes() -> int:
    """The number of PEs in the job."""
    _core.require("n_pes")
    return _core.n_pes()


def global_exit(status: int) -> None:
    """Ends the whole job at once with `status`, without the others' help. Doesn't return."""
    _core.require("global_exit")
    _core.global_exit(status)


def _launched() -> tuple[int, int]:
    """(PE, number of PEs) as a launcher's environment tells, before init."""
    if _core.running():
        return _core.my_pe(), _core.n_pes()
    for rank, size in (("SHOAL_PE", "SHOAL_NPES"), ("RANK", "WORLD_SIZE"), ("PMIX_RANK", "PMIX_SIZE"), ("PMI_RANK", "PMI_SIZE")):
        if rank in _os.environ and size in _os.environ:
            return int(_os.environ[rank]), int(_os.environ[size])
    return 0, 1
