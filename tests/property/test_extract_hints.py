"""What a pattern's hints promise: one of them is in whatever the pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive.extract.cues import CUES, HEADINGS
from archive.prefilter import Hinted, Index, Run, has_any

MODULES = ("action", "edit_results", "git_refs", "numbers", "prose", "summary", "verdicts")


def hinted_patterns() -> Iterator[tuple[str, re.Pattern[str], Sequence[str]]]:
    for module in MODULES:
        for name, value in vars(import_module(f"archive.extract.{module}")).items():
            if isinstance(value, Hinted):
                yield f"{module}{name}", value.pattern, value.hints
    for note, heading in HEADINGS:
        yield f"heading-{note}", heading.pattern, heading.hints
    for number, cue in enumerate(CUES):
        yield f"cue-{number}-{cue.language}-{cue.note}", cue.pattern, cue.hints


# Two signs that a pattern takes for s and k in any case, and `str.lower` does not.
LETTERS = st.characters(exclude_characters="ſ\N{KELVIN SIGN}")
HINTED = list(hinted_patterns())


@pytest.mark.parametrize(
    ("pattern", "hints"), [p[1:] for p in HINTED], ids=[name for name, *_ in HINTED]
)
def test_every_match_holds_a_hint(pattern: re.Pattern[str], hints: Sequence[str]) -> None:
    @given(st.from_regex(pattern, alphabet=LETTERS))
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    def check(text: str) -> None:
        if match := pattern.search(text):
            assert has_any(match[0].lower(), hints)

    check()


@given(st.text(alphabet="abcé"), st.lists(st.lists(st.text(alphabet="abcé", min_size=1))))
def test_an_index_names_the_owners_of_the_words_in_a_text(
    text: str, words: list[list[str]]
) -> None:
    index = Index(range(len(words)), words.__getitem__)
    expected = [owner for owner, owned in enumerate(words) if has_any(text, owned)]
    assert index.named_in(text) == expected
    found = index.words_in(text)
    assert [owner for owner, _ in found] == expected
    assert all(set(held) == {w for w in words[owner] if w in text} for owner, held in found)


@given(st.text(alphabet="0af g-é"), st.integers(1, 4))
def test_a_run_is_so_many_of_its_characters(text: str, length: int) -> None:
    assert Run("0123456789abcdef", length).is_in(text) == bool(
        re.search(f"[0-9a-f]{{{length}}}", text)
    )
