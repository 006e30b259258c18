"""Buries what of a stream no round file holds yet, so that nobody can archive it any more.

Its rounds are cut, numbered and published as an archiver would, but without their content, and
the state moves as usual. A worker that read the same events before finds its rounds taken: they
have the same identity. Whatever it does next it does from the state, which has moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from archive.failures import PublicationConflict, UnsafePath
from archive.publishing.publication import DigestOf
from archive.publishing.published import Published, Result
from archive.publishing.writer import FileArchiveWriter
from archive.record import RoundRecord
from streams.clock import Clock
from streams.errors import AresError, CorruptionError, TooMuchContention
from streams.keys import Keys
from streams.state import Advance, advance
from streams.tail import StreamFacts, read_facts
from streams.wire import Wire
from worker.archiving.facts import Archived
from worker.archiving.rounds import RoundLimits
from worker.archiving.stream_archiver import ArchivingPolicy, StreamArchiver

_TRIES: Final = 50


class BlankWriter:
    """Publishes rounds without their content; `eraser` then makes tombstones of them."""

    def __init__(self, writer: FileArchiveWriter) -> None:
        self._writer = writer

    def record(
        self, record: RoundRecord, *, confirmed: bool = False, digest_of: DigestOf | None = None
    ) -> Published:
        """As `FileArchiveWriter.record`."""
        return self._writer.record(blank(record), confirmed=confirmed, digest_of=digest_of)

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        return self._writer.record_many(map(blank, records))

    def close(self) -> None:
        """End the writer's threads."""
        self._writer.close()


def blank(record: RoundRecord) -> RoundRecord:
    """`record` with nothing but what identifies it."""
    return RoundRecord(
        round=record.round,
        action="implement",
        summary="",
        stream_id=record.stream_id,
        tenant_id=record.tenant_id,
        epoch=record.epoch,
        outcome="unfinished",
        first_version=record.first_version,
        last_version=record.last_version,
        event_count=record.event_count,
        events_digest=record.events_digest,
    )


class Burial:
    """Buries tails of one tenant's streams on a wire of the caller's; one call at a time."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        writer: FileArchiveWriter,
        limits: RoundLimits,
        clock: Clock,
    ) -> None:
        self._wire, self._keys = wire, keys
        self._tenant, self._writer = writer.tenant, BlankWriter(writer)
        # Nothing of a record's text is kept, so nothing of it has to be screened.
        policy = ArchivingPolicy(writer.tenant, screen=False, limits=limits)
        self._archiver = StreamArchiver(wire, keys, self._writer, policy, clock)

    async def bury(self, stream: str) -> StreamFacts:
        """Archive, without content, all events there are now; the facts of the stream then.

        A damaged stream is left as it is. Raises `ArchiveFailure`, `UnsafePath`,
        `StoreUnavailable`, and `TooMuchContention` where others always come first.
        """
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        goal = facts.head
        for _ in range(_TRIES):
            if facts.damage or facts.state.archived_version >= goal:
                return facts
            archived = Archived()
            await self._archiver.archive([stream], archived, close_open=True)
            failure = archived.failures.get(stream)
            if _is_unreadable(failure):
                await self._bury_unread(facts)
            elif failure is not None:
                raise failure
            (facts,) = await read_facts(self._wire, self._keys, [stream])
        raise TooMuchContention(stream, _TRIES)

    def close(self) -> None:
        """End the writer's threads; the wire is the caller's."""
        self._writer.close()

    async def _bury_unread(self, facts: StreamFacts) -> None:
        """What can't be read becomes one round, known by its versions alone."""
        state = facts.state
        record = RoundRecord(
            round=state.rounds + 1,
            action="implement",
            summary="",
            stream_id=facts.stream,
            tenant_id=self._tenant,
            epoch=state.epoch,
            outcome="unfinished",
            first_version=state.archived_version + 1,
            last_version=facts.head,
            event_count=facts.head - state.archived_version,
        )
        try:
            done = await asyncio.to_thread(self._writer.record, record)
        except PublicationConflict:
            done = await asyncio.to_thread(self._writer.record, record, confirmed=True)
        known = {
            "archived_version": state.archived_version,
            "rounds": state.rounds,
            "epoch": state.epoch,
        }
        moved = {
            "archived_version": done.last_version,
            "rounds": max(state.rounds, done.round),
            "epoch": done.epoch,
        }
        await advance(self._wire, self._keys, [Advance(facts.stream, known, moved)])


def _is_unreadable(failure: AresError | None) -> bool:
    """Whether the events themselves are at fault; a link in the archive is another matter."""
    return isinstance(failure, CorruptionError) and not isinstance(failure, UnsafePath)
