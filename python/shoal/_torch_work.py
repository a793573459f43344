# SPDX-License-Identifier: Apache-2.0
"""What torch.distributed calls a Work: an operation of a process group that may still be under way."""
from __future__ import annotations

import datetime
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
import torch.distributed as dist

from . import _core

if TYPE_CHECKING:
    from .torch import ProcessGroup

_BaseWork = getattr(dist, "Work", None) or getattr(dist, "_Work")
_state = threading.Lock()  # between finishing an operation and asking for its future, or for its end
# C++ keeps its half of a Work alive, not Python's: what is complete stays here until it was waited for.
_kept: "dict[int, Work]" = {}
_MOST_KEPT = 64  # beyond these, whoever made them doesn't care


def _keep(work: "Work") -> None:
    """With the lock held."""
    _kept[id(work)] = work
    if len(_kept) > _MOST_KEPT:
        del _kept[next(iter(_kept))]


def _let_go(work: "Work") -> None:
    with _state:
        _kept.pop(id(work), None)


def _promise() -> "tuple[torch.futures.Future, torch.futures.Future]":
    """A future of an error or None and a result, and the one that fails or succeeds with them. Only what a callback raises is an
    error for C++, too: Future.set_exception() makes one for Python alone, and refuses KeyboardInterrupt."""
    def outcome(done: "torch.futures.Future") -> list:
        error, result = done.value()
        if error is not None:
            raise error
        return result

    promise: "torch.futures.Future" = torch.futures.Future()
    return promise, promise.then(outcome)


class Work(_BaseWork):
    """An operation in progress. Whoever waits for it carries it out, unless the group's own thread has begun to. It holds its group
    only until it is complete."""

    def __init__(self, group: "Optional[ProcessGroup]", action: "Optional[Callable[[], None]]", result: list) -> None:
        super().__init__()
        self._group, self._action, self._result = group, action, result
        self._done = action is None
        self._error: "Optional[BaseException]" = None
        self._promised: "Optional[tuple[torch.futures.Future, torch.futures.Future]]" = None  # see _promise
        self._ended: "Optional[threading.Event]" = None
        self._source = -1

    def _run(self) -> None:
        """With the group's lock held."""
        try:
            self._action()  # type: ignore[misc]
        except Exception as error:  # pylint: disable=broad-except  # whoever waits gets it, without frames that hold the group
            self._error = error.with_traceback(None)
        except BaseException as error:  # Ctrl-C is for who runs this, whosever operation it is
            self._error = error
            raise
        finally:
            self._action = None
            self._finish()

    def _finish(self) -> None:
        with _state:
            self._done, self._group = True, None
            promised, ended = self._promised, self._ended
            self._promised = None
            if promised is None:
                _keep(self)
        if ended is not None:
            ended.set()
        if promised is not None:
            self._complete(promised[0])

    def _complete(self, promise: "torch.futures.Future") -> None:
        promise.set_result((self._error, self._result))

    def wait(self, timeout: "datetime.timedelta | None" = None) -> bool:
        """Returns when the operation is complete; raises what went wrong. With a timeout, a TimeoutError once it has passed: the operation
        goes on."""
        if not self._done:
            seconds = timeout.total_seconds() if timeout else 0.0
            group = self._group
            if seconds > 0:
                self._wait_for_the_thread(seconds)
            elif group is not None:
                group._run_until(self)
        _let_go(self)
        if self._error is not None:
            raise self._error
        return True

    def _wait_for_the_thread(self, seconds: float) -> None:
        with _state:
            if self._done:
                return
            if self._ended is None:
                self._ended = threading.Event()
        if not self._ended.wait(seconds):
            raise TimeoutError(f"shoal: the operation was not complete within {seconds} s")

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
        """A future with the output tensors. Its error is a RuntimeError that tells what went wrong."""
        with _state:
            if not self._done:
                if self._promised is None:
                    self._promised = _promise()
                return self._promised[1]
        _let_go(self)
        promise, future = _promise()
        self._complete(promise)
        return future


class CoalescedWork(Work):
    """Several operations as one."""

    def __init__(self, works: "list[Work]") -> None:
        super().__init__(None, None, [tensor for work in works for tensor in work.result()])
        self._works = works

    def wait(self, timeout: "datetime.timedelta | None" = None) -> bool:
        until = time.monotonic() + timeout.total_seconds() if timeout else 0.0
        for work in self._works:
            work.wait(datetime.timedelta(seconds=max(until - time.monotonic(), 1e-6)) if timeout else None)
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> "Optional[BaseException]":
        return next((error for work in self._works if (error := work.exception()) is not None), None)

    def get_future(self) -> "torch.futures.Future":
        result = self._result
        return torch.futures.collect_all([work.get_future() for work in self._works]).then(lambda done: (done.value(), result)[1])


class TransferWork(Work):
    """A send or a receive. Where nobody waits for it any more, its tensor is free again."""

    def __init__(self, group: "ProcessGroup", transfer: Any, tensor: torch.Tensor, staged: "Optional[torch.Tensor]", keeps: "Optional[torch.Tensor]") -> None:
        super().__init__(None, None, [tensor])
        self._transfer, self._staged, self._keeps = transfer, staged, keeps
        self._seconds, self._ranks = group._seconds, group._ranks
        self._once = threading.Lock()
        self._done = False

    def __del__(self, abandon: "Callable[[Any], None]" = _core.abandon_transfer) -> None:
        if not self._done:
            abandon(self._transfer)

    def wait(self, timeout: "datetime.timedelta | None" = None) -> bool:
        if not self._done:
            seconds = timeout.total_seconds() if timeout else 0.0
            if seconds > 0:
                self._settle(seconds)
            else:
                self._settle(self._seconds, gives_up=True)
        _let_go(self)
        if self._error is not None:
            raise self._error
        return True

    def _settle(self, seconds: float, gives_up: bool = False) -> None:
        """Waits for its end. One that is given up has failed: what comes after that is for the next receive."""
        try:
            _core.wait_transfer(self._transfer, seconds)
        except TimeoutError as error:
            if not gives_up:
                raise
            if not _core.abandon_transfer(self._transfer):  # it has ended just now
                self._settle(seconds)
                return
            self._error = error.with_traceback(None)
        except (ValueError, RuntimeError) as error:
            self._error = error.with_traceback(None)
        with self._once:
            if self._done:
                return
            try:
                if self._staged is not None and self._error is None:
                    self._result[0].detach().copy_(self._staged)
            except Exception as error:  # pylint: disable=broad-exception-caught
                self._error = error.with_traceback(None)
            self._staged = self._keeps = None
            self._source = self._ranks.get(self._transfer.pe, -1)
            self._finish()

    def is_completed(self) -> bool:
        if not self._done and _core.test_transfer(self._transfer):
            self._settle(0)
        return self._done
