"""Forgets the sealed segments of erased streams and rounds.

A segment doesn't say which round it was made of. It is known again by the digest of what a seal
of the round's events keeps, or, where the events are gone, by its note: the round's summary.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from archive.segments import (
    ArchiveStore,
    ExportedRecord,
    Redactor,
    SegmentBusy,
    SegmentInvalid,
    SegmentNotFound,
    export_in,
    project_archive,
)
from archive.segments.screening import WITHHELD
from streams.event import Event
from worker.sealing.patience import PATIENCE_S, Patience
from worker.sealing.round_messages import note_of, round_messages

_TRIES: Final = 20
_PAUSE_S: Final = 0.1

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class SealedRound:
    """What tells a round's segment from others: its summary, and its events where they are left."""

    summary: str
    events: Sequence[Event] | None


@dataclass(frozen=True, slots=True)
class Match:
    """The living segments made of a round; `unsure` many others may be one of them."""

    ids: tuple[str, ...]
    unsure: int = 0


class Segments:
    """The segments of one tenant's streams below `base`.

    Calls wait a little for a busy scope, and no longer than `patience_s` for one that hangs.
    """

    def __init__(
        self,
        base: str | os.PathLike[str],
        tenant: str,
        redactor: Redactor | None = None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._base, self._tenant, self._redactor = base, tenant, redactor
        self._patience = Patience(patience_s)

    async def count(self, stream: str) -> int:
        """How many segments of the stream live."""
        rows = await self._patiently(lambda: self._rows(stream))
        return sum(not row["tombstone"] for row in rows)

    async def find(self, stream: str, sealed: SealedRound) -> Match:
        """The living segments that were made of a round, as far as that can be told."""
        return await self._patiently(lambda: self._find(stream, sealed))

    async def forget_all(self, stream: str) -> int:
        """Forget every segment of the stream; returns how many lived.

        Raises the segment errors: of a corrupt scope nothing is forgotten.
        """
        rows = await self._patiently(lambda: self._rows(stream))
        return await self.forget(stream, [row["id"] for row in rows if not row["tombstone"]])

    async def forget(self, stream: str, ids: Sequence[str]) -> int:
        """Forget these; returns how many there were."""
        return sum([await self._patiently(partial(self._forget, stream, id_)) for id_ in ids])

    async def _patiently(self, work: Callable[[], T]) -> T:
        """Do `work` in a thread; again after a pause while somebody else holds the scope."""
        for _ in range(_TRIES):
            try:
                return await asyncio.to_thread(self._patience.call, work)
            except SegmentBusy:
                await asyncio.sleep(_PAUSE_S)
        return await asyncio.to_thread(self._patience.call, work)

    def _rows(self, stream: str) -> list[ExportedRecord]:
        return export_in(self._base, f"{self._tenant}/{stream}")

    def _find(self, stream: str, sealed: SealedRound) -> Match:
        rows = self._rows(stream)
        living = [row for row in rows if not row["tombstone"]]
        if not living:
            return Match(())
        if sealed.events is not None:
            digest = self._projected(stream, sealed.events, "")[0]
            if any(row["digest"] == digest for row in rows):
                return Match(tuple(row["id"] for row in living if row["digest"] == digest))
        note = self._projected(stream, [], sealed.summary)[1]
        tells = note not in ("", WITHHELD)
        ids = tuple(row["id"] for row in living if tells and row["note"] == note)
        # Events that are there and match no segment were never sealed.
        return Match(ids, 0 if ids or sealed.events is not None else len(living))

    def _projected(self, stream: str, events: Sequence[Event], summary: str) -> tuple[str, str]:
        """Digest and note of the segment that a seal would make; empty where it would refuse."""
        try:
            kept = project_archive(stream, round_messages(events), note_of(summary), self._redactor)
        except SegmentInvalid:
            return "", ""
        return kept.digest, kept.note

    def _forget(self, stream: str, segment_id: str) -> bool:
        try:
            ArchiveStore(self._base, f"{self._tenant}/{stream}", stream).forget(segment_id)
        except SegmentNotFound:
            return False
        return True
