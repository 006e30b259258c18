"""Looks and draws again and again, until a key or a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from streams.errors import AresError

from .rows import SORTS
from .sample import Sample
from .screen import Frame, render
from .terminal import Terminal

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class LiveTop:
    """`top` on a terminal: `q` ends it, `s` sorts otherwise, Ctrl-Z pauses it."""

    def __init__(
        self,
        read: Callable[[], Awaitable[Sample]],
        terminal: Terminal,
        *,
        interval_s: float,
        color: bool,
    ) -> None:
        self._read, self._terminal = read, terminal
        self._interval_s, self._color = interval_s, color
        self._stop = asyncio.Event()
        self._now: Sample | None = None
        self._before: Sample | None = None
        self._sort = 0
        self._trouble = ""

    async def run(self) -> None:
        """Until told to end. Raises defects, and an `AresError` only before anything was shown."""
        # The handlers first: nothing may end us between taking the terminal and giving it back.
        with self._listening(), self._terminal:
            looking = asyncio.create_task(self._look_again_and_again())
            stopped = asyncio.create_task(self._stop.wait())
            try:
                await asyncio.wait([looking, stopped], return_when=asyncio.FIRST_COMPLETED)
                if looking.done():
                    looking.result()
            finally:
                for task in (looking, stopped):
                    task.cancel()
                await asyncio.gather(looking, stopped, return_exceptions=True)

    async def _look_again_and_again(self) -> None:
        while True:
            try:
                sample = await self._read()
            except AresError as exc:
                if self._now is None:
                    raise
                self._trouble = f"trying again: {exc}"
            else:
                self._before, self._now, self._trouble = self._now, sample, ""
            self._draw()
            await asyncio.sleep(self._interval_s)

    def _draw(self) -> None:
        if self._now is None:
            return
        try:
            width, height = self._terminal.size()
            frame = Frame(width, height, self._color, SORTS[self._sort], self._trouble)
            self._terminal.draw(render(self._now, self._before, frame))
        except OSError:  # the terminal has gone
            self._stop.set()

    def _key(self) -> None:
        try:
            keys = self._terminal.pressed()
        except OSError:
            keys = ""
        # At the end of input there is always something to read, and it is nothing.
        if not keys or "q" in keys.lower():
            self._stop.set()
        if presses := keys.count("s"):
            self._sort = (self._sort + presses) % len(SORTS)
            self._draw()

    def _pause(self) -> None:
        """Ctrl-Z: the shell gets its screen; `fg` comes back here."""
        self._terminal.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._terminal.take()
        self._draw()

    @contextmanager
    def _listening(self) -> Iterator[None]:
        loop, keys = asyncio.get_running_loop(), self._terminal.keys
        handlers = {
            **dict.fromkeys(_ENDS, self._stop.set),
            signal.SIGTSTP: self._pause,
            signal.SIGWINCH: self._draw,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        if keys is not None:
            loop.add_reader(keys, self._key)
        try:
            yield
        finally:
            if keys is not None:
                loop.remove_reader(keys)
            for number in handlers:
                loop.remove_signal_handler(number)
