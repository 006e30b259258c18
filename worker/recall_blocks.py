"""How a recalled round looks to a person: a block of a few lines, what was searched for marked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from archive.recall_query import Query
from archive.recall_text import match_spans, visible, visible_line
from archive.record import FileChange, Verdict
from archive.survey import ArchivedRound
from streams.event import DEFAULT_TENANT_ID

from . import output, words

_INDENT: Final = 12
_SHOWN_ITEMS: Final = 5
_SHOWN_LETTERS: Final = 300
_BEFORE_MATCH: Final = 60
_OUTCOME_COLORS: Final = {"completed": "green", "failed": "red", "unfinished": "yellow"}
_ARES_CHECKS: Final = ("go_vet", "go_lint", "go_test", "race_detector", "examples")


class Blocks:
    """Writes rounds as blocks; without `full` a long field shows what matched, and what is left."""

    def __init__(self, query: Query, *, full: bool, width: int) -> None:
        self._query, self._full = query, full
        self._width = max(width - _INDENT, 40)

    def lines(self, found: ArchivedRound) -> Iterator[str]:
        """The lines of one block; an empty one ends it."""
        record = found.record
        yield self._title(found)
        yield from self._wrapped(record.summary, indent=2, width=self._width + _INDENT - 2)
        yield from self._field("files", map(_file_in_words, record.files))
        yield from self._field("checks", _checks_in_words(record.verdict))
        yield from self._field("decisions", record.decisions)
        yield from self._field("todos", record.todos)
        yield from self._field("refs", [f"{role} {value}" for role, value in record.refs.items()])
        yield from self._field("error", [record.error] if record.error else [])
        yield ""

    def _title(self, found: ArchivedRound) -> str:
        record = found.record
        moment = record.ended_at or record.started_at
        outcome = output.paint(record.outcome, fg=_OUTCOME_COLORS.get(record.outcome))
        parts = (
            output.paint(f"round {found.place.round}", bold=True),
            self._marked(place_in_words(found)),
            words.moment(moment) if moment else "no time",
            record.action,
            outcome,
        )
        return " · ".join(parts)

    def _field(self, name: str, items: Iterable[str]) -> Iterator[str]:
        """A field's items, those that match first; each begins a line of its own."""
        ordered = sorted(items, key=lambda item: not self._spans(item))
        shown = ordered if self._full else ordered[:_SHOWN_ITEMS]
        label = f"  {name}"
        for item in shown:
            for line in self._wrapped(item, indent=_INDENT, width=self._width):
                yield label.ljust(_INDENT) + line[_INDENT:]
                label = ""
        if more := len(ordered) - len(shown):
            yield " " * _INDENT + f"… and {more} more; --full shows all"

    def _wrapped(self, text: str, *, indent: int, width: int) -> Iterator[str]:
        for paragraph in self._cut(text).splitlines() or [""]:
            for line in textwrap.wrap(visible(paragraph), width, break_on_hyphens=False) or [""]:
                yield " " * indent + self._marked(line)

    def _cut(self, text: str) -> str:
        """`text`, or the part of it around its first match."""
        if self._full or len(text) <= _SHOWN_LETTERS:
            return text
        spans = self._spans(text)
        start = max(spans[0][0] - _BEFORE_MATCH, 0) if spans else 0
        end = start + _SHOWN_LETTERS
        return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"

    def _marked(self, line: str) -> str:
        """`line`, what matches in it painted."""
        marked, at = [], 0
        for start, end in self._spans(line):
            marked += [line[at:start], output.paint(line[start:end], fg="yellow", bold=True)]
            at = end
        return "".join([*marked, line[at:]])

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        if self._query.pattern is not None:
            return [match.span() for match in self._query.pattern.finditer(text) if match[0]]
        return match_spans(text, self._query.needles)


def place_in_words(found: ArchivedRound) -> str:
    """The stream of a round, with its tenant where that isn't the default one."""
    tenant = found.place.folder.tenant
    prefix = "" if tenant == DEFAULT_TENANT_ID else f"{tenant}/"
    return visible_line(f"{prefix}{found.stream}")


def summary_line(found: ArchivedRound, *, width: int | None) -> str:
    """A round on one line; without a width, however long."""
    record = found.record
    moment = record.ended_at or record.started_at
    outcome = output.paint(f"{record.outcome:<10}", fg=_OUTCOME_COLORS.get(record.outcome))
    start = f"{words.moment(moment) if moment else '-':<20}  "
    place = f"{place_in_words(found)} #{found.place.round}"
    rest = f"{place}  {visible_line(record.summary)}"
    if width is not None:
        rest = output.clip(rest, max(width - len(start) - 22, 30))
    return f"{start}{record.action:<9}  {outcome} {rest}"


def _file_in_words(change: FileChange) -> str:
    said = f" {change.summary}" if change.summary else ""
    return f"{change.path} (+{change.lines_added} -{change.lines_removed}){said}"


def _checks_in_words(verdict: Verdict) -> list[str]:
    """`test pytest: pass`; the fields of ARES where there are no checks."""
    if verdict.checks:
        named = [f"{check.kind} {check.tool}: {check.result}" for check in verdict.checks]
    else:
        given = {name: getattr(verdict, name) for name in _ARES_CHECKS}
        named = [f"{name.replace('_', ' ')}: {result}" for name, result in given.items() if result]
    return ["; ".join(named)] if named else []
