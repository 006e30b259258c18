"""Pure. Decisions and open ends, word for word, from what user and assistant said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .cues import CUES, HEADINGS, Cue, Note
from .prose import Said, Speech, sentences

_SHORTEST: Final = 12
_LONGEST: Final = 1200
_MAX_NOTES: Final = 1000


def find_notes(speech: Sequence[Speech]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Decisions and todos, each in the order said, each once."""
    decisions: dict[str, None] = {}
    todos: dict[str, None] = {}
    for utterance in speech:
        cues = _possible(utterance)
        if not cues and not utterance.answer and not _may_head(utterance):
            continue
        for said in sentences(utterance):
            if said.answer or _matches(said, "decision", cues):
                decisions.setdefault(said.text)
            if _matches(said, "todo", cues):
                todos.setdefault(said.text)
    return tuple(decisions)[:_MAX_NOTES], tuple(todos)[:_MAX_NOTES]


def _possible(utterance: Speech) -> list[Cue]:
    """The cues whose speaker it is and whose hints are in the text: mostly none."""
    lowered = utterance.text.lower()
    return [
        cue
        for cue in CUES
        if cue.speaker in ("any", utterance.role)
        and (cue.scope == "any" or utterance.final)
        and _hinted(cue, lowered)
    ]


def _hinted(cue: Cue, lowered: str) -> bool:
    for hint in cue.hints:  # noqa: SIM110 - a generator takes twice the time
        if hint in lowered:
            return True
    return False


def _may_head(utterance: Speech) -> bool:
    return utterance.final and (":" in utterance.text or "#" in utterance.text)


def _matches(said: Said, note: Note, cues: Sequence[Cue]) -> bool:
    if not _SHORTEST <= len(said.text) <= _LONGEST and not _has_han(said.text):
        return False
    if said.quoted or (said.fenced and note == "decision"):
        return False
    if said.text.endswith(("?", "？")) or (note == "decision" and said.text.endswith(":")):
        return False
    if (
        said.heading
        and said.final
        and any(kind == note and pattern.search(said.heading) for kind, pattern in HEADINGS)
    ):
        return True
    lowered = said.text.lower()
    return any(cue.note == note and _hinted(cue, lowered) and _speaks(cue, said) for cue in cues)


def _speaks(cue: Cue, said: Said) -> bool:
    if said.fenced and cue.scope != "any":
        return False
    match = cue.pattern.search(said.text)
    if match is None or (said.role == "user" and _asks(said.text[match.start() :])):
        return False
    return cue.but_not is None or cue.but_not.search(said.text) is None


def _asks(rest: str) -> bool:
    return "?" in rest or rest.rstrip(" .!").endswith(" right")


def _has_han(text: str) -> bool:
    return any("一" <= char <= "鿿" for char in text)
