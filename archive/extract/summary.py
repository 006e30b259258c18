"""Pure. One line that names the task and its result, and the error of a round that failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from archive.prefilter import Hinted
from archive.record import Outcome

from .action import issue_body
from .injected import strip_injected
from .prose import Speech, split_sentences
from .text import one_line, shorten, unmarked
from .view import RoundView

_LIMIT: Final = 200
_TASK_SHARE: Final = 90
_EMPTY_OPENING: Final = re.compile(
    r"^(?:perfect|great|excellent|done|ok(?:ay)?|yes|sure|got it|all (?:done|set)|success"
    r"|good(?: catch| question)?|exactly(?: right)?|summary)[.!:,—– ]*$",
    re.IGNORECASE,
)
_MERE_OPENING: Final = re.compile(
    r"(?:all|both|the)? ?(?:\d+ )?(?:new )?(?:tests?|checks?|builds?"
    r"|lint)(?: and \w+)? pass(?:es|ed)?"
    r"(?: now)?\.?$|(?:all )?(?:clean|green|good|fixed|found it)\.?$|(?:here[’']s"
    r"|i[’']ve successfully)\b",
    re.IGNORECASE,
)
_DIFFED: Final = re.compile(r"^diff --git a/(\S{1,300}) b/", re.MULTILINE)
_ONLY_CODE: Final = re.compile(r"`[^`\n]+`")
_REQUEST: Final = re.compile(r"^(?:user_query|\[\[ ## \w+ ## \]\])\s*", re.MULTILINE)
_GAVE_UP: Final = Hinted(
    "able to|i could|i can|still fail|maximum iteration|gave up|giving up|ran out of|完成",
    r"\b(?:I(?:'m| am| was) (?:unable|not able) to|I (?:could not|couldn't|cannot"
    r"|can't) (?:complete|fix|finish|make|apply|get|resolve)|(?:build|tests?|compilation) (?:is "
    r"|are )?still fail(?:s|ing)?|maximum iterations?|gave up|giving up|ran out of)\b|无法完成"
    r"|無法完成|未能完成",
)


def find_summary(view: RoundView, speech: Sequence[Speech], outcome: Outcome) -> str:
    """ "task: result" in at most 200 characters, on one line; never empty."""
    task = _first_line(_task_text(view, speech))
    result = _first_line(_result_text(view, speech, outcome))
    if task and result and result != task:
        short = shorten(task, max(_TASK_SHARE, _LIMIT - 2 - len(result)))
        return shorten(f"{short.rstrip('.:;')}: {result}", _LIMIT)
    line = task or result
    if line:
        return shorten(line if outcome == "completed" else f"{line} ({outcome})", _LIMIT)
    return f"{len(view.messages)} messages, {len(view.runs)} tool calls ({outcome})"


def find_error(view: RoundView, speech: Sequence[Speech], outcome: Outcome) -> str:
    """Why the round failed, or what its last words admit; empty when all went well."""
    if view.error:
        return view.error
    last = next((s for s in reversed(speech) if s.role == "assistant"), None)
    if last is not None and len(last.text) < 20_000 and _GAVE_UP.search(last.text):
        for line in last.text.split("\n"):
            if _GAVE_UP.search(line):
                return next((one_line(s) for s in split_sentences(line) if _GAVE_UP.search(s)), "")
    if outcome == "failed":
        return one_line(view.result) if view.result else "failed"
    return ""


def _task_text(view: RoundView, speech: Sequence[Speech]) -> str:
    task = issue_body(view.task) or _REQUEST.sub("", strip_injected(view.task))
    if task.strip():
        return task
    return next((s.text for s in speech if s.role == "user" and not s.answer), "")


def _result_text(view: RoundView, speech: Sequence[Speech], outcome: Outcome) -> str:
    if outcome == "failed" and view.error:
        return f"failed: {view.error}"
    if names := _DIFFED.findall(view.result[:200_000]) if "diff --git " in view.result else ():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"Changed {names[0]}{more}"
    if view.result:
        return view.result
    return next((s.text for s in reversed(speech) if s.role == "assistant"), view.error)


def _first_line(text: str) -> str:
    """The first sentence that says something; of two, rather the one that is no mere opening."""
    fenced, opening = False, ""
    for line in text[:20_000].split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        plain = unmarked(line)
        bare = line.strip(" -*+\t0123456789.)")
        shown = fenced or line.lstrip().startswith(("|", "![", "<"))
        if shown or not plain or plain.startswith("<") or _ONLY_CODE.fullmatch(bare):
            continue
        for sentence in map(str.strip, split_sentences(plain)):
            if not sentence or _EMPTY_OPENING.match(sentence):
                continue
            if not (sentence.endswith(":") or _MERE_OPENING.match(sentence)):
                return sentence
            opening = opening or sentence
        if opening and not any(c.isalpha() for c in opening):
            opening = ""
    return opening
