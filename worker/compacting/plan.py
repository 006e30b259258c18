"""Pure. Which events of a stream a compaction takes out of its log."""

from __future__ import annotations

from dataclasses import dataclass

from streams.state import StreamState


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When and how far to compact; see the settings of the same names.

    `max_window` bounds the events of one run; a stream far behind takes several.
    """

    threshold: int = 500
    keep_recent: int = 100
    max_window: int = 1_000
    max_summaries: int = 50
    summary_ttl_ms: int = 30 * 86_400_000


@dataclass(frozen=True, slots=True)
class Window:
    """Versions first..last to fold; `resumed` from a compaction that did not end."""

    first: int
    last: int
    resumed: bool = False


def plan_relief(state: StreamState, policy: CompactionPolicy) -> Window | None:
    """The next window where Redis is short of memory: all that is archived, up to a run's bound.

    It may reach past a window that a compaction has fixed, or end in it: the one that is done
    first decides, and the other begins anew.
    """
    first = state.compacted_version + 1
    last = min(state.archived_version, state.compacted_version + policy.max_window)
    return Window(first, last) if last >= first else None


def plan_window(
    head: int,
    state: StreamState,
    policy: CompactionPolicy,
    *,
    force: bool = False,
    keep_recent: int | None = None,
) -> Window | None:
    """The next window, or None when nothing is due.

    A window once fixed is taken up again as it is. `force` compacts below the threshold, too,
    and `keep_recent` stands in for the policy's; neither touches what is not archived.
    """
    first = state.compacted_version + 1
    if state.compacting_to >= first:
        return Window(first, state.compacting_to, resumed=True)
    if not force and head - state.compacted_version <= policy.threshold:
        return None
    last = min(
        state.archived_version,
        head - (policy.keep_recent if keep_recent is None else keep_recent),
        state.compacted_version + policy.max_window,
    )
    return Window(first, last) if last >= first else None
