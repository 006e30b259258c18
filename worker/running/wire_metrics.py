"""Times of calls to Redis, by what they are for, and connections opened again."""

from __future__ import annotations

from collections.abc import Sequence

from ops.metrics_process import RedisCommand, RedisMetrics
from streams.wire import Argument, Command


class WireMetrics:
    """A `WireObserver` that counts into `RedisMetrics`."""

    def __init__(self, metrics: RedisMetrics) -> None:
        self._metrics = metrics

    def exchanged(self, commands: Sequence[Command], seconds: float) -> None:
        """One call was answered; waits that end with the next event say nothing about Redis."""
        kind = kind_of(commands)
        if kind is not None:
            self._metrics.took(kind, seconds)

    def reconnected(self) -> None:
        """A connection was opened again."""
        self._metrics.reconnected()


def kind_of(commands: Sequence[Command]) -> RedisCommand | None:
    """What a packet is for; None for one that blocks."""
    first = commands[0]
    name = first[0]
    if name == "WATCH":
        # A commit watches its logs last; a lease or a state is watched alone.
        return "commit" if _is_log(first[-1]) else "other"
    if name == "MULTI":
        # Behind the renewal of the lease, where there is one.
        return "commit" if any(map(_adds_to_log, commands[1:3])) else "other"
    if name == "XRANGE":
        return "read_log" if _is_log(first[1]) else _other_range(first[1])
    if name in ("XREADGROUP", "XREAD"):
        return None if "BLOCK" in first else "read_feed"
    if name == "XAUTOCLAIM":
        return "read_feed"
    return "ack" if name == "XACK" else "other"


def _adds_to_log(command: Command) -> bool:
    return command[0] == "XADD" and _is_log(command[1])


def _other_range(key: Argument) -> RedisCommand:
    return "read_inbox" if isinstance(key, bytes) and key.endswith(b"}:inbox") else "other"


def _is_log(key: Argument) -> bool:
    return isinstance(key, bytes) and b"}:log:" in key
