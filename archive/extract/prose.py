"""Pure. What user and assistant really said: injected text taken out, cut into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from archive.prefilter import Hinted, has_any

from .injected import strip_injected
from .text import one_line
from .tool_run import ToolRun
from .view import RoundView

_MAX_SAID: Final = 400_000  # characters of one message that are read as prose

_TEMPLATE: Final = re.compile(
    r"^(?:#+ *)?(?:INSTRUCTIONS|IMPORTANT TIPS|Important Rules|Recommended Workflow"
    r"|RESPONSE FORMAT|Command Execution Rules|Useful command examples|Formatting your response"
    r"|Your thinking should be thorough|Follow these steps to resolve"
    r"|IMPORTANT: You should ONLY interact)\b",
    re.MULTILINE | re.IGNORECASE,
)
_TASK_FRAME: Final = Hinted(
    "issue|<uploaded_files>|<pr_description>|# problem",
    r"<uploaded_files>|<issue_description>|<pr_description>|^ISSUE:$|^# Problem Statement"
    r"|solve (?:the following|this) issue|fix the following issue for the repository",
    re.MULTILINE,
)
_ANSWER_TOOLS: Final = frozenset(
    {
        "ask_user", "askuserquestion", "ask_followup_question", "request_user_input", "ask",
        "ask_question", "question", "prompt_user", "user_input", "ask_human", "request_input",
    }
)  # fmt: skip
_ANSWER: Final = re.compile(
    r"\A\s*(?:User (?:responded|selected|answered|replied|chose|said)|Answer|Response)s?: ?(.+)\Z"
    r"|<answer>([^<]+)</answer>|<feedback>([^<]+)</feedback>|<user_message>([^<]+)</user_message>",
    re.DOTALL,
)
_FEEDBACK: Final = re.compile(
    r"(?:the user said:|<feedback>|[Uu]ser feedback:|following feedback:|Reason given by user:)\s*"
    r"(?:<feedback>)?(.+?)(?:</feedback>|\n\nNote: |\Z)",
    re.DOTALL,
)
_QUOTED_ANSWER: Final = re.compile(r'"[^"\n]{1,2000}"="([^"\n]{1,2000})"')
_DEMANDS: Final = re.compile(
    r"(?:requirements?|constraints?|rules?|decisions?|non-?goals?|conditions?|principles?"
    r"|conventions?|要求|约束|約束|规则|規則|决定|決定|约定|約定) ?[:：]$",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r" {0,8}(`{3,}|~{3,})")
_FENCES: Final = ("```", "~~~")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+•▪–]|\d{1,3}[.)]|#{1,6}|>+)[ \t]+")
_MARKS: Final = "-*+•▪–#>"
_RULE: Final = re.compile(r"[ \t]*(?:[-=*_─|+: ]{3,})$")
_RULES: Final = "-=*_─|+:"
_SENTENCE_END: Final = re.compile(
    r"[.!?。！？](?:(?<=[。！？])"
    r"|[\"'”’)\]*_`]{0,3}(?=\s+[\"'“‘(\[*_`]{0,3}[A-Z0-9À-ÞЀ-Я一-鿿I]))"
)
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Ms|No|approx|incl|resp)|\d)\.$"
)


class Said(NamedTuple):
    """One sentence. `final`: in the assistant's last words; `fenced`: in a code block;
    `answer`: a person's answer to a question of the agent; `quoted`: a part of it that is shown;
    `heading`: what introduces the list that it stands in."""

    text: str
    role: str
    at: int
    final: bool = False
    fenced: bool = False
    answer: bool = False
    quoted: bool = False
    heading: str = ""


class Speech(NamedTuple):
    """One utterance without injected text."""

    text: str
    role: str
    at: int
    final: bool = False
    answer: bool = False
    framed: bool = False


def find_speech(view: RoundView) -> tuple[Speech, ...]:
    """Task, messages, users' answers in tool results and the result, each once, in order."""
    found: list[Speech] = []
    seen: set[str] = set()
    last = max((m.index for m in view.messages if m.role == "assistant"), default=-1)
    answers = [(r.index, r.output) for r in view.runs if r.tool in _ANSWER_TOOLS and not r.failed]
    feedback = [(r.index, "user", said) for r in view.runs if (said := _feedback(r))]
    items: list[tuple[int, str, str]] = [(m.index, m.role, m.text) for m in view.messages]
    items += [(index, "answer", text) for index, text in answers]
    items += feedback
    items.sort(key=lambda item: item[0])
    if not any(m.role == "user" for m in view.messages):
        items.insert(0, (-1, "user", view.task))
    if view.result and not any(i == last for i, _, _ in items if last >= 0):
        items.append((1 << 30, "assistant", view.result))
        last = 1 << 30
    expanding = ""
    for index, role, whole in items:
        text = whole[:_MAX_SAID]
        if role == "answer":
            found.extend(Speech(a, "user", index, answer=True) for a in read_answers(text))
            continue
        if role not in ("user", "assistant", "human", "agent", "model", "ai", ""):
            continue
        speaker = "user" if role in ("user", "human") else "assistant"
        plain = strip_injected(text) if speaker == "user" else text
        if speaker == "user":
            if expanding and expanding in text and len(text) > 3 * len(expanding) + 200:
                continue  # the expansion of a command repeats its arguments
            if "<command-args>" in text:
                expanding = plain.strip()
        key = plain.strip()
        if not key or key in seen:
            continue
        seen.add(key)
        framed = speaker == "user" and _TASK_FRAME.search(plain[:4000]) is not None
        found.append(Speech(plain, speaker, index, index == last, False, framed))
    return tuple(found)


def _feedback(run: ToolRun) -> str:
    """What the user said in refusing a call."""
    match = _FEEDBACK.search(run.output[:20_000]) if run.refused else None
    return match[1].strip() if match else ""


def read_answers(output: str) -> list[str]:
    """A person's answers in the result of a question tool."""
    if quoted := _QUOTED_ANSWER.findall(output[:20_000]):
        return [str(answer) for answer in quoted]
    if match := _ANSWER.search(output[:20_000]):
        return [next(g for g in match.groups() if g).strip()]
    return []


def sentences(speech: Speech, hints: Iterable[str]) -> Iterator[Said]:
    """The sentences of an utterance, list items and wrapped lines put together.

    Left out is what is shown, not said, and what has none of `hints`, which are lower-case, unless
    it answers a question or stands under a heading, of a user or in the last words.
    """
    text = speech.text
    cut = None
    if speech.role == "user" and (match := _TEMPLATE.search(text)):
        cut = match.start()
    quoted, heading = False, ""
    for block, kind in _blocks(text[:cut]):
        if kind == "heading" or (
            kind == "text" and block.rstrip().rstrip("*_").endswith((":", "："))
        ):
            heading = block
        elif kind == "text":
            heading = ""
        title = heading if kind == "item" else ""
        wanted = speech.answer or (not quoted and title and (speech.final or speech.role == "user"))
        if wanted or (not quoted and has_any(block.replace("\n", " ").lower(), hints)):
            line = one_line(block)
            for sentence in [line] if kind == "code" else split_sentences(line):
                said = sentence.strip()
                if said and (wanted or has_any(said.lower(), hints)):
                    yield Said(
                        said,
                        speech.role,
                        speech.at,
                        speech.final,
                        kind == "code",
                        speech.answer,
                        quoted,
                        title,
                    )
        if speech.role == "user" and kind == "text" and block.rstrip().endswith((":", "：")):
            # What a user's colon introduces is shown, not said, but for lists of demands.
            quoted = _DEMANDS.search(block.rstrip()[-200:]) is None


def split_sentences(block: str) -> Iterator[str]:
    """A paragraph cut at sentence ends; a stop inside code or an abbreviation ends nothing."""
    start = 0
    for match in _SENTENCE_END.finditer(block):
        piece = block[start : match.end()]
        abbreviated = piece[-1] == "." and _ABBREVIATED.search(piece[-12:])
        if not (abbreviated or piece.count("`") % 2):
            yield piece
            start = match.end()
    yield block[start:]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs (text), list items (item), headings and the single lines of code blocks."""
    open_fence, pending, kind = "", list[str](), "text"
    for line in text.split("\n"):
        bare = line.strip()
        fence = _FENCE.match(line) if bare.startswith(_FENCES) else None
        if fence and (not open_fence or bare.startswith(open_fence)):
            if pending:
                yield "\n".join(pending), kind
                pending = []
            open_fence = "" if open_fence else fence[1]
            continue
        if open_fence:
            yield line, "code"
            continue
        marker = _MARKER.match(line) if bare[:1] in _MARKS or bare[:1].isdecimal() else None
        if pending and (marker or not bare or line.startswith("|")):
            yield "\n".join(pending), kind
            pending = []
        if bare and not (bare[0] in _RULES and _RULE.match(line)):
            if not pending:
                kind = "text" if marker is None else "heading" if "#" in marker[0] else "item"
            pending.append(line[marker.end() :] if marker else line)
            if kind == "heading":
                yield pending.pop(), kind
    if pending:
        yield "\n".join(pending), kind
