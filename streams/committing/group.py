"""Concurrent appends of one process share commits: the more callers, the fewer round trips."""

from __future__ import annotations

import asyncio
from collections import deque

from streams.errors import AresError
from streams.plan import Append, BatchLimits, split_batches

from .batch import Outcome
from .commit import Committer


class GroupCommit:
    """Lines up appends behind the commit under way and sends them together as the next one.

    A caller's conflict or failure is its own. At most `max_waiting` appends wait; more callers
    wait for a place.
    """

    def __init__(
        self, committer: Committer, limits: BatchLimits, *, max_waiting: int = 10_000
    ) -> None:
        self._committer, self._limits = committer, limits
        self._waiting: deque[tuple[Append, asyncio.Future[Outcome]]] = deque()
        self._max_waiting, self._room = max_waiting, asyncio.Event()
        self._busy = False
        self._drain_task: asyncio.Task[None] | None = None

    async def append(self, append: Append) -> int:
        """Commit `append`, alone or with others; return its last version or raise its failure."""
        while len(self._waiting) >= self._max_waiting:
            self._room.clear()
            await self._room.wait()
        if self._busy:
            outcome = await self._wait_for_turn(append)
        else:
            outcome = await self._commit_alone(append)
        if isinstance(outcome, AresError):
            raise outcome
        return outcome

    async def _commit_alone(self, append: Append) -> Outcome:
        """The idle case: no task, no queue."""
        self._busy = True
        try:
            (outcome,) = await self._committer.commit([append])
            return outcome
        finally:
            if self._waiting:
                self._drain_task = asyncio.create_task(self._drain())
            else:
                self._busy = False

    async def _wait_for_turn(self, append: Append) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((append, future))
        return await future

    async def _drain(self) -> None:
        """Commit what waits until nothing does; no caller's cancellation ends it."""
        try:
            while self._waiting:
                turn = [entry for entry in self._waiting if not entry[1].cancelled()]
                self._waiting.clear()
                self._room.set()
                try:
                    await self._commit_turn(turn)
                    # Whoever was answered just now, and appends again, is part of the next turn.
                    await asyncio.sleep(0)
                finally:
                    for _, future in turn:
                        future.cancel()  # only those left without an outcome by a cancelled loop
        finally:
            self._busy = False

    async def _commit_turn(self, turn: list[tuple[Append, asyncio.Future[Outcome]]]) -> None:
        futures = iter([future for _, future in turn])
        for batch in split_batches((append for append, _ in turn), self._limits):
            chosen = [next(futures) for _ in batch]
            try:
                outcomes = await self._committer.commit(batch)
            except Exception as exc:
                for future in chosen:
                    if not future.done():
                        future.set_exception(exc)
                continue
            for future, outcome in zip(chosen, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)

    async def close(self) -> None:
        """Wait until nothing is under way."""
        if self._drain_task is not None:
            await asyncio.wait([self._drain_task])
