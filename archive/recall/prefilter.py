"""Pure. Whether a round file can match a query, told by its bytes: most are never decoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .query import Query
from .text import fold

ASCII_WHEN_FOLDED: Final = "ßİŉſ\u037eẚẞ\u1fef\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""The letters beyond ASCII whose folded form contains an ASCII letter. A test finds them all."""

_FOLDS_TO_ASCII: Final = re.compile(b"|".join(c.encode() for c in ASCII_WHEN_FOLDED))
_ASCII: Final = bytes(range(128))

_ESCAPED_IN_JSON: Final = re.compile('["\\\\\x00-\x1f\x7f]+')
_ASCII_RUN: Final = re.compile("[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class _Needle:
    """What of a needle can be looked for without decoding a file."""

    ascii_run: bytes
    fragment: str
    """Empty where the needle is ASCII: then the run says it all."""


def prefilter(query: Query) -> Callable[[bytes], bool]:
    """A test of a round file's bytes: False only where the query certainly doesn't match."""
    needles = [_prepare(needle) for needle in query.needles]
    runs = [needle.ascii_run for needle in needles if needle.ascii_run]
    fragments = [needle.fragment for needle in needles if needle.fragment]

    def could_match(data: bytes) -> bool:
        lowered = data.lower()
        for run in runs:
            if run not in lowered:
                return (b"\\" in data or not data.isascii()) and _may_hide_ascii(data)
        return not fragments or all(_in_folded(fragment, data) for fragment in fragments)

    return could_match


def _prepare(needle: str) -> _Needle:
    pieces = _ESCAPED_IN_JSON.split(needle)
    runs = [run for piece in pieces for run in _ASCII_RUN.findall(piece)]
    fragment = "" if needle.isascii() else max(pieces, key=len)
    return _Needle(max(runs, key=len, default="").encode(), fragment)


def _in_folded(fragment: str, data: bytes) -> bool:
    if b"\\" in data:
        return True  # a mark behind an escape composes with the wrong letter
    if data.isascii():
        return False
    try:
        return fragment in fold(data.decode())
    except UnicodeDecodeError:
        return True


def _may_hide_ascii(data: bytes) -> bool:
    """Whether an ASCII letter may stand in a file without standing in its bytes."""
    if _has_escapes(data):
        return True
    return not data.isascii() and bool(_FOLDS_TO_ASCII.search(data.translate(None, _ASCII)))


def _has_escapes(data: bytes) -> bool:
    return b"\\" in data and (b"\\u" in data or b"\\/" in data)
