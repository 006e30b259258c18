"""Pure. What a commit writes: appends and the facts of their streams in, commands out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .codec import (
    EncodedEvent,
    Limits,
    check_stream,
    encode_event,
    entry_id,
    entry_ms,
    entry_version,
)
from .errors import MalformedKey, UsageError, VersionConflict
from .event import Event
from .keys import Keys
from .store import ANY, NO_STREAM, ExpectedVersion, check_expected_version

if TYPE_CHECKING:
    from .wire import Command

COMPACTED: Final = "compacted_version"

_DIRECT: Final = ("d", "1")


class Append(NamedTuple):
    """One caller's events for one stream; `extra` commands share their fate."""

    stream: str
    events: Sequence[EncodedEvent]
    expected: ExpectedVersion = ANY
    extra: Sequence[Command] = ()


def encode_append(
    stream: str,
    events: Sequence[Event],
    expected: ExpectedVersion,
    *,
    limits: Limits,
    max_events: int,
) -> Append:
    """What a caller wants appended, checked; raises `UsageError` or `InvalidEvent`."""
    name, wanted = check_stream(stream, limits), check_expected_version(expected)
    if not events:
        raise UsageError("there are no events to append")
    if len(events) > max_events:
        raise UsageError(f"an append holds at most {max_events} events")
    return Append(name, [encode_event(event, limits) for event in events], wanted)


class Head(NamedTuple):
    """Newest entry of a log; version 0 when the stream has none."""

    version: int = 0
    ms: int = 0

    @classmethod
    def parse(cls, raw: bytes | None) -> Head:
        """From the value of a head key; raises `MalformedKey`."""
        if raw is None:
            return cls()
        try:
            return cls(entry_version(raw), entry_ms(raw))
        except ValueError as exc:
            raise MalformedKey("its head key holds no entry id") from exc

    @property
    def id(self) -> str:
        """The entry's id, as the head key holds it."""
        return entry_id(self.version, self.ms)


class StreamWrite(NamedTuple):
    """What one commit adds to one stream: versions first..last at `ms`."""

    stream: str
    first: int
    last: int
    ms: int
    events: Sequence[EncodedEvent]
    extra: Sequence[Command]


class StreamPlan(NamedTuple):
    """The write to one stream, None when every append conflicts, and each append's outcome."""

    write: StreamWrite | None
    outcomes: tuple[int | VersionConflict, ...]


def plan_stream(appends: Sequence[Append], head: Head, now_ms: int) -> StreamPlan:
    """Line up the appends to one stream behind `head`; a conflicting one leaves its neighbours.

    An outcome is the version of the append's last event, or its conflict.
    """
    version = head.version
    events: list[EncodedEvent] = []
    extra: list[Command] = []
    outcomes: list[int | VersionConflict] = []
    for append in appends:
        if _matches(append.expected, version):
            events += append.events
            extra += append.extra
            version += len(append.events)
            outcomes.append(version)
        else:
            expected = 0 if append.expected is NO_STREAM else int(append.expected)
            outcomes.append(VersionConflict(append.stream, expected, version))
    if not events:
        return StreamPlan(None, tuple(outcomes))
    # Time never falls within a log, whatever the clocks of its writers do.
    ms = max(now_ms, head.ms)
    stream = appends[0].stream
    write = StreamWrite(stream, head.version + 1, version, ms, events, extra)
    return StreamPlan(write, tuple(outcomes))


def _matches(expected: ExpectedVersion, version: int) -> bool:
    if expected is NO_STREAM:
        return version == 0
    return expected <= 0 or expected == version


def write_commands(write: StreamWrite, keys: Keys, *, sequenced: bool) -> list[Command]:
    """Commands that put one write into log, head, feed and the set of streams.

    What no sequencer wrote is marked in the feed: the processes that append for themselves show
    no metrics, so whoever reads the announcement counts it.
    """
    log = keys.log(write.stream)
    commands: list[Command] = [
        ("XADD", log, entry_id(version, write.ms), *event.fields())
        for version, event in enumerate(write.events, write.first)
    ]
    types = " ".join(dict.fromkeys([event.type for event in write.events]))
    feed_fields = ("s", write.stream, "f", write.first, "l", write.last, "t", types)
    door = () if sequenced else _DIRECT
    commands += [
        ("SET", keys.head(write.stream), entry_id(write.last, write.ms)),
        ("XADD", keys.feed, "*", *feed_fields, *door),
        ("ZADD", keys.streams, write.ms, write.stream),
        *write.extra,
    ]
    return commands


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Bounds of one commit. A larger append travels alone."""

    max_events: int = 500
    max_streams: int = 64
    max_bytes: int = 4 * 1024 * 1024


def split_batches(appends: Iterable[Append], limits: BatchLimits) -> list[list[Append]]:
    """Cut appends, in order, into commits within `limits`; each has at least one append."""
    batches: list[list[Append]] = []
    events = size = 0
    streams: set[str] = set()
    for append in appends:
        events += len(append.events)
        size += sum(event.size for event in append.events)
        streams.add(append.stream)
        full = (
            events > limits.max_events
            or size > limits.max_bytes
            or len(streams) > limits.max_streams
        )
        if full or not batches:
            batches.append([])
            events, streams = len(append.events), {append.stream}
            size = sum(event.size for event in append.events)
        batches[-1].append(append)
    return batches
