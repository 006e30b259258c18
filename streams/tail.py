"""Reads what follows a version of a log, bounded in events and bytes: the archiver's view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from .codec import decode_entry, entry_ms, entry_version
from .errors import AresError, CorruptionError, StreamCorrupted
from .event import Event
from .failures import error_code
from .keys import Keys
from .plan import Head
from .state import StreamState, read_command
from .wire import Command, Reply, Wire, checked

_PAGE_EVENTS: Final = 500
_PAGE_BYTES: Final = 4 * 1024 * 1024
_SMALL_LOG_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """Where a stream stands: its head and when that was committed, ms since the epoch; its
    state; and the memory its log takes in bytes, 0 when there is none.

    `damage` says what contradicts what in a quarantined stream; the rest is then 0.
    """

    stream: str
    head: int
    head_ms: int
    state: StreamState
    log_bytes: int
    damage: str = ""

    @classmethod
    def damaged(cls, stream: str, damage: str) -> StreamFacts:
        """Of a stream whose head and state are not to be relied on."""
        return cls(stream, 0, 0, StreamState(), 0, damage)

    @property
    def unarchived(self) -> Span:
        """The events not yet archived."""
        return self.span(self.state.archived_version, self.head)

    def span(self, after: int, until: int) -> Span:
        """Versions after `after` up to `until`, to read from the log."""
        entries = max(self.head - self.state.compacted_version, 1)
        return Span(self.stream, after, until, self.log_bytes, self.log_bytes // entries)


@dataclass(frozen=True, slots=True)
class Span:
    """Versions after `after` up to `until` of a log; `event_bytes` is an event's mean size."""

    stream: str
    after: int
    until: int
    log_bytes: int
    event_bytes: int

    @property
    def small(self) -> bool:
        """Whether it may share a packet with others."""
        return self.log_bytes <= _SMALL_LOG_BYTES

    @property
    def page(self) -> int:
        """Entries of a page of a few megabytes at most."""
        if self.small:
            return _PAGE_EVENTS
        return max(1, min(_PAGE_EVENTS, _PAGE_BYTES // max(self.event_bytes, 1)))


@dataclass(slots=True)
class Tail:
    """Events after `after`, as far as read; beside them their bytes and their commit times, ms."""

    stream: str
    after: int
    events: list[Event] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    committed_ms: list[int] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Version of the last event read."""
        return self.after + len(self.events)

    def add(self, page: Sequence[Reply]) -> None:
        """Decode a page; raises `StreamCorrupted` where it doesn't follow."""
        for due, (name, fields) in enumerate(page, self.last + 1):
            if (version := entry_version(name)) != due:
                reason = f"its log goes on with version {version} where {due} is due"
                raise StreamCorrupted(self.stream, reason)
            self.events.append(decode_entry(self.stream, name, fields))
            self.sizes.append(sum(map(len, fields)))
            self.committed_ms.append(entry_ms(name))


@dataclass(frozen=True, slots=True)
class TailLimits:
    """How far a tail is read at most, in events and bytes; it may exceed them by one page."""

    events: int
    bytes: int


async def read_facts(wire: Wire, keys: Keys, streams: Sequence[str]) -> list[StreamFacts]:
    """Facts of many streams in one packet; a damaged one harms no other."""
    packet: list[Command] = []
    for stream in streams:
        packet += [
            read_command(keys, stream),
            ("GET", keys.head(stream)),
            ("MEMORY", "USAGE", keys.log(stream)),
        ]
    replies = await wire.exchange(packet)
    facts: list[StreamFacts] = []
    for index, stream in enumerate(streams):
        try:
            facts.append(_facts(stream, *replies[3 * index : 3 * index + 3]))
        except CorruptionError as exc:
            facts.append(StreamFacts.damaged(stream, str(exc)))
    return facts


def _facts(stream: str, values: Reply, raw: Reply, usage: Reply) -> StreamFacts:
    head, state = Head.parse(checked(raw)), StreamState.parse(checked(values))
    if head.version < state.archived_version:
        # Whatever follows such a head would never be archived, and be compacted all the same.
        was = f"version {state.archived_version} is archived"
        return StreamFacts.damaged(stream, f"its head is {head.version}, though {was}")
    size = usage if isinstance(usage, int) else 0
    return StreamFacts(stream, head.version, head.ms, state, size)


async def read_tails(
    wire: Wire, keys: Keys, spans: Sequence[Span], limits: TailLimits
) -> tuple[list[Tail], dict[str, AresError]]:
    """The events of each span, up to `limits`; and what failed, by stream.

    Streams of small logs share packets; a large one is read alone, in pages of a few megabytes.
    """
    failures: dict[str, AresError] = {}
    tails = {span.stream: Tail(span.stream, span.after) for span in spans}
    groups = [[span for span in spans if span.small], *([s] for s in spans if not s.small)]
    for group in groups:
        while waiting := [
            span
            for span in group
            if span.stream not in failures and _goes_on(span, tails[span.stream], limits)
        ]:
            await _read_pages(wire, keys, waiting, tails, failures)
    return [tail for stream, tail in tails.items() if stream not in failures], failures


async def read_tail(wire: Wire, keys: Keys, span: Span, limits: TailLimits) -> Tail:
    """The events of one span, up to `limits`; raises what failed."""
    tails, failures = await read_tails(wire, keys, [span], limits)
    for failure in failures.values():
        raise failure
    return tails[0]


def _goes_on(span: Span, tail: Tail, limits: TailLimits) -> bool:
    within = len(tail.events) < limits.events and sum(tail.sizes) < limits.bytes
    return tail.last < span.until and within


async def _read_pages(
    wire: Wire,
    keys: Keys,
    waiting: Sequence[Span],
    tails: dict[str, Tail],
    failures: dict[str, AresError],
) -> None:
    """Read the next page of each span that waits, in one packet."""
    packet: list[Command] = [
        (
            *("XRANGE", keys.log(span.stream), tails[span.stream].last + 1),
            *(span.until, "COUNT", span.page),
        )
        for span in waiting
    ]
    for span, reply in zip(waiting, await wire.exchange(packet), strict=True):
        tail = tails[span.stream]
        try:
            if error_code(reply) == "WRONGTYPE":
                raise StreamCorrupted(span.stream, "its log key holds another type")
            if not checked(reply):
                reason = f"its log has no version {tail.last + 1} though its head is {span.until}"
                raise StreamCorrupted(span.stream, reason)
            tail.add(reply)
        except CorruptionError as exc:
            failures[span.stream] = exc
