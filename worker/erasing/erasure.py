"""Erases a stream, or all of a tenant, on request: log, state, summaries, rounds and the rest.

The order: tombstones first, which hide the rounds from every reader at once; then what waits to
become events; then what is in the log and in no round yet, as tombstones too, so that nobody can
archive it any more; only then log and summaries, in one transaction with the state; last what
points at them. A crash anywhere leaves work for the same command again, and nothing that a worker
would bring back. What arrives while it runs may stay.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streams.erasure import (
    Announces,
    Concerns,
    erase_announcements,
    erase_dead,
    erase_from_groups,
    erase_waiting,
    newest_announcement,
    step_aside,
    take_over,
)
from streams.erasure_log import Removed, drop_stream, forget_archived
from streams.errors import StoreUnavailable, StreamNotFound, TooMuchContention
from streams.feed import FeedEntry
from streams.feed_upkeep import parse_id
from streams.tail import StreamFacts
from worker.sequencing.sequencer import LEASE as SEQUENCER

from .facts import Erased
from .reach import Reach
from .tail import blank
from .view import archived_streams, listed_streams, rounds_of

Progress = Callable[[int, int], None]
"""Told now and then how many streams are done, and of how many."""

_LEASE_TTL_MS: Final = 10_000
_TRIES: Final = 50
_STEP_ASIDE_S: Final = 0.2
_TELL_EVERY: Final = 100


async def erase_stream(reach: Reach, stream: str) -> Erased:
    """Erase everything of `stream` that was there when this began.

    Its name, the number of its versions and its tombstones stay, so that later events go on
    behind them. Raises `StreamNotFound` where nothing was ever known of it, `StoreUnavailable`;
    the same call again completes what was begun.
    """
    (head,) = await reach.wire.exchange([("GET", reach.keys.head(stream))])
    began = await newest_announcement(reach.wire, reach.keys)
    erased = Erased()
    erased.take(await asyncio.to_thread(reach.eraser.stream, reach.tenant, stream))
    name = stream.encode()
    await _erase_before_log(reach, lambda found: found == name, erased)
    through = {stream: await _erase_log(reach, stream, erased)}
    gone = _announced_by_then(through, began)
    await erase_feed(reach, lambda entry: entry.stream == stream and gone(entry), erased)
    await erase_from_groups(reach.wire, reach.keys, lambda found: found == name)
    await _forget_segments(reach, [stream], erased)
    await reach.refresh_index()
    if not (head or erased.found or erased.pending):
        raise StreamNotFound(stream)
    return erased


async def erase_tenant(reach: Reach, progress: Progress | None = None) -> Erased:
    """Erase everything of the tenant that was there when this began; see `erase_stream`.

    A stream that can't be erased now is pending and holds up no other.
    """
    began = await newest_announcement(reach.wire, reach.keys)
    erased = Erased()
    erased.take(await asyncio.to_thread(reach.eraser.tenant, reach.tenant))
    await _erase_before_log(reach, lambda _: True, erased)
    streams = await listed_streams(reach)
    through: dict[str, int | None] = {}
    for done, stream in enumerate(streams):
        if progress is not None and done % _TELL_EVERY == 0:
            progress(done, len(streams))
        through[stream] = await _erase_log(reach, stream, erased)
    await erase_feed(reach, _announced_by_then(through, began), erased)
    await erase_from_groups(reach.wire, reach.keys, lambda _: True)
    archived = await asyncio.to_thread(archived_streams, reach)
    known = sorted(archived.union(streams))
    erased.streams = len(known)
    await _forget_segments(reach, known, erased)
    await reach.refresh_index()
    return erased


async def erase_feed(reach: Reach, announces: Announces, erased: Erased) -> None:
    """Take entries out of the feed; who has read all of it keeps a place to stand on."""
    if await step_aside(reach.wire, reach.keys, announces):
        # Readers that wait at the end are there at once; who is slower begins anew, see `Reset`.
        await asyncio.sleep(_STEP_ASIDE_S)
    erased.feed_entries += await erase_announcements(reach.wire, reach.keys, announces)


def _announced_by_then(through: Mapping[str, int | None], began: tuple[int, int]) -> Announces:
    """Feed entries of what is gone: announced before this began, or of versions up to `through`.

    None stands for a stream that could not be erased. One that isn't among them has no events.
    """

    def gone(entry: FeedEntry) -> bool:
        version = through.get(entry.stream, 0)
        return version is not None and (parse_id(entry.id) <= began or entry.last <= version)

    return gone


async def _erase_before_log(reach: Reach, concerns: Concerns, erased: Erased) -> None:
    """Dead letters and inbox entries, while no sequencer has some of them in hand."""
    with erased.going_on("the inbox"):
        lease = await take_over(
            reach.wire,
            reach.keys,
            SEQUENCER,
            ttl_ms=_LEASE_TTL_MS,
            marks=reach.keys.attempts,
        )
        try:
            # Dead letters first: one that is requeued meanwhile is found in the inbox.
            erased.dead_letters += await erase_dead(lease, reach.wire, reach.keys, concerns)
            erased.inbox_entries += await erase_waiting(lease, reach.wire, reach.keys, concerns)
        finally:
            with contextlib.suppress(StoreUnavailable):
                await lease.release()


async def _erase_log(reach: Reach, stream: str, erased: Erased) -> int | None:
    """Tail, log, summaries and the rounds published since; up to which version all is gone.

    0 for a stream that has no versions any more, None where it could not be done now.
    """
    with erased.going_on(f"stream {stream}"):
        facts, removed = await _forget(reach, stream)
        erased.events += removed.events
        erased.summaries += removed.summaries
        if _goes_on(facts):
            await asyncio.to_thread(_erase_since, reach, stream, facts, erased)
        return facts.state.archived_version
    return None


async def _forget(reach: Reach, stream: str) -> tuple[StreamFacts, Removed]:
    wire, keys = reach.wire, reach.keys
    for _ in range(_TRIES):
        facts = await reach.burial.bury(stream)
        if _goes_on(facts):
            removed = await forget_archived(wire, keys, stream, facts.state, facts.head)
        else:
            removed = await drop_stream(wire, keys, stream, headless=not facts.damage)
        if removed is not None:
            return facts, removed
    raise TooMuchContention(stream, _TRIES)


def _goes_on(facts: StreamFacts) -> bool:
    """Whether later events get the next versions: head and state can be relied on."""
    return facts.head > 0 and not facts.damage


def _erase_since(reach: Reach, stream: str, facts: StreamFacts, erased: Erased) -> None:
    """Rounds that were published after the first look and are made of what is gone now.

    What a worker archived of later events stays, as those do.
    """
    epoch, through = facts.state.epoch, facts.state.archived_version
    found = [
        item
        for item in rounds_of(reach, stream)
        if item.record is not None
        and (item.record.epoch != epoch or item.record.last_version <= through)
    ]
    if not found:
        return
    for item in found:
        erased.settle(item.path)
    done = reach.eraser.rounds(reach.tenant, stream, {item.stored.round for item in found})
    # Blank ones were made above, of events that no round file had held.
    made = sum(item.record == blank(item.record) for item in found if item.record)
    done.erased = max(done.erased - made, 0)
    done.already_erased = 0
    erased.take(done)


async def _forget_segments(reach: Reach, streams: Iterable[str], erased: Erased) -> None:
    if reach.segments is None:
        return
    for stream in streams:
        with erased.going_on(f"segments of {stream}"):
            erased.segments += await reach.segments.forget_all(stream)
