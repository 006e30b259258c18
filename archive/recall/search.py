"""Recalls rounds: what did we decide, change and verify? With or without an index, alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from archive.failures import ArchiveFailure, IndexUnusable, RoundDamaged, UnsafePath
from archive.places import ArchivedRound, Place, Problem, Report, StreamFolder, problem
from archive.storage.disk import Disk
from archive.storage.layout import index_name
from archive.storage.volume import Volume
from archive.survey import Survey

from .guard import matches_in_time
from .query import NO_FILTERS, Filters, Query
from .scan import Scan

Progress = Callable[[int], None]
"""Told now and then how many rounds a first index has taken in."""


class Recall:
    """Searches the archive at `directory`, of `tenants` only where some are given.

    `cache` is a folder of this reader's own for an index, made and refreshed as needed; None
    searches the files. Where the index can't be used, the files are searched too: in up to
    `processes` processes, where this one may be forked.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        tenants: Sequence[str] = (),
        cache: Path | None = None,
        disk: Disk | None = None,
        processes: int = 1,
    ) -> None:
        self._survey = Survey(Volume(directory, disk=disk), tenants)
        self._tenants = tuple(tenants)
        self._processes = processes
        self._index = None if cache is None else cache / index_name(directory)

    def query(
        self,
        query: Query,
        filters: Filters = NO_FILTERS,
        *,
        limit: int | None = None,
        report: Report | None = None,
        progress: Progress | None = None,
    ) -> Iterator[ArchivedRound]:
        """The rounds that match, newest first, each read from the archive when it is its turn.

        `report` is told of every file and folder that can't be read, before the first round
        comes; `progress` how many rounds a first index has taken in. Raises `ArchiveMissing`,
        `ArchiveFailure` where the archive's top can't be read, and `InvalidQuery` for a pattern
        that takes too long.
        """
        self._survey.exists(())  # a missing archive is told before an index is made for it
        told: set[Problem] = set()

        def tell(trouble: Problem) -> None:
            if trouble not in told:
                told.add(trouble)
                if report is not None:
                    report(trouble)

        given = 0
        for place in self._places(query, filters, limit, tell, progress):
            if limit is not None and given >= limit:
                return
            found = self._look(place, tell)
            if found is not None and filters.accept(found) and matches_in_time(query, found):
                given += 1
                yield found

    def refresh(self) -> bool:
        """Bring the index up to the archive; False where there is none, or it is busy.

        After an erasure this takes what was erased out of the index without waiting for the
        next query, which would do the same.
        """
        from .index import RecallIndex

        if self._index is None or not self._index.exists():
            return False
        try:
            index = RecallIndex(self._index)
            try:
                index.refresh(self._survey, lambda _: None)
            finally:
                index.close()
        except IndexUnusable as exc:
            return exc.damaged and _drop(self._index)
        return True

    def _places(
        self,
        query: Query,
        filters: Filters,
        limit: int | None,
        report: Report,
        progress: Progress | None,
    ) -> Iterator[Place]:
        proposed: dict[tuple[str, ...], set[int]] = {}
        # One stream is soon read, and a pattern needs the text as it was written.
        if self._index is not None and not filters.streams and query.pattern is None:
            for may_be_made_anew in (True, False):
                try:
                    for place in self._indexed(
                        self._index, query, filters, limit, report, progress
                    ):
                        numbers = proposed.setdefault(place.folder.parts, set())
                        if place.round not in numbers:
                            numbers.add(place.round)
                            yield place
                    return
                except IndexUnusable as exc:
                    if not (exc.damaged and may_be_made_anew and _drop(self._index)):
                        break
        scanned = Scan(self._survey, query, filters).places(
            self._folders(filters, report), limit=limit, report=report, processes=self._processes
        )
        for place in scanned:
            if place.round not in proposed.get(place.folder.parts, ()):
                yield place

    def _folders(self, filters: Filters, report: Report) -> Iterable[StreamFolder]:
        if not filters.streams:
            return self._survey.folders(report)
        found = (self._survey.folders_of(stream, report) for stream in filters.streams)
        return dict.fromkeys(folder for folders in found for folder in folders)

    def _look(self, place: Place, report: Report) -> ArchivedRound | None:
        """The round as it stands now: it may have rotated away or been erased meanwhile."""
        try:
            found = self._survey.read(place)
        except (RoundDamaged, UnsafePath, ArchiveFailure) as exc:
            report(problem(exc))
            return None
        return found if isinstance(found, ArchivedRound) else None

    def _indexed(
        self,
        path: Path,
        query: Query,
        filters: Filters,
        limit: int | None,
        report: Report,
        progress: Progress | None,
    ) -> Iterator[Place]:
        from .index import RecallIndex  # SQLite is loaded where it is used

        index = RecallIndex(path)
        try:
            index.refresh(self._survey, report, progress)
            yield from index.candidates(query, filters, tenants=self._tenants, limit=limit)
        finally:
            index.close()


def _drop(path: Path) -> bool:
    """Throw a damaged index away; whether that could be done."""
    from .index import remove_index

    try:
        remove_index(path)
    except IndexUnusable:
        return False
    return True
