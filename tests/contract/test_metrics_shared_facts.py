"""Facts for the shared gauges, read from real servers of both versions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ops.metrics import Metrics
from ops.metrics_shared import SubscriberFacts, TenantFacts
from streams.clock import system_clock
from streams.errors import StoreUnavailable
from streams.event import Event
from streams.redis_store import RedisEventStore
from support.redis_server import RedisServer
from worker.compacting.plan import CompactionPolicy
from worker.settings.load import load_settings
from worker.shared_facts import SharedFactsReader, shared_gauges, volume_facts

POLICY = CompactionPolicy(threshold=10, keep_recent=2)


class Clock:
    def __init__(self) -> None:
        self.now_ms = system_clock()

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
async def store(every_server: RedisServer, tenant: str) -> AsyncIterator[RedisEventStore]:
    async with await RedisEventStore.connect(every_server.url, tenant) as connected:
        yield connected


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def reader(store: RedisEventStore, clock: Clock) -> AsyncIterator[SharedFactsReader]:
    made = SharedFactsReader([store], POLICY, clock)
    yield made
    await made.close()


async def facts(reader: SharedFactsReader) -> TenantFacts:
    (found,) = (await reader.read()).tenants.values()
    return found


async def appended(store: RedisEventStore, stream: str, events: int) -> None:
    await store.append(stream, [Event(type="tool.call.completed") for _ in range(events)])


async def test_an_empty_tenant_has_nothing_waiting(reader):
    found = await facts(reader)

    assert (found.inbox_events, found.inbox_oldest_seconds) == (0, 0.0)
    assert (found.feed_lag_entries, found.feed_lag_seconds) == (0, 0.0)
    assert (found.feed_pending_entries, found.feed_oldest_pending_seconds) == (0, 0.0)
    assert (found.dead_letter_events, found.feed_consumers, found.subscribers) == (0, 0, 0)
    assert (found.compaction_lag_events, found.compaction_lagging_streams) == (0, 0)
    assert (found.verify_findings, found.verify_last_success_timestamp) == (0, 0.0)


async def test_the_inbox_is_counted_and_dated_without_reading_its_payloads(
    store, reader, clock, every_server
):
    first = await store.client.xadd(store.keys.inbox, {"payload": b"x" * 3_000_000})
    await store.client.xadd(store.keys.inbox, {"payload": b"y"})
    with every_server.admin() as admin:
        before = admin.info("stats")["total_net_output_bytes"]
    clock.now_ms = int(first.partition(b"-")[0]) + 7_000

    found = await facts(reader)

    with every_server.admin() as admin:
        sent = admin.info("stats")["total_net_output_bytes"] - before
    assert (found.inbox_events, found.inbox_oldest_seconds) == (2, 7.0)
    assert sent < 1_000_000


async def test_a_clock_behind_the_servers_is_no_error(store, reader, clock):
    await store.client.xadd(store.keys.inbox, {"f": "v"})
    clock.now_ms = 1_000

    assert (await facts(reader)).inbox_oldest_seconds < 0  # clamped where it is exported


async def test_without_a_group_the_whole_feed_is_unread(store, reader):
    await appended(store, "s", 1)
    await appended(store, "s", 1)

    found = await facts(reader)

    assert found.feed_lag_entries == 2
    assert found.feed_consumers == 0


async def test_lag_and_pending_are_told_apart(store, reader, clock):
    keys, client = store.keys, store.client
    for _ in range(5):
        await appended(store, "s", 1)
    await client.xgroup_create(keys.feed, "archivers", "0")
    await client.xreadgroup("archivers", "w", {keys.feed: ">"}, count=2)
    first, _, third = (entry[0] for entry in await client.xrange(keys.feed, count=3))
    clock.now_ms = int(third.partition(b"-")[0]) + 3_000

    found = await facts(reader)

    assert (found.feed_lag_entries, found.feed_pending_entries) == (3, 2)
    assert found.feed_lag_seconds == 3.0
    assert found.feed_oldest_pending_seconds == (
        3.0 + (int(third.partition(b"-")[0]) - int(first.partition(b"-")[0])) / 1000
    )
    assert found.feed_consumers == 1


async def test_the_lag_is_counted_where_the_server_does_not_know_it(store, reader):
    """A deletion in the unread part makes Redis forget the lag; 0 would be a lie."""
    keys, client = store.keys, store.client
    for _ in range(5):
        await appended(store, "s", 1)
    await client.xgroup_create(keys.feed, "archivers", "0")
    await client.xreadgroup("archivers", "w", {keys.feed: ">"}, count=1)
    unread = (await client.xrange(keys.feed))[2][0]
    await client.xdel(keys.feed, unread)

    assert (await facts(reader)).feed_lag_entries == 3


async def test_dead_letters_and_the_last_verify_are_read(store, reader):
    keys, client = store.keys, store.client
    await client.xadd(keys.dead, {"reason": "schema"})
    await client.hset(keys.verify, mapping={"succeeded_ms": 5_000, "findings": 3})

    found = await facts(reader)

    assert found.dead_letter_events == 1
    assert (found.verify_last_success_timestamp, found.verify_findings) == (5.0, 3)


async def test_subscribers_are_counted_and_told_by_name(store, reader, clock):
    now_ms = clock()
    audit = {"delivered:audit": 5, "dropped:audit": 2, "lag:audit": 1, "seen:audit": now_ms}
    gone = {"delivered:gone": 5, "seen:gone": now_ms - 2 * 3_600_000}
    await store.client.hset(store.keys.subscribers, mapping=audit | gone)

    found = await reader.read()

    assert found.tenants[store.tenant].subscribers == 1
    assert found.subscribers == {
        "audit": SubscriberFacts(delivered_events=5, dropped_events=2, lag_entries=1)
    }


async def test_subscribers_of_one_name_in_two_tenants_add_up(every_server, tenant, clock):
    async with (
        await RedisEventStore.connect(every_server.url, tenant) as one,
        await RedisEventStore.connect(every_server.url, f"{tenant}-b") as two,
    ):
        for store, lag in ((one, 7), (two, 3)):
            counts = {"delivered:a": 5, "dropped:a": 1, "lag:a": lag, "seen:a": clock()}
            await store.client.hset(store.keys.subscribers, mapping=counts)
        reader = SharedFactsReader([one, two], POLICY, clock)

        found = await reader.read()

        await reader.close()
    assert found.subscribers["a"] == SubscriberFacts(
        delivered_events=10, dropped_events=2, lag_entries=7
    )


async def test_compaction_lags_by_what_is_archived_and_not_needed(store, reader, clock):
    keys, client = store.keys, store.client
    await appended(store, "behind", 30)
    await appended(store, "unarchived", 30)
    await appended(store, "small", 10)
    await client.hset(keys.state("behind"), "archived_version", 25)
    eleventh = (await client.xrange(keys.log("behind"), "11-0", count=1))[0][0]
    clock.now_ms = int(eleventh.partition(b"-")[2]) + 9_000

    found = await facts(reader)

    assert (found.compaction_lag_events, found.compaction_lagging_streams) == (25, 1)
    assert found.compaction_lag_seconds == 9.0


async def test_streams_are_looked_through_only_now_and_then(store, clock):
    moment = [0.0]
    reader = SharedFactsReader([store], POLICY, clock, monotonic=lambda: moment[0])
    assert (await facts(reader)).compaction_lagging_streams == 0
    await appended(store, "behind", 30)
    await store.client.hset(store.keys.state("behind"), "archived_version", 30)

    moment[0] = 29.0
    assert (await facts(reader)).compaction_lagging_streams == 0
    moment[0] = 31.0
    assert (await facts(reader)).compaction_lagging_streams == 1
    await reader.close()


@pytest.mark.parametrize("key", ["state", "head"])
async def test_a_key_that_somebody_wrote_over_hides_no_other_stream(store, reader, key):
    await appended(store, "behind", 30)
    await store.client.hset(store.keys.state("behind"), "archived_version", 30)
    await appended(store, "broken", 1)
    await store.client.set(getattr(store.keys, key)("broken"), "a string")

    assert (await facts(reader)).compaction_lagging_streams == 1


async def test_a_server_that_has_gone_is_an_error_and_back_again_none(start_server, tenant, clock):
    server = start_server()
    async with await RedisEventStore.connect(server.url, tenant) as store:
        reader = SharedFactsReader([store], POLICY, clock)
        await reader.read()
        server.kill()
        with pytest.raises(StoreUnavailable):
            await reader.read()

        server.start()

        assert (await facts(reader)).inbox_events == 0
        await reader.close()


async def test_a_frozen_server_hangs_no_scrape(start_server, tenant, tmp_path, clock):
    server = start_server()
    settings = load_settings(
        None, {"archive.dir": str(tmp_path), "metrics.facts_timeout": "100ms"}, {}
    )
    async with await RedisEventStore.connect(server.url, tenant) as store:
        reader = SharedFactsReader([store], POLICY, clock)
        metrics = Metrics(version="1")
        metrics.share(shared_gauges(asyncio.get_running_loop(), reader, settings))
        known = await asyncio.to_thread(metrics.exposition)
        assert f'ares_inbox_events{{tenant="{tenant}"}} 0.0'.encode() in known
        assert b"ares_archive_volume_free_bytes " in known

        server.pause()
        metrics_of_a_second = Metrics(version="1")
        metrics_of_a_second.share(shared_gauges(asyncio.get_running_loop(), reader, settings))
        async with asyncio.timeout(5):
            text = await asyncio.to_thread(metrics_of_a_second.exposition)

        assert b"ares_inbox_events" not in text
        assert b"ares_archive_volume_free_bytes " in text
        server.resume()
        await reader.close()


def test_a_volume_that_is_not_there_yet_has_no_facts(tmp_path):
    assert volume_facts(tmp_path / "none").free_bytes is None
    assert volume_facts(tmp_path).size_bytes > 0
