"""Pure. One line per cause, with back-off: an outage is told, not recited."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_MOST_CAUSES: Final = 256


@dataclass(frozen=True, slots=True)
class Told:
    """A line is due: how often the cause occurred since the last one, and for how long so far."""

    repeats: int
    seconds: float


@dataclass(slots=True)
class _Cause:
    began: float
    pause: float
    quiet_until: float
    last: float
    unsaid: int = 0
    occurrences: int = 0
    announced: bool = False
    open: bool = True


class CauseLimiter:
    """Decides when a recurring failure is worth a line.

    The first occurrence is; then one line after `first` seconds, the pause doubling up to
    `longest`. A cause that comes and goes keeps its pause until it was away for `longest`.
    Causes are few and named by the code; beyond 256 the stalest is forgotten.
    """

    def __init__(
        self, clock: Callable[[], float], *, first: float = 5.0, longest: float = 60.0
    ) -> None:
        self._clock = clock
        self._first, self._longest = first, longest
        self._causes: OrderedDict[str, _Cause] = OrderedDict()

    def failed(self, cause: str) -> Told | None:
        """Note an occurrence of `cause`; what to tell, or `None` to stay silent."""
        now = self._clock()
        known = self._causes.get(cause)
        if known is None or (not known.open and now - known.last > self._longest):
            known = _Cause(began=now, pause=self._first, quiet_until=now, last=now)
            self._causes[cause] = known
        elif not known.open:
            known.open, known.began, known.occurrences = True, now, 0
        self._causes.move_to_end(cause)
        if len(self._causes) > _MOST_CAUSES:
            self._causes.popitem(last=False)
        known.last = now
        known.occurrences += 1
        known.unsaid += 1
        if now < known.quiet_until:
            return None
        told = Told(repeats=known.unsaid, seconds=now - known.began)
        known.unsaid, known.announced = 0, True
        known.quiet_until = now + known.pause
        known.pause = min(known.pause * 2, self._longest)
        return told

    def recovered(self, cause: str) -> Told | None:
        """Note that `cause` is gone; what to tell, or `None` when nothing had been said."""
        known = self._causes.get(cause)
        if known is None or not known.open:
            return None
        known.open = False
        known.last = self._clock()
        if not known.announced:
            return None
        known.announced = False
        return Told(repeats=known.occurrences, seconds=known.last - known.began)
