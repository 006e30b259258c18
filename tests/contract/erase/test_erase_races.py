"""Erasures that meet workers anywhere in their work: what was there before is gone all the same.

`at_packet` runs something else before one packet to Redis of what is under way, as if another
process had been faster just then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from archive.failures import RoundNotFound
from archive.published import Result
from archive.record import RoundRecord
from archive.writer import FileArchiveWriter
from streams.errors import AresError
from streams.integrity import verify_stream_integrity
from streams.wire import Wire
from support.redis_server import REDIS_7
from support.workshop import drain
from worker.sealing import SegmentSealer
from worker.sealing_erased import is_erased_in

on_one_redis = pytest.mark.parametrize("workshop", [REDIS_7], indirect=True)
"""Sweeps are long, and transactions are the same everywhere."""

Action = Callable[[], Awaitable[Any]]


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is there to wait for."""
    monkeypatch.setattr("worker.erasing._STEP_ASIDE_S", 0)
    monkeypatch.setattr("worker.erasing_withhold._NOTED_TRIES", 0)


class Packets:
    """Packets of what is under way, but not of `action`, which runs before number `at`."""

    def __init__(self, at: int, action: Action) -> None:
        self.count, self._at, self._action, self._inside = 0, at, action, False

    @property
    def reached(self) -> bool:
        """Whether there were so many packets."""
        return self.count >= self._at

    async def before(self) -> None:
        """Count one more."""
        if self._inside:
            return
        self.count += 1
        if self.count == self._at:
            self._inside = True
            await self._action()
            self._inside = False


@contextmanager
def at_packet(at: int, action: Action) -> Iterator[Packets]:
    """Run `action` before packet number `at` from here on."""
    packets, exchange = Packets(at, action), Wire.exchange

    async def counted(self: Wire, *args: Any, **kwargs: Any) -> Any:
        await packets.before()
        return await exchange(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wire, "exchange", counted)
        yield packets


async def sent(scene, stream: str) -> None:
    """Two rounds archived, the first one compacted; two more and an open one in the inbox."""
    await scene.send_rounds(stream, 1, 2)
    await scene.work()
    await scene.compact(stream, 3)
    await scene.send_rounds(stream, 3, 4)
    await scene.send_open(stream)


async def worked(scene, stream: str) -> None:
    """Everything a worker does with it; another process may have been faster, which is no error."""
    sequencer = scene.shop.sequencer(acquire_every_s=0)
    for _ in range(10):
        if (facts := await sequencer.run_once()).held and not facts.more:
            break
    await sequencer.release()
    await drain(scene.shop.archiver("two"))
    await scene.compact(stream, 2)


async def sweep(scene, act: Callable[[Any, str, int], Awaitable[bool]]) -> int:
    """Call `act` on streams s1, s2… with 1, 2… until there were not so many packets."""
    number = 1
    while True:
        async with scene.short() as short:
            if not await act(short, f"s{number}", number):
                return number - 1
        number += 1


@on_one_redis
async def test_a_stream_erased_before_any_packet_of_a_workers_work_stays_erased(scene):
    async def act(scene, stream: str, number: int) -> bool:
        await sent(scene, stream)
        with at_packet(number, lambda: scene.erase(stream)) as packets:
            await worked(scene, stream)
        if packets.reached:
            await worked(scene, stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20


@on_one_redis
async def test_a_round_erased_before_any_packet_of_a_workers_work_stays_erased(scene):
    async def act(scene, stream: str, number: int) -> bool:
        missing: list[int] = []

        async def erase() -> None:
            for round_ in (1, 3):
                try:
                    # Published, and the state not advanced yet: pending, for the next attempt.
                    if (await scene.erase(stream, round_)).pending:
                        missing.append(round_)
                except RoundNotFound:
                    missing.append(round_)

        await sent(scene, stream)
        with at_packet(number, erase) as packets:
            await worked(scene, stream)
        if packets.reached:
            await worked(scene, stream)
            gone = [f" {stream}-{round_}." for round_ in (1, 3) if round_ not in missing]
            assert await scene.traces(*gone) == set(), f"before packet {number}"
            assert await scene.traces(f" {stream}-4.") != set()
        return packets.reached

    assert await sweep(scene, act) > 20


@on_one_redis
async def test_a_worker_before_any_packet_of_an_erasure_keeps_nothing_of_the_stream(scene):
    async def act(scene, stream: str, number: int) -> bool:
        async def work_and_tidy() -> None:
            await worked(scene, stream)
            await scene.shop.janitor().run_once()

        await sent(scene, stream)
        with at_packet(number, work_and_tidy) as packets:
            erased = await scene.erase(stream)
        if packets.reached:
            assert erased.pending == []
            await worked(scene, stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20


@on_one_redis
async def test_a_worker_before_any_packet_of_a_rounds_erasure_neither_keeps_it_nor_loses_another(
    scene,
):
    async def act(scene, stream: str, number: int) -> bool:
        async def work_on() -> None:
            await scene.send_rounds(stream, 5, 6)
            await worked(scene, stream)

        await sent(scene, stream)
        await scene.work()
        with at_packet(number, work_on) as packets:
            erased = await scene.erase(stream, 3)
        if packets.reached:
            assert erased.pending == []
            assert await scene.traces(f" {stream}-3.") == set(), f"before packet {number}"
            verify_stream_integrity(await scene.shop.store().read(stream))
            assert scene.reader.list(stream) == [1, 2, 4, 5, 6]
        return packets.reached

    assert await sweep(scene, act) > 8


@on_one_redis
async def test_what_is_appended_before_any_packet_of_an_erasure_is_there_or_gone_but_not_half(
    scene,
):
    kept = 0

    async def act(scene, stream: str, number: int) -> bool:
        nonlocal kept
        await sent(scene, stream)
        kinds = ("task.created", "task.completed", "llm.call")
        with at_packet(number, lambda: scene.append(stream, *kinds, told="meanwhile")) as packets:
            assert (await scene.erase(stream)).pending == []
        if packets.reached:
            old = [f" {stream}-{n}." for n in (1, 2, 3, 4, "open")]
            assert await scene.traces(*old) == set(), f"before packet {number}"
            events = await scene.shop.store().read(stream)
            verify_stream_integrity(events)
            await worked(scene, stream)
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
        await sent(scene, stream)
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
            await worked(scene, stream)
            rounds = scene.reader.list(stream)
            assert (len(events), len(rounds)) in ((3, 1), (0, 0)), f"before packet {number}"
            feed = await scene.shop.client.xrange(keys.feed)
            announced = [f for _, f in feed if f[b"s"] == stream.encode() and f[b"t"]]
            assert len(announced) == bool(events), f"before packet {number}"
            kept += bool(events)
        return packets.reached

    total = await sweep(scene, act)
    assert 0 < kept < total


@on_one_redis
async def test_two_erasures_at_once_do_it_together(scene):
    async def act(scene, stream: str, number: int) -> bool:
        await sent(scene, stream)

        async def erase() -> None:
            await scene.erase(stream)

        with at_packet(number, erase) as packets:
            erased = await scene.erase(stream)
        if packets.reached:
            # The later one takes the sequencer's lease from the earlier one, which says so.
            if erased.pending:
                assert [item.where for item in erased.pending] == ["the inbox"]
            await worked(scene, stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20


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
    await sent(scene, "s")
    await scene.shop.sequence()
    writer = FileArchiveWriter(scene.shop.directory, tenant=scene.shop.tenant)
    interrupted = InterruptedWriter(writer, when, lambda: scene.erase("s"))

    await drain(scene.shop.archiver("two", writer=interrupted))

    assert scene.reader.list("s") == []
    assert await scene.traces(" s-") == set()
    assert (await scene.state("s"))["archived_version"] == 13


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_a_worker_that_has_read_a_stream_can_not_seal_it_once_it_is_erased(scene, when):
    await sent(scene, "s")
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
