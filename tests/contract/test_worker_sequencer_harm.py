"""What harms a sequencer harms nothing beside it: damaged logs, entries that kill its worker."""

from __future__ import annotations

import pytest

from streams.inbox import parse_entry
from support.dying import Died, die_until_done
from support.workshop import Workshop, drain


@pytest.mark.damage("somebody else wrote or deleted a log")
@pytest.mark.parametrize("damage", ["foreign entry", "wrong type", "deleted log"])
async def test_a_damaged_stream_waits_in_the_inbox_and_the_others_go_on(
    workshop: Workshop, damage: str
):
    keys = workshop.store().keys
    await workshop.xadd("bad", "x")
    sequencer = workshop.sequencer()
    await drain(sequencer)
    if damage == "foreign entry":
        await workshop.client.xadd(keys.log("bad"), {"by": "hand"})
    else:
        await workshop.client.delete(keys.log("bad"))
        if damage == "wrong type":
            await workshop.client.set(keys.log("bad"), "x")
    await workshop.xadd("bad", "x", {"n": 2})
    await workshop.xadd("good", "x")

    [facts, *_] = await drain(sequencer)

    assert list(facts.quarantined) == ["bad"]
    assert await workshop.store().stream_version("good") == 1
    assert await workshop.store().stream_version("bad") == 1
    assert await workshop.client.xlen(keys.inbox) == 1


@pytest.mark.damage("a log once had a foreign entry above its head")
async def test_a_torn_commit_keeps_its_events_in_the_dead_stream(workshop: Workshop):
    """A foreign entry, added above our head and deleted again, makes XADD fail inside EXEC."""
    keys = workshop.store().keys
    await workshop.xadd("s", "x", {"n": 1})
    sequencer = workshop.sequencer()
    await drain(sequencer)
    foreign = await workshop.client.xadd(keys.log("s"), {"by": "hand"}, id="999-0")
    await workshop.client.xdel(keys.log("s"), foreign)
    await workshop.xadd("s", "x", {"n": 2})
    await workshop.xadd("other", "x")

    [facts, *_] = await drain(sequencer)

    assert list(facts.quarantined) == ["s"]
    [letter] = await workshop.dead_letters()
    assert letter[b"f:payload"] == b'{"n": 2}'
    assert await workshop.client.xlen(keys.inbox) == 0
    assert await workshop.store().stream_version("other") == 1


@pytest.fixture
def deadly(monkeypatch):
    """Decoding an entry whose payload says so ends the worker."""

    def parse(entry_id, fields, limits):
        if any(b"poison" in value for value in fields):
            raise Died
        return parse_entry(entry_id, fields, limits)

    monkeypatch.setattr("worker.sequencing.page.parse_entry", parse)


async def sequence_to_the_end(workshop: Workshop, **policy) -> int:
    """One sequencer after the other takes over from the dead; how many died."""

    async def take_over(_: int) -> None:
        await workshop.client.delete(workshop.store().keys.lease("sequencer"))
        await drain(workshop.sequencer(**policy))

    return await die_until_done(take_over)


async def test_an_entry_that_kills_its_worker_is_buried_and_its_neighbours_go_on(
    workshop: Workshop, deadly
):
    for number in range(3):
        await workshop.xadd("s", "x", {"n": number})
    poison = await workshop.xadd("s", "x", {"poison": True})
    await workshop.xadd("s", "x", {"n": 3})

    assert 5 <= await sequence_to_the_end(workshop, poison_attempts=5) <= 6

    [letter] = await workshop.dead_letters()
    assert (letter[b"origin_id"], letter[b"code"]) == (poison, b"poison")
    assert letter[b"attempts"] == b"5"
    events = await workshop.store().read("s")
    assert [event.payload["n"] for event in events] == [0, 1, 2, 3]


async def test_several_that_kill_are_all_buried(workshop: Workshop, deadly):
    for number in range(30):
        payload = {"poison": True} if number % 10 == 4 else {"n": number}
        await workshop.xadd(f"s{number % 4}", "x", payload)

    assert await sequence_to_the_end(workshop) >= 3 * 4

    assert [letter[b"code"] for letter in await workshop.dead_letters()] == [b"poison"] * 3
    versions = [await workshop.store().stream_version(f"s{number}") for number in range(4)]
    assert sum(versions) == 27
