"""Pure. Splits a shell script into its simple commands, as far as extraction needs it.

Quotes are removed, here-document bodies attached to their redirection, operators kept. What only
a running shell knows (variables, substitutions, globs) stays in the words as written. One pass:
a substitution is skipped as a whole, never parsed again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PLAIN: Final = re.compile(r"[^\s'\"\\$`;&|<>()]+")
_BLANK: Final = re.compile(r"(?:[ \t\r\f\v]|\\\n)+")
_REDIRECT: Final = re.compile(r"&>>|&>|<<<|<<-|<<|>>|>\||>&|<&|<>|>|<")
_OPERATOR: Final = re.compile(r"&&|\|\||;;|\|&|[;&|\n()]")
_SPECIAL: Final = re.compile(r"['\"\\()`]|<<-?\s*['\"\\]?[A-Za-z_]")
_IN_DOUBLE: Final = re.compile(r"[\"\\`$]")
_DELIMITER: Final = re.compile(r"<<-?\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.-]+))")
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_KEYWORDS: Final = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{"})
_MAX_NESTING: Final = 40


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` as written without its descriptor; `body` of a here-document or here-string."""

    operator: str
    target: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: `joiner` stands before it, `piped` says its output goes on."""

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    joiner: str = ""
    piped: bool = False

    @property
    def here_document(self) -> str:
        """What the command gets on its standard input, where that is written in the script."""
        return next((r.body for r in self.redirects if r.operator.startswith("<<")), "")


def parse_script(script: str) -> list[Command]:
    """The simple commands of `script`, in the order written."""
    return _Parser(script).run()


class _Parser:
    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0
        self._parts: list[tuple[tuple[str, ...], list[Redirect], str, bool]] = []
        self._words: list[str] = []
        self._redirects: list[Redirect] = []
        self._joiner = ""
        self._waiting: list[tuple[list[Redirect], int]] = []

    def run(self) -> list[Command]:
        text, end = self._text, len(self._text)
        while self._at < end:
            if blank := _BLANK.match(text, self._at):
                self._at = blank.end()
            elif text[self._at] == "#":
                line_end = text.find("\n", self._at)
                self._at = end if line_end < 0 else line_end
            elif not self._redirect() and not self._operator():
                self._words.append(self._word())
        self._finish("")
        return [Command(w, tuple(r), joiner, piped) for w, r, joiner, piped in self._parts]

    def _operator(self) -> bool:
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        self._finish(match[0])
        if match[0] == "\n":
            for redirects, place in self._waiting:
                old = redirects[place]
                body, self._at = self._body(self._at, old.target, old.operator == "<<-")
                redirects[place] = Redirect(old.operator, old.target, body)
            self._waiting = []
        return True

    def _finish(self, operator: str) -> None:
        words = self._words
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words or self._redirects:
            piped = operator in ("|", "|&")
            self._parts.append((tuple(words), self._redirects, self._joiner, piped))
            self._joiner = operator
        elif operator not in ("\n", "(", ")"):
            self._joiner = operator
        self._words, self._redirects = [], []

    def _redirect(self) -> bool:
        text = self._text
        match = _REDIRECT.match(text, self._at)
        if match is None:
            return False
        operator = match[0]
        if text[match.end() : match.end() + 1] == "(" and operator in ("<", ">"):
            start = self._at
            self._at = self._skip_substitution(match.end() + 1, 0)
            self._words.append(text[start : self._at])
            return True
        if self._words and self._words[0] == "[[":
            self._at = match.end()
            self._words.append(operator)
            return True
        if self._words and self._words[-1].isdecimal() and text[self._at - 1].isdecimal():
            self._words.pop()
        self._at = match.end()
        if blank := _BLANK.match(text, self._at):
            self._at = blank.end()
        target = self._word() if self._at < len(text) and text[self._at] not in "\n;|)" else ""
        body = target if operator == "<<<" else ""
        if operator in ("<<", "<<-"):
            self._waiting.append((self._redirects, len(self._redirects)))
        self._redirects.append(Redirect(operator, target, body))
        return True

    def _body(self, start: int, delimiter: str, strip_tabs: bool) -> tuple[str, int]:
        text, at, lines = self._text, start, []
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

    def _word(self) -> str:
        text, end, parts = self._text, len(self._text), []
        while self._at < end:
            if plain := _PLAIN.match(text, self._at):
                parts.append(plain[0])
                self._at = plain.end()
                continue
            char = text[self._at]
            if char == "'":
                close = text.find("'", self._at + 1)
                close = end if close < 0 else close
                parts.append(text[self._at + 1 : close])
                self._at = min(end, close + 1)
            elif char == '"':
                parts.append(self._double())
            elif char == "\\":
                parts.append(text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif char == "$":
                parts.append(self._dollar())
            elif char == "`":
                close = text.find("`", self._at + 1)
                close = end - 1 if close < 0 else close
                parts.append(text[self._at : close + 1])
                self._at = close + 1
            else:
                break
        return "".join(parts)

    def _double(self) -> str:
        text, end, parts = self._text, len(self._text), []
        self._at += 1
        while self._at < end:
            match = _IN_DOUBLE.search(text, self._at)
            if match is None:
                parts.append(text[self._at :])
                self._at = end
                break
            parts.append(text[self._at : match.start()])
            self._at = match.start()
            char = match[0]
            if char == '"':
                self._at += 1
                break
            if char == "\\":
                following = text[self._at + 1 : self._at + 2]
                parts.append(
                    following
                    if following in '"\\$`'
                    else ""
                    if following == "\n"
                    else "\\" + following
                )
                self._at += 2
            elif char == "$":
                parts.append(self._dollar(in_double=True))
            else:
                parts.append("`")
                self._at += 1
        return "".join(parts)

    def _dollar(self, *, in_double: bool = False) -> str:
        text, start = self._text, self._at
        following = text[start + 1 : start + 2]
        if following == "(":
            self._at = self._skip_substitution(start + 2, 0)
            return text[start : self._at]
        if following == "'" and not in_double and (match := _ANSI_C.match(text, start)):
            self._at = match.end()
            return match[1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'")
        if following == "{":
            close = text.find("}", start)
            self._at = len(text) if close < 0 else close + 1
            return text[start : self._at]
        self._at = start + 1
        return "$"

    def _skip_substitution(self, at: int, nesting: int) -> int:
        """The place behind the parenthesis that closes the substitution begun before `at`."""
        text, depth, delimiters = self._text, 1, ""
        while match := _SPECIAL.search(text, at):
            mark, at = match[0], match.end()
            if mark == "'":
                close = text.find("'", at)
                at = len(text) if close < 0 else close + 1
            elif mark == '"':
                at = self._skip_double(at, nesting + 1)
            elif mark == "\\":
                at += 1
            elif mark == "(":
                depth += 1
            elif mark == ")":
                depth -= 1
                if depth == 0:
                    return at
            elif mark[0] == "<" and (here := _DELIMITER.match(text, match.start())):
                delimiters = here[1] or here[2] or here[3] or ""
                line_end = text.find("\n", here.end())
                if line_end < 0:
                    return len(text)
                _, at = self._body(line_end + 1, delimiters, "<<-" in here[0])
        return len(text)

    def _skip_double(self, at: int, nesting: int) -> int:
        text = self._text
        while match := _IN_DOUBLE.search(text, at):
            at = match.end()
            if match[0] == '"':
                return at
            if match[0] == "\\":
                at += 1
            elif match[0] == "$" and text[at : at + 1] == "(":
                if nesting > _MAX_NESTING:
                    return len(text)
                at = self._skip_substitution(at + 1, nesting)
        return len(text)
