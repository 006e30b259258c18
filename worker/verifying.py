"""Checks logs, state, summaries and archive of a tenant against each other; changes nothing.

A worker may be at work meanwhile, so what looks wrong counts only when a later look finds it
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from archive.reader import FileArchiveReader
from streams.errors import CorruptionError, StreamNotFound
from streams.overview import Overview, StreamLook
from streams.redis_store import RedisEventStore
from streams.state import StreamState
from streams.summary import unpack
from streams.tail import StreamFacts, TailLimits, read_tails

from .shared_facts import VERIFY_FIELDS
from .verify_archive import ArchiveView, DigestCheck
from .verify_rules import (
    Contradiction,
    Finding,
    Kind,
    RoundFile,
    check_agreement,
    check_rounds,
    check_state,
    check_summaries,
)

_PAGE: Final = TailLimits(events=500, bytes=8 * 1024 * 1024)
_MORE_LOOKS: Final = 4
_PAUSE_S: Final = 0.3


@dataclass(slots=True)
class Checked:
    """How much was looked at."""

    streams: int = 0
    events: int = 0
    rounds: int = 0


@dataclass(slots=True)
class _Look:
    """One look at one stream."""

    facts: StreamLook
    found: list[Contradiction] = field(default_factory=list)
    events: int = 0
    rounds: int = 0


class Verifier:
    """Checks one tenant. `checked` counts what `verify` and `verify_stream` looked at."""

    def __init__(self, store: RedisEventStore, archive: FileArchiveReader) -> None:
        self.checked = Checked()
        self._store, self._archive = store, ArchiveView(archive)
        self._overview = Overview(store.wires, store.keys)

    async def verify(self) -> AsyncIterator[Finding]:
        """Every stream that Redis or the archive knows."""
        (names,) = await self._store.wires.exchange([("ZRANGE", self._store.keys.streams, 0, -1)])
        known = sorted(name.decode(errors="backslashreplace") for name in names)
        suspects: dict[str, _Look] = {}
        for stream in known:
            try:
                look = await self._look(stream)
            except StreamNotFound:
                yield self._finding(stream, (Kind.STATE, "is listed, and has no head and no log"))
                continue
            if look.found:
                suspects[stream] = look
            else:
                self._count(look)
        for finding in await self._confirmed(suspects):
            yield finding
        for stream, rounds, found in self._archive.leftovers(known):
            self.checked.streams += 1 if stream else 0
            self.checked.rounds += len(rounds)
            for contradiction in (*found, *check_rounds(rounds)):
                yield self._finding(stream, contradiction)

    async def verify_stream(self, stream: str) -> list[Finding]:
        """One stream; raises `StreamNotFound` when neither Redis nor the archive knows it."""
        look = await self._look(stream)
        if look.found:
            return await self._confirmed({stream: look})
        self._count(look)
        return []

    async def _confirmed(self, suspects: dict[str, _Look]) -> list[Finding]:
        """Look again: what every look finds is a finding, what a busy worker caused is gone."""
        found: list[Finding] = []
        for left in reversed(range(_MORE_LOOKS)):
            if suspects:
                await asyncio.sleep(_PAUSE_S)
            for stream, before in list(suspects.items()):
                try:
                    again = await self._look(stream)
                except StreamNotFound:  # forgotten meanwhile
                    del suspects[stream]
                    continue
                again.found = [item for item in again.found if item in before.found]
                if again.found and again.facts != before.facts and left:
                    suspects[stream] = again
                    continue
                del suspects[stream]
                self._count(again)
                found += [self._finding(stream, item) for item in again.found]
        return found

    def _count(self, look: _Look) -> None:
        self.checked.streams += 1
        self.checked.events += look.events
        self.checked.rounds += look.rounds

    async def note_result(self, findings: int, now_ms: int) -> None:
        """Leave the result of a whole `verify` where every worker's metrics find it."""
        succeeded, counted = VERIFY_FIELDS
        values = [counted, findings, *((succeeded, now_ms) if findings == 0 else ())]
        await self._store.wires.exchange([("HSET", self._store.keys.verify, *values)])

    async def _look(self, stream: str) -> _Look:
        # Redis first: a round that is archived meanwhile is then one too many in the archive,
        # which is only worth a note; the other way round it would be missing.
        try:
            facts = await self._overview.stream(stream)
        except StreamNotFound:
            rounds, found = self._archive.rounds(stream)
            if not rounds and not found:
                raise
            # Retired and forgotten: the archive alone remembers it.
            found += check_rounds(rounds)
            return _Look(_forgotten(stream), found, rounds=len(rounds))
        rounds, found = self._archive.rounds(stream)
        found += check_rounds(rounds)
        look = _Look(facts, found, rounds=len(rounds))
        if facts.quarantined:
            found.append((Kind.LOG, f"quarantined: {facts.quarantined}"))
            return look
        found += check_state(facts.head, facts.state)
        found += await self._check_summaries(facts)
        found += check_agreement(rounds, facts.state)
        await self._read_log(look, rounds)
        return look

    async def _check_summaries(self, facts: StreamLook) -> list[Contradiction]:
        key = self._store.keys.summaries(facts.stream)
        (packed,) = await self._store.wires.exchange([("LRANGE", key, 0, -1)])
        try:
            summaries = [unpack(item) for item in packed]
        except CorruptionError as exc:
            return [(Kind.SUMMARIES, str(exc))]
        return list(check_summaries(summaries, facts.state))

    async def _read_log(self, look: _Look, rounds: Sequence[RoundFile]) -> None:
        """Every event that is still there decodes and follows; digests are those of the files."""
        facts = look.facts
        digests = DigestCheck(rounds, facts.state)
        after = facts.state.compacted_version
        size = facts.log_bytes or 0
        span_of = StreamFacts(facts.stream, facts.head, 0, facts.state, size)
        async with self._store.wires.borrow() as wire:
            while after < facts.head:
                span = span_of.span(after, facts.head)
                tails, failures = await read_tails(wire, self._store.keys, [span], _PAGE)
                for failure in failures.values():
                    look.found.append((Kind.LOG, str(failure)))
                    if not isinstance(failure, CorruptionError):
                        raise failure
                    return
                (tail,) = tails
                look.events += len(tail.events)
                look.found += digests.feed(tail.events)
                after = tail.last

    def _finding(self, stream: str, contradiction: Contradiction) -> Finding:
        kind, detail = contradiction
        return Finding(self._store.tenant, stream, kind, detail)


def _forgotten(stream: str) -> StreamLook:
    return StreamLook(stream, 0, 0, StreamState(), 0, 0, None, "")
