"""What `verify` reads of a stream in Redis: its keys at one moment, then its log page by page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from archive.digest import events_digest
from archive.verifying.checks import LiveStream, Span
from streams.errors import CorruptionError, StreamCorrupted
from streams.event import Event
from streams.forced import snapshot
from streams.keys import Keys
from streams.plan import Head
from streams.state import StreamState, read_command
from streams.summary import unpack
from streams.tail import StreamFacts, TailLimits, read_tails
from streams.wire import Command, Reply, Wire, as_map, checked

_PAGE: Final = TailLimits(events=500, bytes=8 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class KeysLook:
    """The keys of a stream at one moment.

    `live` is None where there are none, and where somebody else wrote one of them, which
    `damage` says. `bad_summary` says why a summary can't be read, `bad_log` why the log takes no
    event, though it may be as long as it should be. The log takes `log_bytes` of memory.
    """

    live: LiveStream | None
    listed: bool
    damage: str = ""
    bad_summary: str = ""
    bad_log: str = ""
    log_bytes: int = 0

    @property
    def absent(self) -> bool:
        """Whether Redis has nothing of the stream, nor lists it."""
        return self.live is None and not self.damage and not self.listed


@dataclass(slots=True)
class LogLook:
    """The log as far as it could be read: its events, what is wrong with the next one, and the
    digests of the spans asked for.
    """

    events: int = 0
    trouble: str = ""
    digests: dict[Span, str] = field(default_factory=dict)


async def read_keys(wire: Wire, keys: Keys, stream: str) -> KeysLook:
    """Everything of a stream but its events. Raises `StoreUnavailable`."""
    looks: list[Command] = [
        ("GET", keys.head(stream)),
        ("XLEN", keys.log(stream)),
        read_command(keys, stream),
        ("LRANGE", keys.summaries(stream), 0, -1),
        ("ZSCORE", keys.streams, stream),
        ("XINFO", "STREAM", keys.log(stream)),
    ]
    (used,) = await wire.exchange([("MEMORY", "USAGE", keys.log(stream))])
    *results, info = await snapshot(wire, looks) or []
    raw_head, entries, values, packed, score = results
    listed = score is not None and not isinstance(score, Exception)
    try:
        for reply in results:
            checked(reply)
        head, state = Head.parse(raw_head), StreamState.parse(values)
    except CorruptionError as exc:
        return KeysLook(None, listed, damage=f"somebody else wrote one of its keys ({exc})")
    last_id = last_id_of(info)
    if raw_head is None and not any((entries, packed, last_id, *values)):
        return KeysLook(None, listed)
    spans, bad_summary = _spans(packed)
    live = LiveStream(stream, head.version, state, entries, spans)
    bad_log = ""
    if last_id is not None and last_id > head:
        bad_log = f"its log once had an entry {last_id.id}, above its head {head.id}"
    size = used if isinstance(used, int) else 0
    return KeysLook(live, listed, "", bad_summary, bad_log, size)


async def read_log(
    wire: Wire, keys: Keys, live: LiveStream, log_bytes: int, spans: Collection[Span]
) -> LogLook:
    """Read every event after the compacted version; `spans` are versions to take digests of.

    Holds a page and the events of a span at a time. Raises `StoreUnavailable`.
    """
    look = LogLook()
    digests = _SpanDigests(spans)
    facts = StreamFacts(live.stream, live.head, 0, live.state, log_bytes)
    after = live.state.compacted_version
    while after < live.head:
        span = facts.span(after, live.head)
        tails, failures = await read_tails(wire, keys, [span], _PAGE)
        if failures:
            failure = failures[live.stream]
            if not isinstance(failure, CorruptionError):
                raise failure
            look.trouble = failure.reason if isinstance(failure, StreamCorrupted) else str(failure)
            break
        (tail,) = tails
        look.events += len(tail.events)
        digests.feed(tail.events)
        after = tail.last
    look.digests = digests.done
    return look


class _SpanDigests:
    """Takes the digests of spans while the events pass by, in order."""

    def __init__(self, spans: Collection[Span]) -> None:
        self.done: dict[Span, str] = {}
        self._due = sorted(set(spans), reverse=True)
        self._open: dict[Span, list[Event]] = {}

    def feed(self, events: Sequence[Event]) -> None:
        """Take the next events."""
        for event in events:
            while self._due and self._due[-1][0] == event.version:
                self._open[self._due.pop()] = []
            for span, passed in list(self._open.items()):
                passed.append(event)
                if span[1] == event.version:
                    self.done[span] = events_digest(self._open.pop(span))


def _spans(packed: Sequence[bytes]) -> tuple[tuple[Span, ...] | None, str]:
    """The versions that summaries cover; why one of them can't be read."""
    try:
        summaries = [unpack(item) for item in packed]
    except CorruptionError as exc:
        return None, str(exc)
    return tuple((each.first_version, each.last_version) for each in summaries), ""


def last_id_of(info: Reply) -> Head | None:
    """The last id that the log's key remembers; None where there is no such key."""
    return None if isinstance(info, Exception) else Head.parse(as_map(info)[b"last-generated-id"])
