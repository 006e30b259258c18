"""What a tenant's streams look like from outside: heads, sizes, how far each is archived.

Facts of one stream come from one transaction: they belong to one moment and agree with each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from .errors import StreamNotFound
from .forced import snapshot
from .keys import Keys
from .plan import Head
from .state import StreamState, read_command
from .wire import Command, Reply, Wires, checked

_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class StreamLook:
    """One stream at one moment; times are milliseconds since the epoch.

    `retained` events are in the log, which takes `log_bytes` of memory (None where Redis doesn't
    say). `quarantined` says why the log contradicts head and state; empty when it doesn't.
    """

    stream: str
    head: int
    retained: int
    state: StreamState
    summaries: int
    last_commit_ms: int
    log_bytes: int | None
    quarantined: str

    @property
    def unarchived(self) -> int:
        """Events that no round file holds yet; those of an open round among them."""
        return max(self.head - self.state.archived_version, 0)


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """What waits in a tenant: entries of the inbox, the feed and the dead stream; its streams."""

    inbox: int
    feed: int
    dead: int
    streams: int


class Overview:
    """Looks at the streams of one tenant (or shard); changes nothing."""

    def __init__(self, wires: Wires, keys: Keys) -> None:
        self._wires, self._keys = wires, keys

    async def tenant(self) -> TenantFacts:
        """Counts of the tenant."""
        keys = self._keys
        looks: list[Command] = [
            ("XLEN", keys.inbox),
            ("XLEN", keys.feed),
            ("XLEN", keys.dead),
            ("ZCARD", keys.streams),
        ]
        async with self._wires.borrow() as wire:
            counts = await snapshot(wire, looks) or ()
        return TenantFacts(*(int(checked(count)) for count in counts))

    async def streams(self, *, limit: int = 0) -> AsyncIterator[StreamLook]:
        """Every stream, or the first `limit` of them; the one written last comes first."""
        (names,) = await self._wires.exchange([("ZRANGE", self._keys.streams, 0, limit - 1, "REV")])
        for start in range(0, len(names), _PAGE):
            page = [name.decode() for name in names[start : start + _PAGE]]
            for facts in await self._look(page):
                yield facts

    async def stream(self, stream: str) -> StreamLook:
        """One stream; raises `StreamNotFound` when it has neither head nor log."""
        (facts,) = await self._look([stream])
        if not (facts.head or facts.retained or facts.quarantined):
            raise StreamNotFound(stream)
        return facts

    async def _look(self, streams: Sequence[str]) -> list[StreamLook]:
        sizes: list[Command] = [("MEMORY", "USAGE", self._keys.log(stream)) for stream in streams]
        looks = [command for stream in streams for command in self._commands(stream)]
        width = len(looks) // len(streams)
        async with self._wires.borrow() as wire:
            used = await wire.exchange(sizes)
            results = await snapshot(wire, looks) or ()
        return [
            _facts(stream, results[index * width : (index + 1) * width], used[index])
            for index, stream in enumerate(streams)
        ]

    def _commands(self, stream: str) -> tuple[Command, ...]:
        keys = self._keys
        return (
            ("GET", keys.head(stream)),
            ("XLEN", keys.log(stream)),
            read_command(keys, stream),
            ("LLEN", keys.summaries(stream)),
            ("ZSCORE", keys.streams, stream),
        )


def _facts(stream: str, replies: Sequence[Reply], memory: Reply) -> StreamLook:
    raw_head, length, raw_state, summaries, score = replies
    failed = next((reply for reply in replies if isinstance(reply, Exception)), None)
    head, state = Head(), StreamState()
    try:
        head = head if isinstance(raw_head, Exception) else Head.parse(raw_head)
        state = state if isinstance(raw_state, Exception) else StreamState.parse(raw_state)
    except ValueError as exc:
        failed = exc
    retained = _number(length)
    return StreamLook(
        stream=stream,
        head=head.version,
        retained=retained,
        state=state,
        summaries=_number(summaries),
        last_commit_ms=head.ms or _number(score),
        log_bytes=memory if isinstance(memory, int) else None,
        quarantined=_contradiction(head.version - state.compacted_version, retained, failed),
    )


def _contradiction(promised: int, retained: int, failed: Exception | None) -> str:
    if failed is not None:
        return f"somebody else wrote one of its keys ({failed})"
    if retained != promised:
        return f"its log holds {retained} events, head and state promise {promised}"
    return ""


def _number(raw: Reply) -> int:
    """A count or a score; 0 where there is none."""
    return 0 if raw is None or isinstance(raw, Exception) else int(float(raw))
