"""Pure. What must be true of the archived rounds of one stream among themselves.

Within an epoch, ordered by version, they follow each other. Their numbers say nothing: a round
may stand behind later ones where two clusters, or a restored one, wrote into one folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from archive.publishing.publication import StoredRound
from archive.record import RoundIdentity

from .checks import Finding

_DIGEST: Final = re.compile(r"[0-9a-f]{64}|content:[0-9a-f]{64}")


def check_rounds(stream: str, rounds: Iterable[StoredRound]) -> list[Finding]:
    """Every promise that the rounds of `stream` break among themselves.

    Damaged files say nothing and are passed over. Rounds without versions, as ARES writes them,
    need not follow each other.
    """
    known = sorted(
        (stored for stored in rounds if stored.identity is not None),
        key=lambda r: (r.epoch, r.first_version, r.round),
    )
    single = [finding for stored in known for finding in _check_one(stream, stored)]
    return [*single, *_check_order(stream, known)]


def _check_one(stream: str, stored: StoredRound) -> Iterator[Finding]:
    first, last = stored.first_version, stored.last_version
    if (first, last) != (0, 0) and not 0 < first <= last:
        yield Finding("bad_range", stream, f"round {stored.round} has versions {first}-{last}")
    digest = stored.identity.events_digest if stored.identity else ""
    if digest and not _DIGEST.fullmatch(digest):
        yield Finding("bad_digest", stream, f"round {stored.round} has a malformed digest")


def _check_order(stream: str, known: Iterable[StoredRound]) -> Iterator[Finding]:
    """`known` are ordered by epoch and version."""
    distinct: dict[RoundIdentity | None, StoredRound] = {}
    blank: list[int] = []
    for stored in known:
        if stored.first_version > 0:
            same = distinct.setdefault(stored.identity, stored)
            if same is not stored:
                detail = f"{_named(same)} and {_named(stored)} are the same round"
                yield Finding("duplicate", stream, detail)
        elif stored.erased:
            blank.append(stored.round)
    started = False
    for epoch, group in groupby(distinct.values(), key=lambda r: r.epoch):
        chain = list(group)
        if started:
            detail = f"epoch {epoch} begins with round {chain[0].round}"
            yield Finding("fork", stream, detail, is_note=True)
        started = True
        yield from _check_epoch(stream, chain, blank)


def _check_epoch(
    stream: str, chain: Sequence[StoredRound], blank: Sequence[int]
) -> Iterator[Finding]:
    """`blank` are numbers of tombstones that don't know their versions."""
    has_content = False
    for before, stored in pairwise(chain):
        has_content = has_content or not before.erased
        due = before.last_version + 1
        where = f"rounds {before.round} and {stored.round}"
        if stored.first_version < due:
            yield Finding("overlap", stream, f"{where} share versions in one epoch")
        # Rotation takes an epoch's oldest rounds and leaves tombstones: where nothing but these
        # is before a gap, the rounds in it may have ended as they should.
        elif stored.first_version > due and has_content:
            low, high = sorted((before.round, stored.round))
            erased = next((number for number in blank if low < number < high), 0)
            versions = f"versions {due}-{stored.first_version - 1}"
            detail = f"no readable file has {versions}, between {where}"
            if erased:
                detail += f"; round {erased} was damaged when it was erased"
            yield Finding("gap", stream, detail, is_note=bool(erased))


def _named(stored: StoredRound) -> str:
    return f"round {stored.round} (erased)" if stored.erased else f"round {stored.round}"
