"""Pure. Splits a shell script into its simple commands, as far as extraction needs it.

Quotes are removed, here-document bodies attached to their redirection, operators kept. What only
a running shell knows (variables, substitutions, globs) stays in the words as written. One pass:
a substitution is skipped as a whole, never parsed again.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .shell_skip import IN_DOUBLE, read_body, skip_substitution

_PLAIN: Final = re.compile(r"[^ \t\n\r\f\v'\"\\$`;&|<>()]+")
_BLANKS: Final = " \t\r\f\v\\"  # the backslash before a line break
_BLANK: Final = re.compile(r"(?:[ \t\r\f\v]|\\\n)+")
_ENDS: Final = "<>&|;\n()"
"""What ends a word, blanks apart."""
_WORD_ENDS: Final = frozenset({"", *" \t\r\f\v", *_ENDS})
_REDIRECT: Final = re.compile(r"&>>|&>|<<<|<<-|<<|>>|>\||>&|<&|<>|>|<")
_OPERATOR: Final = re.compile(r"&&|\|\||;;|\|&|[;&|\n()]")
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_MAX_GROUPS: Final = 20
_KEYWORDS: Final = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{"})


class Redirect(NamedTuple):
    """`operator` as written without its descriptor; `body` of a here-document or here-string."""

    operator: str
    target: str
    body: str = ""


class Command(NamedTuple):
    """One simple command: `joiner` stands before it, `piped` says its output goes on.

    `group` numbers the subshells around it, outermost first: a `cd` in one ends with it.
    """

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    joiner: str = ""
    piped: bool = False
    group: tuple[int, ...] = ()

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
        self._parts: list[tuple[tuple[str, ...], list[Redirect], str, bool, tuple[int, ...]]] = []
        self._group: tuple[int, ...] = ()
        self._groups = 0
        self._words: list[str] = []
        self._redirects: list[Redirect] = []
        self._joiner = ""
        self._waiting: list[tuple[list[Redirect], int]] = []

    def run(self) -> list[Command]:
        text, end = self._text, len(self._text)
        while self._at < end:
            char = text[self._at]
            if char in _BLANKS and (blank := _BLANK.match(text, self._at)):
                self._at = blank.end()
            elif char == "#":
                line_end = text.find("\n", self._at)
                self._at = end if line_end < 0 else line_end
            elif char not in _ENDS or not (self._redirect() or self._operator()):
                self._words.append(self._word())
        self._finish("")
        return [
            Command(words, tuple(redirects), joiner, piped, group)
            for words, redirects, joiner, piped, group in self._parts
        ]

    def _operator(self) -> bool:
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        self._finish(match[0])
        if match[0] == "\n":
            for redirects, place in self._waiting:
                old = redirects[place]
                tabs = old.operator == "<<-"
                body, self._at = read_body(self._text, self._at, old.target, strip_tabs=tabs)
                redirects[place] = Redirect(old.operator, old.target, body)
            self._waiting = []
        return True

    def _finish(self, operator: str) -> None:
        words = self._words
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words or self._redirects:
            piped = operator in ("|", "|&")
            self._parts.append((tuple(words), self._redirects, self._joiner, piped, self._group))
            self._joiner = operator
        elif operator not in ("\n", "(", ")"):
            self._joiner = operator
        self._words, self._redirects = [], []
        if operator == "(" and len(self._group) < _MAX_GROUPS:
            self._groups += 1
            self._group = (*self._group, self._groups)
        elif operator == ")":
            self._group = self._group[:-1]

    def _redirect(self) -> bool:
        text = self._text
        match = _REDIRECT.match(text, self._at)
        if match is None:
            return False
        operator = match[0]
        if text[match.end() : match.end() + 1] == "(" and operator in ("<", ">"):
            start = self._at
            self._at = skip_substitution(text, match.end() + 1)
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

    def _word(self) -> str:
        text, end, parts = self._text, len(self._text), []
        while self._at < end:
            if plain := _PLAIN.match(text, self._at):
                parts.append(plain[0])
                self._at = plain.end()
                if text[self._at : self._at + 1] in _WORD_ENDS:
                    break
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
            match = IN_DOUBLE.search(text, self._at)
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
                if following in '"\\$`':
                    parts.append(following)
                elif following != "\n":
                    parts.append("\\" + following)
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
            self._at = skip_substitution(text, start + 2)
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
