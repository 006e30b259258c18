"""Pure. How many lines a replacement adds and removes, as a minimal diff counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

_MAX_WORK: Final = 40_000_000  # lines × lines; beyond it the order of lines is ignored


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed when `old` becomes `new`."""
    before, after = _lines(old), _lines(new)
    start = _common_start(before, after)
    before, after = before[start:], after[start:]
    end = _common_start(before[::-1], after[::-1])
    if end:
        before, after = before[:-end], after[:-end]
    if not before or not after:
        return len(after), len(before)
    if len(before) * len(after) > _MAX_WORK:
        kept = sum((Counter(before) & Counter(after)).values())
    else:
        kept = _common_length(before, after)
    return len(after) - kept, len(before) - kept


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _common_start(before: Sequence[str], after: Sequence[str]) -> int:
    same = 0
    for left, right in zip(before, after, strict=False):
        if left != right:
            break
        same += 1
    return same


def _common_length(before: Sequence[str], after: Sequence[str]) -> int:
    """Length of the longest common subsequence; one machine word handles 30 lines (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, line in enumerate(before):
        places[line] = places.get(line, 0) | (1 << place)
    full = (1 << len(before)) - 1
    row = full
    for line in after:
        hits = row & places.get(line, 0)
        row = ((row + hits) | (row - hits)) & full
    return len(before) - row.bit_count()
