"""Pure. What a person would see of a terminal's bytes: colours gone, overwritten text gone.

Everything here is one pass over the text. Lines end at "\\n" only: other separators that
`str.splitlines` knows occur inside real output.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()][0-9A-Za-z]|[@-Z\\^_=>78])"
)
_MARK: Final = re.compile(r"[#>*\-\s]+|\d+[.)]\s+")
_LINK: Final = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")

_WIPED: Final = re.compile(
    r"^[^\n\r]*(?:\x1b\[(?:[01]?G|\d{2,4}D)\x1b\[[02]?K|\x1b\[2K\x1b\[[01]?G)", re.MULTILINE
)
"""What a spinner showed before it went back to the first column and wiped the line."""


def clean_terminal(text: str) -> str:
    """`text` without escape sequences, progress bars, backspaces and byte order marks."""
    if "\x1b" in text:
        if "G\x1b[" in text or "D\x1b[" in text or "\x1b[2K\x1b[" in text:
            text = _WIPED.sub("", text)
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join(_last_overwrite(line) for line in text.split("\n"))
    if "\b" in text:
        text = "\n".join(_apply_backspaces(line) for line in text.split("\n"))
    return text.lstrip("\ufeff")


def one_line(text: str) -> str:
    """`text` with every run of white space folded to one blank."""
    return " ".join(text.split())


def unmarked(line: str) -> str:
    """A line of Markdown as one line of plain text."""
    line = line.strip()
    if "](" in line:
        line = _LINK.sub(r"\1", line)
    if mark := _MARK.match(line):
        line = line[mark.end() :]
    return one_line(line.replace("*", "").replace("`", ""))


def shorten(text: str, limit: int) -> str:
    """`text` as one line of at most `limit` characters, cut at a word, with an ellipsis."""
    line = one_line(text[: limit * 8])
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit - 1)
    return line[: cut if cut > 0 else limit - 1].rstrip(" ,;:-") + "…"


def count_lines(text: str) -> int:
    """How many lines a file of this content has."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _last_overwrite(line: str) -> str:
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")


def _apply_backspaces(line: str) -> str:
    if "\b" not in line:
        return line
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
