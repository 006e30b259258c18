"""Pure. Cheap looks at a text that tell whether an expensive pattern could match anywhere in it.

A regular expression without a literal beginning costs a step of its engine at every character.
These looks run at the speed of a copy or a substring search; they may say yes too often, and
never no wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, TypeVar

from ahocorasick_rs import BytesAhoCorasick

Owner = TypeVar("Owner")

_BYTES: Final = range(256)


def has_any(text: str, words: Iterable[str]) -> bool:
    """Whether one of `words` is in `text`."""
    for word in words:  # noqa: SIM110 - this function is why any() is too slow
        if word in text:
            return True
    return False


class Index(Generic[Owner]):
    """Many owners of words: which of them a text names, in one pass over it."""

    __slots__ = ("_find", "_owners", "_places", "_words")

    def __init__(self, owners: Iterable[Owner], words_of: Callable[[Owner], Iterable[str]]) -> None:
        self._owners = list(owners)
        words = [(word, n) for n, owner in enumerate(self._owners) for word in words_of(owner)]
        self._words = [word for word, _ in words]
        self._places = [n for _, n in words]
        automaton = BytesAhoCorasick([word.encode() for word, _ in words])
        self._find = automaton.find_matches_as_indexes

    def named_in(self, text: str) -> list[Owner]:
        """The owners of whose words `text` holds one, in their order."""
        matches = self._find(text.encode("utf-8", "replace"), overlapping=True)
        if not matches:
            return []
        return [self._owners[n] for n in sorted({self._places[word] for word, *_ in matches})]

    def words_in(self, text: str) -> list[tuple[Owner, list[str]]]:
        """The same for prose, each with those of its lower-case words that it holds.

        `text` may be in any case, and a line break in it is a blank.
        """
        folded = text.encode("utf-8", "replace").lower().replace(b"\n", b" ")
        matches = self._find(folded, overlapping=True)
        if not matches:
            return []
        found: dict[int, list[str]] = {}
        for word in sorted({word for word, *_ in matches}):
            found.setdefault(self._places[word], []).append(self._words[word])
        return [(self._owners[n], words) for n, words in found.items()]


class Hinted:
    """A pattern for text in any case, tried only where a hint is.

    `hints` are lower-case strings, parted by "|", one of which is in whatever the pattern matches.
    """

    __slots__ = ("_find", "hints", "pattern")

    def __init__(self, hints: str, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> None:
        self.hints = tuple(hints.split("|"))
        self.pattern = re.compile(pattern, flags)
        automaton = BytesAhoCorasick([hint.encode() for hint in self.hints])
        self._find = automaton.find_matches_as_indexes

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in `text`."""
        return self.pattern.search(text) if self.could_be_in(text) else None

    def could_be_in(self, text: str) -> bool:
        """Whether `text` holds a hint."""
        return bool(self._find(text.encode("utf-8", "replace").lower()))


class Run:
    """So many of some ASCII characters in a row, as a run of one class of characters."""

    __slots__ = ("_run", "_runs", "_table")

    def __init__(self, characters: str, length: int) -> None:
        self._table = bytes(ord("x") if chr(byte) in characters else 0 for byte in _BYTES)
        self._run = b"x" * length
        self._runs = re.compile(self._run + b"x*")

    def is_in(self, text: str) -> bool:
        """Whether `text` holds such a run."""
        return self._run in text.encode("ascii", "replace").translate(self._table)

    def starts_in(self, text: str) -> Iterator[int]:
        """Where such runs, or longer ones, begin in `text`."""
        shape = text.encode("ascii", "replace").translate(self._table)
        return (match.start() for match in self._runs.finditer(shape))
