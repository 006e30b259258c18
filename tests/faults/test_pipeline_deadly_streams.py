"""A stream that kills archivers is set aside and holds up no other; a failing network is none."""

from __future__ import annotations

import pytest

from streams.errors import StoreUnavailable
from support.dying import Died, die_until_done
from support.workshop import Workshop, drain
from worker.archiving import stream_archiver as archiving
from worker.archiving.deadly_streams import DeadlyStream


@pytest.fixture
def deadly(monkeypatch):
    """Building a record of the stream `deadly` ends the worker."""
    build = archiving.build_round_record

    def build_or_die(**facts):
        if facts["events"][0].stream_id == "deadly":
            raise Died
        return build(**facts)

    monkeypatch.setattr(archiving, "build_round_record", build_or_die)


@pytest.mark.parametrize("by", ["feed", "scan"])
async def test_a_stream_that_kills_archivers_is_set_aside_and_holds_up_no_other(
    every_shop: Workshop, deadly, by: str
):
    shop = every_shop
    for stream in ("a", "deadly", "z"):
        await shop.xadd_rounds(stream, 1)
    await shop.sequence()

    async def take_over(n: int) -> None:
        if by == "feed":
            await drain(shop.archiver(f"worker-{n}", claim_idle_ms=0))
        else:
            await shop.client.delete(shop.store().keys.lease("janitor"))
            await shop.janitor().run_once()

    assert 1 <= await die_until_done(take_over) <= 6

    assert shop.rounds("a") == shop.rounds("z") == [1]
    await shop.janitor().run_once()
    await shop.client.delete(shop.store().keys.lease("janitor"))
    tidied = await shop.janitor().run_once()
    assert isinstance(tidied.archived.failures["deadly"], DeadlyStream)


async def test_a_failing_network_makes_no_stream_deadly(every_shop: Workshop):
    shop = every_shop
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    archiver = shop.stream_archiver()
    attempt = archiver._attempt

    async def fail(*args):
        raise StoreUnavailable("away")

    archiver._attempt = fail
    for _ in range(10):
        with pytest.raises(StoreUnavailable):
            await archiver.archive(["s"], archiving.Archived(), wary=True)
    archiver._attempt = attempt
    archived = archiving.Archived()
    await archiver.archive(["s"], archived, wary=True)

    assert archived.failures == {}
    assert shop.rounds("s") == [1]
    assert await shop.client.hgetall(shop.store().keys.deadly) == {}
