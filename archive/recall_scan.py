"""Finds rounds by reading every file: bytes first, so that most files are never decoded."""

from __future__ import annotations

import heapq
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .failures import RecordDamaged, RoundDamaged
from .places import ArchivedRound, Place, Report, StreamFolder, problem
from .publication import end_time
from .recall_guard import matches_in_time
from .recall_query import Filters, Query, newest_first
from .recall_text import fold
from .record_json import is_told_by_bytes
from .survey import Survey

ASCII_WHEN_FOLDED: Final = "ßİŉſ\u037eẚẞ\u1fef\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""The letters beyond ASCII whose folded form contains an ASCII letter. A test finds them all."""

_FOLDS_TO_ASCII: Final = re.compile(b"|".join(c.encode() for c in ASCII_WHEN_FOLDED))
_ASCII: Final = bytes(range(128))
_KEY: Final = struct.Struct(">QQI")
_LAST: Final = 2**63
"""Beyond every time in microseconds and every number of a round."""

_ESCAPED_IN_JSON: Final = re.compile('["\\\\\x00-\x1f\x7f]+')
_ASCII_RUN: Final = re.compile("[\x20-\x7e]+")


def scan(
    survey: Survey,
    folders: Iterable[StreamFolder],
    query: Query,
    filters: Filters,
    *,
    limit: int | None,
    report: Report,
) -> Iterable[Place]:
    """Places of the rounds that match, newest first; of the newest `limit` where there is one.

    Every file is checked for damage, whether it could match or not.
    """
    found = (
        item for folder in folders for item in _matching(survey, folder, query, filters, report)
    )
    if limit is None:
        return _Ordered(found).places()
    best = heapq.nsmallest(limit, ((newest_first(item), item.place) for item in found))
    return [place for _, place in best]


class _Ordered:
    """Rounds in the order of `newest_first`, in few bytes each: there may be a million."""

    def __init__(self, found: Iterable[ArchivedRound]) -> None:
        self._folders: list[StreamFolder] = []
        self._keys: list[bytes] = []
        for item in found:
            folder, number = item.place
            if not self._folders or self._folders[-1] is not folder:
                self._folders.append(folder)
            times = _LAST - end_time(item.record), _LAST - number
            self._keys.append(_KEY.pack(*times, len(self._folders) - 1))

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


def _matching(
    survey: Survey, folder: StreamFolder, query: Query, filters: Filters, report: Report
) -> Iterator[ArchivedRound]:
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
            and filters.accept(found)
            and matches_in_time(query, found)
        ):
            yield found


@dataclass(frozen=True, slots=True)
class _Needle:
    """What of a needle can be looked for without decoding a file."""

    ascii_run: bytes
    fragment: str
    """Empty where the needle is ASCII: then the run says it all."""


def prefilter(query: Query) -> Callable[[bytes], bool]:
    """A test of a round file's bytes: False only where the query certainly doesn't match."""
    needles = [_prepare(needle) for needle in query.needles]
    runs = [needle.ascii_run for needle in needles if needle.ascii_run]
    fragments = [needle.fragment for needle in needles if needle.fragment]

    def could_match(data: bytes) -> bool:
        lowered = data.lower()
        for run in runs:
            if run not in lowered:
                return (b"\\" in data or not data.isascii()) and _may_hide_ascii(data)
        return not fragments or all(_in_folded(fragment, data) for fragment in fragments)

    return could_match


def _prepare(needle: str) -> _Needle:
    pieces = _ESCAPED_IN_JSON.split(needle)
    runs = [run for piece in pieces for run in _ASCII_RUN.findall(piece)]
    fragment = "" if needle.isascii() else max(pieces, key=len)
    return _Needle(max(runs, key=len, default="").encode(), fragment)


def _in_folded(fragment: str, data: bytes) -> bool:
    if b"\\" in data:
        return True  # a mark behind an escape composes with the wrong letter
    if data.isascii():
        return False
    try:
        return fragment in fold(data.decode())
    except UnicodeDecodeError:
        return True


def _may_hide_ascii(data: bytes) -> bool:
    """Whether an ASCII letter may stand in a file without standing in its bytes."""
    if _has_escapes(data):
        return True
    return not data.isascii() and bool(_FOLDS_TO_ASCII.search(data.translate(None, _ASCII)))


def _has_escapes(data: bytes) -> bool:
    return b"\\" in data and (b"\\u" in data or b"\\/" in data)
