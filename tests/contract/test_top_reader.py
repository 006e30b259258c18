"""What `top` reads from real servers of both versions, and from a cluster."""

from __future__ import annotations

import pytest

from streams.event import Event
from support.workshop import Workshop, drain
from worker.compacting.plan import CompactionPolicy
from worker.top.reader import TopReader

pytestmark = pytest.mark.parametrize("workshop", ["redis-7", "redis-6.2", "cluster"], indirect=True)
POLICY = CompactionPolicy()


@pytest.fixture
async def reader(workshop: Workshop):
    made = TopReader([workshop.store()], POLICY, most_streams=3)
    yield made
    await made.close()


async def test_an_empty_redis_is_a_sample_too(reader, workshop):
    sample = await reader.read()

    [tenant] = sample.tenants
    assert (tenant.name, tenant.workers, tenant.streams, tenant.stream_count) == (
        workshop.tenant, [], [], 0,
    )  # fmt: skip
    assert [(lease.name, lease.owner) for lease in tenant.leases] == [
        ("sequencer", None),
        ("janitor", None),
    ]


async def test_workers_leases_and_streams_are_read(reader, workshop):
    await workshop.xadd_rounds("s", 2)
    sequencer = workshop.sequencer(owner="pod-1")
    await drain(sequencer)
    await drain(workshop.archiver("pod-1"))
    await workshop.xadd("s", "llm.call")

    [tenant] = (await reader.read()).tenants

    assert [(worker.name, worker.pending) for worker in tenant.workers] == [("pod-1", 0)]
    [held, free] = tenant.leases
    assert (held.name, held.owner, free.owner) == ("sequencer", "pod-1", None)
    assert 0 < held.left_ms <= 10_000
    [look] = tenant.streams
    assert (look.stream, look.head, look.state.rounds, look.unarchived) == ("s", 6, 2, 0)
    assert (tenant.facts.inbox_events, tenant.facts.feed_lag_entries) == (1, 0)


async def test_of_many_streams_only_the_newest_are_asked_for(reader, workshop):
    for number in range(5):
        workshop.clock.forward(1_000)
        await workshop.store().append(f"s-{number}", [Event("llm.call")])

    [tenant] = (await reader.read()).tenants

    assert [look.stream for look in tenant.streams] == ["s-4", "s-3", "s-2"]
    assert tenant.stream_count == 5


async def test_the_server_tells_of_itself(reader):
    redis = (await reader.read()).redis

    assert redis.version is not None
    assert redis.version.split(".")[0] in ("6", "7")
    assert redis.memory_bytes > 0
    assert redis.max_bytes == 0
