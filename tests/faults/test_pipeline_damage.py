"""Keys that somebody else damaged: their stream steps aside by name, every other one goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from streams.errors import AresError, CorruptionError, StreamCorrupted
from streams.event import Event
from support.workshop import Workshop, drain
from worker.sequencing.reader import PagePolicy

Damage = Callable[[Workshop], Awaitable[None]]


async def head_of_another_type(shop: Workshop) -> None:
    await shop.client.delete(shop.store().keys.head("bad"))
    await shop.client.rpush(shop.store().keys.head("bad"), "x")


async def head_that_is_no_id(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.head("bad"), "not an id")


async def head_deleted(shop: Workshop) -> None:
    await shop.client.delete(shop.store().keys.head("bad"))


async def state_of_another_type(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.state("bad"), "x")


async def state_that_is_no_number(shop: Workshop) -> None:
    await shop.client.hset(
        shop.store().keys.state("bad"),
        mapping={"archived_version": "many", "compacted_version": "few"},
    )


async def log_of_another_type(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.log("bad"), "x")


async def foreign_entry(shop: Workshop) -> None:
    await shop.client.xadd(shop.store().keys.log("bad"), {"by": "hand"})


async def log_and_head_deleted(shop: Workshop) -> None:
    """As if there had never been such a stream, but for what is archived of it."""
    keys = shop.store().keys
    await shop.client.delete(keys.log("bad"), keys.head("bad"))


async def foreign_entry_inside(shop: Workshop) -> None:
    """As long as its head says, and yet not ours."""
    keys = shop.store().keys
    await shop.client.xdel(keys.log("bad"), (await shop.raw_log("bad"))[-1][0])
    await shop.client.xadd(keys.log("bad"), {"by": "hand"}, id="9-9")


HEADS = [head_of_another_type, head_that_is_no_id, head_deleted]
STATES = [state_of_another_type, state_that_is_no_number]
LOGS = [log_of_another_type, foreign_entry]


async def begin(shop: Workshop) -> None:
    """Both streams have a past."""
    for stream in ("bad", "good"):
        await shop.xadd_rounds(stream, 1)
    await shop.sequence()


@pytest.mark.damage("one of the stream's keys is damaged")
@pytest.mark.parametrize("damage", [*HEADS, *LOGS])
async def test_the_sequencer_leaves_the_damaged_stream_out(every_shop: Workshop, damage: Damage):
    shop = every_shop
    await begin(shop)
    await damage(shop)
    await shop.xadd("bad", "llm.call")
    await shop.xadd("good", "llm.call")

    [facts, *_] = await drain(shop.sequencer())

    assert list(facts.quarantined) == ["bad"]
    assert await shop.store().stream_version("good") == 4
    assert await shop.client.xlen(shop.store().keys.inbox) == 1


@pytest.mark.damage("state is left of a stream without head and log")
@pytest.mark.parametrize("known", [False, True], ids=["new to it", "known to it"])
async def test_a_stream_that_vanished_does_not_begin_anew_below_what_is_archived(
    every_shop: Workshop, known: bool
):
    """Its versions would be taken for archived ones: never archived, and compacted all the same."""
    shop = every_shop
    await begin(shop)
    await drain(shop.archiver())
    sequencer = shop.sequencer()
    if known:
        await shop.xadd("bad", "llm.call")
        await drain(sequencer)
    await log_and_head_deleted(shop)
    await shop.xadd("bad", "llm.call")
    await shop.xadd("good", "llm.call")

    [facts, *_] = await drain(sequencer)

    assert list(facts.quarantined) == ["bad"]
    assert await shop.store().stream_version("bad") == 0
    assert await shop.store().stream_version("good") == 4
    assert await shop.client.xlen(shop.store().keys.inbox) == 1


async def test_a_stream_that_vanished_with_its_state_begins_anew(every_shop: Workshop):
    """Then it is as after a reset: the archive knows more, and opens an epoch."""
    shop = every_shop
    await begin(shop)
    await drain(shop.archiver())
    await log_and_head_deleted(shop)
    await shop.client.delete(shop.store().keys.state("bad"))
    await shop.xadd_rounds("bad", 1)
    await shop.sequence()
    await drain(shop.archiver())

    assert [(r.round, r.epoch) for r in shop.records("bad")] == [(1, 0), (2, 1)]


@pytest.mark.damage("one of the stream's keys is damaged")
@pytest.mark.parametrize("damage", [*HEADS, *LOGS])
async def test_an_append_to_a_damaged_stream_fails_alone(every_shop: Workshop, damage: Damage):
    shop = every_shop
    await begin(shop)
    await damage(shop)
    store = shop.store()

    with pytest.raises(CorruptionError):
        await store.append("bad", [Event("llm.call")])
    assert await store.append("good", [Event("llm.call")]) == 4


@pytest.mark.damage("one of the stream's keys is damaged")
@pytest.mark.parametrize("damage", [*HEADS, *STATES, *LOGS, foreign_entry_inside])
async def test_the_archiver_names_the_damaged_stream_and_archives_the_others(
    every_shop: Workshop, damage: Damage
):
    shop = every_shop
    await begin(shop)
    await damage(shop)

    facts = await shop.archiver().run_once()

    assert facts.archived.failures.keys() <= {"bad"}
    assert shop.rounds("good") == [1]
    assert facts.blocked is None


@pytest.mark.damage("one of the stream's keys is damaged")
@pytest.mark.parametrize("damage", [*STATES, head_of_another_type, head_that_is_no_id])
async def test_the_janitor_goes_past_a_damaged_stream(every_shop: Workshop, damage: Damage):
    shop = every_shop
    await begin(shop)
    await damage(shop)

    tidied = await shop.janitor().run_once()

    assert list(tidied.archived.failures) == ["bad"]
    assert shop.rounds("good") == [1]


@pytest.mark.damage("one of the stream's keys is damaged")
@pytest.mark.parametrize("damage", [*STATES, head_of_another_type, head_that_is_no_id])
async def test_compaction_of_a_damaged_stream_is_refused(every_shop: Workshop, damage: Damage):
    shop = every_shop
    await begin(shop)
    await damage(shop)

    with pytest.raises(StreamCorrupted):
        await shop.compactor(threshold=1, keep_recent=0).compact("bad", force=True)


@pytest.mark.damage("what is no name is listed among the streams")
async def test_names_that_are_no_text_among_the_streams_harm_nobody(every_shop: Workshop):
    shop = every_shop
    await begin(shop)
    await shop.client.zadd(shop.store().keys.streams, {b"\xff\xfe": 1, b"": 2})

    await shop.janitor().run_once()

    assert shop.rounds("good") == [1]


async def test_a_feed_entry_by_somebody_else_is_passed_over(every_shop: Workshop):
    shop = every_shop
    keys = shop.store().keys
    for fields in ({"x": "y"}, {"s": b"\xff", "f": 1, "l": 1, "t": "task.completed"},
                   {"s": "ghost", "f": 1, "l": 9, "t": "task.completed"}):  # fmt: skip
        await shop.client.xadd(keys.feed, fields)
    await begin(shop)

    await drain(shop.archiver())

    assert shop.rounds("good") == [1]
    assert (await shop.client.xpending(keys.feed, "archivers"))["pending"] == 0


@pytest.mark.damage("the summaries key holds another type")
async def test_a_summary_that_cannot_be_stored_lets_no_event_go(every_shop: Workshop):
    """EXEC does not roll back: the trim must not happen beside a push that failed."""
    shop = every_shop
    await begin(shop)
    await drain(shop.archiver())
    await shop.client.set(shop.store().keys.summaries("bad"), "x")
    before = await shop.raw_log("bad")

    with pytest.raises(AresError):
        await shop.compactor(threshold=1, keep_recent=0).compact("bad", force=True)

    assert await shop.raw_log("bad") == before


@pytest.mark.parametrize("key", ["feed", "streams"])
async def test_a_damaged_key_beside_the_log_neither_repeats_nor_loses_an_event(
    every_shop: Workshop, key: str
):
    """EXEC does not roll back: the events are recorded, whatever failed beside them."""
    shop = every_shop
    await begin(shop)
    keys = shop.store().keys
    await shop.client.set(getattr(keys, key), "x")
    await shop.xadd("good", "llm.call", {"n": 4})

    [facts, *_] = await drain(shop.sequencer())

    assert facts.quarantined == {}
    assert await shop.client.xlen(keys.dead) == 0
    await shop.client.delete(getattr(keys, key))
    assert await shop.store().append("good", [Event("llm.call")]) == 5
    assert [entry[0].partition(b"-")[0] for entry in await shop.raw_log("good")] == [
        b"1", b"2", b"3", b"4", b"5",
    ]  # fmt: skip


async def test_a_damaged_dead_stream_holds_up_no_good_entry(every_shop: Workshop):
    shop = every_shop
    keys = shop.store().keys
    await shop.client.set(keys.dead, "x")
    for n in range(5):
        await shop.xadd("s", "x", "no object")
        await shop.xadd("s", "x", {"n": n})

    facts = await drain(shop.sequencer(page=PagePolicy(entries=2)))

    assert any(item.dead_full for item in facts)
    assert await shop.store().stream_version("s") == 5
    assert await shop.client.xlen(keys.inbox) == 5
