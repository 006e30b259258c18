"""Reads everything a stream's repair is decided on, and says what of it can't be read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from archive.digest import events_digest
from archive.failures import ArchiveMissing
from archive.publishing.publication import StoredRound
from archive.survey import Survey
from archive.verifying.checks import LiveStream, comparable_rounds
from archive.verifying.files import check_folder, own_folder
from streams.codec import decode_entry
from streams.errors import MalformedKey, StreamCorrupted
from streams.failures import error_code
from streams.forced import Read, snapshot
from streams.plan import Head
from streams.redis_store import RedisEventStore
from streams.state import FIELDS, StreamState, read_command
from streams.wire import Command, Reply, Wire, checked
from worker.verifying.stored import last_id_of

from .log import RawEntry, sort_log
from .plan import Evidence, Reach

_MOST_BYTES: Final = 256 << 20
_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Look:
    """The evidence, and the reads that must still answer the same when it is acted on.

    `deaths` is how many workers are known to have died of archiving it.
    """

    evidence: Evidence
    reads: Sequence[Read]
    deaths: int = 0

    @property
    def absent(self) -> bool:
        """Whether Redis has nothing of the stream."""
        seen = self.evidence
        keys = seen.head or seen.entries or seen.packed or seen.troubles
        return not keys and seen.state in (None, StreamState())


async def look_at(store: RedisEventStore, survey: Survey, wire: Wire, stream: str) -> Look:
    """Everything there is of `stream`. Raises `StoreUnavailable`, `StreamCorrupted` for a log
    too large to hold.
    """
    keys = store.keys
    (used,) = await wire.exchange([("MEMORY", "USAGE", keys.log(stream))])
    if isinstance(used, int) and used > _MOST_BYTES:
        raise StreamCorrupted(stream, f"its log takes {used} bytes, too many to mend at once")
    looks: list[Command] = [
        ("GET", keys.head(stream)),
        read_command(keys, stream),
        ("XINFO", "STREAM", keys.log(stream)),
        ("LRANGE", keys.summaries(stream), 0, -1),
        ("HGET", keys.deadly, stream),
    ]
    found = await snapshot(wire, looks) or []
    raw_head, values, info, packed, deaths = found
    troubles: list[str] = []
    head = _head(raw_head, troubles)
    state = _state(values, troubles)
    if error_code(packed) == "WRONGTYPE":
        troubles.append("its summaries key holds another type")
    entries = await _entries(wire, keys.log(stream), info, troubles)
    if head is None and not troubles and (entries or packed or any(values)):
        troubles.append("its head is missing")
    evidence = Evidence(
        stream=stream,
        head=head,
        state=state,
        entries=entries,
        last_id=last_id_of(info),
        packed=() if isinstance(packed, Exception) else packed,
        reach=await asyncio.to_thread(_reach, store, survey, stream, head, state, entries),
        troubles=troubles,
    )
    reads = list(zip(looks, found, strict=True))
    return Look(evidence, reads, int(deaths) if isinstance(deaths, bytes) else 0)


def _head(raw: Reply, troubles: list[str]) -> Head | None:
    if error_code(raw) == "WRONGTYPE":
        troubles.append("its head key holds another type")
        return None
    try:
        return Head.parse(raw) if checked(raw) is not None else None
    except MalformedKey as exc:
        troubles.append(str(exc))
        return None


def _state(values: Reply, troubles: list[str]) -> StreamState | None:
    """The state; None where it can't be read or isn't there."""
    if error_code(values) == "WRONGTYPE":
        troubles.append("its state key holds another type")
        return None
    if not any(checked(values)):
        return None
    try:
        return StreamState.parse(values)
    except MalformedKey as exc:
        bad = [name for name, value in zip(FIELDS, values, strict=True) if _is_bad(value)]
        troubles.append(f"{exc}: {', '.join(bad)}")
        return None


def _is_bad(value: bytes | None) -> bool:
    return value is not None and not value.isdigit()


async def _entries(wire: Wire, log: bytes, info: Reply, troubles: list[str]) -> list[RawEntry]:
    if error_code(info) == "WRONGTYPE":
        troubles.append("its log key holds another type")
        return []
    entries: list[RawEntry] = []
    start: bytes | str = "-"
    while True:
        (reply,) = await wire.exchange([("XRANGE", log, start, "+", "COUNT", _PAGE)])
        page = [RawEntry(name, fields) for name, fields in checked(reply)]
        entries += page
        if len(page) < _PAGE:
            return entries
        start = b"(" + page[-1].id


def _reach(
    store: RedisEventStore,
    survey: Survey,
    stream: str,
    head: Head | None,
    state: StreamState | None,
    entries: Sequence[RawEntry],
) -> Reach:
    """What the archive has of the stream's newest life, and whether the log agrees."""
    folder = own_folder(store.tenant, stream)
    try:
        check = check_folder(survey, folder, now_ns=store.clock() * 1_000_000)
    except ArchiveMissing:
        return Reach()
    rounds, own = check.rounds.get(stream, []), sort_log(stream, entries).own
    if state is None:
        return _reach_without_state(stream, rounds, own)
    life = [stored for stored in rounds if stored.epoch == state.epoch]
    live = LiveStream(stream, head.version if head else 0, state, 0, None)
    return Reach(
        last_version=max((stored.last_version for stored in life), default=0),
        mismatch=max(
            (
                stored.last_version
                for stored in comparable_rounds(live, life)
                if _agrees(stream, stored, own) is False
            ),
            default=0,
        ),
    )


def _reach_without_state(
    stream: str, rounds: Sequence[StoredRound], own: Mapping[int, RawEntry]
) -> Reach:
    """The life that the log belongs to, if the archive knows it.

    A log that begins at version 1 may be of a new life, of which nothing is archived.
    """
    number = max((stored.round for stored in rounds), default=0)
    if 1 in own:
        rounds = [stored for stored in rounds if _agrees(stream, stored, own)]
    newest = max(rounds, key=lambda stored: (stored.epoch, stored.last_version), default=None)
    return Reach(newest.last_version, number, newest.epoch) if newest else Reach()


def _agrees(stream: str, stored: StoredRound, own: Mapping[int, RawEntry]) -> bool | None:
    """Whether a round is made of the events in the log; None where the log hasn't all of them."""
    span = range(stored.first_version, stored.last_version + 1)
    if stored.identity is None or stored.first_version < 1 or not all(v in own for v in span):
        return None
    events = [decode_entry(stream, own[v].id, list(own[v].fields)) for v in span]
    return events_digest(events) == stored.identity.events_digest
