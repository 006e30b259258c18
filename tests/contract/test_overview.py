"""What `streams list` knows of a stream agrees with the log, also when the log is damaged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from streams.errors import StreamNotFound
from streams.event import Event
from streams.overview import Overview, StreamLook
from streams.redis_store import RedisEventStore
from streams.state import StreamState


@pytest.fixture
async def store(every_client: redis.asyncio.Redis, tenant: str) -> AsyncIterator[RedisEventStore]:
    async with RedisEventStore(every_client, tenant) as opened:
        yield opened


@pytest.fixture
def overview(store: RedisEventStore) -> Overview:
    return Overview(store.wires, store.keys)


async def listed(overview: Overview) -> list[StreamLook]:
    return [facts async for facts in overview.streams()]


async def test_a_fresh_stream_is_all_in_its_log_and_not_archived(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("s", [Event("task.created"), Event("task.completed")])

    facts = await overview.stream("s")

    assert (facts.head, facts.retained, facts.state.compacted_version) == (2, 2, 0)
    assert (facts.state.archived_version, facts.unarchived) == (0, 2)
    assert facts.quarantined == ""
    assert facts.last_commit_ms > 1_700_000_000_000


async def test_state_says_how_far_a_stream_is_archived_and_compacted(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("s", [Event("message.added") for _ in range(10)])
    state = ("archived_version", 8, "rounds", 2, "epoch", 1, "compacted_version", 4)
    await store.wires.exchange([("HSET", store.keys.state("s"), *state)])
    await store.client.xtrim(store.keys.log("s"), minid="5", approximate=False)
    await store.client.rpush(store.keys.summaries("s"), b"summary")

    facts = await overview.stream("s")

    assert (facts.head, facts.retained, facts.summaries) == (10, 6, 1)
    assert facts.unarchived == 2
    assert facts.state == StreamState(8, 2, 1, 4)
    assert facts.quarantined == ""


async def test_streams_come_with_the_one_written_last_first(
    store: RedisEventStore, overview: Overview
) -> None:
    for number in range(120):
        await store.client.zadd(store.keys.streams, {f"s{number}": number})

    assert [facts.stream for facts in await listed(overview)] == [
        f"s{number}" for number in range(119, -1, -1)
    ]


async def test_a_foreign_entry_in_a_log_is_named_and_the_neighbour_is_fine(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("hurt", [Event("message.added")])
    await store.append("fine", [Event("message.added")])
    await store.client.xadd(store.keys.log("hurt"), {"foreign": "x"})

    found = {facts.stream: facts.quarantined for facts in await listed(overview)}

    assert found == {"hurt": "its log holds 2 events, head and state promise 1", "fine": ""}


async def test_a_log_key_of_another_type_is_named(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("s", [Event("message.added")])
    await store.client.delete(store.keys.log("s"))
    await store.client.set(store.keys.log("s"), "not a stream")

    assert "somebody else wrote one of its keys" in (await overview.stream("s")).quarantined


async def test_a_deleted_log_under_a_live_head_is_named(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("s", [Event("message.added")])
    await store.client.delete(store.keys.log("s"))

    facts = await overview.stream("s")

    assert facts.quarantined == "its log holds 0 events, head and state promise 1"


async def test_a_stream_nobody_wrote_to_does_not_exist(overview: Overview) -> None:
    with pytest.raises(StreamNotFound):
        await overview.stream("nobody")


async def test_the_tenants_counts_say_what_waits(
    store: RedisEventStore, overview: Overview
) -> None:
    await store.append("s", [Event("message.added")])
    await store.client.xadd(store.keys.inbox, {"stream": "s"})
    await store.client.xadd(store.keys.dead, {"reason": "r"})

    facts = await overview.tenant()

    assert (facts.inbox, facts.feed, facts.dead, facts.streams) == (1, 1, 1, 1)
