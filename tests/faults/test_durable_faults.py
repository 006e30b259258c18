"""Durable subscriptions whose members, connections or Redis end at any moment."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import support.group_member
from streams import RedisEventStore, SubscriptionOptions
from streams.durable.plan import PARTITIONS
from streams.redis_store import StoreOptions
from streams.subscription.position import Position
from support.ending import end_in_order
from support.lossy_proxy import Fault, LossyProxy
from support.publisher import publish
from support.redis_server import RedisServer, die_with_parent
from support.subscribers import die, events, handle, nothing_more, places, take
from support.waiting import eventually

LEASE_TTL_MS = 1_500
OPTIONS = StoreOptions(
    subscriptions=SubscriptionOptions(block_ms=100, lease_ttl_ms=LEASE_TTL_MS), timeout_s=2.0
)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


async def open_store(stack: AsyncExitStack, url: str, tenant: str = "t") -> RedisEventStore:
    return await stack.enter_async_context(
        await RedisEventStore.connect(url, tenant, options=OPTIONS)
    )


class Members:
    """Member processes of one group, all writing to one file."""

    def __init__(self, server: RedisServer, path: Path) -> None:
        self._server, self._path = server, path
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self.running.append(
            subprocess.Popen(
                [
                    sys.executable, support.group_member.__file__,
                    self._server.url, "t", "g", self._path, str(LEASE_TTL_MS),
                ],
                preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
            )
        )  # fmt: skip

    def replace(self, number: int) -> None:
        """SIGKILL one of them, whatever it is doing, and start another in its place."""
        victim = self.running.pop(number)
        victim.kill()
        victim.wait()
        self.start()
        self.running.insert(number, self.running.pop())

    def stop(self) -> None:
        assert end_in_order(self.running) == [0] * len(self.running)

    def handled(self) -> list[tuple[str, int, int]]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        assert not [line for line in lines if line.startswith("!")]
        return [(s, int(v), int(a)) for s, v, a in (line.split() for line in lines)]


@pytest.mark.parametrize(
    ("each", "kills", "crashes"),
    [(120, 4, 1), pytest.param(2_000, 25, 6, marks=pytest.mark.chaos)],
)
async def test_members_killed_at_random_handle_every_event_in_order(
    start_server, stack, tmp_path, each, kills, crashes
):
    """Three members, each killed again and again at random, Redis crashing in between."""
    server = start_server(aof="always")
    store = await open_store(stack, server.url)
    streams = 10
    members = Members(server, tmp_path / "handled")
    rng = random.Random(each)
    for _ in range(3):
        members.start()
    publishing = asyncio.create_task(publish(store, streams, each))
    total = streams * each
    steps: list[int | None] = [number % 3 for number in range(kills)] + [None] * crashes
    rng.shuffle(steps)
    for number, step in enumerate(steps, 1):
        goal = total * number // (len(steps) + 2)
        await eventually(lambda g=goal: len(members.handled()) > g, 120)
        if step is None:
            await asyncio.to_thread(server.restart)
        else:
            await asyncio.to_thread(members.replace, step)
    await publishing
    await eventually(lambda: len({h[:2] for h in members.handled()}) == total, 120)
    await asyncio.to_thread(members.stop)

    handled = members.handled()
    latest: dict[str, int] = defaultdict(int)
    for stream, version, _ in handled:
        # The next one, or again the one that was in hand: never further ahead or back.
        assert version in (latest[stream], latest[stream] + 1), (stream, version)
        latest[stream] = max(latest[stream], version)
    assert latest == {f"s{n}": each for n in range(streams)}
    assert len(handled) - total <= kills  # each had one delivery in hand


async def test_a_crash_of_redis_interrupts_a_member_and_repeats_nothing(start_server, stack):
    server = start_server(aof="always")
    reading, writing = await open_store(stack, server.url), await open_store(stack, server.url)
    async with reading.subscribe(group="g", start="beginning") as member:
        handling = asyncio.create_task(handle(member, 200, 60))
        publishing = asyncio.create_task(publish(writing, 4, 50))
        for part in (50, 120):
            await eventually(lambda p=part: member.delivered > p, 30)
            await asyncio.to_thread(server.restart)
        await publishing
        seen = await handling

        by_stream = defaultdict(list)
        for stream, version, attempt in seen:
            by_stream[stream].append(version)
            assert attempt == 1
        assert by_stream == {f"s{n}": list(range(1, 51)) for n in range(4)}
        assert await nothing_more(member)


async def test_an_outage_longer_than_its_leases_costs_a_lone_member_nothing(start_server, stack):
    """Nobody else had the partitions meanwhile, so what it has in hand is still its own."""
    server = start_server(aof="always")
    store = await open_store(stack, server.url)
    async with store.subscribe(group="g", start="beginning") as member:
        await store.append("s", events(3))
        first, second = await take(member, 2)
        await asyncio.to_thread(server.kill)
        acknowledging = asyncio.create_task(first.ack())
        await asyncio.sleep(LEASE_TTL_MS / 1000 + 0.3)
        assert not acknowledging.done()
        await asyncio.to_thread(server.start)

        async with asyncio.timeout(15):
            assert await acknowledging
            assert await second.ack()
        assert await handle(member, 1) == [("s", 3, 1)]
        assert await nothing_more(member)


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.REFUSE])
async def test_a_commit_whose_answer_is_lost_is_made_again(server, stack, tenant, fault):
    writing = await open_store(stack, server.url, tenant)
    async with LossyProxy(server.port) as proxy:
        store = await open_store(stack, proxy.url, tenant)
        async with store.subscribe(group="g", start="beginning") as member:
            await writing.append("s", events(12))
            for version in range(1, 11):
                hits = proxy.hits
                proxy.fail("EXEC", fault)
                assert await handle(member, 1) == [("s", version, 1)]
                await eventually(lambda h=hits: proxy.hits > h)
    async with writing.subscribe(group="g") as member:
        seen = await handle(member, 2)
        assert [version for _, version, _ in seen] == [11, 12]
        assert await nothing_more(member)


async def test_a_late_holder_writes_nothing_after_its_partitions_have_passed_on(
    start_server, stack
):
    """Frozen past its lease with an acknowledgement under way: it must not set positions back."""
    server = start_server()
    late_store = await open_store(stack, server.url)
    store = await open_store(stack, server.url)
    await store.append("s", events(6))
    late = await late_store.subscribe(group="g", start="beginning").__aenter__()
    (stale,) = await take(late, 1)
    await die(late)
    async with store.subscribe(group="g") as member:
        assert await handle(member, 4) == [("s", 1, 2), ("s", 2, 1), ("s", 3, 1), ("s", 4, 1)]
        before = await store.wires.exchange([("HGETALL", store.keys.group("g"))])
        assert await stale.ack() is False
        assert await store.wires.exchange([("HGETALL", store.keys.group("g"))]) == before


async def test_a_group_deleted_under_its_members_is_made_again_where_they_are(
    server, stack, tenant
):
    store = await open_store(stack, server.url, tenant)
    async with store.subscribe(group="g", start="beginning") as member:
        await store.append("s", events(3))
        assert await handle(member, 2) == [("s", 1, 1), ("s", 2, 1)]
        with server.admin() as admin:
            admin.delete(store.keys.group("g"))

            def made_again() -> bool:
                return len(admin.hgetall(store.keys.group("g"))) > PARTITIONS

            await eventually(made_again)
        assert await handle(member, 1) == [("s", 3, 1)]
        assert await nothing_more(member)


async def test_after_everything_was_deleted_a_group_begins_anew(start_server, stack):
    server = start_server()
    store = await open_store(stack, server.url)
    async with store.subscribe(group="g", start="beginning") as member:
        await store.append("s", events(3))
        await handle(member, 3)
        with server.admin() as admin:
            admin.flushall()
        await store.append("s", events(2))

        seen = []
        while ("s", 2) not in seen:
            (item,) = await take(member, 1)
            seen += places([item])
            if hasattr(item, "ack"):
                assert await item.ack()
        assert [place for place in seen if place[0] == "s"][-2:] == [("s", 1), ("s", 2)]
        assert ("reset", "trimmed") in seen or ("reset", "reset") in seen


async def test_the_positions_in_redis_are_those_of_the_feed(server, stack, tenant):
    """What the janitor and a person read: each partition's place, moving while nothing matches."""
    store = await open_store(stack, server.url, tenant)
    async with store.subscribe(group="g") as member:
        for _ in range(10):
            await store.append("s", events(1))
        await handle(member, 10)
        with server.admin() as admin:
            newest = admin.xrevrange(store.keys.feed, count=1)[0][0].decode()

            def all_there() -> bool:
                fields = admin.hgetall(store.keys.group("g"))
                places = [fields[f"pos:{n}".encode()].decode() for n in range(PARTITIONS)]
                return {str(Position.parse(place)) for place in places} == {newest}

            await eventually(all_there)
            assert not [f for f in admin.hgetall(store.keys.group("g")) if f.startswith(b"try:")]


async def test_a_group_that_stands_on_an_erased_entry_loses_nothing(server, stack, tenant):
    """It is told, and what it has had since it began doesn't come again."""
    store = await open_store(stack, server.url, tenant)
    for stream in ("s", "t"):
        await store.append(stream, events(2))
    async with store.subscribe(group="g", start="beginning") as member:
        await handle(member, 4)
        await store.append("s", events(1))
        await handle(member, 1)
        with server.admin() as admin:
            admin.xdel(store.keys.feed, admin.xrevrange(store.keys.feed, count=1)[0][0])
        await store.append("t", events(1))

        assert places(await take(member, 1)) == [("reset", "reset")]
        assert await handle(member, 1) == [("t", 3, 1)]
        assert await nothing_more(member)
