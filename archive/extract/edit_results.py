"""Pure. What the result of a file tool says: whether an edit happened, and what it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from archive.prefilter import Hinted, has_any

from .patches import read_patch
from .tool_run import ToolRun

_NOT_DONE: Final = Hinted(
    "error|failed|invalid|cannot|could not|unable|no changes|not found|no replacement"
    "|matches of the string|not been read|file has been|introduced new|was not applied|no match"
    "|did not match|0 occurrences|must |was not written|no edit|does not apply|identical"
    "|already exists|no file open|not allowed|permission denied|exactly the same",
    r"^\s*(?:<tool_use_error>|ERROR\b|Error\b|error:|Failed|failed|Invalid|Cannot|Could not"
    r"|Unable|No changes|The tool execution failed"
    r"|apply_patch verification failed|\[?[Ee]xecution error)"
    r"|[Ss]tring to replace (?:was )?not found|No replacement was performed"
    r"|not found in (?:the )?file|Found \d+ matches of the string|has not been read yet"
    r"|File has been (?:unexpectedly )?modified|introduced new syntax error"
    r"|[Ee]dit was not applied|No match found|did not match|0 occurrences|could not be found"
    r"|must (?:first )?read|was NOT written|[Nn]o edits? (?:was|were)|Failed to (?:edit|apply"
    r"|find|write|create)|[Pp]atch does not apply|identical (?:to|strings)|file already exists"
    r"|File already exists|No file open|not allowed|Permission denied|are exactly the same"
    r"|must be different",
    re.NOFLAG,
)
_DONE: Final = (
    "has been updated", "has been edited", "has been created", "has been written",
    "has been modified", "uccess", "ile created", "ile updated", "updated with changes",
    "Text replaced", "Edit applied", "[File: ",
)  # fmt: skip
_DONE_FIRST: Final = ("Created ", "Updated ", "Wrote ", "Applied", "Deleted ", "Edited")
NEW_FILE: Final = re.compile(r"[Cc]reated|new file")
_NUMBERED: Final = re.compile(r"\A {0,6}\d+(?:→|\t)")
_NUMBERED_LINE: Final = re.compile(r"^ {0,6}(\d{1,7})(?:→|\t)(.*)", re.MULTILINE)
_NUMBERED_LINES: Final = re.compile(r"(?: {0,6}\d{1,7}(?:→|\t).*\n?)*")
_OPEN_FILE: Final = re.compile(r"^\[File: (.+?) \(\d+ lines? total\)\]", re.MULTILINE)
_WINDOW_LINE: Final = re.compile(r"^(\d{1,8}):(.*)$", re.MULTILINE)


def was_done(run: ToolRun) -> bool:
    """Whether the result of an edit says that it happened."""
    if run.refused or not run.completed:
        return False
    head = run.output[:1500]
    if not run.failed and (head.startswith(_DONE_FIRST) or has_any(head[:300], _DONE)):
        return not _NOT_DONE.search(head[:120])
    if run.failed and run.exit_code is None:
        return False
    return run.exit_code in (0, None) and not _NOT_DONE.search(head)


def opened_file(run: ToolRun, before: str) -> str:
    """The file that an editor with a current file shows after `run`."""
    head = run.output[:400]
    match = _OPEN_FILE.search(head) if "[File: " in head else None
    return match[1] if match else before


def shows_window(output: str) -> bool:
    """Whether such an editor shows numbered lines."""
    return _WINDOW_LINE.search(output, 0, 100_000) is not None


def window_lines(output: str) -> dict[int, str]:
    """The numbered lines that such an editor shows."""
    return {int(number): text for number, text in _WINDOW_LINE.findall(output[:100_000])}


def shown_hunks(run: ToolRun) -> tuple[int, int] | None:
    """Lines added and removed by the diff in a result, where it shows one without a file name."""
    at = run.output.find("@@ -", 0, 20_000)
    if at < 0:
        return None
    changes = read_patch("--- a/x\n+++ b/x\n" + run.output[at:])
    return sum(c.added for c in changes), sum(c.removed for c in changes)


def shown_content(run: ToolRun) -> Callable[[], str | None] | None:
    """Reads the whole file out of a result that shows it without a range."""
    arguments = run.arguments
    if any(arguments.get(k) is not None for k in ("offset", "limit", "view_range", "start_line")):
        return None
    if len(run.output) > 200_000:
        return None
    return lambda: _without_numbers(run.output)


def _without_numbers(text: str) -> str | None:
    """File content as shown by a reading tool, its line numbers taken off; None when cut."""
    if not _NUMBERED.match(text):
        return None if "truncated" in text[-400:] else text
    shown = _NUMBERED_LINES.match(text)
    lines = _NUMBERED_LINE.findall(shown[0]) if shown else []
    numbers, contents = zip(*lines, strict=True) if lines else ((), ())
    if not lines or list(map(int, numbers)) != list(range(1, len(lines) + 1)):
        return None
    return "\n".join(contents)
