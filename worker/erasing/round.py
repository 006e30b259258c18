"""Erases one archived round: its record, what Redis still has of it, and its segment.

The segment goes first, as only the record tells its note; then the record, which hides the round
from every reader; then what Redis has. A crash in between leaves work for the same command again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from archive.failures import RoundNotFound
from archive.publishing.publication import StoredRound
from streams.erasure import Announces, announcements, count
from streams.erasure_log import read_summaries
from streams.errors import ConflictError, StreamCorrupted
from streams.event import Event
from streams.summary import unpack
from streams.tail import read_facts
from worker.console import words

from .erasure import erase_feed
from .facts import Erased
from .plan import Versions, is_in_redis, versions_of
from .reach import Reach
from .segments import SealedRound
from .view import Standing, rounds_of
from .withhold import read_log, withhold

_UNSURE: Final = (
    "None of the stream's {} could be told to be this round's: its events are gone from the log. "
    "`ares-worker segment search` shows what they hold."
)


class RoundUnknown(ConflictError):
    """The round's file was damaged, so nothing tells which events it was made of."""

    hint = "Erase the whole stream to be sure."

    def __init__(self, stream: str, number: int) -> None:
        super().__init__(f"the damaged file of round {number} of {stream!r} told no versions")
        self.stream, self.round = stream, number


async def erase_round(reach: Reach, stream: str, number: int) -> Erased:
    """Erase round `number` of `stream`.

    Raises `RoundNotFound`, `StoreUnavailable`; the same call again completes what was begun.
    """
    rounds = await asyncio.to_thread(rounds_of, reach, stream)
    mine = [found for found in rounds if found.stored.round == number]
    if not mine:
        raise RoundNotFound(stream, number)
    others = [found for found in rounds if found.stored.round != number]
    erased = Erased()
    # Before the record goes, which tells the segment's note; after it once more, for a worker
    # that was about to seal.
    sealed = await _sealed(reach, mine)
    await _forget_segments(reach, stream, sealed, erased)
    erased.take(await asyncio.to_thread(reach.eraser.round, reach.tenant, stream, number))
    for found in mine:
        with erased.going_on(f"round {number} in Redis"):
            await _erase_in_redis(reach, found.stored, stream, others, erased)
    await _forget_segments(reach, stream, sealed, erased)
    await reach.refresh_index()
    return erased


async def preview_round(reach: Reach, stream: str, number: int) -> Erased:
    """What erasing the round now would take away. Raises `RoundNotFound`."""
    rounds = await asyncio.to_thread(rounds_of, reach, stream)
    mine = [found.stored for found in rounds if found.stored.round == number]
    if not mine:
        raise RoundNotFound(stream, number)
    would = Erased()
    would.rounds_before = sum(stored.erased for stored in mine)
    would.rounds = len(mine) - would.rounds_before
    (facts,) = await read_facts(reach.wire, reach.keys, [stream])
    others = [found.stored for found in rounds if found.stored.round != number]
    for stored in mine:
        if is_in_redis(stored, others, facts.head):
            span, compacted = versions_of(stored), facts.state.compacted_version
            would.events += max(span.last - max(span.first - 1, compacted), 0)
            summaries = map(unpack, await read_summaries(reach.wire, reach.keys, stream))
            # One that says which types of events there were has not been made anew.
            would.summaries += sum(
                bool(s.types) and span.meets(s.first_version, s.last_version) for s in summaries
            )
            announced = announcements(reach.wire, reach.keys, _within(stream, span))
            would.feed_entries += await count(announced)
    if reach.segments is not None:
        for item in await _sealed(reach, [found for found in rounds if found.stored in mine]):
            would.segments += len((await reach.segments.find(stream, item)).ids)
    return would


async def _erase_in_redis(
    reach: Reach, stored: StoredRound, stream: str, others: Sequence[Standing], erased: Erased
) -> None:
    span = versions_of(stored)
    if stored.identity is None or not (span.first or stored.identity.events_digest):
        raise RoundUnknown(stream, stored.round)
    if await withhold(reach, stored, stream, others, erased):
        await erase_feed(reach, _within(stream, span), erased)


def _within(stream: str, span: Versions) -> Announces:
    """Feed entries of nothing but these versions: one that reaches beyond is needed."""
    return lambda e: e.stream == stream and span.first <= e.first and e.last <= span.last


async def _sealed(reach: Reach, mine: Sequence[Standing]) -> list[SealedRound]:
    """What tells the round's segments; nothing where there are none to be told."""
    if reach.segments is None:
        return []
    return [
        SealedRound(
            summary=found.record.summary if found.record else "",
            events=await _events_of(reach, found),
        )
        for found in mine
    ]


async def _events_of(reach: Reach, found: Standing) -> list[Event] | None:
    """The events of a round, where all of them are still in the log."""
    span = versions_of(found.stored)
    (facts,) = await read_facts(reach.wire, reach.keys, [found.stream])
    if not facts.state.compacted_version < span.first <= span.last <= facts.head:
        return None
    events: list[Event] = []
    try:
        while len(events) <= span.last - span.first:
            tail = await read_log(reach, facts, span.first - 1 + len(events), span.last)
            events += tail.events
    except StreamCorrupted:
        return None
    return events


async def _forget_segments(
    reach: Reach, stream: str, sealed: Sequence[SealedRound], erased: Erased
) -> None:
    segments = reach.segments
    if segments is None:
        return
    with erased.going_on(f"segments of {stream}"):
        for item in sealed:
            match = await segments.find(stream, item)
            erased.segments += await segments.forget(stream, match.ids)
            if match.unsure:
                remark = _UNSURE.format(words.count(match.unsure, "segment"))
                erased.remarks = [*(r for r in erased.remarks if r != remark), remark]
