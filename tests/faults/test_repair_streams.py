"""Streams that somebody else damaged are mended without loss; healthy ones are left alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from streams.errors import StreamNotFound
from streams.integrity import verify_stream_integrity
from support.damaged_streams import (
    begin,
    foreign_entry,
    foreign_entry_deleted_again,
    mend,
    repairer,
)
from support.verified import findings
from support.workshop import Workshop, drain, versions

Damage = Callable[[Workshop], Awaitable[None]]


async def head_of_another_type(shop: Workshop) -> None:
    await shop.client.delete(shop.store().keys.head("bad"))
    await shop.client.rpush(shop.store().keys.head("bad"), "x")


async def head_that_is_no_id(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.head("bad"), "not an id")


async def head_deleted(shop: Workshop) -> None:
    await shop.client.delete(shop.store().keys.head("bad"))


async def head_set_back(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.head("bad"), "2-5")


async def state_of_another_type(shop: Workshop) -> None:
    await shop.client.set(shop.store().keys.state("bad"), "x")


async def state_that_is_no_number(shop: Workshop) -> None:
    await shop.client.hset(shop.store().keys.state("bad"), "compacted_version", "few")


async def state_deleted(shop: Workshop) -> None:
    await shop.client.delete(shop.store().keys.state("bad"))


async def archived_event_deleted(shop: Workshop) -> None:
    entries = await shop.raw_log("bad")
    await shop.client.xdel(shop.store().keys.log("bad"), entries[1][0])


async def archived_part_trimmed(shop: Workshop) -> None:
    await shop.client.xtrim(shop.store().keys.log("bad"), minid=5, approximate=False)


HARMLESS = [
    foreign_entry,
    foreign_entry_deleted_again,
    head_of_another_type,
    head_that_is_no_id,
    head_deleted,
    head_set_back,
    state_of_another_type,
    state_that_is_no_number,
    state_deleted,
    archived_event_deleted,
    archived_part_trimmed,
]


@pytest.mark.parametrize("damage", HARMLESS)
async def test_what_the_archive_or_the_log_still_has_is_mended_without_loss(
    every_shop: Workshop, damage: Damage
):
    shop = every_shop
    await begin(shop)
    await damage(shop)
    await shop.xadd("bad", "task.completed")

    done = await mend(shop)

    assert done.found
    assert list(done.repair.lost) == []
    assert await findings(shop) == []
    await shop.sequence()
    await drain(shop.archiver())
    assert await shop.client.xlen(shop.store().keys.inbox) == 0
    assert await shop.store().stream_version("bad") == 9
    assert [(r.first_version, r.last_version) for r in shop.records("bad")] == [
        (1, 3), (4, 6), (7, 9),
    ]  # fmt: skip
    verify_stream_integrity(await shop.store().read("bad"))


async def test_a_healthy_stream_is_left_alone(shop: Workshop):
    await begin(shop)
    before = await shop.raw_log("bad")

    done = await mend(shop)

    assert list(done.found) == []
    assert await shop.raw_log("bad") == before


async def test_a_stream_that_began_anew_is_healthy(every_shop: Workshop):
    """After a reset the archive knows more than Redis: that is a new epoch, and no damage."""
    shop = every_shop
    await begin(shop)
    await shop.client.flushall()
    await shop.xadd_rounds("bad", 1)
    await shop.sequence()

    assert list((await mend(shop)).found) == []

    await drain(shop.archiver())
    assert [record.epoch for record in shop.records("bad")] == [0, 0, 1]


async def test_a_stream_that_does_not_exist_is_no_stream_to_mend(shop: Workshop):
    with pytest.raises(StreamNotFound):
        await mend(shop)
    assert await shop.client.exists(shop.store().keys.head("bad")) == 0


@pytest.mark.damage("a foreign entry")
async def test_looking_changes_nothing(every_shop: Workshop):
    shop = every_shop
    await begin(shop)
    await foreign_entry(shop)
    before = [await shop.client.dump(key) for key in sorted(await shop.client.keys("*bad*"))]

    seen = await repairer(shop).diagnose("bad")

    assert "somebody else's entries are in its log" in seen.found[0]
    assert any("dead letters" in action for action in seen.actions)
    after = [await shop.client.dump(key) for key in sorted(await shop.client.keys("*bad*"))]
    assert after == before


async def test_a_stream_that_workers_died_of_is_taken_up_again(shop: Workshop):
    await begin(shop, archived=False)
    await shop.client.hset(shop.store().keys.deadly, "bad", 5)

    done = await mend(shop)

    assert "5 workers died" in done.found[0]
    await drain(shop.archiver())
    assert shop.rounds("bad") == [1, 2]


async def test_a_round_the_archive_has_otherwise_is_read_from_there(every_shop: Workshop):
    """A log written anew by hand: of what is archived, the file counts."""
    shop = every_shop
    await begin(shop)
    log, keys = await shop.raw_log("bad"), shop.store().keys
    await shop.client.delete(keys.log("bad"))
    for name, fields in log:
        changed = {**fields, b"id": b"another"} if name.startswith(b"5-") else fields
        await shop.client.xadd(keys.log("bad"), changed, id=name)

    done = await mend(shop)

    assert "log and archive contradict each other" in done.found[0]
    assert versions(await shop.store().read("bad")) == [6, 7, 8]


async def test_a_stream_is_mended_at_maxmemory(start_server, tmp_path):
    server = start_server()
    async with AsyncExitStack() as stack, server.client() as client:
        shop = Workshop(client, "full", tmp_path / "rounds", stack)
        await begin(shop)
        await foreign_entry(shop)
        with server.admin() as admin:
            admin.config_set("maxmemory", 1)

        assert (await mend(shop)).found

        assert await findings(shop) == []
