"""What commands say: data on stdout, everything else on stderr, whatever is at the other end.

Text from events may hold anything. It is shown with control characters spelled out, so it can
neither drive a terminal nor forge a line; `--json` keeps it exact.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from io import TextIOWrapper
from typing import Any

import click

from ops.redact import UNSAFE, escape_controls

from .invocation import current_invocation


def prepare_streams() -> None:
    """Let output in a terminal's or pipe's encoding never fail: `é` becomes `\\xe9` in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_streams() -> None:
    """Write what is buffered: a full disk or closed pipe shows while we can still say so."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def abandon_streams() -> None:
    """Point stdout at nothing: what is still buffered for a reader that left goes there."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def wants_color(choice: str = "auto") -> bool:
    """Whether to colour stdout: `always`, `never`, or by terminal, TERM and NO_COLOR."""
    if choice != "auto":
        return choice == "always"
    dumb = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not dumb and sys.stdout is not None and sys.stdout.isatty()


def paint(text: str, **style: Any) -> str:
    """`click.style` where this invocation uses colour; `text` itself elsewhere."""
    return click.style(text, **style) if is_colored() else text


def is_colored() -> bool:
    """Whether this invocation colours what it says."""
    context = click.get_current_context(silent=True)
    return bool(context is not None and context.color)


def visible(text: str) -> str:
    """`text` with control characters spelled out; tabs and newlines stay."""
    return escape_controls(text, keep="\t\n")


def visible_line(text: str) -> str:
    """`text` as one line: control characters, tabs and newlines spelled out."""
    return escape_controls(text)


def clip(text: str, width: int) -> str:
    """The first `width` characters of `text`, ending in `…` where something was left out."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def write(text: str = "") -> None:
    """One piece of data, with a newline, on stdout."""
    if sys.stdout is not None:
        sys.stdout.write(text + "\n")


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Data in an encoding of its own on stdout, as it is."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)


def is_unicode() -> bool:
    """Whether stdout can show any character."""
    encoding = str(getattr(sys.stdout, "encoding", "") or "ascii")
    return encoding.lower().replace("-", "") == "utf8"


def tell(text: str = "") -> None:
    """One remark, with a newline, on stderr; silent under `-q`."""
    invocation = current_invocation()
    if invocation is None or not invocation.quiet:
        complain(text)


def complain(text: str) -> None:
    """One line on stderr, under `-q` too: errors."""
    if sys.stderr is not None:
        flush_streams()
        sys.stderr.write(text + "\n")


def write_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on stdout, on one line unless `indent` is given."""
    invocation = current_invocation()
    if invocation is not None:
        invocation.answered = True
    write(to_json(value, indent=indent))


def to_json(value: Any, *, indent: int | None = None) -> str:
    """`value` as JSON, on one line without `indent`: exact, and free of terminal controls."""
    text = json.dumps(value, ensure_ascii=not is_unicode(), indent=indent, default=_plain)

    def escaped(found: re.Match[str]) -> str:
        return found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}"

    return UNSAFE.sub(escaped, text)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no JSON form")


class JsonArray:
    """One JSON array on stdout, written item by item and always closed: never half a document.

    `before` and `after` stand around it, for an array inside an object.
    """

    def __init__(self, before: str = "", after: str = "") -> None:
        self.started = False
        self._before, self._after = before, after

    def add(self, value: Any) -> None:
        """Write the next item."""
        if sys.stdout is not None:
            sys.stdout.write("," if self.started else f"{self._before}[")
        self.started = True
        write_json(value)

    def close(self) -> None:
        """Write the end."""
        write(f"]{self._after}" if self.started else f"{self._before}[]{self._after}")


@contextmanager
def json_array(before: str = "", after: str = "") -> Iterator[JsonArray]:
    """A `JsonArray` closed at the end; an error before its first item writes nothing."""
    array = JsonArray(before, after)
    try:
        yield array
    except BaseException:
        if array.started:
            array.close()
        raise
    array.close()


def width_of(text: str) -> int:
    """Terminal columns of `text`: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def terminal_width() -> int:
    """Columns to lay text out in; 80 where there is no terminal, never less than 40."""
    return max(shutil.get_terminal_size().columns, 40)


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    text_last: bool = False,
) -> list[str]:
    """Lines of a table: the first `left` columns to the left, numbers after them to the right.

    With `text_last` the last column is text again: where long names wrap, nothing follows them.
    """
    cells = [tuple(headers), *(tuple(visible_line(cell) for cell in row) for row in rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    texts = {*range(left), *([len(headers) - 1] if text_last else [])}
    lines = []
    for row in cells:
        padded = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - width_of(cell))
            padded.append(cell + space if index in texts else space + cell)
        lines.append("  ".join(padded).rstrip())
    return [paint(lines[0], bold=True), *lines[1:]]
