# SPDX-License-Identifier: Apache-2.0
"""The collectives of teams, as functions."""
from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar

import numpy as np

from ._team import Team, world

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _documented(function: _Function) -> _Function:
    function.__doc__ = f"As :meth:`Team.{function.__name__}`, on `team` or the world.\n\n{getattr(Team, function.__name__).__doc__}"
    return function


def _of(team: Optional[Team]) -> Team:
    return world() if team is None else team


@_documented
def all_reduce(data: Any, op: str = "sum", out: Any = None, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).all_reduce(data, op, out)


@_documented
def reduce(data: Any, root: int, op: str = "sum", out: Any = None, *, team: Optional[Team] = None) -> Optional[np.ndarray]:
    return _of(team).reduce(data, root, op, out)


@_documented
def reduce_scatter(data: Any, op: str = "sum", out: Any = None, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).reduce_scatter(data, op, out)


@_documented
def scan(data: Any, exclusive: bool = False, out: Any = None, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).scan(data, exclusive, out)


@_documented
def broadcast(data: Any, root: int, *, team: Optional[Team] = None) -> Any:
    return _of(team).broadcast(data, root)


@_documented
def all_gather(data: Any, out: Any = None, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).all_gather(data, out)


@_documented
def gather(data: Any, root: int, out: Any = None, *, team: Optional[Team] = None) -> Optional[np.ndarray]:
    return _of(team).gather(data, root, out)


@_documented
def scatter(data: Any, root: int, out: Any, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).scatter(data, root, out)


@_documented
def all_to_all(data: Any, out: Any = None, *, team: Optional[Team] = None) -> np.ndarray:
    return _of(team).all_to_all(data, out)
