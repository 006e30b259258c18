"""A time limit for a regular expression: some need exponential time, and `re` has no limit."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from archive.failures import InvalidQuery
from archive.places import ArchivedRound

from .query import Query, matches

MATCH_SECONDS: Final = 2.0
"""Longest time a pattern may take over one round."""


@contextmanager
def time_limit(seconds: float = MATCH_SECONDS) -> Iterator[None]:
    """Raise `InvalidQuery` when the block takes longer.

    Works by an alarm signal, so in the main thread only; elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: object) -> None:
        raise InvalidQuery(f"the pattern takes more than {seconds:g} seconds over one round")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def matches_in_time(query: Query, found: ArchivedRound) -> bool:
    """`matches`, within `MATCH_SECONDS` where the query is a pattern."""
    if query.pattern is None:
        return matches(query, found)
    with time_limit():
        return matches(query, found)


def pattern_spans(pattern: re.Pattern[str], line: str) -> list[tuple[int, int]]:
    """Where a pattern matches in a line; nowhere when finding out takes too long."""
    try:
        with time_limit():
            return [m.span() for m in pattern.finditer(line) if m.end() > m.start()]
    except InvalidQuery:
        return []
