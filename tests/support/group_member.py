"""A member of a durable subscription as a process of its own, to be killed at any instruction.

    python group_member.py URL TENANT GROUP FILE LEASE_TTL_MS

It writes `stream version attempt` as a line to FILE, then acknowledges: so a line says that an
event was handled, and the order of lines is the order of handling. A gap or a reset is a line
that begins with `!`. SIGTERM ends it in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from streams import RedisEventStore, StoreUnavailable, SubscriptionOptions
from streams.durable.partition import Delivery
from streams.redis_store import StoreOptions


async def supervised(*arguments: Any) -> None:
    """Begin again where Redis was away at the beginning, as whoever supervises a member does."""
    while True:
        try:
            await main(*arguments)
            return
        except StoreUnavailable:
            await asyncio.sleep(0.05)


async def main(url: str, tenant: str, group: str, path: str, ttl_ms: int) -> None:
    """Handle events until told to stop."""
    options = SubscriptionOptions(block_ms=100, lease_ttl_ms=ttl_ms, max_attempts=50)
    lines = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = await RedisEventStore.connect(
        url, tenant, options=StoreOptions(subscriptions=options, timeout_s=2.0)
    )
    async with store, store.subscribe(group=group, start="beginning") as member:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: asyncio.ensure_future(member.close()))
        async for item in member:
            if not isinstance(item, Delivery):
                os.write(lines, f"! {item}\n".encode())
                continue
            event = item.event
            os.write(lines, f"{event.stream_id} {event.version} {item.attempt}\n".encode())
            await item.ack()


if __name__ == "__main__":
    asyncio.run(supervised(*sys.argv[1:5], int(sys.argv[5])))
