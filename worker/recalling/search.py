"""Searches of the archive as the command line asks for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archive.places import ArchivedRound, Problem
from archive.reader import FileArchiveReader
from archive.recall.processes import usable_processors
from archive.recall.query import Filters, Query, has_failed, parse_when
from archive.recall.search import Recall
from streams.clock import utc_now
from streams.event import DEFAULT_TENANT_ID
from worker.console import output, words
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation
from worker.settings.files import DEFAULT_TENANTS

_STYLES: Final[dict[str, dict[str, Any]]] = {
    "title": {"bold": True},
    "label": {"fg": "cyan"},
    "match": {"fg": "yellow", "bold": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "dim": {"dim": True},
}


@dataclass(slots=True)
class Search:
    """One search and how its answer is written."""

    invocation: Invocation
    query: Query
    asked: dict[str, Any]

    def write_json(self, shape: Callable[[ArchivedRound], dict[str, Any]]) -> int:
        """Every round as one item of an array."""
        with output.json_array() as array:
            for found in self.rounds():
                array.add(shape(found))
        return ExitCode.DONE if array.started else ExitCode.NO

    def write_text(self, lines: Callable[[Iterator[ArchivedRound]], Iterator[str]]) -> int:
        """The rounds as text."""
        written = False
        for text in lines(self.rounds()):
            written = True
            output.write(text.removesuffix("\n"))
        if not written:
            output.tell("No round fits.")
        return ExitCode.DONE if written else ExitCode.NO

    def rounds(self) -> Iterator[ArchivedRound]:
        """The rounds that fit, newest first; files that can't be read are named on stderr."""
        progress = _Progress()
        found = self._recall().query(
            self.query,
            self._filters(),
            limit=self.asked.get("limit"),
            report=complain_of,
            progress=progress.tell,
        )
        for item in found:
            progress.clear()
            yield item
        progress.clear()

    def _recall(self) -> Recall:
        settings = self.invocation.light_settings()
        cache = None if self.asked.get("no_index") else cache_folder()
        tenants = _tenants(self.invocation, settings.tenants)
        processes = usable_processors()
        return Recall(settings.archive_dir, tenants=tenants, cache=cache, processes=processes)

    def _filters(self) -> Filters:
        now = utc_now()
        asked = self.asked
        since, until = asked.get("since"), asked.get("until")
        return Filters(
            streams=asked.get("streams", ()),
            action=asked.get("action") or "",
            outcome=asked.get("outcome") or "",
            file=asked.get("file") or "",
            ref=asked.get("ref") or "",
            since=None if since is None else parse_when(since, now=now),
            until=None if until is None else parse_when(until, now=now, end=True),
            failed=asked.get("failed", False),
        )


def reader_of(invocation: Invocation) -> FileArchiveReader:
    """A reader of the archive and tenants that were asked for."""
    settings = invocation.light_settings()
    tenants = _tenants(invocation, settings.tenants)
    return FileArchiveReader(settings.archive_dir, tenants=tenants)


def style(kind: str, text: str) -> str:
    """The archive's kinds of text in this terminal's colours."""
    return output.paint(text, **_STYLES.get(kind, {}))


def record_as_json(found: ArchivedRound) -> dict[str, Any]:
    """Every field of a round's file; what it doesn't name, its place does."""
    record: dict[str, Any] = {**found.raw, "round": found.place.round}
    record["stream_id"] = record.get("stream_id") or found.stream
    record["tenant_id"] = record.get("tenant_id") or found.place.folder.tenant
    return record


def line_as_json(found: ArchivedRound) -> dict[str, Any]:
    """What tells a round from others, and what it was about."""
    record = found.record
    return {
        "tenant_id": found.place.folder.tenant,
        "stream_id": found.stream,
        "round": found.place.round,
        "action": record.action,
        "outcome": record.outcome,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "summary": record.summary,
    }


def place_in_words(found: ArchivedRound) -> str:
    """The stream of a round, with its tenant where that isn't the default one."""
    tenant = found.place.folder.tenant
    prefix = "" if tenant == DEFAULT_TENANT_ID else f"{tenant}/"
    return output.visible_line(f"{prefix}{found.stream}")


def summary_line(found: ArchivedRound) -> str:
    """A round on one line; no longer than a terminal is wide, where it is shown on one."""
    record = found.record
    ended = words.moment(record.ended_at) if record.ended_at else "-"
    kind = "bad" if has_failed(record) else "good"
    start = f"{ended:<20}  {record.action:<9}  "
    place = f"{place_in_words(found)} #{found.place.round}"
    rest = f"{place}  {output.visible_line(record.summary)}"
    if sys.stdout is not None and sys.stdout.isatty():
        rest = output.clip(rest, max(output.terminal_width() - len(start) - 12, 30))
    return f"{start}{style(kind, f'{record.outcome:<10}')}  {rest}"


def _tenants(invocation: Invocation, configured: tuple[str, ...]) -> tuple[str, ...]:
    """The tenants asked for by flag, environment or file; all in the archive otherwise."""
    return configured if invocation.tenants or configured != DEFAULT_TENANTS else ()


def cache_folder() -> Path | None:
    """Where this user's caches are; None where there is no such place."""
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(named) if named else Path.home() / ".cache") / "ares-worker"
    except RuntimeError:  # no home directory
        return None


def complain_of(trouble: Problem) -> None:
    """Name a file that is left out."""
    where = "" if trouble.path in trouble.detail else f"{trouble.path}: "
    output.complain(output.visible_line(f"left out: {where}{trouble.detail}"))


class _Progress:
    """How far a first index is, on one line of a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._shown = False

    def tell(self, rounds: int) -> None:
        """Say it anew."""
        if sys.stderr is not None and sys.stderr.isatty():
            self._write(f"Reading the archive: {words.count(rounds, 'round')}…")
            self._shown = True

    def clear(self) -> None:
        """Leave an empty line for what comes next."""
        if self._shown:
            self._write("")
            self._shown = False

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()
