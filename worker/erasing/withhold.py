"""Takes one archived round out of a stream's log and summaries.

A log can't lose events in its middle, so it is compacted through the round: the events before it
become summaries as usual, the round's own one that says nothing. Summaries that tell of the round
already are made anew from the records that are left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from archive.publishing.publication import StoredRound
from archive.record import RoundRecord
from streams.erasure_log import read_summaries, replace_summaries
from streams.errors import ConflictError, StreamCorrupted, TooMuchContention
from streams.summary import EventSummary, pack, rule_based_text, summarize, unpack
from streams.tail import StreamFacts, Tail, TailLimits, read_facts, read_tail
from worker.console import words

from .facts import Erased
from .plan import Versions, is_in_redis, versions_of, withheld, without_round
from .reach import Reach
from .view import Standing

_TRIES: Final = 50
_NOTED_TRIES: Final = 10
_NOTED_PAUSE_S: Final = 0.2
_PAGE: Final = TailLimits(events=1_000, bytes=8 * 1024 * 1024)


class RoundNotNoted(ConflictError):
    """Redis doesn't know yet that the round is archived, so its events can't leave the log."""

    hint = "Let a worker run (`ares-worker run --once`), then erase again."

    def __init__(self, stream: str, number: int) -> None:
        super().__init__(f"round {number} of stream {stream!r} isn't noted in its state yet")
        self.stream, self.round = stream, number


async def withhold(
    reach: Reach, stored: StoredRound, stream: str, others: Sequence[Standing], erased: Erased
) -> bool:
    """Take the round out of log and summaries; whether Redis had it in the stream's present life.

    Raises `RoundNotNoted`, `TooMuchContention`, `CorruptionError`, `StoreUnavailable`.
    """
    span, waited = versions_of(stored), 0
    for _ in range(_TRIES):
        (facts,) = await read_facts(reach.wire, reach.keys, [stream])
        if facts.damage:
            raise StreamCorrupted(stream, facts.damage)
        if not is_in_redis(stored, [other.stored for other in others], facts.head):
            return False
        if facts.state.archived_version < span.last:
            # Published a moment ago: the worker that did it is about to say so.
            if waited == _NOTED_TRIES:
                raise RoundNotNoted(stream, stored.round)
            waited += 1
            await asyncio.sleep(_NOTED_PAUSE_S)
        elif await _rewrite(reach, facts, span, others, erased):
            return True
    raise TooMuchContention(stream, _TRIES)


async def _rewrite(
    reach: Reach, facts: StreamFacts, span: Versions, others: Sequence[Standing], erased: Erased
) -> bool:
    """One attempt; False where another worker has moved the stream meanwhile."""
    stream, compacted = facts.stream, facts.state.compacted_version
    packed = await read_summaries(reach.wire, reach.keys, stream)
    old = [unpack(item) for item in packed]
    new = without_round(old, span, _left(others, facts.head))
    changed = sum(before != after for before, after in zip(old, new, strict=True))
    if compacted < span.last:
        try:
            new += await _fold(reach, facts, span)
        except StreamCorrupted:
            (now,) = await read_facts(reach.wire, reach.keys, [stream])
            if now.state == facts.state:
                raise
            return False
    if new == old:
        return True
    rewritten = [pack(summary) for summary in new]
    moved = await replace_summaries(
        reach.wire, reach.keys, stream, facts.state, packed, rewritten, through=span.last
    )
    if moved:
        first = max(span.first, compacted + 1)
        erased.summaries += changed
        erased.events += max(span.last - first + 1, 0)
        if (folded := first - compacted - 1) > 0:
            older = words.count(folded, "older event")
            erased.remarks.append(f"{older} of the log went into summaries on the way.")
    return moved


async def _fold(reach: Reach, facts: StreamFacts, span: Versions) -> list[EventSummary]:
    """Summaries of the log up to the end of the round, which itself says nothing."""
    folded: list[EventSummary] = []
    after = facts.state.compacted_version
    first = max(span.first, after + 1)
    while after < first - 1:
        tail = await read_log(reach, facts, after, first - 1)
        text = rule_based_text(tail.events)
        folded.append(summarize(tail.events, tail.committed_ms[-1], text))
        after = tail.last
    last = await read_log(reach, facts, span.last - 1, span.last)
    return [*folded, withheld(Versions(first, span.last), last.committed_ms[-1])]


async def read_log(reach: Reach, facts: StreamFacts, after: int, until: int) -> Tail:
    """A page of the log; raises `StreamCorrupted` where it isn't there."""
    return await read_tail(reach.wire, reach.keys, facts.span(after, until), _PAGE)


def _left(others: Sequence[Standing], head: int) -> list[RoundRecord]:
    """Records of the other rounds of the stream's present life."""
    stored = [other.stored for other in others]
    return [
        other.record
        for other in others
        if other.record is not None and is_in_redis(other.stored, stored, head)
    ]
