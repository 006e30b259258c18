"""Pure. Runs every extractor over one round's events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archive.record import Action, FileChange, Outcome, Verdict
from streams.event import Event, EventType

from .action import find_action
from .files import find_files
from .injected import hook_notices
from .mentions import find_refs
from .notes import find_notes
from .prose import find_speech
from .summary import find_error, find_summary
from .verdicts import find_verdict
from .view import build_view


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a round's events say; `refs` holds the values of a role in the order met."""

    action: Action
    summary: str
    files: tuple[FileChange, ...]
    verdict: Verdict
    todos: tuple[str, ...]
    decisions: tuple[str, ...]
    refs: Mapping[str, Sequence[str]]
    outcome: Outcome
    error: str


def extract(events: Sequence[Event], *, outcome: Outcome | None = None) -> Extraction:
    """Everything the record keeps of these events; a function of them alone."""
    view = build_view(events)
    speech = find_speech(view)
    ended: Outcome = outcome or _outcome(view.ended)
    files = find_files(view)
    decisions, todos = find_notes(speech)
    return Extraction(
        action=find_action(view, speech, files),
        summary=find_summary(view, speech, ended),
        files=files,
        verdict=find_verdict(view),
        todos=todos,
        decisions=decisions,
        refs=find_refs(view, speech, hook_notices(view)),
        outcome=ended,
        error=find_error(view, speech, ended),
    )


def _outcome(ended: str) -> Outcome:
    if not ended:
        return "unfinished"
    return "failed" if ended == EventType.TASK_FAILED else "completed"
