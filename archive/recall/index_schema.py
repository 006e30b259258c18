"""The tables of the index."""

from __future__ import annotations

import sqlite3
from typing import Final

SCHEMA_VERSION: Final = 1
"""Another number in a file means: throw it away and make it anew."""

LIVE: Final = 0
DAMAGED: Final = 1
ERASED: Final = 2

_STATEMENTS: Final = (
    # A folder whose listing may be out of date, because it changed a moment ago, has mtime_ns 0.
    """CREATE TABLE folders (
        id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, parts TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL, inode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL)""",
    # `text` is the folded text of a live round, or what is wrong with a damaged one. It stands
    # last, so that reading the other columns doesn't read it.
    """CREATE TABLE rounds (
        id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, round INTEGER NOT NULL,
        inode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
        state INTEGER NOT NULL, ended_us INTEGER NOT NULL, action TEXT NOT NULL,
        outcome TEXT NOT NULL, failed INTEGER NOT NULL, text TEXT NOT NULL,
        UNIQUE (folder, round))""",
    "CREATE INDEX rounds_by_time ON rounds (state, ended_us DESC, round DESC)",
    # Without positions the index is half as big and twice as fast to make; the text itself says
    # whether the trigrams found stand in order.
    """CREATE VIRTUAL TABLE grams USING fts5 (
        text, content = '', detail = none, tokenize = 'trigram case_sensitive 1')""",
)


def create(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file, unless another reader was first."""
    db.execute("BEGIN IMMEDIATE")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if not version:
            for statement in _STATEMENTS:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
