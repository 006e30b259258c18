"""Pure. What is wrong with the settings: one line a wrong value, saying where it came from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streams.errors import UsageError


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One wrong value. `key` is dotted (`archive.max_rounds`), `origin` names file or variable."""

    key: str
    reason: str
    origin: str

    def __str__(self) -> str:
        return f"{self.key}: {self.reason} ({self.origin})"


class SettingsError(UsageError):
    """The settings can't be used; `problems` has every reason, not only the first."""

    def __init__(self, problems: Sequence[SettingProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest of `known`, or nothing."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
