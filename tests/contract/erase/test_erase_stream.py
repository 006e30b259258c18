"""Erasing a stream on every kind of Redis: nothing of it is left, and its neighbours are whole."""

from __future__ import annotations

import pytest

from archive.failures import RoundErased
from streams.errors import StreamNotFound
from streams.event import Event
from support.workshop import drain, versions

pytestmark = pytest.mark.usefixtures("without_pauses")


async def test_nothing_that_was_said_in_the_stream_is_left_anywhere(past):
    assert len(await past.traces("s-1.", "s-4.", "s-6.", "s-open.", "s-dead.", "s-waiting.")) > 8

    erased = await past.erase("s")

    assert await past.traces(" s-") == set()
    assert erased.pending == []
    assert (erased.rounds, erased.events, erased.summaries) == (6, 10, 1)
    assert (erased.segments, erased.inbox_entries, erased.dead_letters) == (6, 1, 1)


async def test_other_streams_keep_everything(past):
    before = await past.traces(" other-")

    await past.erase("s")

    assert await past.traces(" other-") == before
    assert past.reader.list("other") == [1, 2, 3, 4, 5, 6]
    assert versions(await past.shop.store().read("other")) == [9, *range(10, 19)]


async def test_every_round_is_a_tombstone_and_the_open_one_too(past):
    await past.erase("s")

    assert past.reader.list("s") == []
    assert past.reader.streams() == ["other"]
    for number in range(1, 8):
        with pytest.raises(RoundErased) as refused:
            past.reader.read("s", number)
    assert (refused.value.identity.first_version, refused.value.identity.last_version) == (19, 19)


async def test_versions_and_rounds_go_on_behind_what_was_erased(past):
    await past.erase("s")

    assert await past.shop.store().read("s") == []
    assert await past.shop.store().stream_version("s") == 19
    assert await past.append("s", "task.created", "task.completed") == 21
    await drain(past.shop.archiver("two"))

    assert past.reader.list("s") == [8]
    assert past.reader.read("s", 8).first_version == 20
    assert versions(await past.shop.store().read("s")) == [20, 21]


async def test_no_feed_entry_announces_what_is_gone(past):
    await past.erase("s")

    feed = await past.shop.client.xrange(past.keys.feed)
    of_s = [entry for _, entry in feed if entry[b"s"] == b"s"]
    assert [(entry[b"f"], entry[b"l"], entry[b"t"]) for entry in of_s] in (
        [],
        [(b"20", b"19", b"")],
    )
    pending = await past.shop.client.xpending(past.keys.feed, "archivers")
    assert pending["pending"] == 0


async def test_doing_it_again_finds_nothing_and_says_what_was_erased_before(past):
    await past.erase("s")

    again = await past.erase("s")

    assert (again.total, again.rounds_before) == (0, 7)


async def test_a_stream_that_never_was_is_not_found(past):
    with pytest.raises(StreamNotFound):
        await past.erase("nobody")

    assert await past.shop.client.exists(past.keys.state("nobody")) == 0


async def test_a_stream_that_only_waits_in_the_inbox_is_erased(past):
    await past.send_open("new")

    assert (await past.erase("new")).inbox_entries == 1

    await past.shop.sequence()
    assert await past.shop.store().list_streams() == ["other", "s"]


async def test_a_stream_that_only_the_archive_remembers_is_erased(past):
    await past.shop.client.delete(
        past.keys.head("s"), past.keys.state("s"), past.keys.log("s"), past.keys.summaries("s")
    )
    await past.shop.client.zrem(past.keys.streams, "s")

    assert (await past.erase("s")).rounds == 6

    assert await past.traces(" s-") == set()


async def test_a_stream_that_no_worker_has_archived_yet_is_erased(past):
    await past.append("fresh", "task.created", "task.completed", "llm.call", told="unarchived")

    erased = await past.erase("fresh")

    assert (erased.rounds, erased.events) == (0, 3)
    assert await past.traces("fresh-unarchived") == set()
    await drain(past.shop.archiver("two"))
    assert past.reader.list("fresh") == []
    assert await past.state("fresh") == {
        "archived_version": 3,
        "rounds": 2,
        "epoch": 0,
        "compacted_version": 3,
        "compacting_to": 0,
        "forgotten_version": 3,
    }


@pytest.mark.parametrize("stream", ["Straße/Ünïcode 1", "../x", "a" * 200, "x:y*[z]"])
async def test_any_name_of_a_stream_will_do(past, stream: str):
    await past.append(stream, "task.created", "task.completed", told="unarchived")
    await drain(past.shop.archiver("two"))

    assert (await past.erase(stream)).rounds == 1

    assert await past.traces("-unarchived") == set()


@pytest.mark.parametrize("harm", ["foreign entry", "lost entry", "another type", "no head"])
async def test_a_quarantined_stream_is_erased_and_works_again(past, harm: str):
    client, log = past.shop.client, past.keys.log("s")
    if harm == "foreign entry":
        await client.xadd(log, {"type": f"{SECRET_OF_S}"}, id="99-1")
    elif harm == "lost entry":
        await client.xdel(log, (await client.xrange(log, "19", "19"))[0][0])
    elif harm == "another type":
        await client.delete(log)
        await client.set(log, SECRET_OF_S)
    else:
        await client.delete(past.keys.head("s"))

    erased = await past.erase("s")

    assert erased.pending == []
    assert await past.traces(" s-") == set()
    await past.shop.store().append("s", [Event("task.created"), Event("task.completed")])
    await drain(past.shop.archiver("two"))
    assert len(past.reader.list("s")) == 1


async def test_what_can_not_be_read_back_of_an_entry_is_erased_too(past):
    """A tail that no worker could ever archive must not be what keeps its content alive."""
    client, keys = past.shop.client, past.keys
    raw = {
        "type": "task.completed",
        "id": "x",
        "ts": "no time",
        "module": "",
        "payload": "",
        "meta": "",
    }
    await client.xadd(keys.log("s"), raw, id="20-1900000000000")
    await client.set(keys.head("s"), "20-1900000000000")

    assert (await past.erase("s")).pending == []

    assert await client.exists(keys.log("s")) == 0
    assert (await past.state("s"))["archived_version"] == 20


SECRET_OF_S = "planted s-foreign."


async def test_a_sequencer_goes_on_afterwards_and_misses_nothing(past):
    """It had the lease, and finds entries gone that it didn't take: erased is not lost."""
    sequencer = past.shop.sequencer()
    assert (await sequencer.run_once()).held
    await past.send_open("s", "later")
    await past.send_open("other", "later")

    await past.erase("s")

    past.shop.clock.forward(60_000)
    seen = [await sequencer.run_once() for _ in range(4)]
    assert sum(facts.events for facts in seen) == 1
    assert not any(facts.lost for facts in seen)
    assert await past.traces(" s-later.") == set()
