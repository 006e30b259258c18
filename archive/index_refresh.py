"""Brings the index up to the archive: folders that changed are listed, new files are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from streams.clock import Clock, system_clock

from .disk import FileFacts
from .failures import ArchiveFailure, RoundDamaged, UnsafePath
from .files import Folder
from .index_schema import DAMAGED, ERASED, LIVE
from .layout import round_name, round_numbers
from .places import ArchivedRound, Place, Problem, Report, StreamFolder, problem
from .publication import UNKNOWN_TIME, end_time
from .recall_query import has_failed
from .recall_text import folded_text
from .survey import Survey, retry_stale

Progress = Callable[[int], None]
"""Told now and then how many rounds were taken in so far."""

SETTLED_MS: Final = 5_000
"""A folder changed this recently may change again within the same tick of its clock."""

CHECKED_FILES: Final = 300
"""So many files of unchanged folders are looked at anew each time: someone may edit one."""

_COMMIT_EVERY: Final = 2_000

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Known:
    id: int
    inode: int
    mtime_ns: int


class Refresh:
    """One pass. Reads without a lock; takes the write lock only where something changed."""

    def __init__(
        self,
        db: sqlite3.Connection,
        survey: Survey,
        report: Report,
        progress: Progress | None = None,
        *,
        clock: Clock = system_clock,
    ) -> None:
        self._db, self._survey, self._clock = db, survey, clock
        self._report, self._progress = report, progress
        self._taken = self._uncommitted = 0
        self._erased = self._troubled = False

    def run(self) -> None:
        """Take in every change, in transactions that each leave the index right."""
        known = self._known()
        unchanged: list[tuple[StreamFolder, _Known]] = []
        try:
            for folder, facts in self._survey.stamps(self._trouble):
                before = known.pop("/".join(folder.parts), None)
                if before and (before.inode, before.mtime_ns) == (facts.inode, facts.mtime_ns):
                    unchanged.append((folder, before))
                else:
                    self._take_folder(folder)
            for folder, before in self._some(unchanged):
                if self._differs(folder, before.id):
                    self._take_folder(folder)
            # Out of reach isn't gone: where something could not be looked at, nothing is dropped.
            for parts, before in known.items() if not self._troubled else ():
                self._drop_folder(parts, before)
            self._commit()
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        if self._erased:
            self._forget()
        self._report_damaged(set(known))

    def _trouble(self, trouble: Problem) -> None:
        self._troubled = True
        self._report(trouble)

    def _known(self) -> dict[str, _Known]:
        rows = self._db.execute("SELECT id, tenant, parts, inode, mtime_ns FROM folders")
        return {
            parts: _Known(number, inode, mtime_ns)
            for number, tenant, parts, inode, mtime_ns in rows
            if self._survey.wants(tenant)
        }

    def _some(
        self, folders: list[tuple[StreamFolder, _Known]]
    ) -> Iterator[tuple[StreamFolder, _Known]]:
        """Other folders each time, up to a number of files: all of them in a small archive."""
        start = self._clock() % len(folders) if folders else 0
        files = 0
        for folder, before in folders[start:] + folders[:start]:
            if files >= CHECKED_FILES:
                return
            files += self._count(before.id)
            yield folder, before

    def _count(self, folder: int) -> int:
        query = "SELECT count(*) FROM rounds WHERE folder = ?"
        (count,) = self._db.execute(query, (folder,)).fetchone()
        return int(count)

    def _stamps(self, folder: int) -> dict[int, _Stamp]:
        query = "SELECT round, inode, mtime_ns, size FROM rounds WHERE folder = ?"
        return {row[0]: row[1:] for row in self._db.execute(query, (folder,))}

    def _differs(self, folder: StreamFolder, number: int) -> bool:
        try:
            with self._survey.volume.folder(*folder.parts) as opened:
                return opened is None or dict(_files(opened)) != self._stamps(number)
        except (ArchiveFailure, UnsafePath):
            return True

    def _take_folder(self, folder: StreamFolder) -> None:
        def take() -> None:
            with self._survey.volume.folder(*folder.parts) as opened:
                if opened is not None:
                    self._take(folder, opened)

        try:
            retry_stale(take)
        except (ArchiveFailure, UnsafePath) as exc:
            self._report(problem(exc))

    def _take(self, folder: StreamFolder, opened: Folder) -> None:
        # Listed under the lock: an older listing must not undo what another reader took in.
        self._begin()
        # The stamp is taken before the listing: what comes later changes it again.
        facts = opened.facts()
        settled = self._clock() - facts.mtime_ns // 1_000_000 > SETTLED_MS
        files = dict(_files(opened))
        number = self._folder_id(folder)
        before = self._stamps(number)
        for gone in before.keys() - files.keys():
            self._drop_round(number, gone)
        whole = True
        for round_, stamp in files.items():
            if before.get(round_) != stamp:
                if round_ in before:
                    self._drop_round(number, round_)
                whole &= self._take_round(number, Place(folder, round_), opened, stamp)
        self._db.execute(
            "UPDATE folders SET inode = ?, mtime_ns = ? WHERE id = ?",
            (facts.inode, facts.mtime_ns if settled and whole else 0, number),
        )
        self._commit_now_and_then()

    def _folder_id(self, folder: StreamFolder) -> int:
        values = (folder.tenant, "/".join(folder.parts), folder.name)
        row = self._db.execute("SELECT id FROM folders WHERE parts = ?", values[1:2]).fetchone()
        if row:
            return int(row[0])
        insert = "INSERT INTO folders VALUES (NULL, ?, ?, ?, 0, 0)"
        return int(self._db.execute(insert, values).lastrowid or 0)

    def _take_round(self, folder: int, place: Place, opened: Folder, stamp: _Stamp) -> bool:
        """Index one file; False when it can't be read now and has to be tried again."""
        data = self._survey.content(opened, place, self._report)
        if data is None:
            return False
        try:
            found = self._survey.decode(place, data)
        except RoundDamaged as exc:
            self._insert(folder, place, stamp, DAMAGED, text=exc.detail)
            return True
        if isinstance(found, ArchivedRound):
            self._insert_live(folder, place, stamp, found)
        else:
            self._insert(folder, place, stamp, ERASED)
            self._erased = True
        self._taken += 1
        self._uncommitted += 1
        return True

    def _insert_live(self, folder: int, place: Place, stamp: _Stamp, found: ArchivedRound) -> None:
        text, record = folded_text(found), found.record
        number = self._insert(
            folder,
            place,
            stamp,
            LIVE,
            ended_us=end_time(record),
            action=record.action,
            outcome=record.outcome,
            failed=has_failed(record),
            text=text,
        )
        self._db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (number, text))

    def _insert(
        self,
        folder: int,
        place: Place,
        stamp: _Stamp,
        state: int,
        *,
        ended_us: int = UNKNOWN_TIME,
        action: str = "",
        outcome: str = "",
        failed: bool = False,
        text: str = "",
    ) -> int:
        row = (folder, place.round, *stamp, state, ended_us, action, outcome, failed, text)
        insert = "INSERT INTO rounds VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        return int(self._db.execute(insert, row).lastrowid or 0)

    def _drop_round(self, folder: int, round_: int) -> None:
        query = "SELECT id, state, text FROM rounds WHERE folder = ? AND round = ?"
        number, state, text = self._db.execute(query, (folder, round_)).fetchone()
        if state == LIVE:
            delete = "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)"
            self._db.execute(delete, (number, text))
        self._db.execute("DELETE FROM rounds WHERE id = ?", (number,))

    def _drop_folder(self, parts: str, gone: _Known) -> None:
        self._begin()
        # Another reader may have been here: then the row is gone, or another folder's.
        same = "id = ? AND inode = ? AND mtime_ns = ? AND parts = ?"
        values = (gone.id, gone.inode, gone.mtime_ns, parts)
        if self._db.execute(f"SELECT 1 FROM folders WHERE {same}", values).fetchone():  # noqa: S608
            for round_ in self._stamps(gone.id):
                self._drop_round(gone.id, round_)
            self._db.execute("DELETE FROM folders WHERE id = ?", (gone.id,))
        self._commit_now_and_then()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._uncommitted = 0
        if self._progress and self._taken:
            self._progress(self._taken)

    def _commit_now_and_then(self) -> None:
        if self._uncommitted >= _COMMIT_EVERY:
            self._commit()

    def _forget(self) -> None:
        """Rounds were erased: leave no trace of their text in this file either."""
        self._db.execute("INSERT INTO grams (grams) VALUES ('optimize')")
        self._db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()

    def _report_damaged(self, gone: set[str]) -> None:
        rows = self._db.execute(
            "SELECT f.tenant, f.parts, r.round, r.text FROM rounds r"
            " JOIN folders f ON f.id = r.folder WHERE r.state = ?",
            (DAMAGED,),
        )
        for tenant, parts, number, detail in rows:
            if self._survey.wants(tenant) and parts not in gone:
                path = "/".join(filter(None, (self._survey.volume.path, parts, round_name(number))))
                self._report(Problem(path, "damaged", detail))


def _files(opened: Folder) -> Iterator[tuple[int, _Stamp]]:
    """Every round file of a folder with what tells one version of it from another."""
    for number in round_numbers(opened.names()):
        facts: FileFacts | None = opened.file_facts(round_name(number))
        if facts is not None:
            yield number, (facts.inode, facts.mtime_ns, facts.size)
