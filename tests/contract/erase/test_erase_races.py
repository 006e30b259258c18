"""Erasures and workers that meet anywhere in their work: what was there before is gone."""

from __future__ import annotations

import pytest

from archive.failures import RoundNotFound
from streams.integrity import verify_stream_integrity
from support.packets import at_packet, on_one_redis, sweep

pytestmark = [on_one_redis, pytest.mark.usefixtures("without_pauses")]


async def test_a_stream_erased_before_any_packet_of_a_workers_work_stays_erased(scene):
    async def act(scene, stream: str, number: int) -> bool:
        await scene.begin(stream)
        with at_packet(number, lambda: scene.erase(stream)) as packets:
            await scene.work_through(stream)
        if packets.reached:
            await scene.work_through(stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20


async def test_a_round_erased_before_any_packet_of_a_workers_work_stays_erased(scene):
    erased = 0

    async def act(scene, stream: str, number: int) -> bool:
        nonlocal erased
        missing: list[int] = []

        async def erase() -> None:
            for round_ in (1, 3):
                try:
                    # Published, and the state not advanced yet: pending, for the next attempt.
                    if (await scene.erase(stream, round_)).pending:
                        missing.append(round_)
                except RoundNotFound:
                    missing.append(round_)

        await scene.begin(stream)
        with at_packet(number, erase) as packets:
            await scene.work_through(stream)
        if packets.reached:
            await scene.work_through(stream)
            gone = [f" {stream}-{round_}." for round_ in (1, 3) if round_ not in missing]
            assert await scene.traces(*gone) == set(), f"before packet {number}"
            assert await scene.traces(f" {stream}-4.") != set()
            erased += len(gone)
        return packets.reached

    total = await sweep(scene, act)
    assert erased > total > 20


async def test_a_worker_before_any_packet_of_an_erasure_keeps_nothing_of_the_stream(scene):
    async def act(scene, stream: str, number: int) -> bool:
        async def work_and_tidy() -> None:
            await scene.work_through(stream)
            await scene.shop.janitor().run_once()

        await scene.begin(stream)
        with at_packet(number, work_and_tidy) as packets:
            erased = await scene.erase(stream)
        if packets.reached:
            assert erased.pending == []
            await scene.work_through(stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20


async def test_a_worker_before_any_packet_of_a_rounds_erasure_neither_keeps_it_nor_loses_another(
    scene,
):
    async def act(scene, stream: str, number: int) -> bool:
        async def work_on() -> None:
            await scene.send_rounds(stream, 5, 6)
            await scene.work_through(stream)

        await scene.begin(stream)
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


async def test_two_erasures_at_once_do_it_together(scene):
    async def act(scene, stream: str, number: int) -> bool:
        await scene.begin(stream)

        async def erase() -> None:
            await scene.erase(stream)

        with at_packet(number, erase) as packets:
            erased = await scene.erase(stream)
        if packets.reached:
            # The later one takes the sequencer's lease from the earlier one, which says so.
            if erased.pending:
                assert [item.where for item in erased.pending] == ["the inbox"]
            await scene.work_through(stream)
            assert await scene.traces(f" {stream}-") == set(), f"before packet {number}"
        return packets.reached

    assert await sweep(scene, act) > 20
