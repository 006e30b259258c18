"""A stream with a past on every kind of Redis, and a look at everything that may tell of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from archive.reader import FileArchiveReader
from streams.event import Event
from support.traces import traces
from support.workshop import Workshop, drain
from worker.archiving.rounds import RoundLimits
from worker.erasing.erasure import erase_stream, erase_tenant
from worker.erasing.facts import Erased
from worker.erasing.reach import Reach, reach
from worker.erasing.round import erase_round
from worker.erasing.segments import Segments
from worker.sealing.sealer import SegmentSealer

SECRET = "the confidential plan"
"""In every event of every stream, with the stream's name and the round's number behind it."""


@dataclass(slots=True)
class Scene:
    """One tenant, its archive and segments; what is written has text to look for."""

    shop: Workshop
    base: Path
    sealer: SegmentSealer = field(init=False)

    def __post_init__(self) -> None:
        self.sealer = SegmentSealer(self.base)

    @property
    def keys(self):
        """The tenant's keys."""
        return self.shop.store().keys

    @property
    def reader(self) -> FileArchiveReader:
        """The tenant's archive."""
        return FileArchiveReader(self.shop.directory, tenants=[self.shop.tenant])

    @asynccontextmanager
    async def short(self) -> AsyncIterator[Scene]:
        """The same, with components and connections that end with the block."""
        async with AsyncExitStack() as stack:
            shop = self.shop
            yield Scene(Workshop(shop.client, shop.tenant, shop.directory, stack), self.base)

    def reach(self) -> AbstractAsyncContextManager[Reach]:
        """The reach of an erasure."""
        return reach(
            self.shop.store(),
            self.shop.directory,
            limits=RoundLimits(),
            segments=Segments(self.base, self.shop.tenant),
        )

    async def erase(self, stream: str, number: int | None = None) -> Erased:
        """Erase a stream, or one round of it."""
        async with self.reach() as found:
            if number is None:
                return await erase_stream(found, stream)
            return await erase_round(found, stream, number)

    async def erase_all(self) -> Erased:
        """Erase the tenant."""
        async with self.reach() as found:
            return await erase_tenant(found)

    async def send_rounds(self, stream: str, first: int, last: int) -> None:
        """Finished rounds `first`..`last` of three events each, into the inbox."""
        for number in range(first, last + 1):
            told = f"{SECRET} {stream}-{number}."
            await self.shop.xadd(stream, "task.created", {"task": told})
            await self.shop.xadd(stream, "message.added", {"role": "user", "content": told})
            await self.shop.xadd(stream, "task.completed", {"result": told})

    async def send_open(self, stream: str, told: str = "open") -> None:
        """One event of a round under way, into the inbox."""
        await self.shop.xadd(stream, "llm.call", {"text": f"{SECRET} {stream}-{told}."})

    async def append(self, stream: str, *kinds: str, told: str = "later") -> int:
        """Append events at once."""
        events = [Event(kind, {"result": f"{SECRET} {stream}-{told}."}) for kind in kinds]
        return await self.shop.store().append(stream, events)

    async def work(self) -> None:
        """Sequence and archive what there is."""
        await self.shop.sequence()
        await drain(self.shop.archiver(sealer=self.sealer))

    async def begin(self, stream: str) -> None:
        """Two rounds archived, the first one compacted; two more and an open one in the inbox."""
        await self.send_rounds(stream, 1, 2)
        await self.work()
        await self.compact(stream, 3)
        await self.send_rounds(stream, 3, 4)
        await self.send_open(stream)

    async def work_through(self, stream: str) -> None:
        """All a worker does with a stream; that another process was faster is no error."""
        sequencer = self.shop.sequencer(acquire_every_s=0)
        for _ in range(10):
            if (facts := await sequencer.run_once()).held and not facts.more:
                break
        await sequencer.release()
        await drain(self.shop.archiver("two"))
        await self.compact(stream, 2)

    async def compact(self, stream: str, keep: int) -> None:
        """Fold all but the newest `keep` events."""
        compactor = self.shop.compactor(threshold=1, keep_recent=keep)
        while (await compactor.compact(stream)).more:
            pass

    async def traces(self, *needles: str) -> set[str]:
        """Keys and files that hold one of `needles`."""
        folders = (self.shop.directory, self.base)
        return await traces(self.shop.client, self.shop.tenant, *needles, folders=folders)

    async def state(self, stream: str) -> dict[str, int]:
        """The state of a stream in Redis."""
        raw = await self.shop.client.hgetall(self.keys.state(stream))
        return {name.decode(): int(value) for name, value in raw.items()}


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is there to wait for."""
    monkeypatch.setattr("worker.erasing.erasure._STEP_ASIDE_S", 0)
    monkeypatch.setattr("worker.erasing.withhold._NOTED_TRIES", 0)


@pytest.fixture
def scene(workshop: Workshop, tmp_path: Path) -> Scene:
    """An empty one."""
    return Scene(workshop, tmp_path / "segments")


@pytest.fixture
async def past(scene: Scene) -> Scene:
    """Streams `s` and `other`: six rounds each, the first three compacted; an open round of `s`;
    in the inbox and among the dead letters something of both.
    """
    for stream in ("s", "other"):
        await scene.send_rounds(stream, 1, 6)
    await scene.send_open("s")
    await scene.work()
    for stream in ("s", "other"):
        await scene.compact(stream, 10 if stream == "s" else 9)
        await scene.shop.xadd(stream, "bad", f'{{"cut": "{SECRET} {stream}-dead.')
    await scene.shop.sequence()
    for stream in ("s", "other"):
        await scene.send_open(stream, "waiting")
    return scene
