"""Pure. Tables that give up columns, then the middle of names, to stay within a width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import click

from worker.console.output import visible_line, width_of

BAD: Final[dict[str, Any]] = {"fg": "red"}
ODD: Final[dict[str, Any]] = {"fg": "yellow"}
QUIET: Final[dict[str, Any]] = {"dim": True}

_GAP: Final = 2
_NARROWEST_NAME: Final = 10


class Cell(NamedTuple):
    """Text in a style of `click.style`."""

    text: str
    style: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers, or of text where it is `left`; the highest rank gives way first."""

    title: str
    rank: int
    left: bool = False


Paint = Callable[..., str]


def plain(text: str, **_: Any) -> str:
    """`text` as it is, for output without colour."""
    return text


def paint_of(color: bool) -> Paint:
    """How to style text: `click.style`, or not at all."""
    return click.style if color else plain


def table(
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    width: int,
    paint: Paint,
) -> list[str]:
    """A heading and one line a row, none wider than `width`.

    A row's first cell is its name; then follows one cell a column.
    """
    sizes = [
        max([len(column.title), *(width_of(row[index].text) for row in rows)])
        for index, column in enumerate(columns, 1)
    ]
    widest = max([len(name), *(width_of(row[0].text) for row in rows)])
    kept = _fitting(columns, sizes, width - min(widest, _NARROWEST_NAME))
    room = width - sum(sizes[index] + _GAP for index in kept)
    first = max(min(widest, room), 0)

    def line(cells: Sequence[Cell]) -> str:
        named = cells[0]._replace(text=fit_name(cells[0].text, first))
        parts = [_styled(named, first, paint, left=True)]
        parts += [
            _styled(cells[index + 1], sizes[index], paint, left=columns[index].left)
            for index in kept
        ]
        return (" " * _GAP).join(parts).rstrip()

    heading = [Cell(name), *(Cell(column.title) for column in columns)]
    bold = [Cell(cell.text, {"bold": True}) for cell in heading]
    return [line(bold), *map(line, rows)]


def _fitting(columns: Sequence[Column], sizes: Sequence[int], room: int) -> list[int]:
    """Places of the columns that fit into `room`."""
    kept = list(range(len(columns)))
    while kept and sum(sizes[index] + _GAP for index in kept) > room:
        kept.remove(max(kept, key=lambda index: (columns[index].rank, index)))
    return kept


def _styled(cell: Cell, width: int, paint: Paint, *, left: bool) -> str:
    text = fit(cell.text, width)
    space = " " * (width - width_of(text))
    shown = paint(text, **cell.style) if cell.style and text else text
    return shown + space if left else space + shown


def fit(text: str, width: int) -> str:
    """As much of `text` as `width` columns of a terminal hold, ending in `~` where it was cut.

    Characters that could drive the terminal are spelled out.
    """
    text = visible_line(text)
    if width_of(text) <= width:
        return text
    return f"{_beginning(text, width - 1)}~"[: max(width, 0)]


def fit_name(text: str, width: int) -> str:
    """As `fit`, with the `~` in the middle: names often begin alike and end each in its own way."""
    text = visible_line(text)
    if width_of(text) <= width:
        return text
    end = _beginning(text[::-1], width // 2)[::-1]
    return f"{_beginning(text, width - 1 - width_of(end))}~{end}"[: max(width, 0)]


def _beginning(text: str, width: int) -> str:
    kept, used = "", 0
    for char in text:
        used += width_of(char)
        if used > width:
            break
        kept += char
    return kept
