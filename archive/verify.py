"""Pure. The promises of the archive and of a stream in Redis, checked against plain facts.

Within an epoch archived versions are contiguous; what state says is archived is in the archive;
log and summaries cover everything after what was forgotten; nothing left Redis unarchived. The
caller reads Redis first and the archive after it: what is published in between is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from .publication import StoredRound

Kind = Literal[
    "damaged",
    "unreadable",
    "unsafe",
    "leftover",
    "misnumbered",
    "misplaced",
    "bad_digest",
    "duplicate",
    "gap",
    "overlap",
    "fork",
    "log",
    "state",
    "summaries",
    "not_in_archive",
    "digest_mismatch",
]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}|content:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One promise that doesn't hold, and where. A `note` is worth knowing and no damage."""

    kind: Kind
    stream: str
    detail: str
    path: str = ""
    tenant: str = ""
    level: Literal["error", "note"] = "error"


@dataclass(frozen=True, slots=True)
class StreamState:
    """The hash `state:<stream>`; 0 where a field is absent."""

    archived_version: int = 0
    rounds: int = 0
    epoch: int = 0
    compacted_version: int = 0
    compacting_to: int = 0
    forgotten_version: int = 0


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream as read from Redis, and its rounds as read from the archive afterwards.

    `head` is its newest version, 0 for none; `log_first`, `log_last` and `log_length` describe
    the log, 0 when empty; `log_breaks` are versions read there that don't follow the one before.
    `summaries` are (first, last) versions, oldest first. `archived` is None where the archive
    was not looked at. `digests` are those of archived ranges whose events are all in the log.
    """

    stream: str
    head: int
    log_first: int
    log_last: int
    log_length: int
    state: StreamState = field(default_factory=StreamState)
    summaries: tuple[tuple[int, int], ...] = ()
    log_breaks: tuple[int, ...] = ()
    archived: tuple[StoredRound, ...] | None = None
    digests: Mapping[tuple[int, int], str] = field(default_factory=dict)
    tenant: str = ""


def check_stream(facts: StreamFacts) -> list[Finding]:
    """Every promise about one stream that its facts break."""
    found = [*_check_log(facts), *_check_state(facts), *_check_summaries(facts)]
    if facts.archived is not None:
        found += _check_archived(facts, facts.archived)
    return found


def _check_log(facts: StreamFacts) -> Iterator[Finding]:
    def finding(detail: str) -> Finding:
        return Finding("log", facts.stream, detail, tenant=facts.tenant)

    compacted = facts.state.compacted_version
    if facts.log_length != facts.head - compacted:
        yield finding(
            f"the log holds {facts.log_length} entries; head {facts.head} and compacted version"
            f" {compacted} call for {facts.head - compacted}"
        )
    if facts.log_length and facts.log_last != facts.head:
        yield finding(f"the log ends at version {facts.log_last}, head says {facts.head}")
    if facts.log_length and facts.log_first != compacted + 1:
        yield finding(f"the log starts at version {facts.log_first}, not at {compacted + 1}")
    for version in facts.log_breaks:
        yield finding(f"version {version} does not follow the entry before it")


def _check_state(facts: StreamFacts) -> Iterator[Finding]:
    state = facts.state
    order = (
        ("forgotten", state.forgotten_version, "compacted", state.compacted_version),
        ("compacted", state.compacted_version, "archived", state.archived_version),
        ("archived", state.archived_version, "newest", facts.head),
    )
    for lower, low, higher, high in order:
        if low > high:
            detail = f"the {lower} version {low} is beyond the {higher} version {high}"
            yield Finding("state", facts.stream, detail, tenant=facts.tenant)
    if state.compacting_to > state.archived_version:
        detail = (
            f"compaction up to version {state.compacting_to} has begun, beyond the archived"
            f" version {state.archived_version}"
        )
        yield Finding("state", facts.stream, detail, tenant=facts.tenant)


def _check_summaries(facts: StreamFacts) -> Iterator[Finding]:
    expected = facts.state.forgotten_version + 1
    for first, last in facts.summaries:
        if first != expected or last < first:
            detail = f"a summary covers {first}-{last} where {expected} comes next"
            yield Finding("summaries", facts.stream, detail, tenant=facts.tenant)
        expected = last + 1
    if expected != facts.state.compacted_version + 1:
        detail = (
            f"summaries end at version {expected - 1}, the log starts after"
            f" {facts.state.compacted_version}"
        )
        yield Finding("summaries", facts.stream, detail, tenant=facts.tenant)


def _check_archived(facts: StreamFacts, archived: Sequence[StoredRound]) -> Iterator[Finding]:
    version = facts.state.archived_version
    ours = [r for r in archived if r.is_of(facts.stream)]
    reached = [r for r in ours if r.epoch == facts.state.epoch and r.last_version >= version]
    if version and not reached and not any(r.last_version == version for r in ours):
        detail = f"state says archived up to version {version}; no file in the archive reaches it"
        yield Finding("not_in_archive", facts.stream, detail, tenant=facts.tenant)
    for stored in ours:
        digest = facts.digests.get((stored.first_version, stored.last_version))
        same_life = stored.epoch == facts.state.epoch and stored.last_version <= version
        if digest and same_life and stored.identity and stored.identity.events_digest != digest:
            detail = f"round {stored.round} has another digest than its events in the log"
            yield Finding("digest_mismatch", facts.stream, detail, tenant=facts.tenant)


def check_rounds(stream: str, rounds: Iterable[StoredRound], *, tenant: str = "") -> list[Finding]:
    """Every promise that the archived rounds of one stream break among themselves."""
    ordered = sorted(rounds, key=lambda r: (r.epoch, r.first_version, r.round))
    found: list[Finding] = []

    def tell(kind: Kind, detail: str, level: Literal["error", "note"] = "error") -> None:
        found.append(Finding(kind, stream, detail, tenant=tenant, level=level))

    numbers: dict[object, int] = {}
    before: StoredRound | None = None
    for stored in ordered:
        identity = stored.identity
        if identity is None:
            continue
        if identity.events_digest and not _DIGEST.fullmatch(identity.events_digest):
            tell("bad_digest", f"round {stored.round} has a malformed digest")
        same = numbers.setdefault(identity, stored.round)
        if same != stored.round and identity.first_version:
            tell("duplicate", f"rounds {same} and {stored.round} are the same round")
        elif stored.first_version > 0:
            if before is not None and before.epoch != stored.epoch:
                tell("fork", f"epoch {stored.epoch} begins with round {stored.round}", "note")
            elif before is not None:
                _follow(before, stored, tell)
            before = stored
    return found


def _follow(before: StoredRound, stored: StoredRound, tell: Callable[[Kind, str], None]) -> None:
    """Compare a round with the one before it in its epoch."""
    expected = before.last_version + 1
    if stored.first_version > expected and not before.erased:  # a tombstone never rotates away
        tell(
            "gap",
            f"versions {expected}-{stored.first_version - 1} are missing between rounds"
            f" {before.round} and {stored.round}",
        )
    elif stored.first_version < expected:
        tell("overlap", f"rounds {before.round} and {stored.round} share versions in one epoch")
