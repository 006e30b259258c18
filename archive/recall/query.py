"""Pure. What recall is asked for: words and phrases, or a pattern, and filters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from archive.failures import InvalidQuery
from archive.places import ArchivedRound, Place, is_text
from archive.publishing.publication import UNKNOWN_TIME, end_time
from archive.record import RoundRecord, Verdict
from archive.record_json import ARES_CHECKS

from .text import fold, folded_text, searched_fields

_WORD: Final = re.compile(r'"([^"]+)"(?=\s|$)|(\S+)')
_AGE: Final = re.compile(r"(\d{1,6})(m|h|d|w)")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_HEX: Final = re.compile(r"[0-9a-f]{7,64}")
_GOOD: Final = frozenset({"", "pass", "skip"})


@dataclass(frozen=True, slots=True)
class Query:
    """Folded `needles`, all of which a round has to contain; or a `pattern` instead."""

    needles: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None


EVERYTHING: Final = Query()
"""Matches every round."""


def parse_query(text: str) -> Query:
    """Words, all of which must occur; a phrase in double quotes is one of them.

    Everything else is literal: `(`, `.*` and `-v` mean themselves. Raises `InvalidQuery` for
    an empty text, which would match everything, and for bytes that are no text.
    """
    _check_text(text)
    needles = tuple(fold(m[1] or m[2]) for m in _WORD.finditer(text))
    if not needles:
        raise InvalidQuery("the text to look for is empty")
    return Query(tuple(dict.fromkeys(needles)))


def parse_pattern(text: str) -> Query:
    """A regular expression, without regard to case; `^` and `$` match at every line.

    Raises `InvalidQuery` where it is none, or is empty.
    """
    _check_text(text)
    if not text:
        raise InvalidQuery("the pattern is empty")
    try:
        flags = re.IGNORECASE | re.MULTILINE
        return Query(pattern=re.compile(unicodedata.normalize("NFC", text), flags))
    except (re.error, RecursionError, OverflowError) as exc:
        raise InvalidQuery(f"not a regular expression: {exc}") from exc


def _check_text(text: str) -> None:
    if not is_text(text):
        raise InvalidQuery("the text to look for is no UTF-8")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rounds come into question; what is empty or None filters nothing.

    `streams`: any of these ids. `file`: part of a changed file's path, or a pattern with `*`
    and `?`. `ref`: a reference as a whole (`#142`, `142`, `owner/repo`), a commit by its first
    seven digits or more. `since` and `until` compare the end of a round, both inclusive; one
    that names no time passes neither. `failed`: the round failed, or one of its checks did.
    """

    streams: tuple[str, ...] = ()
    action: str = ""
    outcome: str = ""
    file: str = ""
    ref: str = ""
    since: datetime | None = None
    until: datetime | None = None
    failed: bool = False

    def accept(self, found: ArchivedRound) -> bool:
        """Whether a round passes every filter."""
        record = found.record
        return (
            (not self.streams or found.stream in self.streams)
            and (not self.action or record.action == self.action)
            and (not self.outcome or record.outcome == self.outcome)
            and (not self.failed or has_failed(record))
            and self._in_time(record)
            and (not self.file or any(_file_matches(self.file, f.path) for f in record.files))
            and (not self.ref or any(_ref_matches(self.ref, v) for v in record.refs.values()))
        )

    def _in_time(self, record: RoundRecord) -> bool:
        if self.since is None and self.until is None:
            return True
        ended = end_time(record)
        if ended == UNKNOWN_TIME:
            return False
        return (self.since is None or ended >= microseconds(self.since)) and (
            self.until is None or ended <= microseconds(self.until)
        )


NO_FILTERS: Final = Filters()


def matches(query: Query, found: ArchivedRound) -> bool:
    """Whether a round contains what `query` asks for."""
    if query.pattern is not None:
        search = query.pattern.search
        return any(search(unicodedata.normalize("NFC", f)) for f in searched_fields(found))
    if not query.needles:
        return True
    text = folded_text(found)
    return all(needle in text for needle in query.needles)


def has_failed(record: RoundRecord) -> bool:
    """Whether the round failed, or one of its checks did."""
    return record.outcome == "failed" or bool(failed_checks(record.verdict))


def failed_checks(verdict: Verdict) -> list[str]:
    """Names of the checks that failed or found something, in their order."""
    names = [check.tool or check.kind for check in verdict.checks if check.result not in _GOOD]
    if not verdict.checks:
        names = [name for name in ARES_CHECKS if getattr(verdict, name) not in _GOOD]
    return list(dict.fromkeys(names))


def newest_first(place: Place, ended: int) -> tuple[int, int, str, str]:
    """Sort key of every list of rounds: by end time (`end_time`), then number, then place."""
    folder = place.folder
    return (-ended, -place.round, folder.tenant, "/".join(folder.parts))


def microseconds(moment: datetime) -> int:
    """Microseconds since the epoch; a time without a zone counts as UTC."""
    return end_time(RoundRecord(1, "plan", "", ended_at=moment))


def parse_when(text: str, *, now: datetime, end: bool = False) -> datetime:
    """A point in time: `2026-01-31`, `2026-01-31T14:00+01:00`, or an age like `90m 12h 7d 2w`.

    A date alone means its first moment, with `end` its last; without a zone, UTC. Raises
    `InvalidQuery`.
    """
    age = _AGE.fullmatch(text.strip().lower())
    try:
        if age:
            return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
        moment = datetime.fromisoformat(text.strip())
        if end and len(text.strip()) <= len("2026-01-31"):
            moment += timedelta(days=1, microseconds=-1)
    except (ValueError, OverflowError) as exc:
        raise InvalidQuery(
            f"{text!r} is no time; write 2026-01-31, 2026-01-31T14:00, or an age like 7d or 12h"
        ) from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _file_matches(wanted: str, path: str) -> bool:
    wanted, path = fold(wanted), fold(path)
    if "*" not in wanted and "?" not in wanted:
        return wanted in path
    # Only these two are special: brackets are common in paths.
    pieces: Sequence[str] = re.split(r"([*?])", wanted)
    pattern = "".join({"*": ".*", "?": "."}.get(p, re.escape(p)) for p in pieces)
    return re.fullmatch(rf"(?:.*/)?{pattern}", path, re.DOTALL) is not None


def _ref_matches(wanted: str, values: str) -> bool:
    wanted = fold(wanted)
    for value in map(fold, values.split(", ")):
        if _HEX.fullmatch(wanted) and value.startswith(wanted):
            return True
        at = value.find(wanted)
        while at >= 0:
            before, after = value[at - 1 : at], value[at + len(wanted) :][:1]
            if not (before.isalnum() and wanted[0].isalnum()) and not (
                after.isalnum() and wanted[-1].isalnum()
            ):
                return True
            at = value.find(wanted, at + 1)
    return False
