"""Pure. Takes a shell output out of the wrapping its agent put around it.

The exit code is rarely a field: each agent writes it somewhere near the start or the end of the
text. Only those two windows are searched, so a megabyte of output costs no more than a line.
"""

from __future__ import annotations

import re
from typing import Final

from archive.prefilter import has_any

_WINDOW: Final = 600

_HEAD_CODES: Final = re.compile(
    r"\A\s*(?:<error>)?\s*Exit code:?\s+(-?\d{1,9})\b"
    r"|^Process exited with code (-?\d{1,9})\b"
    r"|^<(?:returncode|exit_code|return-code)>\s*(-?\d{1,9})\s*</"
    r"|\A\s*(?:Error: )?Command (?:\"[^\"\n]{0,400}\" )?(?:failed|exited) with (?:exit )?"
    r"(?:code|status):? (-?\d{1,9})"
    r"|\ACommand exec[^\n]*\s(?:Exit|exit) code:? (-?\d{1,9})\b",
    re.MULTILINE,
)
_TAIL_CODES: Final = re.compile(
    r"^Exit Code: (-?\d{1,9})\b"
    r"|<shellId: ?\S{1,40} completed with exit code (-?\d{1,9})>"
    r"|\[The command (?:completed|finished) with exit code (-?\d{1,9})"
    r"|\[Command finished with exit code (-?\d{1,9})"
    r"|\[exit code: (-?\d{1,9})\]"
    r"|<exited with exit code (-?\d{1,9})>"
    r"|<(?:returncode|exit_code)>(-?\d{1,9})</"
    r"|^\(exit(?: code:?)? (-?\d{1,9})\)\s*\Z"
    r"|^Exit code:? (-?\d{1,9})\s*(?:\Z|<cwd>)"
    r"|^\[?(?:Process|Command) (?:exited|failed) with (?:exit )?(?:code|status):? (-?\d{1,9})"
    r"\.?\]?\s*\Z",
    re.MULTILINE,
)
_CODE_HINTS: Final = ("xit", "returncode", "return-code", "ommand failed")
_CODEX_HEAD: Final = re.compile(
    r"\A(?:Chunk ID: \S*\n)?(?:Exit code: -?\d+\n)?Wall time: [^\n]*\n"
    r"(?:Process [^\n]*\n)?(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?"
    r"Output:(?:\n|\Z)"
)
_CODEX_STARTS: Final = ("Ch", "Ex", "Wa", " E", "\nE")
_GEMINI_HEAD: Final = re.compile(r"^(?:Output|Stdout): ", re.MULTILINE)
_GEMINI_TAIL: Final = re.compile(r"^(?:Error|Stderr): ", re.MULTILINE)
_GEMINI_FACTS: Final = re.compile(
    r"(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*){1,5}\n?\Z"
)
_CLAUDE_HEAD: Final = re.compile(r"\A\s*Exit code:? -?\d+\n")
_PROMPT_TAIL: Final = re.compile(
    r"(?:\n\(Open file: [^\n]*\)\n\(Current directory: [^\n]*\)\nbash-\$\s*"
    r"|\n?<shellId: [^\n]*>\s*|\n\[The command (?:completed"
    r"|finished) with exit code [^\n]*(?:\n\[[^\n]*)*\s*)\Z"
)
_PROMPT_ENDS: Final = ("$", ">", "]")
_CURRENT_DIRECTORY: Final = re.compile(
    r"^\(Current directory: ([^\n)]+)\)|^Shell cwd was reset to ([^\n]+)", re.MULTILINE
)


def unwrap(text: str) -> tuple[str, int | None]:
    """The command's own output and its exit code, None where the text doesn't tell."""
    code = find_exit_code(text)
    if text.startswith("<returncode>"):
        start, end = text.find("<output>"), text.rfind("</output>")
        if start >= 0:
            return text[start + 8 : end if end >= 0 else None].strip("\n"), code
    if text.startswith("Command: ") and (head := _GEMINI_HEAD.search(text)):
        return _gemini_body(text, head.end()), code
    if text.startswith("Output: ") and (
        facts := _GEMINI_FACTS.search(text, max(0, len(text) - _WINDOW))
    ):
        return text[8 : facts.start()], code
    if text[:2] in _CODEX_STARTS and (match := _CODEX_HEAD.match(text) or _CLAUDE_HEAD.match(text)):
        text = text[match.end() :]
    if text[-_WINDOW:].rstrip()[-1:] in _PROMPT_ENDS and (
        match := _PROMPT_TAIL.search(text, max(0, len(text) - _WINDOW))
    ):
        text = text[: match.start()]
    return text, code


def find_exit_code(text: str) -> int | None:
    """The exit code as one of the agents would write it into its output."""
    head, tail = text[:_WINDOW], text[-_WINDOW:]
    hinted = has_any(head, _CODE_HINTS)
    match = _HEAD_CODES.search(head) if hinted else None
    if match is None and (hinted if head == text else has_any(tail, _CODE_HINTS)):
        match = _TAIL_CODES.search(tail)
    return int(match[match.lastindex or 0]) if match else None


def find_directory(text: str) -> str:
    """The working directory that the agent printed after the output, or nothing."""
    tail = text[-_WINDOW:]
    if "(Current directory: " not in tail and "Shell cwd was reset" not in tail:
        return ""
    match = _CURRENT_DIRECTORY.search(tail)
    return (match[1] or match[2]).strip() if match else ""


def _gemini_body(text: str, start: int) -> str:
    end = -1
    for match in _GEMINI_TAIL.finditer(text, max(start, len(text) - 20_000)):
        end = match.start()
    body = text[start : end if end >= 0 else None].rstrip("\n")
    errors = text[end:] if end >= 0 else ""
    if errors and not errors.startswith(("Error: (none)", "Stderr: (empty)")):
        body += "\n" + errors
    return "" if body in ("(empty)", "(none)") else body
