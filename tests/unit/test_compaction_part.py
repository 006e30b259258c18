"""How long the part of a worker that compacts waits for work: until there is some, or the end."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from support.waiting import turns
from worker.running.parts import CompactionPart, DueStreams

THRESHOLD = 10


@pytest.fixture
def due() -> DueStreams:
    return DueStreams(THRESHOLD)


@pytest.fixture
def part(due: DueStreams) -> CompactionPart:
    """One that never gets to compact: only its waiting is looked at."""
    return CompactionPart(Mock(), Mock(tenant="default"), due)


async def test_without_work_it_rests(part: CompactionPart):
    resting = asyncio.create_task(part.rest(asyncio.Event()))
    await turns(10)

    assert not resting.done()
    resting.cancel()


async def test_it_goes_on_at_once_when_a_stream_is_due(part: CompactionPart, due: DueStreams):
    resting = asyncio.create_task(part.rest(asyncio.Event()))
    await turns(10)
    due.note({"s": THRESHOLD + 1})
    await turns(10)

    assert resting.done()


async def test_a_stream_that_is_not_due_is_no_work(part: CompactionPart, due: DueStreams):
    resting = asyncio.create_task(part.rest(asyncio.Event()))
    due.note({"s": THRESHOLD})
    await turns(10)

    assert not resting.done()
    resting.cancel()


async def test_a_worker_told_to_stop_does_not_wait_for_it(part: CompactionPart):
    stop = asyncio.Event()
    resting = asyncio.create_task(part.rest(stop))
    await turns(10)
    stop.set()
    await turns(10)

    assert resting.done()
