"""Exports rounds as JSON lines, Markdown, or one page with a search that needs nothing else.

Each function takes rounds in the order wanted and gives text piece by piece: memory stays flat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from itertools import islice
from typing import Final

from archive.places import ArchivedRound
from archive.record_json import ARES_CHECKS

from .query import failed_checks
from .render import to_json, when
from .text import visible, visible_line

_ROUNDS_HERE: Final = "<!-- rounds -->\n"
_ROUNDS_A_BLOCK: Final = 500
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
_BLOCK_MARK: Final = re.compile(r"^(\s*\d*)([-+.])(?=\s)", re.MULTILINE)

Export = Callable[[Iterable[ArchivedRound]], Iterator[str]]


def export_jsonl(rounds: Iterable[ArchivedRound]) -> Iterator[str]:
    """One JSON object a line: every field of each file, exact."""
    for found in rounds:
        yield to_json(found) + "\n"


def export_html(rounds: Iterable[ArchivedRound]) -> Iterator[str]:
    """One self-contained page: it loads nothing and sends nothing, and text in it stays text."""
    page = files("archive.recall").joinpath("export_page.html").read_text("utf-8")
    head, tail = page.split(_ROUNDS_HERE)
    yield head
    waiting = iter(rounds)
    while block := list(islice(waiting, _ROUNDS_A_BLOCK)):
        yield '<script type="application/json">[\n'
        # No `<` may end or open anything in the page; JSON reads the escape as the same letter.
        yield ",\n".join(to_json(found).replace("<", "\\u003c") for found in block)
        yield "\n]</script>\n"
    yield tail


def export_markdown(rounds: Iterable[ArchivedRound]) -> Iterator[str]:
    """A section for each round."""
    yield "# Archived rounds\n"
    for found in rounds:
        record = found.record
        title = f"{found.stream}, round {found.place.round}"
        yield f"\n## {_text(visible_line(title))}\n\n"
        facts = f"{record.action}, {record.outcome}, {when(record.ended_at)}"
        yield f"*{_text(visible_line(facts))}*\n"
        if record.summary:
            yield f"\n{_text(visible(record.summary))}\n"
        yield from _markdown_lists(found)
        if record.error:
            yield f"\n**Error:** {_text(visible(record.error))}\n"


def _markdown_lists(found: ArchivedRound) -> Iterator[str]:
    record, verdict = found.record, found.record.verdict
    yield from _markdown_list(
        "Files",
        (
            f"{_code(f.path)} +{f.lines_added} -{f.lines_removed} {_text(visible_line(f.summary))}"
            for f in record.files
        ),
    )
    checks = {check.tool or check.kind: check.result for check in verdict.checks} or {
        name: getattr(verdict, name) for name in ARES_CHECKS if getattr(verdict, name)
    }
    failing = set(failed_checks(verdict))
    yield from _markdown_list(
        "Checks",
        (
            f"{_text(visible_line(name))}: " + _result(result, failed=name in failing)
            for name, result in checks.items()
        ),
    )
    yield from _markdown_list("Decisions", map(_item, record.decisions))
    yield from _markdown_list("Todos", map(_item, record.todos))
    yield from _markdown_list("Refs", _refs(record.refs))


def _markdown_list(title: str, items: Iterable[str]) -> Iterator[str]:
    for index, item in enumerate(items):
        if not index:
            yield f"\n**{title}**\n\n"
        yield f"- {item.rstrip()}\n"


def _refs(refs: Mapping[str, str]) -> Iterator[str]:
    for role, value in refs.items():
        yield f"{_text(visible_line(role))} {_code(value)}"


def _result(result: str, *, failed: bool) -> str:
    shown = _text(visible_line(result))
    return f"**{shown}**" if failed else shown


def _item(text: str) -> str:
    return _text(visible(text)).replace("\n", "\n  ")


def _text(text: str) -> str:
    """`text` as Markdown that shows it as it is."""
    return _BLOCK_MARK.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", text))


def _code(text: str) -> str:
    shown = visible_line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    padding = " " if "`" in shown else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


FORMATS: Final[Mapping[str, Export]] = {
    "jsonl": export_jsonl,
    "markdown": export_markdown,
    "html": export_html,
}
"""What `recall export --format` offers."""
