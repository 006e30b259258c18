"""Something else happens before a packet to Redis, as if another process had been faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from streams.wire import Wire
from support.redis_server import REDIS_7

on_one_redis = pytest.mark.parametrize("workshop", [REDIS_7], indirect=True)
"""Sweeps are long, and transactions are the same everywhere."""

Action = Callable[[], Awaitable[Any]]


class Packets:
    """Packets of what is under way, but not of `action`, which runs before number `at`."""

    def __init__(self, at: int, action: Action) -> None:
        self.count, self._at, self._action, self._inside = 0, at, action, False

    @property
    def reached(self) -> bool:
        """Whether there were so many packets."""
        return self.count >= self._at

    async def before(self) -> None:
        """Count one more."""
        if self._inside:
            return
        self.count += 1
        if self.count == self._at:
            self._inside = True
            await self._action()
            self._inside = False


@contextmanager
def at_packet(at: int, action: Action) -> Iterator[Packets]:
    """Run `action` before packet number `at` from here on."""
    packets, exchange = Packets(at, action), Wire.exchange

    async def counted(self: Wire, *args: Any, **kwargs: Any) -> Any:
        await packets.before()
        return await exchange(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wire, "exchange", counted)
        yield packets


async def sweep(scene, act: Callable[[Any, str, int], Awaitable[bool]]) -> int:
    """Call `act` on streams s1, s2… with 1, 2… until there were not so many packets."""
    number = 1
    while True:
        async with scene.short() as short:
            if not await act(short, f"s{number}", number):
                return number - 1
        number += 1
