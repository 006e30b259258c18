"""Everywhere an erasure has to reach: one tenant's Redis, archive, segments and index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archive.erase import Eraser, Erasure
from archive.failures import ArchiveMissing
from archive.publishing.writer import FileArchiveWriter
from archive.recall.search import Recall
from archive.storage.disk import Modes
from archive.storage.volume import Volume
from archive.survey import Survey
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from streams.wire import Wire
from worker.archiving.rounds import RoundLimits
from worker.recalling.search import cache_folder
from worker.sealing.sealer import load_redactor

from .segments import Segments
from .tail import Burial

if TYPE_CHECKING:
    from worker.settings.load import Settings


class RoundsEraser(Eraser):
    """Erases many rounds of a stream with one look at its folders."""

    def rounds(self, tenant: str, stream: str, numbers: Collection[int]) -> Erasure:
        """Erase those of `numbers` that are there."""
        return self._stream(tenant, stream, lambda n, name: n in numbers and name == stream)


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure works with: `survey` reads the tenant's part of the archive.

    `segments` is None where there is no folder of them.
    """

    store: RedisEventStore
    wire: Wire
    survey: Survey
    eraser: RoundsEraser
    burial: Burial
    recall: Recall
    segments: Segments | None

    @property
    def tenant(self) -> str:
        """Whose data it is."""
        return self.store.tenant

    @property
    def keys(self) -> Keys:
        """The tenant's keys."""
        return self.store.keys

    async def refresh_index(self) -> None:
        """Take what was erased out of this user's own index, where there is one."""
        await asyncio.to_thread(self.recall.refresh)


@asynccontextmanager
async def reach(
    store: RedisEventStore,
    directory: Path,
    *,
    limits: RoundLimits,
    modes: Modes | None = None,
    sentinel: str = "",
    segments: Segments | None = None,
    cache: Path | None = None,
) -> AsyncIterator[Reach]:
    """The reach of an erasure, with a connection of its own for as long as it is needed.

    `limits` are those rounds are cut by. Raises `ArchiveMissing` where the archive, or in it the
    file `sentinel`, isn't there: what can't be seen can't be erased.
    """
    tenants = [store.tenant]
    volume = Volume(directory, modes=modes)
    with volume.root() as top:
        if sentinel and top.file_facts(sentinel) is None:
            raise ArchiveMissing(f"{directory}/{sentinel}")
    wire = store.wires.dedicated()
    # Nothing rotates away on account of rounds that are tombstones a moment later.
    writer = FileArchiveWriter(directory, 0, tenant=store.tenant, modes=modes)
    burial = Burial(wire, store.keys, writer, limits, store.clock)
    try:
        yield Reach(
            store=store,
            wire=wire,
            survey=Survey(volume, tenants),
            eraser=RoundsEraser(directory, modes=modes),
            burial=burial,
            recall=Recall(directory, tenants=tenants, cache=cache),
            segments=segments,
        )
    finally:
        burial.close()
        await wire.close()


@asynccontextmanager
async def reach_by_settings(store: RedisEventStore, settings: Settings) -> AsyncIterator[Reach]:
    """`reach`, as the settings want it."""
    archive = settings.archive
    async with reach(
        store,
        archive.dir,
        limits=RoundLimits(archive.max_round_events, archive.max_round_bytes),
        modes=Modes(file=archive.file_mode, folder=archive.dir_mode),
        sentinel=archive.sentinel_file or "",
        segments=_segments(store.tenant, settings),
        cache=cache_folder(),
    ) as found:
        yield found


def _segments(tenant: str, settings: Settings) -> Segments | None:
    """Also where sealing is switched off now: what was sealed before is still there."""
    given = settings.segments
    if given.base is None:
        return None
    return Segments(given.base, tenant, load_redactor(given.redactor) if given.redactor else None)
