"""Pairs what was asked with what came of it, for each tenant: the raw material of distillation.

    python examples/distillation.py --redis redis://127.0.0.1:6379/0 --out pairs.sqlite

It follows the finished tasks of all streams through the durable subscription `distillation`.
Start as many as you like: they share the streams. Kill one at any moment: what it had in hand
comes again to another, and writing a pair twice leaves one pair.

The order of the steps makes it safe: the pair is committed to the database, then the event is
acknowledged. The reverse could lose a pair; this way round one may be written again.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sqlite3
from collections.abc import Mapping
from typing import Any

from streams import (
    DEFAULT_TENANT_ID,
    Event,
    EventFilter,
    EventType,
    Gap,
    PayloadKey,
    RedisEventStore,
    Reset,
    StoreOptions,
    SubscriptionOptions,
)

GROUP = "distillation"
WANTED = EventFilter(types=(EventType.TASK_CREATED, EventType.TASK_COMPLETED))

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    stream TEXT, task_id TEXT, text TEXT, PRIMARY KEY (stream, task_id)
);
CREATE TABLE IF NOT EXISTS pairs (
    stream TEXT, version INTEGER, tenant TEXT, task TEXT, result TEXT, used_experience TEXT,
    PRIMARY KEY (stream, version)
);
CREATE TABLE IF NOT EXISTS gaps (
    stream TEXT, from_version INTEGER, to_version INTEGER,
    PRIMARY KEY (stream, from_version, to_version)
);
"""


class Pairs:
    """The database, shared by all members. Every method may be called again with the same event.

    One call at a time: sqlite3 objects to nothing else.
    """

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")  # committed means on the disk
        self._db.executescript(_SCHEMA)

    def handle(self, event: Event) -> None:
        """Remember a task's text, or pair a result with it; returns once that is durable."""
        payload = event.payload
        if event.type == EventType.TASK_CREATED:
            task = (event.stream_id, _text(payload, PayloadKey.TASK_ID), _task_text(payload))
            self._db.execute("INSERT OR REPLACE INTO tasks VALUES (?, ?, ?)", task)
        elif event.type == EventType.TASK_COMPLETED:
            pair = (
                event.stream_id,
                event.version,
                _text(payload, PayloadKey.TENANT_ID) or DEFAULT_TENANT_ID,
                _task_text(payload) or self._remembered(event),
                _text(payload, PayloadKey.RESULT),
                _text(payload, PayloadKey.USED_EXPERIENCE_ID),
            )
            self._db.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?, ?, ?)", pair)
        else:
            # A summary stands for tasks that were folded away before anybody paired them.
            self.missed(Gap(event.stream_id, payload["first_version"], event.version, 0))

    def missed(self, gap: Gap) -> None:
        """Note events that can't be had any more."""
        row = (gap.stream, gap.from_version, gap.to_version)
        self._db.execute("INSERT OR REPLACE INTO gaps VALUES (?, ?, ?)", row)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def _remembered(self, event: Event) -> str:
        """The text of the task that ended: streams keep their order, so it came before."""
        task = (event.stream_id, _text(event.payload, PayloadKey.TASK_ID))
        query = "SELECT text FROM tasks WHERE stream = ? AND task_id = ?"
        row = self._db.execute(query, task).fetchone()
        return row[0] if row else ""


def _task_text(payload: Mapping[str, Any]) -> str:
    return _text(payload, PayloadKey.TASK) or _text(payload, PayloadKey.CONTENT)


def _text(payload: Mapping[str, Any], key: str) -> str:
    """What a producer put there, as text; empty where it put nothing."""
    value = payload.get(key)
    return "" if value is None else str(value)


async def distill(url: str, tenant: str, pairs: Pairs, lease_ttl_ms: int) -> None:
    """Handle events until SIGTERM or SIGINT."""
    options = StoreOptions(subscriptions=SubscriptionOptions(lease_ttl_ms=lease_ttl_ms))
    async with (
        await RedisEventStore.connect(url, tenant, options=options) as store,
        store.subscribe(WANTED, group=GROUP, start="beginning") as member,
    ):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: loop.create_task(member.close()))
        async for item in member:
            if isinstance(item, Reset):
                continue  # the gaps that follow say what was missed
            if isinstance(item, Gap):
                await asyncio.to_thread(pairs.missed, item)
            else:
                await asyncio.to_thread(pairs.handle, item.event)
                await item.ack()


def main() -> None:
    """Run one member."""
    parser = argparse.ArgumentParser(description="Pair tasks with their results.")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/0", metavar="URL")
    parser.add_argument("--tenant", default=DEFAULT_TENANT_ID)
    parser.add_argument("--out", default="pairs.sqlite", metavar="FILE")
    parser.add_argument(
        "--lease-ttl-ms",
        type=int,
        default=10_000,
        metavar="MS",
        help="after this time the others take over from a member that was killed",
    )
    options = parser.parse_args()
    pairs = Pairs(options.out)
    try:
        asyncio.run(distill(options.redis, options.tenant, pairs, options.lease_ttl_ms))
    finally:
        pairs.close()


if __name__ == "__main__":
    main()
