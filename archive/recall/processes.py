"""Spreads work over forked processes where that is safe."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST: Final = 8
"""Processes: beyond them a volume is the limit, and a container seldom has as many processors
as its machine."""

_AHEAD: Final = 2
"""Items given to each process before the first result is waited for."""

_work: Callable[[Any], Any]
"""What a forked process does; set in it alone."""


def usable_processors() -> int:
    """How many processes of this program can do work at once; at most 8."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)


def can_spread() -> bool:
    """Whether this process may be forked: on Linux, while it has one thread.

    A fork of several threads keeps the locks that others held, for ever.
    """
    return sys.platform == "linux" and threading.active_count() == 1


def spread(
    work: Callable[[_Item], _Result], items: Iterable[_Item], processes: int
) -> Iterator[tuple[_Item, _Result]]:
    """Each item with what `work` makes of it, in order; items and results are pickled.

    What a process fails to do, because it was killed or never came up, is done here.
    """
    from concurrent.futures import ProcessPoolExecutor  # half as much to load as all of recall
    from multiprocessing import get_context

    waiting: deque[tuple[_Item, Future[_Result] | None]] = deque()
    with ProcessPoolExecutor(processes, get_context("fork"), _begin, (work,)) as pool:
        try:
            for item in items:
                waiting.append((item, _submit(pool, item)))
                if len(waiting) > _AHEAD * processes:
                    yield _result(work, *waiting.popleft())
            while waiting:
                yield _result(work, *waiting.popleft())
        finally:
            for _, future in waiting:
                if future is not None:
                    future.cancel()


def _submit(pool: ProcessPoolExecutor, item: _Item) -> Future[Any] | None:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return pool.submit(_do, item)
    except (BrokenProcessPool, OSError):
        return None


def _result(
    work: Callable[[_Item], _Result], item: _Item, future: Future[_Result] | None
) -> tuple[_Item, _Result]:
    from concurrent.futures.process import BrokenProcessPool

    if future is not None:
        try:
            return item, future.result()
        except BrokenProcessPool:
            pass
    return item, work(item)


def _begin(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - set once, in a process that has nothing else to do
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed told nobody: who waits for its work would wait for ever."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(item: Any) -> Any:
    return _work(item)
