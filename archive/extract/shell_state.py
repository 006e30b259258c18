"""Pure. Where a shell script is while its commands are read: directory and loop variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from .ledger import Ledger
from .paths import UNKNOWN, join
from .tool_run import ToolRun

_VARIABLE: Final = re.compile(r"^\$\{?(\w+)\}?$")
_MAX_TURNS: Final = 200  # of one loop


class Shell:
    """A run under reading; `head` is the part of its output that complaints are looked for in."""

    __slots__ = ("_loops", "directory", "head", "ledger", "run")

    def __init__(self, run: ToolRun, ledger: Ledger, directory: str) -> None:
        self.run = run
        self.ledger = ledger
        self.directory = directory
        self.head = run.output[:20_000]
        self._loops: dict[str, list[str]] = {}

    def enter(self, words: Sequence[str]) -> None:
        """Read a `cd`."""
        target = next((w for w in words[1:] if not w.startswith("-")), "~")
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
                    yield join(self.directory, name)

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
