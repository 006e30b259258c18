"""Frees memory while Redis is short of it: what is archived leaves the logs, the feed is trimmed.

Archiving goes on beside it as always. Takes no lease, for any number of workers may free the same
stream: the state is compared in the script that trims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from streams.durable.upkeep import read_groups
from streams.errors import AresError, StreamCorrupted, TransientError
from streams.feed_upkeep import trim_feed
from streams.keys import Keys
from streams.memory import Memory, read_memory
from streams.subscription.position import show_id
from streams.tail import StreamFacts, read_facts
from streams.wire import Wire, checked
from worker.compacting.compactor import Compacted, Compactor
from worker.shared_facts import archivers_group

from .relief_plan import Pass, is_short, stuck_reason

_STREAMS_AT_ONCE: Final = 200
_START: Final = b"0"

Shuffle = Callable[[list[StreamFacts]], None]
"""Puts streams into an order of chance, so that workers side by side meet different ones."""


@dataclass(frozen=True, slots=True)
class Run:
    """One window of a stream that was freed, or wasn't, in `seconds`."""

    done: Compacted
    seconds: float


@dataclass(slots=True)
class Relieved:
    """Facts of one page of streams. The last one of a pass has `ended`, and `stuck` says why Redis
    stays full, if it does; `more` asks for the next page.
    """

    memory: Memory
    short: bool = True
    runs: list[Run] = field(default_factory=list)
    feed_trimmed: int = 0
    failures: dict[str, AresError] = field(default_factory=dict)
    ended: bool = False
    stuck: str = ""
    more: bool = False

    @property
    def events(self) -> int:
        """Events taken out of the logs."""
        return sum(run.done.events for run in self.runs)


class Relief:
    """Works through the streams of one tenant, page by page. One `run_once` at a time."""

    def __init__(self, wire: Wire, keys: Keys, compactor: Compactor, shuffle: Shuffle) -> None:
        self._wire, self._keys, self._compactor = wire, keys, compactor
        self._shuffle = shuffle
        self._cursor, self._pass, self._before = _START, Pass(), Pass()

    async def run_once(self, *, refused: bool = False) -> Relieved:
        """Free what one page of streams gives, if Redis is short of memory.

        It is when it has `refused` a write, whatever it says. Raises `StoreUnavailable`; the next
        call goes on where this one was.
        """
        facts = Relieved(await read_memory(self._wire))
        if not (refused or is_short(facts.memory)):
            self._cursor, self._pass, self._before = _START, Pass(), Pass()
            facts.short = False
            return facts
        if self._cursor == _START:
            facts.feed_trimmed = await self._trim_feed()
            self._pass.freed += facts.feed_trimmed
        cursor, streams = await self._page()
        await self._free(streams, facts, whole=refused)
        self._cursor = cursor
        facts.more = cursor != _START
        if cursor == _START:
            await self._end_pass(facts)
        return facts

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()
        await self._compactor.close()

    async def _page(self) -> tuple[bytes, list[str]]:
        command = ("ZSCAN", self._keys.streams, self._cursor, "COUNT", _STREAMS_AT_ONCE)
        (reply,) = await self._wire.exchange([command])
        cursor, found = checked(reply)
        return cursor, [name.decode() for name in found[::2] if _is_text(name)]

    async def _free(self, streams: list[str], facts: Relieved, *, whole: bool) -> None:
        """Stream by stream, until there is memory enough, or the `whole` page."""
        found = await read_facts(self._wire, self._keys, streams) if streams else []
        self._shuffle(found)
        for item in found:
            left = item.head - item.state.archived_version
            self._pass.left_events += max(left, 0)
            self._pass.left_streams += left > 0
        for item in found:
            if item.damage:
                facts.failures[item.stream] = StreamCorrupted(item.stream, item.damage)
            elif item.state.archived_version > item.state.compacted_version:
                await self._free_stream(item.stream, facts)
                facts.memory = await read_memory(self._wire)
                if not (whole or is_short(facts.memory)):
                    return

    async def _free_stream(self, stream: str, facts: Relieved) -> None:
        more = True
        while more:
            began = perf_counter()
            try:
                done = await self._compactor.relieve(stream)
            except TransientError:
                raise
            except AresError as exc:
                facts.failures[stream] = exc
                return
            if done.result != "idle":
                facts.runs.append(Run(done, perf_counter() - began))
            # A conflict, too: somebody else has just freed it.
            self._pass.freed += done.result != "idle"
            more = done.more

    async def _trim_feed(self) -> int:
        """To the slowest group, down to nothing; one that was dropped holds it, too.

        What such a group misses has to be noted first, which is the janitor's.
        """
        (reply,) = await self._wire.exchange([("XINFO", "GROUPS", self._keys.feed)])
        if archivers_group(reply) is None:
            return 0  # nobody has read it yet
        _, groups = await read_groups(self._wire, self._keys)
        floors = [show_id(group.floor).encode() for group in groups]
        trimmed = 0
        while chunk := await trim_feed(self._wire, self._keys, keep=0, floors=floors):
            trimmed += chunk
        return trimmed

    async def _end_pass(self, facts: Relieved) -> None:
        (entries,) = await self._wire.exchange([("XLEN", self._keys.inbox)])
        self._pass.entries = int(checked(entries))
        facts.memory = await read_memory(self._wire)
        facts.stuck = stuck_reason(facts.memory, self._pass, self._before)
        facts.ended, facts.more = True, self._pass.freed > 0
        self._pass, self._before = Pass(), self._pass


def _is_text(name: bytes) -> bool:
    """Whether it can be a stream's name; somebody else may have put anything among them."""
    try:
        return bool(name.decode())
    except UnicodeDecodeError:
        return False
