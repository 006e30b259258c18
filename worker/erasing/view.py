"""Looks for what an erasure would find, and counts it; changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from archive.failures import RoundDamaged
from archive.places import ArchivedRound, Place, StreamFolder
from archive.publishing.publication import StoredRound, stored_round
from archive.record import RoundRecord
from archive.record_json import StoredRecord
from archive.storage.layout import stream_dir
from streams.erasure import announcements, count, dead_letters, waiting_entries
from streams.errors import StreamNotFound
from streams.overview import Overview
from streams.wire import checked

from .facts import Erased
from .reach import Reach


@dataclass(frozen=True, slots=True)
class Standing:
    """A round file of a stream: what identifies it, and its record; None once it is erased.

    `stored.identity` is None where the file is damaged. `path` is the whole one.
    """

    path: str
    stream: str
    stored: StoredRound
    record: RoundRecord | None = None


async def preview_stream(reach: Reach, stream: str) -> Erased:
    """What erasing the stream now would take away. Raises `StreamNotFound`."""
    would, known = Erased(), True
    try:
        look = await Overview(reach.store.wires, reach.keys).stream(stream)
        would.events, would.summaries = look.retained, look.summaries
    except StreamNotFound:
        known = False
    await asyncio.to_thread(_count_rounds, reach, stream, would)
    wire, keys, name = reach.wire, reach.keys, stream.encode()
    would.inbox_entries = await count(waiting_entries(wire, keys, lambda found: found == name))
    would.dead_letters = await count(dead_letters(wire, keys, lambda found: found == name))
    would.feed_entries = await count(announcements(wire, keys, lambda e: e.stream == stream))
    if reach.segments is not None:
        would.segments = await reach.segments.count(stream)
    if not (known or would.found):
        raise StreamNotFound(stream)
    return would


async def preview_tenant(reach: Reach) -> Erased:
    """What erasing the tenant now would take away."""
    overview = Overview(reach.store.wires, reach.keys)
    tenant = await overview.tenant()
    would = Erased(feed_entries=tenant.feed, inbox_entries=tenant.inbox, dead_letters=tenant.dead)
    names: set[str] = set()
    async for look in overview.streams():
        names.add(look.stream)
        would.events += look.retained
        would.summaries += look.summaries
    names |= await asyncio.to_thread(_count_rounds, reach, None, would)
    if reach.segments is not None:
        for name in names:
            would.segments += await reach.segments.count(name)
    would.streams = len(names)
    return would


async def listed_streams(reach: Reach) -> list[str]:
    """The streams Redis knows of, sorted; what is no name is somebody else's."""
    (reply,) = await reach.wire.exchange([("ZRANGE", reach.keys.streams, 0, -1)])
    names: list[str] = []
    for name in checked(reply):
        try:
            names.append(name.decode())
        except UnicodeDecodeError:
            continue
    return sorted(names)


def archived_streams(reach: Reach) -> set[str]:
    """The streams the archive knows of, by their tombstones too."""
    return _count_rounds(reach, None, Erased())


def rounds_of(reach: Reach, stream: str) -> list[Standing]:
    """The round files of one stream."""
    return list(_standing(reach, frozenset([stream])))


def _count_rounds(reach: Reach, stream: str | None, would: Erased) -> set[str]:
    """Count the files of `stream` or, with None, of all; the names of the streams met."""
    names: set[str] = set()
    for found in _standing(reach, None if stream is None else frozenset([stream])):
        names.add(found.stream)
        would.rounds += not found.stored.erased
        would.rounds_before += found.stored.erased
    return names


def _standing(reach: Reach, wanted: frozenset[str] | None) -> Iterator[Standing]:
    for folder, name in _folders(reach, wanted):
        for number, data in reach.survey.contents(folder, _ignore):
            found = _look(reach, Place(folder, number), data, name)
            if wanted is None or found.stream in wanted:
                yield found


def _folders(reach: Reach, wanted: frozenset[str] | None) -> Iterator[tuple[StreamFolder, str]]:
    """Folders, and whose a file is that doesn't say."""
    if wanted is None:
        yield from ((folder, folder.name) for folder in reach.survey.folders(_ignore))
        return
    for stream in wanted:
        for folder in reach.survey.folders_of(stream, _ignore):
            own = folder.parts[1:] == (stream_dir(stream),)
            yield folder, stream if own else folder.name


def _look(reach: Reach, place: Place, data: bytes, name: str) -> Standing:
    path = f"{reach.survey.volume.path}/{place.path}"
    try:
        found = reach.survey.decode(place, data)
    except RoundDamaged:
        return Standing(path, name, stored_round(place.round, None))
    if isinstance(found, ArchivedRound):
        whole = StoredRecord(found.record, found.raw)
        return Standing(path, found.stream, stored_round(place.round, whole), found.record)
    return Standing(path, found.identity.stream_id or name, stored_round(place.round, found))


def _ignore(_: object) -> None:
    """What can't be read is told by the erasure itself."""
