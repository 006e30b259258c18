"""Finds rounds by reading every file, in several processes where that is allowed and pays."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from archive.failures import RecordDamaged, RoundDamaged
from archive.places import ArchivedRound, Place, Problem, Report, StreamFolder, problem
from archive.publishing.publication import end_time
from archive.record_json import is_told_by_bytes
from archive.survey import Survey

from .guard import matches_in_time
from .prefilter import prefilter
from .processes import can_spread, spread
from .query import Filters, Query, newest_first
from .text import fold

_KEY: Final = struct.Struct(">QQI")
_LAST: Final = 2**63
"""Beyond every time in microseconds and every number of a round."""

_FOLDERS_AT_ONCE: Final = 32
_READ_BEFORE_SPREADING: Final = 2 * _FOLDERS_AT_ONCE
"""Folders; what is read sooner than a process starts is read here."""


_Found = tuple[list[Problem], list[tuple[int, int, int]]]
"""What a batch of folders yields: problems, and each hit's folder, end time and number."""


class _Hit(NamedTuple):
    folder: StreamFolder
    ended: int
    number: int


class Scan:
    """One search through the files of an archive."""

    def __init__(self, survey: Survey, query: Query, filters: Filters) -> None:
        self._survey, self._query, self._filters = survey, query, filters

    def places(
        self,
        folders: Iterable[StreamFolder],
        *,
        limit: int | None,
        report: Report,
        processes: int = 1,
    ) -> Iterable[Place]:
        """Places of the rounds that match, newest first; of the newest `limit` if there is one.

        Every file is checked for damage, whether it could match or not.
        """
        found = self._hits(iter(folders), report, processes)
        if limit is None:
            return _Ordered(found).places()
        places = ((Place(hit.folder, hit.number), hit.ended) for hit in found)
        best = heapq.nsmallest(limit, places, key=lambda item: newest_first(*item))
        return [place for place, _ in best]

    def _hits(
        self, folders: Iterator[StreamFolder], report: Report, processes: int
    ) -> Iterator[_Hit]:
        spreads = processes > 1 and can_spread()
        for folder in islice(folders, _READ_BEFORE_SPREADING if spreads else None):
            for ended, number in self._in_folder(folder, report):
                yield _Hit(folder, ended, number)
        batches = iter(lambda: list(islice(folders, _FOLDERS_AT_ONCE)), [])
        first = next(batches, None)
        if first is None:
            return
        for batch, (problems, hits) in spread(self._in_batch, chain([first], batches), processes):
            for trouble in problems:
                report(trouble)
            for at, ended, number in hits:
                yield _Hit(batch[at], ended, number)

    def _in_batch(self, batch: Sequence[StreamFolder]) -> _Found:
        problems: list[Problem] = []
        hits = [
            (at, *hit)
            for at, folder in enumerate(batch)
            for hit in self._in_folder(folder, problems.append)
        ]
        return problems, hits

    def _in_folder(self, folder: StreamFolder, report: Report) -> Iterator[tuple[int, int]]:
        """End time and number of each round that matches."""
        survey, query = self._survey, self._query
        could_match, name = prefilter(query), fold(folder.name)
        in_name = any(needle in name for needle in query.needles)
        for number, data in survey.contents(folder, report):
            try:
                if not could_match(data) and is_told_by_bytes(data, unnamed=in_name):
                    continue
                found = survey.decode(Place(folder, number), data)
            except RecordDamaged as exc:
                path = f"{survey.volume.path}/{Place(folder, number).path}"
                report(problem(RoundDamaged(path, exc.detail)))
                continue
            if (
                isinstance(found, ArchivedRound)
                and self._filters.accept(found)
                and matches_in_time(query, found)
            ):
                yield end_time(found.record), number


class _Ordered:
    """Rounds in the order of `newest_first`, in few bytes each: there may be a million."""

    def __init__(self, found: Iterable[_Hit]) -> None:
        self._folders: list[StreamFolder] = []
        self._keys: list[bytes] = []
        for folder, ended, number in found:
            if not self._folders or self._folders[-1] is not folder:
                self._folders.append(folder)
            self._keys.append(_KEY.pack(_LAST - ended, _LAST - number, len(self._folders) - 1))

    def places(self) -> Iterator[Place]:
        """One after the other."""
        by_name = sorted(self._folders, key=lambda each: (each.tenant, "/".join(each.parts)))
        if by_name != self._folders:
            ranks = {folder: rank for rank, folder in enumerate(by_name)}
            for at, key in enumerate(self._keys):
                *times, number = _KEY.unpack(key)
                self._keys[at] = _KEY.pack(*times, ranks[self._folders[number]])
        self._keys.sort()
        for key in self._keys:
            _, before_last, rank = _KEY.unpack(key)
            yield Place(by_name[rank], _LAST - before_last)
