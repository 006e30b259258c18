"""What tests of subscriptions share: taking items with a deadline, and saying them in short."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from streams import Event, Gap, Reset
from streams.durable.group import Roll
from streams.durable.member import DurableSubscription
from streams.durable.memory_group import MemoryGroup
from streams.durable.plan import PARTITIONS
from streams.durable.redis_group import RedisGroup
from streams.event import SUMMARY_TYPE
from streams.wire import Command
from support.waiting import eventually


def events(count: int, type: str = "llm.call") -> list[Event]:
    """So many events of one type."""
    return [Event(type) for _ in range(count)]


async def take(subscription, count: int, deadline_s: float = 10.0) -> list:
    """The next `count` items."""
    async with asyncio.timeout(deadline_s):
        return [await anext(subscription) for _ in range(count)]


async def handle(
    member: DurableSubscription, count: int, deadline_s: float = 20.0
) -> list[tuple[str, int, int]]:
    """Take and acknowledge one delivery after the other: (stream, version, attempt)."""
    seen = []
    async with asyncio.timeout(deadline_s):
        for _ in range(count):
            delivery = await anext(member)
            seen.append((delivery.event.stream_id, delivery.event.version, delivery.attempt))
            assert await delivery.ack()
    return seen


async def nothing_more(subscription) -> bool:
    """Whether nothing comes for longer than a reader waits at a time. What comes is lost."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.08):
            await anext(subscription)
        return False
    return True


def places(items) -> list[tuple]:
    """Items in short: (stream, version); summaries and gaps with their range."""
    return [place(item) for item in items]


def place(item) -> tuple:
    """One of `places`."""
    if isinstance(item, Gap):
        return ("gap", item.stream, item.from_version, item.to_version, item.count)
    if isinstance(item, Reset):
        return ("reset", item.reason)
    event = item if isinstance(item, Event) else item.event
    if event.type == SUMMARY_TYPE:
        return ("Σ", event.stream_id, event.payload["first_version"], event.version)
    return (event.stream_id, event.version)


def numbered(stream: str, first: int, last: int) -> list[tuple]:
    """The places of versions `first` to `last`."""
    return [(stream, version) for version in range(first, last + 1)]


async def beats(member: DurableSubscription, count: int) -> Roll:
    """Wait until a member has kept its leases and shared its partitions `count` times more.

    Return what the member saw of its group after that.
    """
    rolls: list[Roll] = []
    group, beat = member._group, member._group.beat

    async def noted() -> Roll | None:
        roll = await beat()
        assert roll is not None
        rolls.append(roll)
        return roll

    group.beat = noted  # type: ignore[method-assign]
    await eventually(lambda: len(rolls) > count)  # the next has begun: those before are whole
    group.beat = beat  # type: ignore[method-assign]
    return rolls[-1]


async def die(member: DurableSubscription) -> None:
    """Stop as a killed process does: nothing is released."""
    for task in member._tasks:
        task.cancel()
    await asyncio.gather(*member._tasks, return_exceptions=True)


async def lapse(member: DurableSubscription) -> None:
    """Make of a dead member's leases what time makes of them."""
    group = member._group
    if isinstance(group, MemoryGroup):
        held = [n for n in range(PARTITIONS) if group._state.owner(n) == group._member]
        group._state.leases.update(dict.fromkeys(held, (group._member, 0.0)))
        group._state.members[group._member] = 0.0
    else:
        assert isinstance(group, RedisGroup)
        leases = [group._lease(number) for number in group._held]
        silent: Command = ("HSET", group._key, f"member:{group._member}", 0)
        await group._exchange([silent, *([("DEL", *leases)] if leases else [])])
