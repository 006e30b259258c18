"""Pure. What must be true of a stream in Redis, and of the archive beside it.

Head, state, log and summaries agree; nothing left Redis that is not archived; what the state
calls archived is in the archive, and made of the events in the log. The caller reads Redis first
and the archive after it: what is published in between is no finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from archive.publishing.publication import StoredRound

if TYPE_CHECKING:
    from streams.state import StreamState

Kind = Literal[
    "log",
    "state",
    "summaries",
    "empty_archive",
    "not_in_archive",
    "digest_mismatch",
    "gap",
    "overlap",
    "duplicate",
    "bad_range",
    "bad_digest",
    "damaged",
    "unreadable",
    "unsafe",
    "misnumbered",
    "misplaced",
    "fork",
    "unfinished",
    "leftover",
]

Span = tuple[int, int]
"""First and last version."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise that doesn't hold, and where. A note is worth knowing and no damage.

    `stream` is empty where it concerns no one stream, `path` where it concerns no one file.
    """

    kind: Kind
    stream: str
    detail: str
    path: str = ""
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class LiveStream:
    """A stream as Redis held it at one moment: its newest version, 0 for none; its state; how
    many entries its log had; and the versions its summaries cover, oldest first, None where that
    can't be read.
    """

    stream: str
    head: int
    state: StreamState
    entries: int
    summaries: tuple[Span, ...] | None = ()


def check_stream(live: LiveStream, log_trouble: str = "") -> list[Finding]:
    """Every promise that the stream's keys break among themselves.

    `log_trouble` says what was wrong inside the log when it was read, if anything.
    """
    found = [*_check_log(live, log_trouble), *_check_state(live)]
    if live.summaries is not None:
        found += _check_summaries(live, live.summaries)
    return found


def check_archived(
    live: LiveStream, rounds: Sequence[StoredRound], digests: Mapping[Span, str]
) -> list[Finding]:
    """Every promise about what is archived of the stream; `rounds` were read after `live`.

    `digests` are those of the events that the log holds of each of `comparable_rounds`.
    """
    found = [*_check_reach(live, rounds)]
    for stored in comparable_rounds(live, rounds):
        digest = digests.get((stored.first_version, stored.last_version))
        if digest and stored.identity and stored.identity.events_digest != digest:
            detail = (
                f"round {stored.round} isn't made of the events"
                f" {stored.first_version}-{stored.last_version} of the log"
            )
            found.append(Finding("digest_mismatch", live.stream, detail))
    return found


def comparable_rounds(live: LiveStream, rounds: Sequence[StoredRound]) -> list[StoredRound]:
    """Rounds that the log can still prove: all of their events are in it.

    A round beyond the archived version may be of another life of the stream: that is a fork.
    One known by its content alone has no digest of events.
    """
    state = live.state
    return [
        stored
        for stored in _of_this_life(live, rounds)
        if state.compacted_version < stored.first_version <= stored.last_version
        and stored.last_version <= state.archived_version
        and stored.identity is not None
        and not stored.identity.events_digest.startswith("content:")
    ]


def _check_log(live: LiveStream, trouble: str) -> Iterator[Finding]:
    promised = live.head - live.state.compacted_version
    if live.entries != promised:
        detail = f"its log holds {live.entries} events, head and state promise {promised}"
        trouble = f"{detail}; {trouble}" if trouble else detail
    if trouble:
        yield Finding("log", live.stream, f"quarantined: {trouble}")


def _check_state(live: LiveStream) -> Iterator[Finding]:
    state = live.state
    order = (
        ("forgotten", state.forgotten_version),
        ("compacted", state.compacted_version),
        ("archived", state.archived_version),
        ("head", live.head),
    )
    for (low_name, low), (high_name, high) in pairwise(order):
        if low > high:
            detail = f"{low_name} version {low} is above {high_name} version {high}"
            yield Finding("state", live.stream, detail)
    if state.compacting_to and not (
        state.compacted_version < state.compacting_to <= state.archived_version
    ):
        detail = (
            f"a compaction to version {state.compacting_to} is under way,"
            f" outside {state.compacted_version + 1}-{state.archived_version}"
        )
        yield Finding("state", live.stream, detail)


def _check_summaries(live: LiveStream, summaries: Sequence[Span]) -> Iterator[Finding]:
    """They cover what was compacted and not forgotten, without gap or overlap."""
    due = live.state.forgotten_version + 1
    for first, last in summaries:
        if first != due or last < first:
            detail = f"summary {first}-{last} stands where version {due} is due"
            yield Finding("summaries", live.stream, detail)
        due = last + 1
    if due != live.state.compacted_version + 1:
        detail = f"summaries end at version {due - 1}, compacted is {live.state.compacted_version}"
        yield Finding("summaries", live.stream, detail)


def _check_reach(live: LiveStream, rounds: Sequence[StoredRound]) -> Iterator[Finding]:
    """The archive reaches the archived version; that it reaches further is worth a note."""
    version, epoch = live.state.archived_version, live.state.epoch
    life = _of_this_life(live, rounds)
    newest = max(life, key=lambda r: r.last_version, default=None)
    reached = newest.last_version if newest else 0
    if reached < version and not _may_have_gone(live, rounds):
        detail = f"archived is version {version}, no readable file of epoch {epoch} reaches it"
        yield Finding("not_in_archive", live.stream, detail)
    if newest is not None and reached > version:
        detail = (
            f"round {newest.round} is published up to version {reached}, archived is {version}:"
            " a worker has yet to take note of it, or the stream began anew in Redis"
        )
        yield Finding("unfinished", live.stream, detail, is_note=True)


def _may_have_gone(live: LiveStream, rounds: Sequence[StoredRound]) -> bool:
    """Whether the round that reached the archived version may have ended as it should.

    By rotation, where later rounds of another life of the stream filled the folder; or by
    erasure, when it was damaged already, so that its tombstone doesn't know its versions.
    """
    ours = [stored for stored in rounds if stored.is_of(live.stream)]
    newest = max((r.round for r in _of_this_life(live, rounds)), default=0)
    return any(
        (stored.epoch != live.state.epoch and stored.round > live.state.rounds)
        or (stored.erased and stored.first_version == 0 and stored.round > newest)
        for stored in ours
    )


def _of_this_life(live: LiveStream, rounds: Sequence[StoredRound]) -> list[StoredRound]:
    return [
        stored
        for stored in rounds
        if stored.is_of(live.stream)
        and stored.epoch == live.state.epoch
        and stored.first_version > 0
    ]
