"""The cheap look before the screening never passes over what a rule would find."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive.screening.find import is_suspicious
from archive.screening.names import ASSIGNMENT, FLAG
from archive.screening.rules import KEY_BEGIN, RULES

PATTERNS = {f"{number}-{rule.kind}": rule.pattern for number, rule in enumerate(RULES)}
PATTERNS |= {"assignment": ASSIGNMENT, "flag": FLAG, "private-key": KEY_BEGIN}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_every_match_of_a_rule_is_suspicious(pattern: re.Pattern[str]) -> None:
    @given(st.from_regex(pattern))
    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    def check(text: str) -> None:
        match = pattern.search(text)
        # A character in front, which the pattern may look at.
        assert match is None or is_suspicious(text[max(0, match.start() - 1) : match.end()])

    check()
