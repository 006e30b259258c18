"""Streams `bad` and `good`, ways a foreign hand damages `bad`, and its repair."""

from __future__ import annotations

from typing import Any

from archive.storage.volume import Volume
from archive.survey import Survey
from support.workshop import Workshop, drain
from worker.repairing.repair import Diagnosis, Repairer


async def begin(shop: Workshop, *, archived: bool = True, open_events: int = 2) -> None:
    """Two rounds of three events, archived or not, and an open one; a stream beside it."""
    for stream in ("bad", "good"):
        await shop.xadd_rounds(stream, 2)
    await shop.sequence()
    if archived:
        await drain(shop.archiver())
    for n in range(open_events):
        await shop.xadd("bad", "llm.call", {"open": n})
    await shop.sequence()


def repairer(shop: Workshop) -> Repairer:
    """One with a connection of its own, which ends with the test."""
    made = Repairer(shop.store(), Survey(Volume(shop.directory), [shop.tenant]))
    shop.stack.push_async_callback(made.close)
    return made


async def mend(shop: Workshop, **options: Any) -> Diagnosis:
    """Repair `bad`; `options` as of `Repairer.mend`."""
    return await repairer(shop).mend("bad", **options)


async def foreign_entry(shop: Workshop) -> None:
    """Somebody took the log for the inbox."""
    await shop.client.xadd(shop.store().keys.log("bad"), {"by": "hand"})


async def foreign_entry_deleted_again(shop: Workshop) -> None:
    """The log looks whole, but its top id lies above the head."""
    log = shop.store().keys.log("bad")
    await shop.client.xdel(log, await shop.client.xadd(log, {"by": "hand"}))
