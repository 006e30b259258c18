"""The loop of `top`: whatever ends it, the terminal is given back first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from streams.errors import StoreUnavailable
from support.top_samples import sample, tenant
from support.waiting import eventually
from worker.top.live import LiveTop
from worker.top.terminal import Terminal


class PaperTerminal(Terminal):
    """Keeps what is drawn; `gone` is a terminal whose window was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = None
        self.taken = 0
        self.gone = False
        self.screens: list[Sequence[str]] = []

    def take(self) -> None:
        self.taken += 1

    def give_back(self) -> None:
        self.taken -= 1

    def size(self) -> tuple[int, int]:
        return 80, 24

    def draw(self, lines: Sequence[str]) -> None:
        if self.gone:
            raise OSError(5, "Input/output error")
        self.screens.append(lines)


class Looks:
    """Samples, or whatever else comes of looking."""

    def __init__(self, *outcomes: object) -> None:
        self._outcomes = list(outcomes)
        self.count = 0

    async def __call__(self):
        outcome = self._outcomes[min(self.count, len(self._outcomes) - 1)]
        self.count += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def live(looks: Looks, terminal: PaperTerminal) -> LiveTop:
    return LiveTop(looks, terminal, interval_s=0.001, color=False)


async def test_a_defect_gives_the_terminal_back_and_shows():
    terminal = PaperTerminal()

    with pytest.raises(ZeroDivisionError):
        await live(Looks(sample(tenant()), ZeroDivisionError()), terminal).run()

    assert (terminal.taken, len(terminal.screens)) == (0, 1)


async def test_a_redis_that_never_answered_is_an_error():
    terminal = PaperTerminal()

    with pytest.raises(StoreUnavailable):
        await live(Looks(StoreUnavailable("refused")), terminal).run()

    assert (terminal.taken, terminal.screens) == (0, [])


async def test_a_redis_that_went_away_leaves_the_last_screen_and_says_so():
    terminal = PaperTerminal()
    looks = Looks(sample(tenant()), StoreUnavailable("refused"), sample(tenant(), taken_s=1.0))
    running = asyncio.create_task(live(looks, terminal).run())

    await eventually(lambda: len(terminal.screens) >= 3)

    told = [screen[-1] for screen in terminal.screens[:3]]
    assert told[1] == "trying again: refused"
    assert told[0] == told[2] == "q quit  s sort: recent"
    assert terminal.screens[1][:-1] == terminal.screens[0][:-1]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert terminal.taken == 0


async def test_a_window_that_was_closed_ends_it():
    terminal = PaperTerminal()
    terminal.gone = True

    async with asyncio.timeout(10):
        await live(Looks(sample(tenant())), terminal).run()

    assert terminal.taken == 0
