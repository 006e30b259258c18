"""A derived index of an archive, in a cache folder of the reader: fast, and never needed.

It proposes places, newest first; recall reads each from the archive again and decides itself,
so nothing is ever shown from here. SQLite keeps it safe with several readers; whatever is wrong
with it raises `IndexUnusable`, and recall reads the files instead.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from archive.failures import IndexUnusable
from archive.places import Place, Report, StreamFolder
from archive.publishing.publication import UNKNOWN_TIME
from archive.survey import Survey

from .index_refresh import Progress, Refresh
from .index_schema import SCHEMA_VERSION, create
from .query import Filters, Query, microseconds
from .text import fold

_Pair = tuple[int, int]

_BUSY_MS: Final = 250
_GRAM: Final = 3
_MAX_GRAMS: Final = 12
_MAX_NEEDLES: Final = 64
"""More words than this, the shortest, are looked for in the rounds alone: SQL has its limits."""

# What says nothing about the file's health: busy, locked, denied, read-only, full, not opened.
_NOT_DAMAGE: Final = frozenset({3, 5, 6, 8, 10, 13, 14, 23})


# All SQL is put together from these constants and the tests below; every value is bound.
_ORDER: Final = "r.ended_us DESC, r.round DESC"
_ALL: Final = "rounds r"
_BY_GRAMS: Final = "grams g CROSS JOIN rounds r ON r.id = g.rowid"
# About 500; of rounds alike in time and number all or none, for their folders order them.
_NEWEST: Final = (
    "(SELECT id FROM rounds WHERE state = 0 AND (ended_us, round) >= ("
    "SELECT ended_us, round FROM (SELECT ended_us, round FROM rounds WHERE state = 0"
    " ORDER BY ended_us DESC, round DESC LIMIT 500) ORDER BY ended_us, round LIMIT 1"
    ")) n CROSS JOIN rounds r ON r.id = n.id"
)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        code = (getattr(exc, "sqlite_errorcode", 0) or 0) & 0xFF
        raise IndexUnusable(str(exc), damaged=code not in _NOT_DAMAGE) from exc
    except (OSError, UnicodeEncodeError) as exc:  # the latter: asked for what is no text
        raise IndexUnusable(str(exc), damaged=False) from exc


class RecallIndex:
    """The index of one archive, in the file `path`; made where it is missing.

    Every method raises `IndexUnusable`.
    """

    def __init__(self, path: Path) -> None:
        with _translated():
            above = (path.parent, *path.parent.parents)
            for folder in reversed([folder for folder in above if not folder.exists()]):
                folder.mkdir(mode=0o700, exist_ok=True)
            # The text of private rounds: nobody else may read it, whatever the umask.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._folders: dict[int, StreamFolder] = {}
            self._db = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None)
            try:
                self._prepare()
            except sqlite3.Error:
                self._db.close()
                raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA secure_delete = ON")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            if version:
                raise sqlite3.DatabaseError("made by another release")
            create(self._db)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    def refresh(self, survey: Survey, report: Report, progress: Progress | None = None) -> None:
        """Take in what changed in the archive; report what in it can't be read."""
        with _translated():
            Refresh(self._db, survey, report, progress).run()

    def candidates(
        self, query: Query, filters: Filters, *, tenants: Sequence[str], limit: int | None
    ) -> Iterator[Place]:
        """Every place that may match, newest first, and some that don't."""
        needles = sorted(query.needles, key=len, reverse=True)[:_MAX_NEEDLES]
        where, values = _conditions(needles, filters, tenants)
        grams = _gram_query(needles)
        seen: frozenset[_Pair] = frozenset()
        if limit is not None:
            # Common words are found among the newest rounds, without sorting all that match.
            newest = self._pairs(_NEWEST, where, values)
            yield from itertools.starmap(self._place, _in_pairs(newest))
            seen = frozenset(_in_pairs(newest))
        if grams:
            rest = self._pairs(_BY_GRAMS, f"g.grams MATCH ? AND {where}", [grams, *values])
        else:
            rest = self._pairs(_ALL, where, values)
        yield from (self._place(*pair) for pair in _in_pairs(rest) if pair not in seen)

    def _pairs(self, source: str, where: str, values: Sequence[object]) -> array[int]:
        """Folder and number of each round, one behind the other: there may be a million.

        Not its row: another reader may take that away before it is its turn.
        """
        sql = (
            f"SELECT r.folder, r.round FROM {source} CROSS JOIN folders f ON f.id = r.folder"  # noqa: S608
            # The sign keeps SQLite from reading every text in the order of time.
            f" WHERE +r.state = 0 AND {where} ORDER BY {_ORDER}, f.tenant, f.parts"
        )
        with _translated():
            return array("q", itertools.chain.from_iterable(self._db.execute(sql, values)))

    def _place(self, folder: int, number: int) -> Place:
        if folder not in self._folders:
            query = "SELECT tenant, parts, name FROM folders WHERE id = ?"
            with _translated():
                row = self._db.execute(query, (folder,)).fetchone()
            if row is None:
                raise IndexUnusable("another reader changed it meanwhile", damaged=False)
            tenant, parts, name = row
            parts = tuple(parts.split("/")) if parts else ()
            self._folders[folder] = StreamFolder(tenant, parts, name)
        return Place(self._folders[folder], number)


def _in_pairs(flat: array[int]) -> Iterator[_Pair]:
    numbers = iter(flat)
    return zip(numbers, numbers, strict=True)


def _conditions(
    needles: Sequence[str], filters: Filters, tenants: Sequence[str]
) -> tuple[str, list[object]]:
    """SQL that no matching round fails."""
    tests: list[tuple[str, object]] = [("instr(r.text, ?)", n) for n in needles]
    if filters.action:
        tests.append(("r.action = ?", filters.action))
    if filters.outcome:
        tests.append(("r.outcome = ?", filters.outcome))
    if filters.failed:
        tests.append(("r.failed = ?", 1))
    if filters.since or filters.until:
        tests.append(("r.ended_us <> ?", UNKNOWN_TIME))
    if filters.since:
        tests.append(("r.ended_us >= ?", microseconds(filters.since)))
    if filters.until:
        tests.append(("r.ended_us <= ?", microseconds(filters.until)))
    if filters.file and not set(filters.file) & set("*?"):
        tests.append(("instr(r.text, ?)", fold(filters.file)))
    if filters.ref:
        tests.append(("instr(r.text, ?)", fold(filters.ref)))
    any_tenant = [f"f.tenant IN ({', '.join('?' * len(tenants))})"] if tenants else []
    where = " AND ".join([test for test, _ in tests] + any_tenant) or "1"
    return where, [value for _, value in tests] + list(tenants)


def _gram_query(needles: Sequence[str]) -> str:
    """Trigrams every match contains, spread over the needles; empty where all are too short."""
    grams: list[str] = []
    for needle in needles:
        count = len(needle) - _GRAM + 1
        step = max(1, -(-count // _MAX_GRAMS))
        grams += (needle[i : i + _GRAM] for i in range(0, count, step))
    quoted = ('"' + gram.replace('"', '""') + '"' for gram in dict.fromkeys(grams))
    return " ".join(quoted)


def remove_index(path: Path) -> None:
    """Throw an index away; it is made again when next needed. Raises `IndexUnusable`."""
    with _translated():
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{suffix}").unlink()
