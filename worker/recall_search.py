"""Searches of the archive as the command line asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archive.reader import FileArchiveReader
from archive.recall import Recall
from archive.recall_query import Filters, Query, parse_when
from archive.survey import ArchivedRound, Problem
from streams.clock import utc_now

from . import output, words
from .exit_codes import ExitCode
from .invocation import Invocation
from .settings_files import DEFAULT_TENANTS


@dataclass(slots=True)
class Search:
    """One search and how its answer is written."""

    invocation: Invocation
    query: Query
    asked: dict[str, Any]

    def write_json(self, shape: Callable[[ArchivedRound], dict[str, Any]]) -> int:
        """Every round as one item of an array."""
        with output.json_array() as array:
            for found in self._rounds():
                array.add(shape(found))
        return ExitCode.DONE if array.started else ExitCode.NO

    def write_text(self, shape: Callable[[ArchivedRound], str]) -> int:
        """Every round as text."""
        count = 0
        for found in self._rounds():
            count += 1
            output.write(shape(found))
        if not count:
            output.tell("No round fits.")
        return ExitCode.DONE if count else ExitCode.NO

    def _rounds(self) -> Iterator[ArchivedRound]:
        recall = self._recall()
        with _progress() as progress:
            yield from recall.query(
                self.query,
                self._filters(),
                limit=self.asked["limit"],
                report=complain_of,
                progress=progress,
            )

    def _recall(self) -> Recall:
        settings = self.invocation.light_settings()
        cache = None if self.asked["no_index"] else _cache_folder()
        tenants = _tenants(self.invocation, settings.tenants)
        return Recall(settings.archive_dir, tenants=tenants, cache=cache)

    def _filters(self) -> Filters:
        now = utc_now()
        since, until = self.asked["since"], self.asked["until"]
        return Filters(
            streams=self.asked["streams"],
            action=self.asked["action"] or "",
            outcome=self.asked["outcome"] or "",
            file=self.asked["file"] or "",
            ref=self.asked["ref"] or "",
            since=None if since is None else parse_when(since, now=now),
            until=None if until is None else parse_when(until, now=now, end=True),
            failed=self.asked["failed"],
        )


def reader_of(invocation: Invocation) -> FileArchiveReader:
    """A reader of the archive and tenants that were asked for."""
    settings = invocation.light_settings()
    tenants = _tenants(invocation, settings.tenants)
    return FileArchiveReader(settings.archive_dir, tenants=tenants)


def _tenants(invocation: Invocation, configured: tuple[str, ...]) -> tuple[str, ...]:
    """The tenants asked for by flag, environment or file; all in the archive otherwise."""
    return configured if invocation.tenants or configured != DEFAULT_TENANTS else ()


def _cache_folder() -> Path | None:
    """Where this user's caches are; None where there is no such place."""
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(named) if named else Path.home() / ".cache") / "ares-worker"
    except RuntimeError:  # no home directory
        return None


def complain_of(trouble: Problem) -> None:
    """Name a file that is left out."""
    output.complain(output.visible_line(f"left out: {trouble.path}: {trouble.detail}"))


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """How far a first index is, on one line of a terminal, which is cleared at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return

    def tell(rounds: int) -> None:
        sys.stderr.write(f"\r\x1b[2KReading the archive: {words.count(rounds, 'round')}…\r")
        sys.stderr.flush()

    yield tell
