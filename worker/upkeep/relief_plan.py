"""Pure. When Redis is short of memory, and what to say when nothing more can be freed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streams.memory import Memory
from worker.console.words import count

SHORT_SHARE: Final = 0.9
"""Share of `maxmemory` above which everything archived leaves Redis."""

_FULL_SHARE: Final = 0.99
_OTHERS: Final = (
    "what is left are summaries, event ids of the last sequencer.seen_window_s, or not ours"
)


@dataclass(slots=True)
class Pass:
    """One way through all streams of a tenant: what it freed, and what it had to leave.

    Left are events that no round file holds yet; `entries` wait in the inbox.
    """

    freed: int = 0
    left_events: int = 0
    left_streams: int = 0
    entries: int = 0


def is_short(memory: Memory) -> bool:
    """Whether to free memory now."""
    return memory.share > SHORT_SHARE


def stuck_reason(memory: Memory, done: Pass, before: Pass) -> str:
    """Why Redis stays full: two passes on end freed nothing and found the same. Else empty."""
    if memory.share < _FULL_SHARE or done.freed or done != before:
        return ""
    left = f"{count(done.left_events, 'event')} of {count(done.left_streams, 'stream')}"
    rounds = f"not archived: {left}; unfinished rounds can't be freed" if done.left_events else ""
    waiting = f"waiting in the inbox: {done.entries:,}" if done.entries else ""
    others = "" if rounds or waiting else _OTHERS
    said = "; ".join(part for part in (rounds, waiting, others) if part)
    return f"Redis is full ({memory.share:.0%} of maxmemory), and nothing more can be freed. {said}"
