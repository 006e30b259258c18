"""A cancelled exchange ends there and then: nobody may find its wire, or its replies, in use."""

from __future__ import annotations

import asyncio

import pytest

from streams.wire import Wire
from support.workshop import Workshop


@pytest.mark.parametrize("steps", range(24))
async def test_whoever_is_cancelled_while_connecting_goes_on_no_further(
    workshop: Workshop, steps: int
):
    """Steps of the loop after which it comes: among them the one that redis-py swallows."""
    wire = Wire(workshop.client, workshop.store().keys.inbox)
    asking = asyncio.create_task(wire.exchange([("PING",)]))
    for _ in range(steps):
        await asyncio.sleep(0)
    in_time = asking.cancel()
    await asyncio.wait([asking], timeout=5)

    assert asking.cancelled() or not in_time
    assert await wire.exchange([("ECHO", b"mine")]) == [b"mine"]
    await wire.close()


async def test_a_deadline_that_comes_while_connecting_is_kept(workshop: Workshop, monkeypatch):
    wire = Wire(workshop.client, workshop.store().keys.inbox)
    connect = Wire._connect

    async def swallowing(self: Wire):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await connect(self)

    monkeypatch.setattr(Wire, "_connect", swallowing)
    with pytest.raises(Exception, match="in time"):
        await wire.exchange([("PING",)], timeout_s=0.05)
    monkeypatch.undo()
    assert await wire.exchange([("PING",)]) == [b"PONG"]
    await wire.close()
