"""Appends and rounds under way that meet an erasure: there or gone, but never half."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from archive.publishing.published import Result
from archive.publishing.writer import FileArchiveWriter
from archive.record import RoundRecord
from streams.errors import AresError
from streams.integrity import verify_stream_integrity
from support.packets import Action, at_packet, on_one_redis, sweep
from support.workshop import drain
from worker.sealing.erased import is_erased_in
from worker.sealing.sealer import SegmentSealer

pytestmark = pytest.mark.usefixtures("without_pauses")


@on_one_redis
async def test_what_is_appended_before_any_packet_of_an_erasure_is_there_or_gone_but_not_half(
    scene,
):
    kept = 0

    async def act(scene, stream: str, number: int) -> bool:
        nonlocal kept
        await scene.begin(stream)
        kinds = ("task.created", "task.completed", "llm.call")
        with at_packet(number, lambda: scene.append(stream, *kinds, told="meanwhile")) as packets:
            assert (await scene.erase(stream)).pending == []
        if packets.reached:
            old = [f" {stream}-{n}." for n in (1, 2, 3, 4, "open")]
            assert await scene.traces(*old) == set(), f"before packet {number}"
            events = await scene.shop.store().read(stream)
            verify_stream_integrity(events)
            await scene.work_through(stream)
            rounds = scene.reader.list(stream)
            assert (len(events), len(rounds)) in ((3, 1), (0, 0)), f"before packet {number}"
            kept += bool(events)
        return packets.reached

    total = await sweep(scene, act)
    assert 0 < kept < total


@on_one_redis
async def test_a_stream_redis_had_forgotten_may_begin_anew_before_any_packet_of_its_erasure(scene):
    kept = 0

    async def act(scene, stream: str, number: int) -> bool:
        nonlocal kept
        await scene.begin(stream)
        await scene.work()
        keys = scene.keys
        await scene.shop.client.delete(
            keys.head(stream), keys.state(stream), keys.log(stream), keys.summaries(stream)
        )
        await scene.shop.client.zrem(keys.streams, stream)
        kinds = ("task.created", "task.completed", "llm.call")
        with at_packet(number, lambda: scene.append(stream, *kinds, told="meanwhile")) as packets:
            assert (await scene.erase(stream)).pending == []
        if packets.reached:
            old = [f" {stream}-{n}." for n in (1, 2, 3, 4, "open")]
            assert await scene.traces(*old) == set(), f"before packet {number}"
            events = await scene.shop.store().read(stream)
            await scene.work_through(stream)
            rounds = scene.reader.list(stream)
            assert (len(events), len(rounds)) in ((3, 1), (0, 0)), f"before packet {number}"
            feed = await scene.shop.client.xrange(keys.feed)
            announced = [f for _, f in feed if f[b"s"] == stream.encode() and f[b"t"]]
            assert len(announced) == bool(events), f"before packet {number}"
            kept += bool(events)
        return packets.reached

    total = await sweep(scene, act)
    assert 0 < kept < total


class InterruptedWriter:
    """Publishes; before or after that, an erasure does all its work."""

    def __init__(self, writer: FileArchiveWriter, when: str, erase: Action) -> None:
        self._writer, self._when, self._erase = writer, when, erase
        self._loop = asyncio.get_running_loop()
        self._done = False

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        waiting, results = list(records), []
        self._interrupt("before")
        for record in waiting:
            results += self._writer.record_many([record])
            if isinstance(results[-1], AresError):
                return results + [results[-1]] * (len(waiting) - len(results))
            self._interrupt("between")
        self._interrupt("after")
        return results

    def record(self, record: RoundRecord, **given: Any) -> Any:
        """As `FileArchiveWriter.record`."""
        return self._writer.record(record, **given)

    def _interrupt(self, when: str) -> None:
        if when == self._when and not self._done:
            self._done = True
            asyncio.run_coroutine_threadsafe(self._erase(), self._loop).result(30)


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_a_worker_that_has_read_a_stream_can_not_publish_it_once_it_is_erased(
    scene, when: str
):
    """Its rounds are built and in its memory: what it would publish has tombstones by then."""
    await scene.begin("s")
    await scene.shop.sequence()
    writer = FileArchiveWriter(scene.shop.directory, tenant=scene.shop.tenant)
    interrupted = InterruptedWriter(writer, when, lambda: scene.erase("s"))

    await drain(scene.shop.archiver("two", writer=interrupted))

    assert scene.reader.list("s") == []
    assert await scene.traces(" s-") == set()
    assert (await scene.state("s"))["archived_version"] == 13


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_a_worker_that_has_read_a_stream_can_not_seal_it_once_it_is_erased(scene, when):
    await scene.begin("s")
    await scene.shop.sequence()
    writer = FileArchiveWriter(scene.shop.directory, tenant=scene.shop.tenant)
    interrupted = InterruptedWriter(writer, when, lambda: scene.erase("s"))
    sealer = SegmentSealer(scene.base, is_erased=is_erased_in(scene.shop.directory))

    await drain(scene.shop.archiver("two", writer=interrupted, sealer=sealer))

    assert scene.reader.list("s") == []
    assert await scene.traces(" s-") == set()


async def test_an_erased_inbox_entry_is_no_lost_one_however_young_the_lease(past):
    """The sequencer renews its lease before it calls entries lost: an erasure takes it over."""
    sequencer = past.shop.sequencer()
    for _ in range(4):
        await sequencer.run_once()
    past.shop.clock.forward(9_900)
    await past.send_open("other", "one")
    for _ in range(2):
        await sequencer.run_once()
    for step in ("later", "latest"):
        await past.send_open("s", step)
    await past.erase("s")
    past.shop.clock.forward(200)

    seen = [await sequencer.run_once() for _ in range(4)]

    assert [facts.lost for facts in seen if facts.lost] == []
