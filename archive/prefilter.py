"""Pure. Cheap looks at a text that tell whether an expensive pattern could match anywhere in it.

A regular expression without a literal beginning costs a step of its engine at every character.
These looks run at the speed of a copy or a substring search; they may say yes too often, and
never no wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BYTES: Final = range(256)


def has_any(text: str, words: Iterable[str]) -> bool:
    """Whether one of `words` is in `text`."""
    for word in words:  # noqa: SIM110 - this function is why any() is too slow
        if word in text:
            return True
    return False


class Run:
    """So many of some ASCII characters in a row, as a run of one class of characters."""

    __slots__ = ("_run", "_table")

    def __init__(self, characters: str, length: int) -> None:
        self._table = bytes(ord("x") if chr(byte) in characters else 0 for byte in _BYTES)
        self._run = b"x" * length

    def is_in(self, text: str) -> bool:
        """Whether `text` holds such a run."""
        return self._run in text.encode("utf-8", "replace").translate(self._table)
