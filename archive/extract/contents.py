"""Pure. What the files of a round hold, as far as the round itself has shown it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MAX_CHARACTERS: Final = 4_000_000  # remembered in one round, rewritten contents counted again


class Contents:
    """Whole contents by path; what finds no room is forgotten, never kept half."""

    __slots__ = ("_known", "_replaced", "_room", "_shown")

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._shown: dict[str, Callable[[], str | None]] = {}
        self._replaced: dict[str, list[tuple[str, str, int]]] = {}  # in what is yet to be read
        self._room = MAX_CHARACTERS

    def show(self, path: str, shown: Callable[[], str | None]) -> None:
        """`shown` reads the content from a result, when it is needed."""
        self._known.pop(path, None)
        self._replaced.pop(path, None)
        self._shown[path] = shown

    def get(self, path: str) -> str | None:
        """The whole content, or None where it is not known."""
        if shown := self._shown.pop(path, None):
            replaced = self._replaced.pop(path, ())
            self.put(path, shown())
            for old, new, times in replaced:
                self.replace(path, old, new, times)
        return self._known.get(path)

    def replace(self, path: str, old: str, new: str, times: int) -> None:
        """`old` became `new` once, or wherever it stood."""
        if path in self._shown:
            self._replaced.setdefault(path, []).append((old, new, times))
        elif (known := self._known.get(path)) is not None:
            fits = len(known) + times * len(new) <= MAX_CHARACTERS
            self.put(path, known.replace(old, new, -1 if times > 1 else 1) if fits else None)

    def put(self, path: str, content: str | None) -> None:
        """The content is another one now; None makes it unknown."""
        self._known.pop(path, None)
        self._shown.pop(path, None)
        self._replaced.pop(path, None)
        if content is not None and len(content) <= self._room:
            self._room -= len(content)
            self._known[path] = content
