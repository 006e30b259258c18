"""Runs all parts of a worker, and ends them in order: a signal, a drain, a deadline."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

from ops.health import Heartbeat, Readiness, watch_loop
from ops.logs import fields
from ops.metrics import Metrics

from .pipeline import TenantPipeline
from .runner import Part, Runner

_log = logging.getLogger("ares.worker")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_CLOSE_TIMEOUT_S: Final = 5.0
_THREADS: Final = 8
_THREADS_A_TENANT: Final = 4
"""More than its parts call at a time; threads are made when they are needed."""


class Worker:
    """The process's work: every tenant's pipeline and the probe, under one stop signal.

    The first SIGTERM or SIGINT drains: reading stops, current work is finished, leases are
    released, within `drain_timeout_s`. The second ends at once.
    """

    def __init__(
        self,
        pipelines: Sequence[TenantPipeline],
        probe: Part,
        runner: Runner,
        *,
        metrics: Metrics,
        readiness: Readiness,
        heartbeat: Heartbeat,
        drain_timeout_s: float,
        start: Callable[[], None],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._pipelines, self._probe, self._runner = pipelines, probe, runner
        self._metrics, self._readiness, self._heartbeat = metrics, readiness, heartbeat
        self._drain_timeout_s = drain_timeout_s
        self._start, self._close = start, close
        self._stop = asyncio.Event()
        self._at_once = asyncio.Event()

    async def run(self, *, once: bool = False) -> None:
        """Work until told to stop, or with `once` until there is nothing left to do.

        Raises `PartFailed` when a part met a defect for good, and with `once` whatever stands
        in the way.
        """
        # Asyncio has six threads on two cores, and looks names of hosts up by them: with calls of a
        # few tenants hanging on the volume, no lost connection to Redis would come back.
        threads = _THREADS + _THREADS_A_TENANT * len(self._pipelines)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads))
        gc.freeze()  # modules and wiring live as long as the process: never walk them again
        with _signals(self._told_to_stop):
            try:
                if once:
                    await self._once()
                else:
                    await self._until_stopped()
            finally:
                await self._end()

    def _told_to_stop(self) -> None:
        if self._stop.is_set():
            self._at_once.set()
            return
        _log.info("draining", extra=fields(deadline_s=self._drain_timeout_s))
        self._readiness.drain()
        self._metrics.process.state("draining")
        self._stop.set()

    async def _once(self) -> None:
        for pipeline in self._pipelines:
            await pipeline.drain_once(self._stop)

    async def _until_stopped(self) -> None:
        self._start()
        watching = asyncio.create_task(
            watch_loop(self._heartbeat, self._metrics.process.loop_delayed, stop=self._at_once)
        )
        parts = [part for pipeline in self._pipelines for part in pipeline.parts()]
        tasks = [
            asyncio.create_task(self._runner.run(part, self._stop), name=part.name)
            for part in (*parts, self._probe)
        ]
        try:
            await self._wait(tasks)
        finally:
            self._stop.set()
            await _cancel([*tasks, watching])
        for task in tasks:
            if task.done() and not task.cancelled() and (failure := task.exception()):
                raise failure

    async def _wait(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Until a part ends by itself, or the drain after a signal is over or out of time."""
        stopped = asyncio.create_task(self._stop.wait())
        at_once = asyncio.create_task(self._at_once.wait())
        try:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set():
                return
            drained = asyncio.create_task(_all_done(tasks))
            await asyncio.wait(
                [drained, at_once],
                timeout=self._drain_timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            await _cancel([drained])
            late = [task.get_name() for task in tasks if not task.done()]
            if late:
                _log.warning("parts did not drain in time", extra=fields(parts=", ".join(late)))
        finally:
            stopped.cancel()
            at_once.cancel()

    async def _end(self) -> None:
        """Release what is held and close; a failure here must not hide why the worker ends."""
        parts = [part for pipeline in self._pipelines for part in pipeline.parts()]
        await asyncio.gather(*(_close(part) for part in (*parts, self._probe)))
        await self._close()


async def _close(part: Part) -> None:
    """Side by side with the others: of fifty tenants, each may wait for a Redis that hangs."""
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await part.close()
    except Exception as exc:
        told = fields(part=part.name, error=str(exc) or type(exc).__name__)
        _log.warning("a part did not end cleanly", extra=told)


async def _all_done(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def _signals(callback: Callable[[], None]) -> Iterator[None]:
    """Answer SIGTERM and SIGINT with `callback` while the block runs; main thread only."""
    loop = asyncio.get_running_loop()
    handled: list[signal.Signals] = []
    for number in _SIGNALS:
        # Elsewhere than in the main thread, as in a test, signals are not ours to handle.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, callback)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
