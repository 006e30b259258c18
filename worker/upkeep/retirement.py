"""Ends what nobody uses any more: an idle stream's log goes, much later its head and state too.

Versions go on where a retired stream wakes up; a forgotten one begins anew, and the archive opens
a new epoch for it. An append in between cancels either step: head and state are watched.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.clock import Clock
from streams.forced import Read, execute
from streams.keys import Keys
from streams.plan import Head
from streams.state import StreamState, read_command
from streams.tail import StreamFacts
from streams.wire import Command, Wire, checked
from worker.archiving.facts import Archived
from worker.archiving.stream_archiver import StreamArchiver
from worker.compacting.compactor import Compactor


@dataclass(frozen=True, slots=True)
class RetirementPolicy:
    """Idle times in ms after which a stream is retired and forgotten; 0 is never."""

    stream_ttl_ms: int = 7 * 86_400_000
    forget_after_ms: int = 90 * 86_400_000


@dataclass(slots=True)
class Retired:
    """How many streams were retired and forgotten."""

    retired: int = 0
    forgotten: int = 0


class Retirement:
    """Retires and forgets streams of one tenant; any number of workers may try the same one."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        archiver: StreamArchiver,
        compactor: Compactor,
        policy: RetirementPolicy,
        clock: Clock,
    ) -> None:
        self._wire, self._keys = wire, keys
        self._archiver, self._compactor = archiver, compactor
        self._policy, self._clock = policy, clock

    async def look_at(self, facts: StreamFacts, archived: Archived, retired: Retired) -> None:
        """Retire or forget the stream where it has been idle for long enough.

        What archiving its open round brings is added to `archived`. Raises `StoreUnavailable`.
        """
        idle_ms = self._clock() - facts.head_ms
        if facts.head == 0:
            return
        has_log = facts.log_bytes > 0 or facts.head > facts.state.compacted_version
        if 0 < self._policy.forget_after_ms < idle_ms and not has_log:
            retired.forgotten += await self._forget(facts.stream)
        elif 0 < self._policy.stream_ttl_ms < idle_ms and has_log:
            retired.retired += await self._retire(facts.stream, archived)

    async def _retire(self, stream: str, archived: Archived) -> bool:
        """Archive the open round as `unfinished`, fold everything, delete the empty log."""
        await self._archiver.archive([stream], archived, close_open=True)
        if stream in archived.failures:
            return False
        while (await self._compactor.compact(stream, force=True, keep_recent=0)).more:
            pass
        return await self._if_still_idle(
            stream,
            self._policy.stream_ttl_ms,
            [("DEL", self._keys.log(stream))],
        )

    async def _forget(self, stream: str) -> bool:
        keys = self._keys
        known = (keys.head(stream), keys.state(stream), keys.summaries(stream), keys.log(stream))
        return await self._if_still_idle(
            stream,
            self._policy.forget_after_ms,
            [
                ("DEL", *known),
                ("ZREM", keys.streams, stream),
                ("HDEL", keys.deadly, stream),
            ],
        )

    async def _if_still_idle(
        self,
        stream: str,
        idle_ms: int,
        commands: list[Command],
    ) -> bool:
        """Run `commands` if all events are compacted and nobody appends meanwhile."""
        head_key, state_key = self._keys.head(stream), self._keys.state(stream)
        watch: Command = ("WATCH", head_key, state_key, self._keys.log(stream))
        looks: list[Command] = [
            ("GET", head_key),
            read_command(self._keys, stream),
            ("XLEN", self._keys.log(stream)),
        ]
        _, *found = map(checked, await self._wire.exchange([watch, *looks]))
        raw, values, left = found
        head, state = Head.parse(raw), StreamState.parse(values)
        busy = self._clock() - head.ms <= idle_ms
        # An entry that is left is somebody else's: for a person to look at, not to delete.
        if busy or left or state.compacted_version != head.version:
            await self._wire.exchange([("UNWATCH",)])
            return False
        reads: list[Read] = list(zip(looks, found, strict=True))
        return await execute(self._wire, reads, commands) is not None
