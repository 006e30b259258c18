"""Pure. What may be asked of subscriptions, and the bounds they keep."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Final, Literal, get_args

from streams.codec import check_name
from streams.errors import UsageError

from .position import Position, Stage

Overflow = Literal["drop", "block"]
"""What happens when the consumer is too slow: events are dropped and counted, or wait in the logs
for it. Neither ever holds up the store or other subscriptions."""

_MOST_BUFFERED: Final = 100_000
_LONGEST_NAME: Final = 128


class SubscriptionLimit(UsageError):
    """This store may have no more subscriptions, or no more connections that wait.

    `limit` is how many it may have.
    """

    def __init__(self, reason: str, limit: int) -> None:
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class SubscriptionOptions:
    """Bounds of a store's subscriptions; times in milliseconds unless they say otherwise.

    `window_*` bound the rows that all blocking subscriptions share, `buffer_bytes` the buffer of
    each one. A read waits at most `block_ms`, which is also how long closing may take. A member
    of a group that is silent for `lease_ttl_ms` loses its partitions. An event delivered
    `max_attempts` times without being acknowledged is dead-lettered.
    """

    max_subscriptions: int = 1_000
    max_readers: int = 16
    buffer_bytes: int = 16 * 1024 * 1024
    window_events: int = 8_192
    window_bytes: int = 32 * 1024 * 1024
    block_ms: int = 300
    lease_ttl_ms: int = 10_000
    max_attempts: int = 5
    report_s: float = 5.0


def check_buffer(buffer: int) -> None:
    """Raise `UsageError` unless `buffer` is a number of events a subscription may hold."""
    if isinstance(buffer, bool) or not isinstance(buffer, int) or not 0 < buffer <= _MOST_BUFFERED:
        raise UsageError(f"buffer must be 1 to {_MOST_BUFFERED:,} events, not {buffer!r}")


def check_overflow(on_overflow: str) -> None:
    """Raise `UsageError` unless it is one of `Overflow`."""
    if on_overflow not in get_args(Overflow):
        raise UsageError(f"on_overflow is 'drop' or 'block', not {on_overflow!r}")


def check_start(start: str, *, durable: bool) -> None:
    """Raise `UsageError` unless a subscription can start there."""
    if start in ("now", "beginning"):
        return
    if Position.parse(start).stage is not Stage.FEED and not durable:
        raise UsageError(f"{start!r} is a position of a durable subscription")


def name_of(name: str | None) -> str:
    """The name under which a subscription is counted: this process's, unless it has one."""
    if name is None:
        return f"{socket.gethostname()}:{os.getpid()}"
    return check_name(name, "name", _LONGEST_NAME)
