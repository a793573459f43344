# SPDX-License-Identifier: Apache-2.0
"""Collectives for training, in the accelerator-style naming: a facade of :mod:`shoal`.

``aclshmemx.allreduce(team, param.grad.data, op='sum')`` works in place on CPU tensors and NumPy arrays, on the symmetric heap or not.
"""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import shoal

__all__ = ["init", "finalize", "get_default_team", "get_rank", "get_size", "allreduce", "broadcast", "allgather", "reduce_scatter", "barrier"]

_LEVELS = ("error", "warning", "info", "debug")


def init(tls_enabled: bool = True, log_level: str = "warning") -> None:
    """Starts the library, collectively. `tls_enabled`: encrypt and authenticate what travels between machines (within one nothing
    travels). `log_level`: error, warning, info or debug. Options that the environment sets (SHOAL_TLS, SHOAL_LOG) stay."""
    if log_level not in _LEVELS:
        raise ValueError(f"init: log_level={log_level!r}: must be one of {', '.join(_LEVELS)}")
    os.environ.setdefault("SHOAL_TLS", "1" if tls_enabled else "0")
    os.environ.setdefault("SHOAL_LOG", log_level)
    shoal.init()


def finalize() -> None:
    """Ends the library, collectively."""
    shoal.finalize()


def get_default_team() -> shoal.Team:
    """The team of all PEs."""
    return shoal.world()


def get_rank(team: shoal.Team) -> int:
    """This PE's number in the team."""
    return team.my_pe


def get_size(team: shoal.Team) -> int:
    """The number of PEs in the team."""
    return team.n_pes


def _in_place(data: Any) -> tuple[int, int, int, tuple, Any]:
    """(address, type, count, shape, what to do afterwards) of contiguous memory that holds `data`."""
    from shoal import _array  # pylint: disable=import-outside-toplevel
    if hasattr(data, "detach"):  # a tensor: NumPy lacks bfloat16
        import torch  # pylint: disable=import-outside-toplevel
        import shoal.torch as backend  # pylint: disable=import-outside-toplevel
        tensor = backend._check("allreduce", data.detach())
        flat = tensor.contiguous()
        assert isinstance(flat, torch.Tensor)
        return flat.data_ptr(), backend._TYPES[flat.dtype], flat.numel(), tuple(flat.shape), (tensor, flat) if flat is not tensor else None
    array = _array.as_numpy(data, "allreduce")
    if not isinstance(data, np.ndarray) or not array.flags.writeable:
        raise TypeError(f"allreduce: works in place, on a writeable NumPy array or a CPU tensor, not on {type(data).__name__}")
    flat = np.ascontiguousarray(array)
    return flat.ctypes.data, _array.type_number(flat.dtype), flat.size, flat.shape, (array, flat) if flat is not array else None


def allreduce(team: shoal.Team, tensor: Any, op: str = "sum") -> None:
    """Replaces element i of `tensor`, on all members, by the combination of everyone's element i: op is sum, prod, min or max.

    Raises ValueError where members disagree about shape, dtype or operation, naming both; TypeError for what isn't a tensor.
    """
    from shoal._team import _operation  # pylint: disable=import-outside-toplevel
    address, kind, count, shape, back = _in_place(tensor)
    team._group("allreduce").all_reduce(address, address, kind, count, shape, _operation("allreduce", op))
    if back is not None:
        to, flat = back
        if hasattr(to, "copy_"):
            to.copy_(flat)
        else:
            to[...] = flat


def broadcast(team: shoal.Team, tensor: Any, root: int = 0) -> None:
    """Fills everyone's `tensor`, contiguous, with member `root`'s. Raises as :func:`allreduce`."""
    if not hasattr(tensor, "detach") and not isinstance(tensor, np.ndarray):
        raise TypeError(f"broadcast: works in place, on a writeable NumPy array or a CPU tensor, not on {type(tensor).__name__}")
    team.broadcast(tensor, root)


def allgather(team: shoal.Team, tensor: Any) -> np.ndarray:
    """Everyone's `tensor`, as one array of shape (members, *shape)."""
    return team.all_gather(tensor)


def reduce_scatter(team: shoal.Team, tensor: Any, op: str = "sum") -> np.ndarray:
    """Member i gets the combination of everyone's block i along the first axis."""
    return team.reduce_scatter(tensor, op)


def barrier(team: "shoal.Team | None" = None) -> None:
    """Waits for all members, after this PE's operations are complete."""
    (shoal.world() if team is None else team).barrier()
