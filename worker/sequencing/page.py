"""Pure. Sorts a page of inbox entries: events to append by stream, repeats, and bad entries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from streams.codec import EncodedEvent, Limits
from streams.errors import InvalidEvent
from streams.inbox import InboxEvent, parse_entry
from streams.keys import Keys
from streams.plan import Append, BatchLimits
from streams.wire import Command

Entry = tuple[bytes, list[bytes]]

POISON: Final = "poison"


@dataclass(frozen=True, slots=True)
class Rejected:
    """An inbox entry that breaks the contract; `code` is the closed reason of the metrics."""

    entry: Entry
    reason: str
    code: str
    attempts: int = 1


@dataclass(slots=True)
class StreamPage:
    """What a page holds for one stream, in arrival order.

    `entries` and `seen` run beside `events`; a `seen` key is None where the producer gave no id.
    """

    stream: str
    events: list[EncodedEvent] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    repeats: list[bytes] = field(default_factory=list)
    seen: list[bytes | None] = field(default_factory=list)


@dataclass(slots=True)
class SortedPage:
    """A page, sorted."""

    streams: dict[str, StreamPage] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def event_count(self) -> int:
        """Events to append."""
        return sum(len(page.events) for page in self.streams.values())


class _Accepted(NamedTuple):
    entry: Entry
    parsed: InboxEvent
    seen_key: bytes | None


class PageSorter:
    """Parses a page once; `finish` then needs to know which ids were recorded before."""

    def __init__(self, page: Sequence[Entry], limits: Limits, keys: Keys) -> None:
        self._accepted: list[_Accepted] = []
        self._rejected: list[Rejected] = []
        for entry in page:
            try:
                parsed = parse_entry(entry[0], entry[1], limits)
            except InvalidEvent as exc:
                self._rejected.append(Rejected(entry, str(exc), exc.code))
                continue
            seen_key = keys.seen(parsed.stream, parsed.event.id) if parsed.deduplicate else None
            self._accepted.append(_Accepted(entry, parsed, seen_key))

    @property
    def seen_keys(self) -> list[bytes]:
        """Keys that tell which of the ids were recorded within the window."""
        return [item.seen_key for item in self._accepted if item.seen_key is not None]

    def finish(self, seen: Collection[bytes], left_out: Collection[str]) -> SortedPage:
        """The page by stream, without the streams `left_out` and without repeats.

        `seen` are the `seen_keys` that exist; a repeat within the page counts as one too.
        """
        page = SortedPage(rejected=self._rejected)
        known = set(seen)
        for item in self._accepted:
            stream = item.parsed.stream
            if stream in left_out:
                continue
            target = page.streams.get(stream)
            if target is None:
                target = page.streams[stream] = StreamPage(stream)
            if item.seen_key is not None and item.seen_key in known:
                target.repeats.append(item.entry[0])
                continue
            if item.seen_key is not None:
                known.add(item.seen_key)
            target.seen.append(item.seen_key)
            target.events.append(item.parsed.event)
            target.entries.append(item.entry)
        return page


@dataclass(slots=True)
class Page:
    """Entries of the inbox as read; `sorter` where they were parsed ahead of their turn."""

    entries: list[Entry]
    sorter: PageSorter | None = None


def append_of(page: StreamPage, keys: Keys, *, window_s: int) -> Append:
    """The append of one stream's events; removal from the inbox shares its transaction."""
    ids = [entry_id for entry_id, _ in page.entries]
    extra: list[Command] = [("XDEL", keys.inbox, *ids, *page.repeats)]
    extra += [("SET", key, "1", "EX", window_s) for key in page.seen if key is not None]
    return Append(page.stream, page.events, extra=extra)


def dead_letter(rejected: Rejected, keys: Keys, *, now_ms: int) -> Command:
    """XADD that keeps a rejected entry whole: its fields under `f:`, and what was wrong.

    `first_seen_ms` is the time of the producer's XADD.
    """
    entry_id, fields = rejected.entry
    kept = [b"f:" + value if position % 2 == 0 else value for position, value in enumerate(fields)]
    facts: tuple[bytes | str | int, ...] = (
        *("reason", rejected.reason, "code", rejected.code, "origin_id", entry_id),
        *("attempts", rejected.attempts, "first_seen_ms", entry_id.partition(b"-")[0]),
        *("dead_ms", now_ms),
    )
    return ("XADD", keys.dead, "*", *kept, *facts)


def split_stream(page: StreamPage, limits: BatchLimits) -> list[StreamPage]:
    """`page` in pieces that each fit one commit; a single larger event makes a piece alone."""
    pieces = [StreamPage(page.stream, repeats=page.repeats)]
    size = 0
    for event, entry, seen in zip(page.events, page.entries, page.seen, strict=True):
        piece = pieces[-1]
        size += event.size
        if piece.events and (size > limits.max_bytes or len(piece.events) >= limits.max_events):
            piece = StreamPage(page.stream)
            pieces.append(piece)
            size = event.size
        piece.events.append(event)
        piece.entries.append(entry)
        piece.seen.append(seen)
    return pieces
