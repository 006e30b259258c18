"""Pure. Where quotes, substitutions and here-documents of a shell script end."""

from __future__ import annotations

import re
from typing import Final

IN_DOUBLE: Final = re.compile(r"[\"\\`$]")
_SPECIAL: Final = re.compile(r"['\"\\()`]|<<-?\s*['\"\\]?[A-Za-z_]")
_DELIMITER: Final = re.compile(r"<<-?\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.-]+))")
_MAX_NESTING: Final = 40


def read_body(text: str, start: int, delimiter: str, *, strip_tabs: bool) -> tuple[str, int]:
    """The here-document that begins at `start`, and the place behind its delimiter."""
    at, lines = start, []
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else None]
        at = end + 1 if end >= 0 else len(text)
        if strip_tabs:
            line = line.lstrip("\t")
        if line == delimiter:
            break
        lines.append(line)
    return "\n".join(lines) + "\n" if lines else "", at


def skip_substitution(text: str, at: int, nesting: int = 0) -> int:
    """The place behind the parenthesis that closes the substitution begun before `at`."""
    depth = 1
    while match := _SPECIAL.search(text, at):
        mark, at = match[0], match.end()
        if mark == "'":
            close = text.find("'", at)
            at = len(text) if close < 0 else close + 1
        elif mark == '"':
            at = _skip_double(text, at, nesting + 1)
        elif mark == "\\":
            at += 1
        elif mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
            if depth == 0:
                return at
        elif mark[0] == "<" and (here := _DELIMITER.match(text, match.start())):
            delimiter = here[1] or here[2] or here[3] or ""
            line_end = text.find("\n", here.end())
            if line_end < 0:
                return len(text)
            _, at = read_body(text, line_end + 1, delimiter, strip_tabs="<<-" in here[0])
    return len(text)


def _skip_double(text: str, at: int, nesting: int) -> int:
    while match := IN_DOUBLE.search(text, at):
        at = match.end()
        if match[0] == '"':
            return at
        if match[0] == "\\":
            at += 1
        elif match[0] == "$" and text[at : at + 1] == "(":
            if nesting > _MAX_NESTING:
                return len(text)
            at = skip_substitution(text, at + 1, nesting)
    return len(text)
