"""Rounds as text for a person: blocks, a timeline, and exact JSON for scripts.

Everything from a record is neutralised before it is shown: no stored text can drive the
terminal or pass for a line of ours. `style` adds colour, and does so after that.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from archive.places import ArchivedRound
from archive.record import FileChange, RoundRecord, Verdict
from archive.record_json import ARES_CHECKS
from archive.record_wire import KNOWN_FIELDS

from .guard import pattern_spans
from .query import EVERYTHING, Query, failed_checks, has_failed
from .text import match_spans, safe_json, visible, visible_line

Style = Callable[[str, str], str]
"""Dresses up text: kind (title, label, match, good, bad, dim) and text in, text out."""

_SHORT_LIST: Final = 5
_LABEL_WIDTH: Final = 10


def plain(kind: str, text: str) -> str:
    """The style without any."""
    return text


def render_block(
    found: ArchivedRound, *, query: Query = EVERYTHING, style: Style = plain, full: bool = False
) -> str:
    """One round as a block of lines, ended by a line break.

    Long lists are cut to their first entries, and to those that say why the round fits, unless
    `full`, which also shows where the round stands, its versions, and the fields we don't know.
    """
    record = found.record
    shown = _Marked(query, style)
    lines = [_headline(found, shown, style), *shown.text(record.summary, indent="  ")]
    lines += shown.field("files", [_file_line(change) for change in record.files], full)
    lines += shown.field("checks", list(_checks(record.verdict)), full)
    lines += shown.field("decisions", record.decisions, full)
    lines += shown.field("todos", record.todos, full)
    lines += shown.field("refs", [f"{role} {value}" for role, value in record.refs.items()], full)
    lines += shown.field("error", [record.error] if record.error else [], full)
    if full:
        lines += shown.field("details", list(_details(found)), full)
    return "\n".join(lines) + "\n"


class _Marked:
    """Lines of a block, neutralised, with what was looked for marked."""

    def __init__(self, query: Query, style: Style) -> None:
        self._query, self._style = query, style

    def text(self, text: str, *, indent: str) -> list[str]:
        return [indent + self.mark(line) for line in visible(text).split("\n")] if text else []

    def field(self, label: str, values: Sequence[str], full: bool) -> list[str]:
        lines: list[str] = []
        shown = values[:_SHORT_LIST]
        shown = values if full else [*shown, *self._telling(shown, values[_SHORT_LIST:])]
        for value in shown:
            head = (
                self._style("label", label.ljust(_LABEL_WIDTH)) if not lines else " " * _LABEL_WIDTH
            )
            first, *rest = self.text(value, indent="") or [""]
            lines.append(f"  {head} {first}")
            lines += [f"  {' ' * _LABEL_WIDTH} {line}" for line in rest]
        if len(values) > len(shown):
            more = self._style("dim", f"and {len(values) - len(shown)} more")
            lines.append(f"  {' ' * _LABEL_WIDTH} {more}")
        return lines

    def _telling(self, shown: Sequence[str], hidden: Sequence[str]) -> list[str]:
        """Some of `hidden`: those with what is looked for and stands in none of `shown`."""
        telling: dict[int, str] = {}
        for needle in self._query.needles or ("",):
            if not any(self._spans(visible(value), needle)[1] for value in shown):
                found = ((n, v) for n, v in enumerate(hidden) if self._spans(visible(v), needle)[1])
                telling.update(islice(found, _SHORT_LIST))
        return [telling[number] for number in sorted(telling)][:_SHORT_LIST]

    def _spans(self, line: str, *needles: str) -> tuple[str, list[tuple[int, int]]]:
        """`line` as it was compared, and where in it a pattern or `needles` stand."""
        if self._query.pattern is None:
            return line, match_spans(line, needles)
        line = unicodedata.normalize("NFC", line)
        return line, pattern_spans(self._query.pattern, line)

    def mark(self, line: str, kind: str = "") -> str:
        """`line` with the matches marked, the rest in the style of `kind`."""
        line, spans = self._spans(line, *self._query.needles)
        parts, at = [], 0
        for start, end in [*spans, (len(line), len(line))]:
            between = line[at:start]
            parts.append(self._style(kind, between) if kind and between else between)
            parts.append(self._style("match", line[start:end]) if end > start else "")
            at = end
        return "".join(parts)


def _headline(found: ArchivedRound, shown: _Marked, style: Style) -> str:
    record = found.record
    outcome = style("bad" if has_failed(record) else "good", visible_line(record.outcome))
    parts = [
        style("title", f"round {found.place.round}"),
        shown.mark(visible_line(found.stream), "title") or style("title", "(no stream)"),
        visible_line(record.action),
        outcome,
        style("dim", when(record.ended_at)),
    ]
    if found.place.folder.tenant != "default":
        parts.insert(2, f"tenant {visible_line(found.place.folder.tenant)}")
    return "  ".join(parts)


def when(moment: datetime | None) -> str:
    """A time to the minute, UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else "time unknown"


def _file_line(change: FileChange) -> str:
    counts = f" +{change.lines_added}" if change.lines_added else ""
    counts += f" -{change.lines_removed}" if change.lines_removed else ""
    return f"{change.path}{counts}" + (f"  {change.summary}" if change.summary else "")


def _checks(verdict: Verdict) -> Iterator[str]:
    for check in verdict.checks:
        yield f"{check.tool or check.kind}: {check.result}"
    if not verdict.checks:
        for name in ARES_CHECKS:
            if getattr(verdict, name):
                yield f"{name}: {getattr(verdict, name)}"


def _details(found: ArchivedRound) -> Iterator[str]:
    record = found.record
    yield f"file {found.place.path}"
    if record.last_version:
        yield (
            f"versions {record.first_version}-{record.last_version}"
            f" ({record.event_count} events), epoch {record.epoch}"
        )
    if record.started_at:
        yield f"started {when(record.started_at)}"
    if record.events_digest:
        yield f"digest {record.events_digest}"
    for name in found.raw.keys() - KNOWN_FIELDS:
        yield f"{name}: {json.dumps(found.raw[name], ensure_ascii=False)}"


def render_timeline(rounds: Iterable[ArchivedRound], *, style: Style = plain) -> Iterator[str]:
    """The rounds of a stream as a log, in the order given: two lines each, a mark at each fork."""
    epoch: int | None = None
    for found in rounds:
        record = found.record
        if epoch is not None and record.epoch != epoch:
            yield style("dim", f"~ epoch {record.epoch}") + "\n"
        epoch = record.epoch
        failed = has_failed(record)
        mark = style("bad", "x") if failed else style("good", "*")
        head = style("title", f"{found.place.round:>4}")
        yield (
            f"{mark} {head}  {style('dim', when(record.ended_at))}  "
            f"{visible_line(record.action):<9} {_one_line(record.summary)}\n"
        )
        tail = "; ".join(_tail(record))
        yield f"|       {style('dim', visible_line(tail))}\n" if tail else "|\n"


def _tail(record: RoundRecord) -> Iterator[str]:
    if record.outcome != "completed":
        yield record.outcome
    if record.files:
        added = sum(change.lines_added for change in record.files)
        removed = sum(change.lines_removed for change in record.files)
        files = "1 file" if len(record.files) == 1 else f"{len(record.files)} files"
        yield f"{files} +{added} -{removed}"
    if failing := failed_checks(record.verdict):
        yield f"failing: {', '.join(failing)}"
    if record.refs:
        yield ", ".join(f"{role} {value}" for role, value in record.refs.items())


def _one_line(text: str, limit: int = 100) -> str:
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def to_json(found: ArchivedRound, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """The round's file as JSON, every field and every character of it, without a line break.

    What could drive a terminal, or end a line, is written as an escape and means the same.
    `stream_id` and `tenant_id` are filled in from its place where the file names none.
    """
    content: dict[str, Any] = dict(found.raw)
    content["round"] = found.place.round
    content["stream_id"] = content.get("stream_id") or found.stream
    content["tenant_id"] = content.get("tenant_id") or found.place.folder.tenant
    return safe_json(json.dumps(content, indent=indent, ensure_ascii=ascii_only))
