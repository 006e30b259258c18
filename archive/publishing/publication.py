"""Pure. Under which number and epoch a round is published, and which rounds rotate away.

The candidate number comes from the stream's state in Redis. Where the folder holds rounds up to
it or beyond, the archive knows more than that state (restored, reset, failed over, two clusters
on one volume), and the folder decides: nothing in it is overwritten or renumbered.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from archive.record import RoundIdentity, RoundRecord
from archive.record_json import StoredRecord, Tombstone, record_to_bytes

DigestOf = Callable[[int, int], str | None]
"""Digest of the log's events first..last; None where the log doesn't hold all of them."""

UNKNOWN_TIME: Final = -1
"""End time of a round that says none: older than any other."""

_UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class StoredRound:
    """What a folder's file says of itself; `identity` is None where it is damaged."""

    round: int
    identity: RoundIdentity | None
    epoch: int = 0
    ended_us: int = UNKNOWN_TIME
    erased: bool = False

    def is_of(self, stream: str) -> bool:
        """Whether it is a round of `stream`; a damaged file says nothing."""
        return self.identity is not None and self.identity.stream_id == stream

    @property
    def aged(self) -> Aged:
        """What rotation needs to know of it."""
        live = self.identity is not None and not self.erased
        return Aged(self.round, self.epoch, self.first_version, self.ended_us, live)

    @property
    def first_version(self) -> int:
        """First version of its events; 0 where it isn't known."""
        return self.identity.first_version if self.identity else 0

    @property
    def last_version(self) -> int:
        """Last version of its events; 0 where it isn't known."""
        return self.identity.last_version if self.identity else 0


class Aged(NamedTuple):
    """What rotation needs to know of a file; kept for many, so it is small."""

    round: int
    epoch: int
    first_version: int
    ended_us: int
    is_live: bool
    """Neither erased nor damaged."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish under this number and epoch; `forked` when the epoch is a new one.

    Where the folder already holds later versions, `look_until` is the last of them: until the
    stream has passed it, its rounds may be there under any number, so the folder is marked
    before the round is published, and every writer looks inside.
    """

    round: int
    epoch: int
    forked: bool = False
    look_until: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The round is in the folder already, whoever wrote it."""

    stored: StoredRound


@dataclass(frozen=True, slots=True)
class Adopt:
    """A file holds the events that follow the archived version, cut in another way."""

    stored: StoredRound


@dataclass(frozen=True, slots=True)
class ReadStateAgain:
    """The state may be out of date; nothing is published before it was read again."""

    highest: int


Plan = Publish | Found | Adopt | ReadStateAgain


def plan_publication(
    record: RoundRecord,
    *,
    highest: int,
    stored: Sequence[StoredRound] = (),
    look_until: int = 0,
    confirmed: bool = False,
    digest_of: DigestOf | None = None,
) -> Plan:
    """Decide for `record`, whose number and epoch are those its stream's state suggests.

    `highest` is the folder's highest number, 0 when empty; `look_until` its mark; `stored` its
    rounds, needed only where `must_look`. `confirmed` says that the state was read again after
    a `ReadStateAgain` and had not moved.
    """
    if not must_look(record, highest=highest, look_until=look_until):
        return Publish(record.round, record.epoch)
    identity = identity_of(record)
    ours = [other for other in stored if other.is_of(record.stream_id)]
    for other in ours:
        if other.identity == identity:
            return Found(other)
    starts_alike = [other for other in ours if other.first_version == record.first_version]
    if not confirmed and (highest >= record.round or starts_alike):
        return ReadStateAgain(highest)
    for other in starts_alike:
        if _holds_our_events(other, digest_of):
            return Adopt(other)
    newest = max((other.last_version for other in ours), default=0)
    forked = not _fits([other for other in ours if other.epoch == record.epoch], record)
    epochs = (record.epoch, *(other.epoch for other in stored))
    return Publish(
        max(highest + 1, record.round),
        max(epochs) + 1 if forked else record.epoch,
        forked,
        look_until=newest if newest >= record.first_version > 0 else 0,
    )


def must_look(record: RoundRecord, *, highest: int, look_until: int) -> bool:
    """Whether the folder may hold `record` already, so that its files have to be read."""
    return highest >= record.round or 0 < record.first_version <= look_until


def plan_rotation(files: Iterable[Aged], max_rounds: int, *, fresh: int = sys.maxsize) -> list[int]:
    """Numbers of the rounds to remove so that the newest `max_rounds` by end time stay.

    0 keeps all. Tombstones and damaged files neither count nor go. The highest number stays, so
    no number is ever used twice, and so do all from `fresh` on, which their stream's state may
    not know yet. Within an epoch a round never goes before an earlier one, whatever the
    producers' clocks said: the versions kept stay contiguous.
    """
    everything = list(files)
    live = [item for item in everything if item.is_live]
    excess = len(live) - max_rounds
    if max_rounds <= 0 or excess <= 0:
        return []
    staying = min(fresh, max(item.round for item in everything))
    newest_so_far: dict[int, int] = {}
    oldest_first: list[tuple[int, int, int, int]] = []
    for item in sorted(live, key=lambda i: (i.epoch, i.first_version, i.round)):
        time = max(newest_so_far.get(item.epoch, UNKNOWN_TIME), item.ended_us)
        newest_so_far[item.epoch] = time
        oldest_first.append((time, item.epoch, item.first_version, item.round))
    gone: list[int] = []
    kept_epochs: set[int] = set()
    for _, epoch, _, number in sorted(oldest_first)[:excess]:
        if number >= staying:
            kept_epochs.add(epoch)  # what follows it there would leave a gap behind
        elif epoch not in kept_epochs:
            gone.append(number)
    return gone


def identity_of(record: RoundRecord) -> RoundIdentity:
    """The identity of `record`; one without a digest of events is known by its content."""
    if record.events_digest:
        return record.identity
    content = record_to_bytes(replace(record, round=1, epoch=0))
    return replace(record.identity, events_digest=f"content:{hashlib.sha256(content).hexdigest()}")


def stored_round(number: int, content: StoredRecord | Tombstone | None) -> StoredRound:
    """The facts of the file of round `number`; `content` is None where it is damaged."""
    if content is None:
        return StoredRound(number, None)
    if isinstance(content, Tombstone):
        return StoredRound(number, content.identity, content.epoch, erased=True)
    record = content.record
    return StoredRound(number, identity_of(record), record.epoch, end_time(record))


def end_time(record: RoundRecord) -> int:
    """Microseconds since the epoch when the round ended; `UNKNOWN_TIME` where it says none."""
    ended = record.ended_at
    if ended is None:
        return UNKNOWN_TIME
    if ended.tzinfo is None:
        ended = ended.replace(tzinfo=UTC)
    return max(UNKNOWN_TIME, (ended - _UNIX_EPOCH) // _MICROSECOND)


def _holds_our_events(other: StoredRound, digest_of: DigestOf | None) -> bool:
    theirs = other.identity
    if theirs is None or digest_of is None or not 0 < theirs.first_version <= theirs.last_version:
        return False
    return digest_of(theirs.first_version, theirs.last_version) == theirs.events_digest


def _fits(epoch: Sequence[StoredRound], record: RoundRecord) -> bool:
    """Whether `record` shares no version with a round of its epoch, and meets the next later one.

    Before later rounds it belongs to their epoch only where it leads up to them: rounds that
    rotated away may have been of another life of the stream.
    """
    later = [other for other in epoch if other.last_version >= record.first_version > 0]
    return not later or min(other.first_version for other in later) == record.last_version + 1
