"""Erasing a tenant on every kind of Redis: nothing of it is left, and other tenants are whole."""

from __future__ import annotations

import pytest

from archive.publishing.writer import FileArchiveWriter
from streams.event import Event
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from support.traces import traces
from support.workshop import drain
from worker.erasing.tail import blank

pytestmark = pytest.mark.usefixtures("without_pauses")


async def test_nothing_that_was_said_anywhere_is_left(past):
    await past.append("fresh", "task.created", "task.completed", told="unarchived")

    erased = await past.erase_all()

    assert await past.traces(" s-", " other-", " fresh-") == set()
    assert (erased.pending, erased.streams) == ([], 3)
    assert (erased.rounds, erased.events, erased.summaries) == (12, 21, 2)
    assert (erased.segments, erased.inbox_entries, erased.dead_letters) == (12, 2, 2)


async def test_an_entry_that_names_no_stream_goes_too(past):
    client, keys = past.shop.client, past.keys
    await client.xadd(keys.inbox, {"what": "the confidential plan, whosever it is"})
    await past.shop.sequence()
    await client.xadd(keys.inbox, {"stream": b"\xff the confidential plan"})

    erased = await past.erase_all()

    assert erased.dead_letters == 3
    assert await past.traces("the confidential plan") == set()


async def test_another_tenant_keeps_everything(past):
    """On one Redis and one volume, with streams of the same names."""
    client, other = past.shop.client, f"{past.shop.tenant}-2"
    store = RedisEventStore(client, other)
    await store.append("s", [Event("task.completed", {"result": "kept s-1."})])
    await client.xadd(Keys(other).inbox, {"stream": "s", "type": "llm.call", "payload": "kept s-"})
    record = past.reader.read("s", 1)
    FileArchiveWriter(past.shop.directory, tenant=other).record(blank(record))
    folder = past.shop.directory / other
    before = await traces(client, other, "s-", '"round": 1', folders=(folder,))
    assert len(before) == 3

    await past.erase_all()

    assert await traces(client, other, "s-", '"round": 1', folders=(folder,)) == before
    assert b"erased" not in (folder / "s/round_1.json").read_bytes()
    await store.close()


async def test_the_tenants_streams_go_on_afterwards(past):
    await past.erase_all()

    for stream in ("s", "other", "new"):
        await past.append(stream, "task.created", "task.completed")
    await drain(past.shop.archiver("two"))

    assert {name: past.reader.list(name) for name in past.reader.streams()} == {
        "new": [1],
        "other": [7],
        "s": [8],
    }


async def test_doing_it_again_finds_nothing(past):
    await past.erase_all()

    again = await past.erase_all()

    assert (again.total, again.rounds_before, again.streams) == (0, 13, 2)


async def test_a_stream_that_redis_has_forgotten_loses_its_segments_too(past):
    client, keys = past.shop.client, past.keys
    await client.delete(keys.head("s"), keys.state("s"), keys.log("s"), keys.summaries("s"))
    await client.zrem(keys.streams, "s")

    erased = await past.erase_all()

    assert erased.segments == 12
    assert await past.traces(" s-") == set()


async def test_a_stream_that_can_not_be_erased_now_holds_up_no_other(past):
    """Its folder is a link, which nobody follows: to where, and why, a person has to look."""
    folder = past.shop.directory / past.shop.tenant / "s"
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)

    erased = await past.erase_all()

    assert erased.pending
    assert await past.traces(" other-") == set()
    folder.unlink()
    elsewhere.rename(folder)
    assert (await past.erase_all()).pending == []
    assert await past.traces(" s-") == set()
