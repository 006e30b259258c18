"""Reads an archive by stream and number, and by what its rounds say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from .failures import ArchiveFailure, RoundDamaged, RoundErased, RoundNotFound, UnsafePath
from .places import ArchivedRound, Place, Report, StreamFolder, problem
from .recall.query import parse_query
from .recall.render import render_block
from .recall.search import Recall
from .recall.text import visible_line
from .record import RoundRecord
from .record_json import Tombstone
from .storage.disk import Disk
from .storage.layout import round_name
from .storage.volume import Volume
from .survey import Survey

_Numbers = list[int]
_Names = list[str]
_Rounds = list[ArchivedRound]
_Records = list[RoundRecord]


class FileArchiveReader:
    """Reads the archive at `directory`, of `tenants` only where some are given.

    Every call looks at the disk: what was just written is seen, what was just erased is not.
    The directory may be missing until something is read: then calls raise `ArchiveMissing`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        tenants: Sequence[str] = (),
        disk: Disk | None = None,
    ) -> None:
        self.survey = Survey(Volume(directory, disk=disk), tenants)
        self._recall = Recall(directory, tenants=tenants, disk=disk)

    def read(self, stream: str, round: int) -> RoundRecord:
        """Round `round` of `stream`.

        Raises `RoundNotFound`, `RoundErased`, `RoundDamaged`, `InvalidRound`, `ArchiveMissing`,
        or `ArchiveFailure` and `UnsafePath` where it can't be looked at.
        """
        return self.show(stream, round).record

    def show(self, stream: str, round: int) -> ArchivedRound:
        """Like `read`, with the place and every field of the file."""
        round_name(round)
        erased: Tombstone | None = None
        for folder in self.survey.folders_of(stream, _ignore):
            found = self.survey.read(Place(folder, round))
            if isinstance(found, ArchivedRound) and found.stream == stream:
                return found
            if isinstance(found, Tombstone) and found.identity.stream_id in ("", stream):
                erased = found
        if erased is not None:
            raise RoundErased(stream, round, erased.identity)
        raise RoundNotFound(stream, round)

    def list(self, stream: str) -> _Numbers:
        """Numbers of the rounds of `stream`, ascending; damaged ones too, erased ones not."""
        numbers: set[int] = set()
        for folder in self.survey.folders_of(stream, _ignore):
            for number, data in self.survey.contents(folder, _ignore):
                try:
                    found = self.survey.decode(Place(folder, number), data)
                except RoundDamaged:
                    numbers.add(number)
                    continue
                if isinstance(found, ArchivedRound) and found.stream == stream:
                    numbers.add(number)
        return sorted(numbers)

    def search(self, text: str, *, limit: int | None = None) -> _Records:
        """Records that contain every word of `text`, newest first; see `parse_query`.

        Raises `InvalidQuery` for an empty text. `archive.recall` can do more, and with an index.
        """
        return [found.record for found in self._recall.query(parse_query(text), limit=limit)]

    def recall(self, text: str, *, limit: int | None = None) -> str:
        """Like `search`, as text for a person."""
        query = parse_query(text)
        blocks = [render_block(f, query=query) for f in self._recall.query(query, limit=limit)]
        return "\n".join(blocks) or f"No round matches {visible_line(text)}\n"

    def streams(self, report: Report | None = None) -> _Names:
        """Ids of the streams that have rounds, sorted."""
        folders = self.survey.folders(report or _ignore)
        return sorted({name for f in folders if (name := self.survey.stream_in(f)) is not None})

    def rounds(self, report: Report | None = None) -> Iterator[ArchivedRound]:
        """Every readable round, folder by folder, newest first in each."""
        for folder in self.survey.folders(report or _ignore):
            yield from self.survey.rounds(folder, report or _ignore)

    def holders(self, round: int, report: Report | None = None) -> _Rounds:
        """Round `round` of every stream that has one."""
        round_name(round)
        found = []
        for folder in self.survey.folders(report or _ignore):
            here = self._holder(folder, round, report or _ignore)
            if here is not None:
                found.append(here)
        return found

    def _holder(self, folder: StreamFolder, round: int, report: Report) -> ArchivedRound | None:
        try:
            found = self.survey.read(Place(folder, round))
        except (RoundDamaged, UnsafePath, ArchiveFailure) as exc:
            report(problem(exc))
            return None
        return found if isinstance(found, ArchivedRound) else None


def _ignore(_: object) -> None:
    """For reads that answer with an error of their own, or whose caller asked for no report."""
