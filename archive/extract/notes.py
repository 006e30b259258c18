"""Pure. Decisions and open ends, word for word, from what user and assistant said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .cues import CUES, HEADINGS, Cue, Note
from .prose import Said, Speech, sentences

_SHORTEST: Final = 12
_LONGEST: Final = 1200


def find_notes(speech: Sequence[Speech]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Decisions and todos, each in the order said, each once."""
    decisions: dict[str, None] = {}
    todos: dict[str, None] = {}
    for utterance in speech:
        for said in sentences(utterance):
            if said.answer or _matches(said, "decision"):
                decisions.setdefault(said.text)
            if _matches(said, "todo"):
                todos.setdefault(said.text)
    return tuple(decisions), tuple(todos)


def _matches(said: Said, note: Note) -> bool:
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
    return any(cue.note == note and _speaks(cue, said) for cue in CUES)


def _speaks(cue: Cue, said: Said) -> bool:
    if cue.speaker not in ("any", said.role):
        return False
    if cue.scope == "final" and not said.final:
        return False
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
