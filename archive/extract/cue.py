"""Pure. A cue: words by which a decision or an open end is recognised.

A cue is a pattern that a sentence must match. `speaker` is who must say it, `scope` where:
`any`, or `final` for the assistant's last words, where a plan of the next step is no open end.
Patterns are case-insensitive and linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Note = Literal["decision", "todo"]
Speaker = Literal["user", "assistant", "any"]
Scope = Literal["any", "final"]


@dataclass(frozen=True, slots=True)
class Cue:
    """`hints` are lower-case strings one of which is in every match: without one the pattern is
    not tried, so the rarer a hint is, the faster. `but_not` is a pattern that spoils the match."""

    note: Note
    language: str
    speaker: Speaker
    scope: Scope
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    but_not: re.Pattern[str] | None = None


def cue(
    note: Note,
    language: str,
    speaker: Speaker,
    scope: Scope,
    hints: str,
    pattern: str,
    but_not: str = "",
) -> Cue:
    """A table entry; `hints` are separated by bars."""
    return Cue(
        note, language, speaker, scope, tuple(hints.split("|")), re.compile(pattern, re.IGNORECASE),
        re.compile(but_not, re.IGNORECASE) if but_not else None,
    )  # fmt: skip
