"""Pure. Mends a stream's summaries, so that they cover what was compacted, once and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from streams.errors import CorruptionError
from streams.event import Event
from streams.summary import EventSummary, rule_based_text, summarize, unpack

from .log import LOST_TYPE, shown


@dataclass(slots=True)
class MendedSummaries:
    """`unreadable` items are kept elsewhere; `notes` say what was wrong."""

    kept: list[EventSummary] = field(default_factory=list)
    unreadable: list[bytes] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The last version they cover; 0 where there is none."""
        return self.kept[-1].last_version if self.kept else 0


def read_summaries(packed: Sequence[bytes]) -> MendedSummaries:
    """Those that can be read, oldest first."""
    mended = MendedSummaries()
    for item in packed:
        try:
            mended.kept.append(unpack(item))
        except CorruptionError:
            mended.unreadable.append(item)
    if mended.unreadable:
        mended.notes.append(f"{len(mended.unreadable)} of its summaries can't be read")
    mended.kept.sort(key=lambda summary: (summary.first_version, -summary.last_version))
    return mended


def cover(mended: MendedSummaries, forgotten: int, compacted: int, ms: int) -> None:
    """Let them cover the versions after `forgotten` up to `compacted`, and no other."""
    due = forgotten + 1
    covering: list[EventSummary] = []
    for summary in mended.kept:
        first, last = max(summary.first_version, due), min(summary.last_version, compacted)
        if last < first:
            mended.notes.append(f"the summary of {_range(summary)} stands for nothing missing")
            continue
        if first > due:
            covering.append(_gap(mended, due, first - 1, ms))
        if (first, last) != (summary.first_version, summary.last_version):
            mended.notes.append(f"the summary of {_range(summary)} covers what others do")
        covering.append(replace(summary, first_version=first, last_version=last))
        due = last + 1
    if due <= compacted:
        covering.append(_gap(mended, due, compacted, ms))
    mended.kept = covering


def fold(events: Sequence[Event], missing: Sequence[int], committed_ms: int) -> EventSummary:
    """One summary of archived `events` and of those `missing` among and beside them."""
    text = "the archive has these versions otherwise than the log had them"
    if missing:
        text = f"deleted from the log by somebody, and archived: {shown(missing)}"
    if not events:
        return _bare(missing[0], missing[-1], committed_ms, text)
    told = summarize(events, committed_ms, f"{rule_based_text(events)}\n{text}")
    versions = [*missing, *(event.version for event in events)]
    types = Counter(told.types) + Counter({LOST_TYPE: len(missing)})
    return replace(told, first_version=min(versions), last_version=max(versions), types=types)


def _gap(mended: MendedSummaries, first: int, last: int, ms: int) -> EventSummary:
    mended.notes.append(f"no summary covers versions {first}-{last}")
    return _bare(first, last, ms, f"the summary of versions {first}-{last} was lost")


def _bare(first: int, last: int, ms: int, text: str) -> EventSummary:
    return EventSummary(
        first_version=first,
        last_version=last,
        committed_ms=ms,
        started_us=ms * 1000,
        ended_us=ms * 1000,
        types={LOST_TYPE: last - first + 1},
        text=text,
    )


def _range(summary: EventSummary) -> str:
    return f"versions {summary.first_version}-{summary.last_version}"
