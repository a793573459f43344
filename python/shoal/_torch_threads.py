# SPDX-License-Identifier: Apache-2.0
"""The threads of a process group. They hold it only while it has work: that a group is dropped ends them."""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable

from . import _core
from ._torch_work import TransferWork

_SLICE = 0.005  # seconds: how long a thread waits for transfers before it looks whether there are more, or it should end


def started(name: str, target: "Callable[..., None]", *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
    thread.start()
    return thread


def serve(tokens: "queue.SimpleQueue") -> None:
    _core.enter_background()
    while (work := tokens.get()) is not None:
        group = work._group
        if group is not None:
            group._run_until(work)
        del work, group


def serve_transfers(works: "queue.SimpleQueue", ending: threading.Event) -> None:
    _core.enter_background()
    pending: "list[TransferWork]" = []
    while not ending.is_set():
        while not pending or not works.empty():
            work = works.get()
            if work is None:
                return
            pending.append(work)
            del work
        try:
            _core.wait_any_transfer([work._transfer for work in pending], _SLICE)
        except TimeoutError:
            pass
        pending = [work for work in pending if not work.is_completed()]
