"""Pure. The environments that tox and nox run: which a call names, and what their ends say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

SESSION_RUNNERS: Final = {
    "tox": frozenset({"-e", "--env", "-m"}),
    "nox": frozenset({"-s", "-e", "--session", "--sessions", "-t", "--tags"}),
}
"""Runners of environments → options that name some of them."""
_NO_RUN: Final = frozenset({"-l", "-a", "--list", "--listenvs", "--notest", "-n", "--showconfig"})
_LISTINGS: Final = (("list",), ("config",), ("l",), ("c",), ("devenv",))
_ENDED: Final = re.compile(
    r"^(?:ERROR:)? *([\w.-]{1,60}): (OK|FAIL|commands succeeded|commands failed)\b"
    r"|^nox > (?:Session|\*) ([\w.-]{1,60})(?:\([^)\n]{0,200}\))?:? "
    r"(was successful|success|failed)\b",
    re.MULTILINE,
)
_ALL_ENDED: Final = re.compile(r"^ +(?:congratulations :\)|evaluation failed :\()", re.MULTILINE)
_HINTS: Final = (": OK", ": FAIL", ": commands ", "nox > ", "congratulations :)", "evaluation fail")


def named_sessions(name: str, words: Sequence[str]) -> list[str] | None:
    """The environments that a call names; [] where it runs those of its file, None where none."""
    words = words[: words.index("--")] if "--" in words else words
    if not _NO_RUN.isdisjoint(words) or tuple(words[1:2]) in _LISTINGS:
        return None
    named: list[str] = []
    at = 1
    while at < len(words):
        option, _, value = words[at].partition("=")
        at += 1
        if option not in SESSION_RUNNERS[name]:
            continue
        values = [value] if value else []
        while not value and at < len(words) and not words[at].startswith("-"):
            values.append(words[at])
            at += 1
        named += [env for text in values for env in text.split(",") if env]
    return named


def session_results(named: Sequence[str], text: str) -> dict[str, str]:
    """pass or fail of every environment that `text` tells the end of."""
    if not any(hint in text for hint in _HINTS):
        return {}
    ends: dict[str, str] = {}
    for match in _ENDED.finditer(text):
        good = (match[2] or match[4]) in ("OK", "commands succeeded", "was successful", "success")
        ends[match[1] or match[3]] = "pass" if good else "fail"
    if not ends and (all_ended := _ALL_ENDED.search(text)):
        result = "pass" if "congratulations" in all_ended[0] else "fail"
        if result == "pass" or len(named) < 2:
            ends = dict.fromkeys(named or ["py"], result)
    return ends
