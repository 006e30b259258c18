"""Pure. How a verification tool is described: how it is called and what its output means.

To teach another tool, add an entry to the table of its language. A rule's pattern is searched line
by line in the output; the first rule of a tool that matches decides, so failures stand before
passes. `count` rules say "N issues" from a number in the last match, `lines` from the number of
matches. `needles` are plain strings one of which is in every output of the tool: they keep the
patterns off other output. `own` rules read fragments too plain to prove which tool printed them:
they are tried last, and only on the output of a call that ran this tool and no other. All patterns
are linear: no quantifier can match what its neighbour matches too. Alternatives for whole lines
are fastest behind one "^": `^(?:…|…)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from archive.record import CheckKind

Outcome = Literal["pass", "fail", "skip", "count", "lines"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`outcome` when `pattern` is in the output; `count` reads group 1, `lines` counts matches."""

    outcome: Outcome
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class CheckTool:
    """One tool, or several that are called and print alike.

    `starts` are the command beginnings; `needs` and `unless` are options that a call must have and
    must not have to be a check; `silent`: no output at all means a pass.
    """

    name: str
    kind: CheckKind
    starts: tuple[str, ...]
    needles: tuple[str, ...]
    rules: tuple[Rule, ...]
    silent: bool = False
    needs: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    own: tuple[Rule, ...] = ()


def tool(
    name: str,
    kind: CheckKind,
    starts: str,
    needles: str,
    *rules: tuple[Outcome, str],
    silent: bool = False,
    needs: str = "",
    unless: str = "",
    own: tuple[tuple[Outcome, str], ...] = (),
) -> CheckTool:
    """A table entry; `starts` are separated by commas, `needles` by bars, options by blanks."""
    return CheckTool(
        name,
        kind,
        tuple(s.strip() for s in starts.split(",")),
        tuple(n for n in needles.split("|") if n),
        _compiled(rules),
        silent,
        frozenset(needs.split()),
        frozenset(unless.split()),
        _compiled(own),
    )


def _compiled(rules: tuple[tuple[Outcome, str], ...]) -> tuple[Rule, ...]:
    return tuple(Rule(outcome, re.compile(text, re.MULTILINE)) for outcome, text in rules)


def judge(tool: CheckTool, evidence: str, *, own: bool = False, whole: bool = True) -> str:
    """pass, fail, skip or "N issues" by the tool's own words, or nothing.

    `own` says that nothing but this tool can have printed `evidence`, `whole` that its end is
    there: a fragment of another output proves no pass.
    """
    for needle in tool.needles:
        if needle in evidence:
            result = _by_rules(tool.rules, evidence)
            break
    else:
        result = ""
    if result or not own:
        return result
    result = _by_rules(tool.own, evidence)
    return result if whole or result != "pass" else ""


def _by_rules(rules: tuple[Rule, ...], evidence: str) -> str:
    for rule in rules:
        if rule.outcome == "count":
            last = None
            for last in rule.pattern.finditer(evidence):  # noqa: B007
                pass
            if last is not None:
                return f"{next(g for g in last.groups() if g)} issues"
        elif rule.outcome == "lines":
            if number := sum(1 for _ in rule.pattern.finditer(evidence)):
                return f"{number} issues"
        elif rule.pattern.search(evidence):
            return rule.outcome
    return ""


def without_failures(tool: CheckTool, evidence: str) -> str:
    """`evidence` without the lines in which `tool` says that it failed."""
    for rule in tool.rules:
        if rule.outcome in ("fail", "count", "lines"):
            evidence = rule.pattern.sub("", evidence)
    return evidence
