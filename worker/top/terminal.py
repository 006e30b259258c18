"""The terminal while `top` has it: a screen of its own, keys at once, everything restored after."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import tty
from collections.abc import Sequence
from typing import Any, Final, Self

# The alternate screen, without cursor and wrapping; and back.
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Terminal:
    """Standard output and, where that is a terminal too, standard input. A context manager.

    `take` and `give_back` may be repeated; leaving the block gives back whatever happened in it.
    """

    def __init__(self) -> None:
        self.keys = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *exc: object) -> None:
        # The terminal may be gone: then there is nothing to restore, and nobody to tell.
        with contextlib.suppress(OSError, termios.error):
            self.give_back()

    def take(self) -> None:
        """Show a screen of our own; keys come one by one and unseen, Ctrl-C stays a signal."""
        if self.keys is not None:
            self._before = termios.tcgetattr(self.keys)
            tty.setcbreak(self.keys)
        self._write(_ENTER)

    def give_back(self) -> None:
        """Show what was there before."""
        if self.keys is not None and self._before is not None:
            termios.tcsetattr(self.keys, termios.TCSADRAIN, self._before)
        self._write(_LEAVE)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        found = os.get_terminal_size(sys.stdout.fileno())
        # Some terminals, serial lines say, don't know theirs.
        return found.columns or 80, found.lines or 24

    def pressed(self) -> str:
        """The keys pressed since the last call."""
        if self.keys is None:
            return ""
        return os.read(self.keys, 1_024).decode(errors="replace")

    def draw(self, lines: Sequence[str]) -> None:
        """Show `lines` from the top; the rest of the screen is emptied."""
        # Each is emptied before it is written: after a full line the cursor stands on its end.
        self._write("\x1b[H" + "\r\n".join(f"\x1b[K{line}" for line in lines))
        if len(lines) < self.size()[1]:
            self._write("\r\n\x1b[J")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
