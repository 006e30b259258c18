"""Pure. The round record: what one finished round of work left behind.

Field names and the nesting up to `refs` are those of ARES round files, so its readers can read
ours and ours read theirs; the fields after `refs` are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

Action = Literal["plan", "implement", "fix", "review"]
Outcome = Literal["completed", "failed", "unfinished"]
CheckKind = Literal["test", "lint", "vet", "race", "examples", "build"]

ACTIONS: Final[tuple[Action, ...]] = ("plan", "implement", "fix", "review")
OUTCOMES: Final[tuple[Outcome, ...]] = ("completed", "failed", "unfinished")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file whose content differs at the end of the round because of the agent."""

    path: str
    lines_added: int = 0
    lines_removed: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Last own run of one tool: `result` is pass, fail, skip or "N issues"."""

    kind: CheckKind
    tool: str
    result: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verification said. The first five are ARES fields, empty when not run."""

    go_vet: str = ""
    go_lint: str = ""
    go_test: str = ""
    race_detector: str = ""
    examples: str = ""
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundIdentity:
    """What makes two records the same round, whoever extracted them."""

    stream_id: str
    first_version: int
    last_version: int
    events_digest: str


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One round: `events_digest` covers its events first_version..last_version."""

    round: int
    action: Action
    summary: str
    files: tuple[FileChange, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    todos: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    refs: Mapping[str, str] = field(default_factory=dict)
    stream_id: str = ""
    tenant_id: str = ""
    epoch: int = 0
    outcome: Outcome = "completed"
    error: str = ""
    first_version: int = 0
    last_version: int = 0
    event_count: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    events_digest: str = ""

    @property
    def identity(self) -> RoundIdentity:
        """The identity by which a published file is recognised as this round."""
        return RoundIdentity(
            self.stream_id, self.first_version, self.last_version, self.events_digest
        )
