"""What the index knows of folders and rounds: its rows, read and written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from archive.places import ArchivedRound, StreamFolder
from archive.publishing.publication import UNKNOWN_TIME, end_time

from .index_schema import DAMAGED, ERASED, LIVE
from .query import has_failed
from .text import folded_text

Stamp = tuple[int, int, int]
"""What tells one version of a file from another: its inode, time of change in ns, and size."""


@dataclass(frozen=True, slots=True)
class KnownFolder:
    """A folder as it was taken in; `mtime_ns` is 0 where its listing may be out of date."""

    id: int
    inode: int
    mtime_ns: int


class IndexRows:
    """The rows. What changes them belongs between `begin` and `commit`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def begin(self) -> None:
        """Take the write lock, unless we have it."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep what was changed, and give the lock back."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo what was changed since `begin`."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def folders(self) -> Iterator[tuple[str, str, KnownFolder]]:
        """Every folder: its tenant, its parts, and how it was."""
        rows = self._db.execute("SELECT tenant, parts, id, inode, mtime_ns FROM folders")
        for tenant, parts, number, inode, mtime_ns in rows:
            yield tenant, parts, KnownFolder(number, inode, mtime_ns)

    def count(self, folder: int) -> int:
        """How many rounds of a folder there are."""
        query = "SELECT count(*) FROM rounds WHERE folder = ?"
        (count,) = self._db.execute(query, (folder,)).fetchone()
        return int(count)

    def stamps(self, folder: int) -> dict[int, Stamp]:
        """The rounds of a folder by number, each as its file was."""
        query = "SELECT round, inode, mtime_ns, size FROM rounds WHERE folder = ?"
        return {row[0]: row[1:] for row in self._db.execute(query, (folder,))}

    def damaged(self) -> Iterator[tuple[str, str, int, str]]:
        """Every damaged round: its tenant, its folder's parts, its number, what is wrong."""
        return self._db.execute(
            "SELECT f.tenant, f.parts, r.round, r.text FROM rounds r"
            " JOIN folders f ON f.id = r.folder WHERE r.state = ?",
            (DAMAGED,),
        )

    def folder_id(self, folder: StreamFolder) -> int:
        """The id of a folder, which gets a row where it has none."""
        values = (folder.tenant, "/".join(folder.parts), folder.name)
        row = self._db.execute("SELECT id FROM folders WHERE parts = ?", values[1:2]).fetchone()
        if row:
            return int(row[0])
        insert = "INSERT INTO folders VALUES (NULL, ?, ?, ?, 0, 0)"
        return int(self._db.execute(insert, values).lastrowid or 0)

    def stamp_folder(self, taken: KnownFolder) -> None:
        """Say how a folder was when it was listed."""
        self._db.execute(
            "UPDATE folders SET inode = ?, mtime_ns = ? WHERE id = ?",
            (taken.inode, taken.mtime_ns, taken.id),
        )

    def add_live(self, folder: int, stamp: Stamp, found: ArchivedRound) -> None:
        """Index a round's text and what is asked for of it."""
        text, record = folded_text(found), found.record
        number = self._insert(
            folder,
            found.place.round,
            stamp,
            LIVE,
            ended_us=end_time(record),
            action=record.action,
            outcome=record.outcome,
            failed=has_failed(record),
            text=text,
        )
        self._db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (number, text))

    def add_damaged(self, folder: int, round_: int, stamp: Stamp, detail: str) -> None:
        """Remember what is wrong with a file, so that it isn't read again while it stays so."""
        self._insert(folder, round_, stamp, DAMAGED, text=detail)

    def add_erased(self, folder: int, round_: int, stamp: Stamp) -> None:
        """Remember that a tombstone stands there."""
        self._insert(folder, round_, stamp, ERASED)

    def _insert(
        self,
        folder: int,
        round_: int,
        stamp: Stamp,
        state: int,
        *,
        ended_us: int = UNKNOWN_TIME,
        action: str = "",
        outcome: str = "",
        failed: bool = False,
        text: str = "",
    ) -> int:
        row = (folder, round_, *stamp, state, ended_us, action, outcome, failed, text)
        insert = "INSERT INTO rounds VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        return int(self._db.execute(insert, row).lastrowid or 0)

    def drop_round(self, folder: int, round_: int) -> None:
        """Take a round out."""
        query = "SELECT id, state, text FROM rounds WHERE folder = ? AND round = ?"
        number, state, text = self._db.execute(query, (folder, round_)).fetchone()
        if state == LIVE:
            delete = "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)"
            self._db.execute(delete, (number, text))
        self._db.execute("DELETE FROM rounds WHERE id = ?", (number,))

    def drop_folder(self, parts: str, gone: KnownFolder) -> None:
        """Take a folder out with its rounds, unless another reader has changed it meanwhile."""
        # Then the row is gone, or another folder's.
        same = "id = ? AND inode = ? AND mtime_ns = ? AND parts = ?"
        values = (gone.id, gone.inode, gone.mtime_ns, parts)
        if self._db.execute(f"SELECT 1 FROM folders WHERE {same}", values).fetchone():  # noqa: S608
            for round_ in self.stamps(gone.id):
                self.drop_round(gone.id, round_)
            self._db.execute("DELETE FROM folders WHERE id = ?", (gone.id,))

    def forget_dropped(self) -> None:
        """Leave no trace of the text of dropped rounds in the file; outside a transaction."""
        self._db.execute("INSERT INTO grams (grams) VALUES ('optimize')")
        self._db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
