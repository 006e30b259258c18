"""Counts of all subscriptions of a tenant, whichever process runs them, in one small hash.

Fields are `delivered:<name>`, `dropped:<name>`, `lag:<name>` and `seen:<name>` (milliseconds).
Subscriptions of one name add up. A name unseen for an hour is left out and removed; the hash
goes a week after the last report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from streams.clock import Clock
from streams.keys import Keys
from streams.wire import Command, Reply, Wire, Wires, as_map, checked

from .roster import Counted

FRESH_MS: Final = 3_600_000
"""How long a subscriber counts as there after its last report, milliseconds."""

MOST_NAMES: Final = 1_000

_KINDS: Final = ("delivered", "dropped", "lag", "seen")
_MOST_FIELDS: Final = MOST_NAMES * len(_KINDS)
_WEEK_MS: Final = 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class SubscriberReport:
    """What the subscriptions of one name have reported; `seen_ms` is when they last did.

    `lag_entries` is how many feed entries the one that reported last is behind.
    """

    delivered_events: int
    dropped_events: int
    lag_entries: int
    seen_ms: int


class RedisReports:
    """Adds the counts of one store's subscriptions to those in Redis."""

    def __init__(self, wires: Wires, keys: Keys, clock: Clock) -> None:
        self._wires, self._keys, self._clock = wires, keys, clock
        self._reported: WeakKeyDictionary[Counted, tuple[int, int]] = WeakKeyDictionary()

    async def report(self, subscription: Counted) -> None:
        """Add what was counted since the last report. Raises `StoreUnavailable`.

        A report whose answer is lost is not sent again: counts may fall short, never exceed.
        """
        key, name, now_ms = self._keys.subscribers, subscription.name, self._clock()
        lag = await subscription.lag()
        counts = subscription.delivered, subscription.dropped
        first = subscription not in self._reported
        before = self._reported.get(subscription, (0, 0))
        self._reported[subscription] = counts
        packet: list[Command] = [
            ("HINCRBY", key, f"delivered:{name}", counts[0] - before[0]),
            ("HINCRBY", key, f"dropped:{name}", counts[1] - before[1]),
            ("HSET", key, f"lag:{name}", lag, f"seen:{name}", now_ms),
            ("PEXPIRE", key, _WEEK_MS),
            ("HLEN", key),
        ]
        async with self._wires.borrow() as wire:
            *_, length = [checked(reply) for reply in await wire.exchange(packet)]
            if first or int(length) > _MOST_FIELDS:
                await forget_stale(wire, self._keys, now_ms)


async def read_subscriber_facts(wire: Wire, keys: Keys, now_ms: int) -> dict[str, SubscriberReport]:
    """Name → counts of every subscriber seen lately. Raises `StoreUnavailable`."""
    reports = await _read(wire, keys)
    return {name: facts for name, facts in reports.items() if facts.seen_ms > now_ms - FRESH_MS}


async def forget_stale(wire: Wire, keys: Keys, now_ms: int) -> int:
    """Remove names unseen for long, and the longest unseen of too many; returns how many."""
    reports = await _read(wire, keys)
    by_age = sorted(reports, key=lambda name: reports[name].seen_ms, reverse=True)
    old = [name for name in by_age if reports[name].seen_ms <= now_ms - FRESH_MS]
    stale = {*old, *by_age[MOST_NAMES:]}
    fields = [f"{kind}:{name}" for name in stale for kind in _KINDS]
    if fields:
        (reply,) = await wire.exchange([("HDEL", keys.subscribers, *fields)])
        checked(reply)
    return len(stale)


async def _read(wire: Wire, keys: Keys) -> dict[str, SubscriberReport]:
    (reply,) = await wire.exchange([("HGETALL", keys.subscribers)])
    values = _pairs(checked(reply))
    names = {field.partition(":")[2] for field in values}
    return {
        name: SubscriberReport(*(_number(values.get(f"{kind}:{name}")) for kind in _KINDS))
        for name in sorted(names)
    }


def _pairs(reply: Reply) -> Mapping[str, bytes]:
    return {field.decode(errors="replace"): value for field, value in as_map(reply).items()}


def _number(raw: bytes | None) -> int:
    return int(raw) if raw is not None and raw.isdigit() else 0
