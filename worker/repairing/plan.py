"""Pure. How a quarantined stream is mended: what its keys hold in, what they are to hold out.

Nothing is invented: what the log holds of the stream stays, what isn't of it goes to the dead
letters. Of what is gone, archived versions are summarized and others get an event in their place
that says so, for versions are dense and never used twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from streams.codec import decode_entry
from streams.errors import UsageError
from streams.plan import Head
from streams.state import StreamState
from streams.summary import EventSummary

from .log import (
    Foreign,
    RawEntry,
    SortedLog,
    cut_above,
    dense_from,
    newest_after,
    placeholder,
    shown,
    sort_log,
)
from .summaries import MendedSummaries, cover, fold, read_summaries

_MOST_LOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Reach:
    """What the archive holds of the stream's newest life; `rounds` and `epoch` count where the
    state doesn't tell. The log contradicts it up to `mismatch`: a round there isn't made of the
    events that the log holds of it.
    """

    last_version: int = 0
    rounds: int = 0
    epoch: int = 0
    mismatch: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """A stream as it is. `head` and `state` are None where they can't be read; `last_id` is the
    greatest id the log's key remembers; `troubles` say what the reading met.
    """

    stream: str
    head: Head | None
    state: StreamState | None
    entries: Sequence[RawEntry] = ()
    last_id: Head | None = None
    packed: Sequence[bytes] = ()
    reach: Reach = field(default_factory=Reach)
    troubles: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """A stream as it is to be, and what leads there; `found` is what is wrong, empty for nothing.

    `lost` versions are gone for good: neither log nor archive has them.
    """

    stream: str
    found: Sequence[str]
    head: Head
    state: StreamState
    entries: Sequence[RawEntry]
    summaries: Sequence[EventSummary]
    foreign: Sequence[Foreign] = ()
    unreadable: Sequence[bytes] = ()
    lost: Sequence[int] = ()
    folded: Sequence[int] = ()

    @property
    def needed(self) -> bool:
        """Whether there is anything to mend."""
        return bool(self.found)


def plan_repair(seen: Evidence, now_ms: int, *, head: int | None = None) -> Repair:
    """The repair of a stream; `head` overrules what its keys say of the newest version.

    `now_ms` is the time of what has none any more. Raises `UsageError` where that many versions
    would be missing that the head must be wrong.
    """
    log = sort_log(seen.stream, seen.entries)
    summaries = read_summaries(seen.packed)
    state = seen.state or _state_from(seen, log, summaries)
    version = _head_version(seen, log, state, head)
    cut_above(log, version)
    state = _ordered(state, seen.reach, version, log, summaries)
    absent = version - state.compacted_version - sum(v > state.compacted_version for v in log.own)
    if absent > _MOST_LOST:
        said = f"{absent} versions would be missing; say with --head which is the newest"
        raise UsageError(f"{said}, if it isn't {version}")
    missing = [v for v in range(state.compacted_version + 1, version + 1) if v not in log.own]
    cover(summaries, state.forgotten_version, state.compacted_version, now_ms)
    gone = [v for v in missing if v <= state.archived_version]
    folded = _fold(seen, log, summaries, state, gone, now_ms)
    entries = _dense(seen.stream, log, folded.compacted_version, version, now_ms)
    if entries:
        newest = Head(version, entries[-1].ms)
    else:
        newest = seen.head if seen.head and seen.head.version == version else Head(version, now_ms)
    repair = Repair(
        stream=seen.stream,
        found=(),
        head=newest,
        state=folded,
        entries=entries,
        summaries=summaries.kept,
        foreign=log.foreign,
        unreadable=summaries.unreadable,
        lost=missing[len(gone) :],
        folded=gone,
    )
    return replace(repair, found=_found(seen, repair, state, summaries))


def _fold(
    seen: Evidence,
    log: SortedLog,
    summaries: MendedSummaries,
    state: StreamState,
    gone: Sequence[int],
    now_ms: int,
) -> StreamState:
    """Summarize up to the last archived version that is gone, or that the archive has otherwise."""
    after = state.compacted_version
    until = max([after, *gone, min(seen.reach.mismatch, state.archived_version)])
    if until == after:
        return state
    entries = [log.own[v] for v in sorted(log.own) if after < v <= until]
    events = [decode_entry(seen.stream, entry.id, list(entry.fields)) for entry in entries]
    summaries.kept.append(fold(events, gone, entries[-1].ms if entries else now_ms))
    going = state.compacting_to if state.compacting_to > until else 0
    return replace(state, compacted_version=until, compacting_to=going)


def _state_from(seen: Evidence, log: SortedLog, summaries: MendedSummaries) -> StreamState:
    """A state for a stream that has lost its own, by what else there is."""
    reach = seen.reach
    first = min(log.own, default=0)
    before = first - 1 if first else reach.last_version
    forgotten = summaries.kept[0].first_version - 1 if summaries.kept else 0
    return StreamState(
        archived_version=max(reach.last_version, min(summaries.end, before)),
        rounds=reach.rounds,
        epoch=reach.epoch,
        compacted_version=min(max(summaries.end, before), max(reach.last_version, summaries.end)),
        forgotten_version=max(forgotten, 0),
    )


def _head_version(seen: Evidence, log: SortedLog, state: StreamState, chosen: int | None) -> int:
    """The newest version. The head key is believed, unless it is below what is archived, or
    events follow it without a gap.
    """
    if chosen is not None:
        return max(chosen, state.archived_version)
    known = max(state.archived_version, state.compacted_version)
    if seen.head is None or seen.head.version == 0:
        return newest_after(log, known, most_missing=_MOST_LOST)
    return dense_from(log, max(seen.head.version, known))


def _ordered(
    state: StreamState, reach: Reach, head: int, log: SortedLog, summaries: MendedSummaries
) -> StreamState:
    """forgotten ≤ compacted ≤ archived ≤ head, and what was compacted is out of the log.

    What is compacted was archived before, whatever the state says; but where the log still has
    it, it was not compacted.
    """
    archived, compacted = state.archived_version, state.compacted_version
    if compacted > archived and reach.last_version > archived:
        archived = min(reach.last_version, head)
    first = min(log.own, default=head + 1)
    if compacted > archived:
        compacted = max(archived, min(compacted, first - 1))
        archived = max(archived, compacted)
    if first <= compacted:
        compacted = max(min(first - 1, compacted), 0)
    elif summaries.end > compacted and summaries.end <= archived and first > summaries.end:
        compacted = summaries.end
    going = state.compacting_to if compacted < state.compacting_to <= archived else 0
    return replace(
        state,
        archived_version=min(archived, head),
        compacted_version=min(compacted, head),
        compacting_to=going,
        forgotten_version=min(state.forgotten_version, compacted),
    )


def _dense(stream: str, log: SortedLog, after: int, head: int, now_ms: int) -> list[RawEntry]:
    """Versions after `after` up to `head`, each by its own entry or by one that stands for it."""
    entries: list[RawEntry] = []
    ms = min((log.own[v].ms for v in log.own if v > after), default=now_ms)
    for version in range(after + 1, head + 1):
        entry = log.own.get(version) or placeholder(stream, version, ms)
        entries.append(entry)
        ms = entry.ms
    return entries


def _found(
    seen: Evidence, repair: Repair, state: StreamState, summaries: MendedSummaries
) -> list[str]:
    """Everything that differs, in words; `state` is the one to be, before anything is folded."""
    found = [*seen.troubles]
    if repair.foreign:
        some = "; ".join(f"{item.entry.id.decode()} {item.why}" for item in repair.foreign[:5])
        more = f" and {len(repair.foreign) - 5} more" if len(repair.foreign) > 5 else ""
        found.append(f"somebody else's entries are in its log: {some}{more}")
    elif seen.last_id is not None and seen.last_id > repair.head:
        found.append(f"its log once had an entry {seen.last_id.id}, and takes no event below it")
    if repair.lost:
        found.append(f"lost before it was archived: {shown(repair.lost)}")
    if repair.folded:
        found.append(f"gone from the log, but archived: {shown(repair.folded)}")
    if seen.reach.mismatch:
        found.append(f"up to version {seen.reach.mismatch} log and archive contradict each other")
    if seen.head is not None and seen.head != repair.head and not repair.lost:
        found.append(f"its head is {seen.head.id}, its newest event {repair.head.id}")
    if seen.state is not None and seen.state != state:
        found.append("its state contradicts its log, its head or the archive")
    elif seen.state is None and state != StreamState() and not seen.troubles:
        found.append("its state is missing")
    return [*found, *summaries.notes]
