"""Pure. Text as recall compares it, and text as a terminal may show it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from archive.places import ArchivedRound
from archive.record_wire import KNOWN_FIELDS

FIELD_BREAK: Final = "\x1f"
"""Stands between two fields in folded text, so that no phrase is found across them."""

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_UNSAFE_ON_A_LINE: Final = re.compile(f"{_UNSAFE.pattern}|[\n\t]")


def fold(text: str) -> str:
    """`text` as compared: composed (NFC) and without case, so that equal-looking text is equal."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def searched_fields(found: ArchivedRound) -> list[str]:
    """The text of a round in which recall looks.

    Its stream, summary, files, tools, todos, decisions, refs and error, and the text in fields
    we don't know. Not digests, times and outcomes: a needle would be found there by accident.
    """
    record = found.record
    fields = [found.stream, record.summary, record.error, *record.todos, *record.decisions]
    for change in record.files:
        fields += (change.path, change.summary)
    fields += (check.tool for check in record.verdict.checks)
    fields += record.refs.values()
    for name in found.raw.keys() - KNOWN_FIELDS:
        fields += _strings(found.raw[name])
    return fields


def folded_text(found: ArchivedRound) -> str:
    """The fields recall looks in, as one folded text; it holds no NUL, which ends SQLite's."""
    return fold(FIELD_BREAK.join(searched_fields(found))).replace("\0", FIELD_BREAK)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def visible(text: str) -> str:
    """`text` with everything escaped that could drive a terminal or hide text in it.

    Line breaks and tabs stay; use `visible_line` where one line has to remain one.
    """
    return _UNSAFE.sub(_escape, text)


def visible_line(text: str) -> str:
    """Like `visible`, with line breaks and tabs escaped too."""
    return _UNSAFE_ON_A_LINE.sub(_escape, text)


def safe_json(text: str) -> str:
    """JSON text, equal in meaning, with the same characters written as `\\uXXXX`.

    They stand in strings alone, for JSON's own syntax has none of them.
    """
    return _UNSAFE.sub(_escape_json, text)


def _escape_json(match: re.Match[str]) -> str:
    pairs = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{pairs[i : i + 4]}" for i in range(0, len(pairs), 4))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    known = {10: "\\n", 13: "\\r", 9: "\\t"}.get(code)
    if known:
        return known
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def match_spans(text: str, needles: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where the folded `needles` stand in `text`, merged and in order: (start, end) pairs.

    A letter that folds to several is marked as a whole.
    """
    folded, starts, ends = _fold_with_origin(text)
    spans: list[tuple[int, int]] = []
    for needle in needles:
        at = folded.find(needle)
        while needle and at >= 0:
            spans.append((starts[at], ends[at + len(needle) - 1]))
            at = folded.find(needle, at + len(needle))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _fold_with_origin(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Folded text, and for each letter in it where in `text` its origin starts and ends."""
    if text.isascii():
        return text.lower(), range(len(text)), range(1, len(text) + 1)
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    for end in _cluster_ends(text):
        part = fold(text[start:end])
        parts.append(part)
        starts += [start] * len(part)
        ends += [end] * len(part)
        start = end
    return "".join(parts), starts, ends


def _cluster_ends(text: str) -> Iterator[int]:
    """Where a letter and the marks that belong to it end."""
    for place in range(1, len(text)):
        if not _joins(text[place]):
            yield place
    if text:
        yield len(text)


def _joins(letter: str) -> bool:
    # Marks, and the Hangul vowels and finals that compose with what stands before them.
    return unicodedata.combining(letter) != 0 or "\u1160" <= letter <= "\u11ff"
