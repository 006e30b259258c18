"""What is lost is named and has to be accepted; what isn't is kept, each event in one place."""

from __future__ import annotations

import asyncio

import pytest

from streams.dead_letters import DeadLetters
from streams.errors import CorruptionError
from streams.event import SUMMARY_TYPE, Event
from streams.integrity import verify_stream_integrity
from support.damaged_streams import begin, foreign_entry, foreign_entry_deleted_again, mend
from support.workshop import Workshop, drain, versions
from worker.repairing.log import LOST_TYPE
from worker.repairing.repair import LossNotAccepted


async def test_a_foreign_entry_is_kept_byte_for_byte_and_can_be_sent_again(every_shop: Workshop):
    """Most likely a producer that took the log for the inbox."""
    shop = every_shop
    await begin(shop)
    fields = {"stream": "bad", "type": "llm.call", "payload": '{"n": "é"}'}
    await shop.client.xadd(shop.store().keys.log("bad"), fields)

    await mend(shop)

    letters = DeadLetters(shop.store().wires, shop.store().keys)
    [letter] = [letter async for letter in letters.list()]
    assert letter.code == "foreign"
    assert "'bad'" in letter.reason
    assert {name.decode(): value.decode() for name, value in letter.fields} == fields
    await letters.requeue(letter.id)
    await shop.sequence()
    assert (await shop.store().read("bad"))[-1].payload == {"n": "é"}


async def test_events_deleted_before_they_were_archived_are_named_and_stood_in_for(
    every_shop: Workshop,
):
    shop = every_shop
    await begin(shop, archived=False)
    entries = await shop.raw_log("bad")
    await shop.client.xdel(shop.store().keys.log("bad"), entries[1][0], entries[7][0])

    with pytest.raises(LossNotAccepted) as refusal:
        await mend(shop)
    assert list(refusal.value.lost) == [2, 8]
    done = await mend(shop, accept_loss=True)

    assert list(done.repair.lost) == [2, 8]
    events = await shop.store().read("bad")
    assert versions(events) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [event.version for event in events if event.type == LOST_TYPE] == [2, 8]
    assert await shop.store().append("bad", [Event("task.completed")]) == 9
    await drain(shop.archiver())
    assert [r.last_version for r in shop.records("bad")] == [3, 6, 9]


async def test_a_log_deleted_whole_goes_on_behind_what_is_archived(every_shop: Workshop):
    shop = every_shop
    await begin(shop, open_events=0)
    keys = shop.store().keys
    await shop.client.delete(keys.log("bad"), keys.head("bad"))

    await mend(shop)

    events = await shop.store().read("bad")
    assert [(event.type, event.version) for event in events] == [(SUMMARY_TYPE, 6)]
    assert "archived" in events[0].payload["summary"]
    assert await shop.store().append("bad", [Event("llm.call")]) == 7


async def test_the_head_can_be_given_by_whoever_knows_it(every_shop: Workshop):
    shop = every_shop
    await begin(shop)
    await shop.client.set(shop.store().keys.head("bad"), "12-1900000000000")

    with pytest.raises(LossNotAccepted):
        await mend(shop)
    done = await mend(shop, head=8)

    assert list(done.repair.lost) == []
    assert await shop.store().stream_version("bad") == 8


@pytest.mark.parametrize("damage", [b"not a summary", None], ids=["unreadable", "deleted"])
async def test_summaries_cover_again_what_was_compacted(every_shop: Workshop, damage: bytes | None):
    shop = every_shop
    await begin(shop)
    await shop.compactor().relieve("bad")
    keys = shop.store().keys
    await shop.client.delete(keys.summaries("bad"))
    if damage is not None:
        await shop.client.rpush(keys.summaries("bad"), damage)

    done = await mend(shop)

    assert any("summar" in item for item in done.found)
    assert versions(await shop.store().read("bad")) == [6, 7, 8]
    assert await shop.client.xlen(keys.dead) == (damage is not None)


@pytest.mark.damage("the dead stream holds another type")
async def test_without_a_place_for_dead_letters_nothing_leaves_the_stream(every_shop: Workshop):
    shop = every_shop
    await begin(shop)
    await foreign_entry(shop)
    await shop.client.set(shop.store().keys.dead, "x")
    before = await shop.raw_log("bad")

    with pytest.raises(CorruptionError):
        await mend(shop)

    assert await shop.raw_log("bad") == before


async def test_a_stream_is_mended_beside_workers_that_never_rest(every_shop: Workshop):
    shop = every_shop
    await begin(shop)
    sequencer, archiver = shop.sequencer(), shop.archiver()
    stop = asyncio.Event()

    async def work() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            for stream in ("bad", "good"):
                await shop.xadd(stream, "task.completed" if number % 4 == 0 else "llm.call")
            await sequencer.run_once()
            await archiver.run_once()

    working = asyncio.create_task(work())
    for _ in range(5):
        await foreign_entry(shop)
        await mend(shop)
    stop.set()
    await working
    await sequencer.release()
    shop.clock.forward(61_000)
    await mend(shop)
    await shop.sequence()

    assert await shop.client.xlen(shop.store().keys.inbox) == 0
    assert await shop.client.xlen(shop.store().keys.dead) == 5
    await drain(archiver)
    await shop.janitor().run_once()
    verify_stream_integrity(await shop.store().read("bad"))


async def test_what_a_torn_commit_took_is_recorded_once_it_is_sent_again(every_shop: Workshop):
    """Its id was marked as recorded beside the append that failed: that must not count."""
    shop = every_shop
    await begin(shop)
    await foreign_entry_deleted_again(shop)
    await shop.xadd("bad", "llm.call", {"n": 1}, id="once")
    await shop.sequence()
    letters = DeadLetters(shop.store().wires, shop.store().keys)
    [letter] = [letter async for letter in letters.list()]

    await mend(shop, accept_loss=True)
    await letters.requeue(letter.id)
    await shop.sequence()

    events = await shop.store().read("bad")
    assert [event.payload for event in events if event.id == "once"] == [{"n": 1}]


async def test_of_a_commit_torn_in_the_middle_each_event_is_in_one_place(every_shop: Workshop):
    """The id that was used up lies among those the commit needed: some got in, some didn't."""
    shop = every_shop
    await begin(shop)
    log = shop.store().keys.log("bad")
    await shop.client.xdel(log, await shop.client.xadd(log, {"by": "hand"}, id="9-1900000000000"))
    for n in range(3):
        await shop.xadd("bad", "llm.call", {"n": n}, id=f"id-{n}")
    await shop.sequence()
    letters = DeadLetters(shop.store().wires, shop.store().keys)
    dead = [letter async for letter in letters.list()]
    assert [letter.text("id") for letter in dead] == ["id-0"]

    await mend(shop, accept_loss=True)
    await letters.requeue(dead[0].id)
    await shop.sequence()

    ids = [event.id for event in await shop.store().read("bad") if event.id.startswith("id-")]
    assert ids == ["id-1", "id-2", "id-0"]
