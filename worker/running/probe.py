"""Looks regularly at what the worker needs: Redis, its settings that matter, the volume."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ops.health import Readiness
from ops.logs import fields
from ops.metrics import Metrics
from streams.errors import AresError
from streams.pausing import pause
from streams.wire import Wire, checked

_log = logging.getLogger("ares.worker")

REDIS: Final = "redis"
EVICTION: Final = "eviction policy"
VOLUME: Final = "volume"

_EVERY_S: Final = 5.0
_VOLUME_TIMEOUT_S: Final = 20.0


class Probe:
    """Keeps readiness and the state metrics up to date."""

    name = "probe"

    def __init__(
        self,
        wire: Wire,
        readiness: Readiness,
        metrics: Metrics,
        check_volume: Callable[[], str | None],
    ) -> None:
        self._wire, self._readiness, self._metrics = wire, readiness, metrics
        self._check_volume = check_volume
        self._checking: asyncio.Task[str | None] | None = None
        self._failing: set[str] = set()

    async def work(self) -> bool:
        """Look once."""
        await self._look_at_redis()
        await self._look_at_volume()
        ready = self._readiness.report().ready
        self._metrics.process.state("running" if ready else "degraded")
        return False

    async def rest(self, stop: asyncio.Event) -> None:
        """Until the next look is due."""
        await pause(stop, _EVERY_S)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _look_at_redis(self) -> None:
        try:
            info, _ = await self._wire.exchange([("INFO", "memory"), ("PING",)])
            self._metrics.redis.up(True)
            self._readiness.passes(REDIS)
        except AresError as exc:
            self._metrics.redis.up(False)
            self._readiness.fails(REDIS, str(exc))
            return
        policy = _eviction_policy(info)
        wrong = f"maxmemory-policy is {policy}: it must be noeviction, or events get lost"
        self._conclude(EVICTION, None if policy in ("noeviction", "") else wrong)

    async def _look_at_volume(self) -> None:
        """In a thread, one at a time: a mount that hangs holds up neither us nor a second look."""
        if self._checking is None:
            self._checking = asyncio.create_task(asyncio.to_thread(self._check_volume))
        done, _ = await asyncio.wait([self._checking], timeout=_VOLUME_TIMEOUT_S)
        if not done:
            self._conclude(VOLUME, "the archive's volume does not answer")
            return
        checking, self._checking = self._checking, None
        self._conclude(VOLUME, checking.result())

    def _conclude(self, condition: str, reason: str | None) -> None:
        """Tell readiness, and the log where it is news: no part fails by these conditions."""
        if reason is None:
            self._readiness.passes(condition)
            if condition in self._failing:
                self._failing.remove(condition)
                _log.info("a condition is fulfilled again", extra=fields(condition=condition))
            return
        self._readiness.fails(condition, reason)
        if condition not in self._failing:
            self._failing.add(condition)
            facts = fields(condition=condition, reason=reason)
            _log.warning("the worker is not ready", extra=facts)


def _eviction_policy(info: object) -> str:
    """From INFO memory, which an ACL forbids less often than CONFIG; "" where it isn't told."""
    text = checked(info)
    for line in text.splitlines():
        if line.startswith(b"maxmemory_policy:"):
            return str(line.partition(b":")[2].strip().decode())
    return ""
