"""Pure. Decisions and open ends, word for word, from what user and assistant said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from archive.prefilter import Index, has_any

from .cues import CUES, HEADINGS, Cue, Note
from .prose import Said, Speech, sentences

_SHORTEST: Final = 8
_LONGEST: Final = 1200
_MAX_NOTES: Final = 1000
_DEMANDS: Final = (
    "constraints", "decisions", "non-goals", "nongoals", "no-gos", "invariants", "out of scope",
    "决策", "決策", "决定", "決定", "约束", "約束", "非目标", "非目標",
)  # fmt: skip
"""What a heading of a user's list of demands holds."""


def find_notes(speech: Sequence[Speech]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Decisions and todos, each in the order said, each once."""
    found: dict[Note, dict[str, None]] = {"decision": {}, "todo": {}}
    for utterance in speech:
        if utterance.framed:
            continue  # an issue that the user shows
        cues = _CUES_OF[utterance.role, utterance.final].words_in(utterance.text)
        if not cues and not utterance.answer and not _may_head(utterance):
            continue
        for said in sentences(utterance, [hint for _, hints in cues for hint in hints]):
            if said.answer:
                found["decision"].setdefault(said.text)
            for note in _notes_of(said, cues):
                found[note].setdefault(said.text)
    return tuple(found["decision"])[:_MAX_NOTES], tuple(found["todo"])[:_MAX_NOTES]


def _cues_of(role: str, final: bool) -> Index[Cue]:
    cues = (c for c in CUES if c.speaker in ("any", role) and (c.scope == "any" or final))
    return Index(cues, lambda cue: cue.hints)


_CUES_OF: Final = {
    (role, final): _cues_of(role, final)
    for role in ("user", "assistant")
    for final in (True, False)
}


def _may_head(utterance: Speech) -> bool:
    if utterance.role == "user":
        return has_any(utterance.text.lower(), _DEMANDS)
    return utterance.final and (":" in utterance.text or "#" in utterance.text)


def _notes_of(said: Said, cues: Iterable[tuple[Cue, list[str]]]) -> Iterator[Note]:
    text = said.text
    if said.quoted or text.endswith(("?", "？")):
        return
    if not said.fenced and text.rstrip("*_").endswith((":", "：")):
        return  # it introduces what follows
    shortest = 1 if said.heading else _SHORTEST
    if not shortest <= len(text) <= _LONGEST and not _has_han(text):
        return
    lowered = text.lower()
    hinted = [cue for cue, hints in cues if has_any(lowered, hints)]
    if not said.fenced and _says(said, "decision", hinted):
        yield "decision"
    if _says(said, "todo", hinted):
        yield "todo"


def _says(said: Said, note: Note, cues: Iterable[Cue]) -> bool:
    if said.heading and (said.final or (said.role == "user" and note == "decision")):
        for kind, pattern in HEADINGS:
            if kind == note and pattern.search(said.heading):
                return True
    return any(cue.note == note and _speaks(cue, said) for cue in cues)


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
    return not text.isascii() and any("一" <= char <= "鿿" for char in text)
