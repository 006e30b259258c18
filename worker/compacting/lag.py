"""How far compaction is behind in one tenant: of its streams only the newest, now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ops.metrics_shared import TenantFacts
from streams.clock import Clock
from streams.errors import AresError
from streams.keys import Keys
from streams.plan import Head
from streams.state import StreamState, read_command
from streams.wire import Command, Reply, Wire, checked

from .plan import CompactionPolicy

# The id alone: an entry of the inbox or a log may be megabytes.
FIRST_ID: Final = """
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 1)[1]
return entry and entry[1]
"""
"""Script for the id of the first entry of KEYS[1] from ARGV[1] on."""

_STREAMS_LOOKED_AT: Final = 2_000
_LAGGING_DATED: Final = 50
_EVERY_S: Final = 30.0


class CompactionLag:
    """The facts about compaction, at most half a minute old."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        policy: CompactionPolicy,
        clock: Clock,
        *,
        monotonic: Callable[[], float],
    ) -> None:
        self._wire, self._keys, self._policy, self._clock = wire, keys, policy, clock
        self._monotonic = monotonic
        self._known, self._known_at = TenantFacts(), float("-inf")

    async def read(self) -> TenantFacts:
        """Of the streams written last. Raises `StoreUnavailable`."""
        if self._monotonic() - self._known_at < _EVERY_S:
            return self._known
        (names,) = await self._wire.exchange(
            [("ZRANGE", self._keys.streams, 0, _STREAMS_LOOKED_AT - 1, "REV")]
        )
        streams = [name.decode() for name in checked(names)]
        packet: list[Command] = []
        for stream in streams:
            packet += [read_command(self._keys, stream), ("GET", self._keys.head(stream))]
        replies = await self._wire.exchange(packet) if packet else []
        lagging: dict[str, tuple[int, int]] = {}
        for stream, values, head in zip(streams, replies[::2], replies[1::2], strict=True):
            lag = _lag(head, values, self._policy)
            if lag is not None:
                lagging[stream] = lag
        self._known = TenantFacts(
            compaction_lag_events=sum(events for events, _ in lagging.values()),
            compaction_lag_seconds=await self._waiting(lagging),
            compaction_lagging_streams=len(lagging),
        )
        self._known_at = self._monotonic()
        return self._known

    async def _waiting(self, lagging: dict[str, tuple[int, int]]) -> float:
        """Age of the oldest event that put a stream over the threshold."""
        dated = list(lagging.items())[:_LAGGING_DATED]
        if not dated:
            return 0.0
        replies = await self._wire.exchange(
            [
                ("EVAL", FIRST_ID, 1, self._keys.log(stream), f"{version}-0")
                for stream, (_, version) in dated
            ]
        )
        committed = [int(reply.partition(b"-")[2]) for reply in replies if isinstance(reply, bytes)]
        return (self._clock() - min(committed)) / 1000 if committed else 0.0


def _lag(raw_head: Reply, values: Reply, policy: CompactionPolicy) -> tuple[int, int] | None:
    """Events that a run would take, and the version that made one due; None when none is.

    A stream that somebody else wrote over is quarantined elsewhere; here it is none.
    """
    try:
        head, state = Head.parse(checked(raw_head)).version, StreamState.parse(checked(values))
    except (AresError, ValueError):
        return None
    events = min(state.archived_version, head - policy.keep_recent) - state.compacted_version
    if head - state.compacted_version <= policy.threshold or events <= 0:
        return None
    return events, state.compacted_version + policy.threshold + 1
