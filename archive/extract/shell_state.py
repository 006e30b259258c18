"""Pure. Where a shell script is while its commands are read: directory and loop variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from .ledger import Ledger
from .paths import UNKNOWN, join
from .tool_run import ToolRun

_VARIABLE: Final = re.compile(r"^\$\{?(\w+)\}?$")
_INSIDE: Final = re.compile(r"\$\{?(\w+)\}?")
_MAX_GLOBS: Final = 40
_LONGEST: Final = 4096  # value of a variable
_MAX_TURNS: Final = 200  # of one loop


class Shell:
    """A run under reading; `head` is the part of its output that complaints are looked for in."""

    __slots__ = ("_group", "_loops", "_outside", "directory", "head", "ledger", "run")

    def __init__(self, run: ToolRun, ledger: Ledger, directory: str) -> None:
        self.run = run
        self.ledger = ledger
        self.directory = directory
        self.head = run.output[:20_000]
        self._loops: dict[str, list[str]] = {}
        self._group: tuple[int, ...] = ()
        self._outside: list[str] = []

    def stand_in(self, group: tuple[int, ...]) -> None:
        """Go where a command of this subshell starts: what left one is back where it was."""
        if group == self._group:
            return
        same = 0
        while same < min(len(group), len(self._group)) and group[same] == self._group[same]:
            same += 1
        if same < len(self._group):
            self.directory = self._outside[same]
            del self._outside[same:]
        self._outside += [self.directory] * (len(group) - same)
        self._group = group

    def assign(self, words: Iterable[str]) -> None:
        """Read `NAME=value` words."""
        for word in words:
            name, _, value = word.partition("=")
            filled = self._filled(value)
            if "$(" in value or "`" in value or len(filled) > _LONGEST:
                self._loops.pop(name, None)
            else:
                self._loops[name] = [filled]

    def enter(self, words: Sequence[str]) -> None:
        """Read a `cd`."""
        target = self._filled(next((w for w in words[1:] if not w.startswith("-")), "~"))
        known = "$" not in target and "`" not in target
        self.directory = join(self.directory, target) if known else UNKNOWN

    def loop(self, variable: str, values: Iterable[str]) -> None:
        """Read the head of a `for`."""
        self._loops[variable] = list(values)[:_MAX_TURNS]

    def paths(self, words: Iterable[str]) -> Iterator[str]:
        """Words as paths from the current directory, loop variables unrolled."""
        for word in words:
            variable = _VARIABLE.match(word)
            for name in self._loops.get(variable[1], [word]) if variable else [word]:
                if "*" not in name and "?" not in name:
                    yield join(self.directory, self._filled(name))

    def note_globs(self, words: Iterable[str]) -> None:
        """Remember patterns of changed files, for when git lists these."""
        self.note_changing(word for word in words if "*" in word or "?" in word)

    def note_changing(self, words: Iterable[str]) -> None:
        """Remember files or patterns that a command may have changed."""
        for word in words:
            if len(self.ledger.globs) < _MAX_GLOBS:
                self.ledger.globs[join(self.directory, self._filled(word))] = None

    def _filled(self, word: str) -> str:
        """`word` with the variables in it that have one value."""
        if "$" not in word or not self._loops:
            return word
        return _INSIDE.sub(self._value, word)

    def _value(self, match: re.Match[str]) -> str:
        values = self._loops.get(match[1], ())
        return values[0] if len(values) == 1 else match[0]

    def transfer(self, words: Sequence[str], act: Callable[[str, str, int], None]) -> None:
        """Move or copy all but the last word to the last."""
        paths = list(self.paths(words))
        if len(words) < 2 or len(paths) < 2:
            return
        *sources, target = paths
        folder = words[-1].endswith("/") or len(sources) > 1 or words[-1] in (".", "..")
        for source in sources:
            name = f"{target.rstrip('/')}/{source.rsplit('/', 1)[-1]}" if folder else target
            act(source, name, self.run.index)


def plain_words(words: Sequence[str]) -> list[str]:
    """The arguments of a command that are no options."""
    return [word for word in words[1:] if not word.startswith("-")]


def has_flag(word: str, letter: str) -> bool:
    """Whether `word` is a group of short options with `letter` in it."""
    return len(word) > 1 and word[0] == "-" and word[1] != "-" and letter in word[1:5]
