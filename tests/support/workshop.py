"""A worker's components on one tenant, step by step: without the loops of the supervisor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archive.publishing.writer import FileArchiveWriter
from archive.reader import FileArchiveReader
from archive.record import RoundRecord
from streams.event import Event
from streams.feed import ARCHIVERS, FeedGroup
from streams.keys import Keys
from streams.redis_store import RedisEventStore, StoreOptions
from streams.wire import Client
from worker.archiving.archiver import Archiver, ArchiverFacts, ArchiverPolicy
from worker.archiving.rounds import RoundLimits
from worker.archiving.stream_archiver import ArchivingPolicy, StreamArchiver
from worker.compacting.compactor import LEASE_TTL_MS, Compactor
from worker.compacting.plan import CompactionPolicy
from worker.compacting.window_summary import Summarizer
from worker.sequencing.commit import InboxPolicy, Sequenced
from worker.sequencing.reader import PagePolicy
from worker.sequencing.sequencer import Sequencer, SequencerPolicy
from worker.upkeep.janitor import Janitor, JanitorPolicy
from worker.upkeep.relief import Relief
from worker.upkeep.retirement import Retirement, RetirementPolicy


@dataclass(slots=True)
class Clock:
    """Milliseconds since the epoch, moved by the test alone."""

    now_ms: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def forward(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms


@dataclass(slots=True)
class Workshop:
    """One tenant on one Redis, one archive, and as many components as a test asks for."""

    client: Client
    tenant: str
    directory: Path
    stack: AsyncExitStack
    clock: Clock = field(default_factory=Clock)
    options: StoreOptions = field(default_factory=StoreOptions)

    @property
    def keys(self) -> Keys:
        """The tenant's keys."""
        return Keys(self.tenant)

    def store(self) -> RedisEventStore:
        """A store on the shared client."""
        store = RedisEventStore(self.client, self.tenant, options=self.options, clock=self.clock)
        self.stack.push_async_callback(store.close)
        return store

    def sequencer(
        self, *, dead_max: int = 100_000, page: PagePolicy | None = None, **policy: Any
    ) -> Sequencer:
        """A sequencer with a connection of its own; `policy` as of `SequencerPolicy`."""
        store = self.store()
        wire = store.wires.dedicated()
        inbox = InboxPolicy(limits=self.options.limits, batch=self.options.batch, dead_max=dead_max)
        chosen = SequencerPolicy(inbox=inbox, page=page or PagePolicy(), **policy)
        sequencer = Sequencer(wire, store.committer(wire), store.keys, chosen, self.clock)
        self.stack.push_async_callback(sequencer.close)
        return sequencer

    async def sequence(self) -> None:
        """Sequence what is in the inbox, then let another sequencer have the lease."""
        sequencer = self.sequencer()
        await drain(sequencer)
        await sequencer.release()

    def stream_archiver(
        self, writer: Any = None, limits: RoundLimits | None = None, sealer: Any = None
    ) -> StreamArchiver:
        """An archiver of given streams; `writer` in place of one into the test's archive."""
        store = self.store()
        archiver = StreamArchiver(
            store.wires.dedicated(),
            store.keys,
            writer or FileArchiveWriter(self.directory, tenant=self.tenant),
            ArchivingPolicy(self.tenant, limits=limits or RoundLimits()),
            self.clock,
            sealer=sealer,
        )
        self.stack.push_async_callback(archiver.close)
        return archiver

    def archiver(
        self,
        consumer: str = "one",
        *,
        writer: Any = None,
        limits: RoundLimits | None = None,
        sealer: Any = None,
        **policy: Any,
    ) -> Archiver:
        """A consumer of the group `archivers`; `policy` as of `ArchiverPolicy`."""
        store = self.store()
        group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, consumer)
        archiver = Archiver(
            group, self.stream_archiver(writer, limits, sealer), ArchiverPolicy(**policy)
        )
        self.stack.push_async_callback(archiver.close)
        return archiver

    def compactor(
        self,
        summarizer: Summarizer | None = None,
        *,
        timeout_s: float = 0.2,
        lease_ttl_ms: int = LEASE_TTL_MS,
        **policy: Any,
    ) -> Compactor:
        """A compactor; `timeout_s` is the summarizer's; `policy` as of `CompactionPolicy`."""
        store = self.store()
        compactor = Compactor(
            store.wires.dedicated(),
            store.keys,
            CompactionPolicy(**policy),
            self.clock,
            summarizer=summarizer,
            summarizer_timeout_s=timeout_s,
            lease_ttl_ms=lease_ttl_ms,
        )
        self.stack.push_async_callback(compactor.close)
        return compactor

    def relief(self) -> Relief:
        """Relief, which takes the streams as they come."""
        store = self.store()
        relief = Relief(store.wires.dedicated(), store.keys, self.compactor(), lambda _: None)
        self.stack.push_async_callback(relief.close)
        return relief

    def janitor(
        self, *, writer: Any = None, idle: RetirementPolicy | None = None, **policy: Any
    ) -> Janitor:
        """A janitor; `policy` as of `JanitorPolicy`."""
        store = self.store()
        wire = store.wires.dedicated()
        archiver, compactor = self.stream_archiver(writer), self.compactor()
        retirement = Retirement(
            wire, store.keys, archiver, compactor, idle or RetirementPolicy(), self.clock
        )
        chosen = JanitorPolicy(**policy)
        janitor = Janitor(wire, store.keys, archiver, compactor, retirement, chosen)
        self.stack.push_async_callback(janitor.close)
        return janitor

    async def xadd(self, stream: str, type: str, payload: Any = None, **fields: Any) -> bytes:
        """What a producer in any language does: one XADD to the inbox."""
        given: dict[str, Any] = {"stream": stream, "type": type, **fields}
        if payload is not None:
            given["payload"] = payload if isinstance(payload, bytes | str) else json.dumps(payload)
        flat = [part for pair in given.items() for part in pair]
        entry_id: bytes = await self.client.execute_command("XADD", self.keys.inbox, "*", *flat)
        return entry_id

    async def xadd_rounds(self, stream: str, rounds: int, *, events: int = 3) -> None:
        """`rounds` finished rounds of `events` events each, into the inbox."""
        for number in range(rounds):
            await self.xadd(stream, "task.created", {"task": f"task {number}"})
            for step in range(events - 2):
                await self.xadd(stream, "llm.call", {"step": step})
            await self.xadd(stream, "task.completed", {"result": f"result {number}"})

    def rounds(self, stream: str) -> list[int]:
        """Numbers of the rounds in the archive."""
        return FileArchiveReader(self.directory).list(stream) if self.directory.exists() else []

    def records(self, stream: str) -> list[RoundRecord]:
        """The rounds in the archive, oldest first."""
        reader = FileArchiveReader(self.directory)
        return [reader.read(stream, number) for number in self.rounds(stream)]

    def files(self) -> Mapping[str, bytes]:
        """Every file of the archive, by its path below it."""
        found = sorted(path for path in self.directory.rglob("*.json"))
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in found}

    async def raw_log(self, stream: str) -> list[Any]:
        """The entries of a log as Redis has them."""
        entries: list[Any] = await self.client.xrange(self.keys.log(stream))
        return entries

    async def dead_letters(self) -> list[Mapping[bytes, bytes]]:
        """The fields of each dead letter, oldest first."""
        entries = await self.client.xrange(self.keys.dead)
        return [fields for _, fields in entries]


async def drain(component: Sequencer | Archiver) -> list[Sequenced | ArchiverFacts]:
    """Call `run_once` until there is no more to do at once; the facts of each call."""
    facts: list[Sequenced | ArchiverFacts] = []
    while True:
        facts.append(await component.run_once())
        if not facts[-1].more:
            return facts


def versions(events: Iterable[Event]) -> list[int]:
    """Versions of events, in their order."""
    return [event.version for event in events]
