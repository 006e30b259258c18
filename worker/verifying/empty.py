"""Tells an archive that isn't there, behind a volume that isn't mounted, from one with losses."""

from __future__ import annotations

import asyncio
from typing import Final

from archive.failures import ArchiveFailure, ArchiveMissing, UnsafePath
from archive.places import Problem
from archive.survey import Survey
from archive.verifying.checks import Finding
from streams.errors import CorruptionError
from streams.redis_store import RedisEventStore
from streams.state import StreamState, read_command
from streams.wire import Reply, checked
from worker.console import words

_STREAMS_AT_ONCE: Final = 500


async def empty_archive(
    store: RedisEventStore, survey: Survey, *, sentinel: str = ""
) -> Finding | None:
    """The finding that stands for all rounds of a tenant, where there is none but should be some.

    `sentinel` names a file that only the real volume holds. Raises `StoreUnavailable`,
    `ArchiveFailure`.
    """
    if await asyncio.to_thread(_holds_any, survey):
        return None
    streams = await _archived_streams(store)
    # Once more: what was not there may have been the first round of all, on its way.
    if not streams or await asyncio.to_thread(_holds_any, survey):
        return None
    missing = bool(sentinel) and await asyncio.to_thread(_lacks, survey, sentinel)
    why = f"{sentinel} is missing, too: mount it" if missing else "is it mounted?"
    detail = (
        f"{survey.volume.path} looks empty: it holds no round file, and Redis says that rounds of "
        f"{words.count(streams, 'stream')} were archived; {why}"
    )
    return Finding("empty_archive", "", detail, path=survey.volume.path)


def _holds_any(survey: Survey) -> bool:
    """Whether there may be a round file: what can't be looked into may hold some."""
    hidden: list[Problem] = []
    try:
        found = any(survey.numbers(folder) for folder in survey.folders(hidden.append))
    except ArchiveMissing:
        return False
    except (ArchiveFailure, UnsafePath):
        return True
    return found or bool(hidden)


def _lacks(survey: Survey, name: str) -> bool:
    try:
        with survey.volume.root() as top:
            return top.file_facts(name) is None
    except ArchiveMissing:
        return True


async def _archived_streams(store: RedisEventStore) -> int:
    """How many streams have archived rounds, by their state."""
    (names,) = await store.wires.exchange([("ZRANGE", store.keys.streams, 0, -1)])
    streams = [name.decode(errors="replace") for name in names]
    archived = 0
    async with store.wires.borrow() as wire:
        for start in range(0, len(streams), _STREAMS_AT_ONCE):
            page = streams[start : start + _STREAMS_AT_ONCE]
            replies = await wire.exchange([read_command(store.keys, name) for name in page])
            archived += sum(map(_says_archived, replies))
    return archived


def _says_archived(state: Reply) -> bool:
    """Whether a stream's state counts rounds; one that somebody else wrote says nothing."""
    try:
        return StreamState.parse(checked(state)).archived_version > 0
    except CorruptionError:
        return False
