"""Pure. Decisions and open ends, word for word, from what user and assistant said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from archive.prefilter import Beginnings, has_any

from .cues import CUES, HEADINGS, Cue, Note
from .prose import Said, Speech, sentences

_SHORTEST: Final = 12
_LONGEST: Final = 1200
_MAX_NOTES: Final = 1000


def find_notes(speech: Sequence[Speech]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Decisions and todos, each in the order said, each once."""
    found: dict[Note, dict[str, None]] = {"decision": {}, "todo": {}}
    for utterance in speech:
        cues = _CUES_OF[utterance.role, utterance.final].hinted(utterance.text)
        if not cues and not utterance.answer and not _may_head(utterance):
            continue
        for said in sentences(utterance):
            if said.answer:
                found["decision"].setdefault(said.text)
            for note in _notes_of(said, cues):
                found[note].setdefault(said.text)
    return tuple(found["decision"])[:_MAX_NOTES], tuple(found["todo"])[:_MAX_NOTES]


class _Cues:
    """The cues of a speaker, and one look for the hints of all of them."""

    def __init__(self, role: str, final: bool) -> None:
        self._cues = [c for c in CUES if c.speaker in ("any", role) and (c.scope == "any" or final)]
        hints = [hint for cue in self._cues for hint in cue.hints]
        self._latin = Beginnings(hint for hint in hints if hint.isascii())
        self._others = [hint for hint in hints if not hint.isascii()]

    def hinted(self, text: str) -> list[Cue]:
        """The cues one of whose hints is in the text: mostly none."""
        lowered = text.lower()
        if self._latin.are_in(lowered) or (not text.isascii() and has_any(lowered, self._others)):
            return _hinted(self._cues, lowered)
        return []


_CUES_OF: Final = {
    (role, final): _Cues(role, final) for role in ("user", "assistant") for final in (True, False)
}


def _hinted(cues: Iterable[Cue], lowered: str) -> list[Cue]:
    return [cue for cue in cues if has_any(lowered, cue.hints)]


def _may_head(utterance: Speech) -> bool:
    return utterance.final and (":" in utterance.text or "#" in utterance.text)


def _notes_of(said: Said, cues: Sequence[Cue]) -> Iterator[Note]:
    text = said.text
    if said.quoted or text.endswith(("?", "？")):
        return
    if not _SHORTEST <= len(text) <= _LONGEST and not _has_han(text):
        return
    hinted = _hinted(cues, text.lower())
    if not said.fenced and not text.endswith(":") and _says(said, "decision", hinted):
        yield "decision"
    if _says(said, "todo", hinted):
        yield "todo"


def _says(said: Said, note: Note, cues: Iterable[Cue]) -> bool:
    if said.heading and said.final:
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
