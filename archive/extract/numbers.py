"""Pure. Pull requests and issues by number: "#142", "PR 142", "issue #7"."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from archive.prefilter import Hinted

from .refs import MAX_CANDIDATES, Refs

_NUMBER: Final = re.compile(r"#(?<![\w&/#.-]#)([1-9]\d{0,6})(?![\w-]|\.\d)")
_NUMBER_WORD: Final = re.compile(
    r"(?<![\w.-])(pull requests?|PRs?|merge requests?|MRs?|issues?|tickets?|bugs?|GH(?=-))"
    r"(?: (?:number |no\.? ?)?|-|(?=#)|(?=!))[`*(]{0,3}[#!]?([1-9]\d{0,6})(?![\w.%]|-\w)"
    r"(?: ?(?:,|and|&|/) ?#([1-9]\d{0,6}))?",
    re.IGNORECASE,
)
_WORDS: Final = ("pr", "request", "mr", "issue", "ticket", "bug", "gh")
_NUMBER_HINT: Final = Hinted(
    "|".join(word + end for word in _WORDS for end in (" ", "s ", "-", "s-", "#", "s#", "!", "s!")),
    rf"(?:{'|'.join(_WORDS)})s?[-#! ](?:number |no\.? ?)?[`*(]{{0,3}}[#!]?\d",
    re.NOFLAG,
)
_DIGIT: Final = re.compile(r"[1-9](?<=[ #!.*(`-].)")
_PR_WORDS: Final = ("pull", "pr", "merge", "mr")
_OTHER_NUMBER: Final = re.compile(
    r"(?:\b(?:comment|step|option|item|point|phase|task|test|section|number|layer|question|rule"
    r"|round|scenario|case|part|problem|finding|no\.?|line|page|chapter|version|attempt|priority"
    r"|choice|idea|approach|reason|example|figure|table|note|goal|requirement|day|week|todo"
    r"|thread|player|channel|slide|version|colou?r|background|fill|stroke"
    r"|border)s?:? ?[*_`(]{0,3})$",
    re.IGNORECASE,
)
_CSS: Final = re.compile(
    r"(?:colou?rs?|background|fill|stroke|border|shadow|gr[ae]y|hex)[\w-]*\s*"
    r"(?:[:=]|\b(?:is|to|of|from|with|as)\b)?\s*[\"'(`]?$",
    re.IGNORECASE,
)
_HEX_COLOUR: Final = re.compile(r"#(?=[0-9]{0,5}[a-fA-F])[0-9a-fA-F]{6}\b")
_ISSUE_BEFORE: Final = re.compile(
    r"\b(?:issues?|tickets?|bugs?|closes?|closed|fix(?:es|ed)?|resolves?|resolved"
    r"|refs?)[ :*_`(\[]{0,4}$",
    re.IGNORECASE,
)


def may_number(text: str) -> bool:
    """Whether `text` could name a pull request or an issue: a cheap look."""
    return "#" in text or _is_worded(text)


def _is_worded(text: str) -> bool:
    return (
        _DIGIT.search(text) is not None
        and _NUMBER_HINT.could_be_in(text)
        and _NUMBER_HINT.pattern.search(text.lower()) is not None
    )


def add_numbers(text: str, refs: Refs) -> None:
    """Keep the pull requests and issues that `text` names, and no step, colour or page."""
    settled = _add_worded(text, refs) if _is_worded(text) else set()
    if "#" not in text:
        return
    coloured: bool | None = None
    for match in islice(_NUMBER.finditer(text), MAX_CANDIDATES):
        value = f"#{match[1]}"
        if value in settled or ("pr", value) in refs or ("issue", value) in refs:
            continue
        before = text[max(0, match.start() - 40) : match.start()]
        if _OTHER_NUMBER.search(before) or _CSS.search(before):
            continue
        if len(match[1]) == 6:
            coloured = _HEX_COLOUR.search(text) is not None if coloured is None else coloured
            if coloured or len(set(match[1])) < 3:
                continue  # a colour, perhaps among others
        issue = _ISSUE_BEFORE.search(before) is not None
        if issue or len(match[1]) > 1:
            refs.add("issue" if issue else "pr", value)


def _add_worded(text: str, refs: Refs) -> set[str]:
    """Keep the numbers that a word says the kind of; answers all that need no second look."""
    settled: set[str] = set()
    for match in islice(_NUMBER_WORD.finditer(text), MAX_CANDIDATES):
        word = match[1].lower()
        marked = "#" in match[0] or "!" in match[0]
        tracker = match[0][len(word)] == "-" and word != "gh"  # another tracker's: BUG-12
        if not marked and (word.endswith("s") or tracker):
            continue
        values = [f"#{number}" for number in (match[2], match[3]) if number]
        if _enumerates(text, match.start(), match.end()):
            settled.add(values[0])
            continue
        settled.update(values)
        for value in values:
            refs.add("pr" if word.startswith(_PR_WORDS) else "issue", value)
    return settled


def _enumerates(text: str, start: int, end: int) -> bool:
    """Whether a number heads a list of findings: a line that begins with `Issue #1:`."""
    line_start = text.rfind("\n", 0, start) + 1
    before = text[line_start:start].strip(" #*-\t")
    return not before and text[end : end + 3].lstrip("*` ")[:1] in (":", "—", "-", ".", ")")
