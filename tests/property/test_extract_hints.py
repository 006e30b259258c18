"""What a pattern's hints promise: one of them is in whatever the pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive.extract.cues import CUES, Cue
from archive.prefilter import Beginnings, Hinted, Run, has_any

MODULES = ("action", "numbers", "prose", "summary")


def hinted_patterns() -> Iterator[tuple[str, re.Pattern[str], Sequence[str]]]:
    for module in MODULES:
        for name, value in vars(import_module(f"archive.extract.{module}")).items():
            if isinstance(value, Hinted):
                yield f"{module}{name}", value.pattern, value.hints
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


ENGLISH = [cue for cue in CUES if cue.language == "en"]


@pytest.mark.parametrize("cue", ENGLISH, ids=[f"{n}-{c.note}" for n, c in enumerate(ENGLISH)])
def test_a_hint_in_latin_script_begins_a_word(cue: Cue) -> None:
    latin = Beginnings(hint for hint in cue.hints if hint.isascii())
    others = [hint for hint in cue.hints if not hint.isascii()]

    @given(st.from_regex(cue.pattern, alphabet=LETTERS))
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    def check(text: str) -> None:
        lowered = text.lower()
        if cue.pattern.search(text):
            assert latin.are_in(lowered) or has_any(lowered, others)

    check()


@given(st.text(alphabet="ab 1'é"), st.lists(st.text(alphabet="ab '", min_size=1), min_size=1))
def test_beginnings_are_found_where_words_begin(text: str, beginnings: list[str]) -> None:
    def parted(words: str) -> str:
        return re.sub(r"[^a-z]", " ", words.encode().decode("latin-1"))

    expected = any(f" {parted(b)}" in f" {parted(text)}" for b in beginnings)
    assert Beginnings(beginnings).are_in(text) == expected


@given(st.text(alphabet="0af g-é"), st.integers(1, 4))
def test_a_run_is_so_many_of_its_characters(text: str, length: int) -> None:
    assert Run("0123456789abcdef", length).is_in(text) == bool(
        re.search(f"[0-9a-f]{{{length}}}", text)
    )
