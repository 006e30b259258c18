"""Pure. Cheap looks at a text that tell whether an expensive pattern could match anywhere in it.

A regular expression without a literal beginning costs a step of its engine at every character.
These looks run at the speed of a copy or a substring search; they may say yes too often, and
never no wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import ascii_lowercase
from typing import Final

_BYTES: Final = range(256)
_LETTERS: Final = bytes(byte if chr(byte) in ascii_lowercase else ord(" ") for byte in _BYTES)


def has_any(text: str, words: Iterable[str]) -> bool:
    """Whether one of `words` is in `text`."""
    for word in words:  # noqa: SIM110 - this function is why any() is too slow
        if word in text:
            return True
    return False


class Hinted:
    """A pattern for text in any case, tried only where a hint is.

    `hints` are lower-case strings, parted by "|", one of which is in whatever the pattern matches.
    """

    __slots__ = ("hints", "pattern")

    def __init__(self, hints: str, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> None:
        self.hints = tuple(hints.split("|"))
        self.pattern = re.compile(pattern, flags)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in `text`."""
        return self.pattern.search(text) if has_any(text.lower(), self.hints) else None


class Beginnings:
    """Lower-case beginnings of words, all looked for in one pass.

    What is no Latin letter parts words, in the beginnings as well.
    """

    __slots__ = ("_search",)

    def __init__(self, beginnings: Iterable[str]) -> None:
        parted = sorted(beginning.encode().translate(_LETTERS) for beginning in beginnings)
        self._search = re.compile(b" " + _branches(parted)).search

    def are_in(self, lowered: str) -> bool:
        """Whether a word of a lower-case text begins with one of them."""
        words = lowered.encode("utf-8", "replace").translate(_LETTERS)
        return self._search(b" " + words) is not None


def _branches(words: Iterable[bytes]) -> bytes:
    """A pattern for any of `words`; one with a prefix among them is left to the prefix."""
    by_letter: dict[bytes, list[bytes]] = {}
    for word in words:
        by_letter.setdefault(word[:1], []).append(word[1:])
    if b"" in by_letter:
        return b""
    return b"(?:%b)" % b"|".join(first + _branches(rest) for first, rest in by_letter.items())


class Run:
    """So many of some ASCII characters in a row, as a run of one class of characters."""

    __slots__ = ("_run", "_table")

    def __init__(self, characters: str, length: int) -> None:
        self._table = bytes(ord("x") if chr(byte) in characters else 0 for byte in _BYTES)
        self._run = b"x" * length

    def is_in(self, text: str) -> bool:
        """Whether `text` holds such a run."""
        return self._run in text.encode("utf-8", "replace").translate(self._table)
