# SPDX-License-Identifier: Apache-2.0
"""What torch.distributed calls a Work: an operation of a process group that may still be under way."""
from __future__ import annotations

import datetime
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
import torch.distributed as dist

from . import _core

if TYPE_CHECKING:
    from .torch import ProcessGroup

_BaseWork = getattr(dist, "Work", None) or getattr(dist, "_Work")


class Work(_BaseWork):
    """An operation in progress. Whoever waits for it carries it out, unless the group's own thread has begun to."""

    def __init__(self, group: "ProcessGroup", action: "Optional[Callable[[], None]]", result: list) -> None:
        super().__init__()
        self._group, self._action, self._result = group, action, result
        self._done = action is None
        self._error: "Optional[BaseException]" = None
        self._future: "Optional[torch.futures.Future]" = None
        self._source = -1

    def _run(self) -> None:
        """With the group's lock held."""
        try:
            self._action()  # type: ignore[misc]
        except BaseException as error:  # whoever waits gets it
            self._error = error
        self._action = None
        self._finish()

    def _finish(self) -> None:
        with self._group._futures:
            self._done = True
            future = self._future
        if future is not None:
            self._complete(future)

    def _complete(self, future: "torch.futures.Future") -> None:
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def wait(self, timeout: "datetime.timedelta | None" = None) -> bool:
        """Returns when the operation is complete; raises what went wrong."""
        if not self._done:
            self._group._run_until(self)
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """As wait()."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is complete, or has failed."""
        return self._done

    def is_success(self) -> bool:
        """Whether it is complete and hasn't failed."""
        return self._done and self._error is None

    def exception(self) -> "Optional[BaseException]":
        """What went wrong."""
        return self._error

    def result(self) -> list:
        """The operation's output tensors."""
        return self._result

    def source_rank(self) -> int:
        """The sender of what was received."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> "torch.futures.Future":
        """A future with the output tensors."""
        future: "torch.futures.Future" = torch.futures.Future()
        with self._group._futures:
            if not self._done:
                if self._future is not None:
                    return self._future
                self._future = future
                return future
        self._complete(future)
        return future


class TransferWork(Work):
    """A send or a receive."""

    def __init__(self, group: "ProcessGroup", transfer: Any, tensor: torch.Tensor, staged: "Optional[torch.Tensor]") -> None:
        super().__init__(group, None, [tensor])
        self._transfer, self._staged = transfer, staged
        self._done = False
        self._once = threading.Lock()
        self.keeps: "Optional[torch.Tensor]" = None

    def wait(self, timeout: "datetime.timedelta | None" = None) -> bool:
        if not self._done:
            seconds = timeout.total_seconds() if timeout else 0.0
            try:
                _core.wait_transfer(self._transfer, seconds if seconds > 0 else self._group._seconds)
            except ValueError as error:
                self._error = error
            self._end()
        if self._error is not None:
            raise self._error
        return True

    def _end(self) -> None:
        with self._once:
            if self._done:
                return
            if self._staged is not None and self._error is None:
                self._result[0].copy_(self._staged)
            self._source = self._group._ranks.get(self._transfer.pe, -1)
            self._finish()

    def is_completed(self) -> bool:
        if not self._done and _core.test_transfer(self._transfer):
            self.wait()
        return self._done
