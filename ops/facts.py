"""Facts read from elsewhere for a scrape: cached, with a deadline, absent until known.

A scrape runs in a thread of the server. The facts come from Redis (on the worker's event loop)
or from a volume (a thread of its own, since a hung mount can't be interrupted); neither may
hang the scrape.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from .logs import fields
from .repeats import CauseLimiter

T = TypeVar("T")

Refresh = Callable[[], "Future[T]"]
"""Starts one reading of the facts and returns at once."""

_log = logging.getLogger("ares.metrics")


def on_loop(
    loop: asyncio.AbstractEventLoop, read: Callable[[], Coroutine[Any, Any, T]]
) -> Refresh[T]:
    """Read by a coroutine on `loop`; cancelled there by nobody, so let it have a time limit."""

    def refresh() -> Future[T]:
        reading = read()
        try:
            return asyncio.run_coroutine_threadsafe(reading, loop)
        except RuntimeError:
            reading.close()
            raise

    return refresh


def in_thread(read: Callable[[], T]) -> Refresh[T]:
    """Read in a thread that doesn't keep the process alive when it hangs."""

    def refresh() -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(read())
            except BaseException as exc:  # handed to whoever waits for the future
                future.set_exception(exc)

        threading.Thread(target=run, name="ares-facts", daemon=True).start()
        return future

    return refresh


class FactsCache(Generic[T]):
    """The newest facts, at most one reading under way at a time.

    Within `ttl` seconds they are served from memory. Then a reading is started; who asks waits
    for it up to `timeout` seconds and takes the previous facts when it is late, unless those
    are older than `keep` seconds: a frozen number is worse than none. All times in seconds.
    """

    def __init__(
        self,
        refresh: Refresh[T],
        *,
        ttl: float,
        timeout: float,
        keep: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refresh = refresh
        self._ttl, self._timeout, self._keep = ttl, timeout, keep
        self._clock = clock
        # Reentrant: a reading that is over at once reports back while it is being started.
        self._lock = threading.RLock()
        self._reading: Future[T] | None = None
        self._known: T | None = None
        self._known_at = float("-inf")
        self._failures = CauseLimiter(clock)

    def start(self) -> None:
        """Start a reading unless the facts are fresh or one is under way."""
        with self._lock:
            if self._reading is not None or self._clock() - self._known_at < self._ttl:
                return
            try:
                reading = self._reading = self._refresh()
            except RuntimeError:
                # The event loop has closed: the worker is ending.
                return
            reading.add_done_callback(self._finished)

    def get(self) -> T | None:
        """The facts, or `None` when they aren't known; waits at most `timeout`."""
        self.start()
        with self._lock:
            reading = self._reading
        if reading is not None:
            done = threading.Event()
            reading.add_done_callback(lambda _: done.set())
            done.wait(self._timeout)
        with self._lock:
            fresh = self._clock() - self._known_at <= self._keep
            return self._known if fresh else None

    def _finished(self, reading: Future[T]) -> None:
        error = None if reading.cancelled() else reading.exception()
        with self._lock:
            self._reading = None
            if not reading.cancelled() and error is None:
                self._known, self._known_at = reading.result(), self._clock()
                return
            told = self._failures.failed(type(error).__name__)
        if error is not None and told is not None:
            _log.warning(
                "facts for metrics could not be read",
                extra=fields(error=f"{type(error).__name__}: {error}", repeats=told.repeats),
            )
