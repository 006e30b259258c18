"""The sequencer on every kind of Redis: once, in order, and by one worker at a time."""

from __future__ import annotations

import msgpack

from streams.integrity import verify_stream_integrity
from streams.plan import BatchLimits
from streams.redis_store import StoreOptions
from support.workshop import Workshop, drain
from worker.sequencing.reader import PagePolicy


async def test_entries_reach_their_logs_in_arrival_order(workshop: Workshop):
    for number in range(20):
        await workshop.xadd(f"s{number % 2}", "llm.call", {"n": number})

    await drain(workshop.sequencer())

    events = await workshop.store().read("s1")
    verify_stream_integrity(events)
    assert [event.payload["n"] for event in events] == list(range(1, 20, 2))
    assert await workshop.client.xlen(workshop.store().keys.inbox) == 0


async def test_a_second_worker_waits_for_the_lease_and_goes_on_when_it_is_released(
    workshop: Workshop,
):
    first, second = workshop.sequencer(), workshop.sequencer()
    await workshop.xadd("s", "llm.call")
    await drain(first)
    await workshop.xadd("s", "llm.call")

    assert not (await second.run_once()).held
    await first.release()
    await drain(second)

    assert await workshop.store().stream_version("s") == 2


async def test_the_same_id_xadded_again_is_recorded_once(workshop: Workshop):
    for _ in range(2):
        await workshop.xadd("s", "llm.call", {"n": 1}, id="call-1")
    sequencer = workshop.sequencer()
    [first, *_] = await drain(sequencer)
    await workshop.xadd("s", "llm.call", {"n": 1}, id="call-1")
    [later, *_] = await drain(sequencer)

    assert await workshop.store().stream_version("s") == 1
    assert (first.repeats, later.repeats) == (1, 1)
    assert await workshop.client.xlen(workshop.store().keys.inbox) == 0


async def test_the_same_id_in_another_stream_is_another_event(workshop: Workshop):
    await workshop.xadd("a", "llm.call", id="1")
    await workshop.xadd("b", "llm.call", id="1")

    await drain(workshop.sequencer())

    assert await workshop.store().list_streams() == ["a", "b"]


async def test_a_foreign_payload_survives_exactly(workshop: Workshop):
    payload = {"big": 2**64 - 1, "float": 0.1, "text": "αβ\n\u2028", "empty": "", "none": None}
    await workshop.xadd("json", "x", payload)
    await workshop.xadd("msgpack", "x", msgpack.packb(payload))

    await drain(workshop.sequencer())

    for stream in ("json", "msgpack"):
        [event] = await workshop.store().read(stream)
        assert event.payload == payload


async def test_large_events_travel_in_several_commits_in_order(workshop: Workshop):
    workshop.options = StoreOptions(batch=BatchLimits(max_bytes=5_000))
    for number in range(10):
        await workshop.xadd("s", "x", {"n": number, "text": "x" * 2_000})

    await drain(workshop.sequencer())

    events = await workshop.store().read("s")
    assert [event.payload["n"] for event in events] == list(range(10))


async def test_a_page_is_halved_once_it_was_too_large(workshop: Workshop):
    sequencer = workshop.sequencer(page=PagePolicy(bytes=8_000))
    facts = []
    for _ in range(2):
        for number in range(8):
            await workshop.xadd("s", "x", {"n": number, "text": "x" * 2_000})
        facts += await drain(sequencer)

    assert sum(item.events for item in facts) == 16
    assert all(item.events <= 4 for item in facts[1:])


async def test_an_entry_dated_beyond_any_calendar_is_sequenced(workshop: Workshop):
    keys = workshop.store().keys
    await workshop.client.xadd(keys.inbox, {"stream": "s", "type": "x"}, id="9999999999999-0")

    [facts, *_] = await drain(workshop.sequencer())

    assert facts.events == 1
    assert min(facts.delays_ms) >= 0
