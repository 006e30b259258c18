"""Pure. Finds credentials in text.

Text is looked at as it stands, so a credential is found raw, JSON-escaped (JSON inside JSON as
well) and URL-encoded; a long base64 run is decoded once, and counts whole if a credential is in
it. Prose about passwords and tokens stays: a rule wants an issuer's prefix, or a name with a value
behind it that looks like a secret. One pass a rule, linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from archive.prefilter import Index, Run, has_any

from .names import ASSIGNMENT, ASSIGNMENT_HINTS, FLAG, PLACEHOLDER
from .rules import KEY_BEGIN, KEY_BODY, KEY_END, RULES

_RULES: Final = Index(RULES, lambda rule: rule.needles)
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_LONG_RUN: Final = Run(_ALPHANUMERIC + "+/_-", 40)
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
# A credential is a run of such characters, the shortest "xoxb-" and ten more, or stands behind one
# of these signs, or one of these names says what it is.
_TOKEN_RUN: Final = Run(_ALPHANUMERIC + "+/_-.~=%:$", 15)
_SIGNS: Final = ("%", "PRIVATE")
_WORDS: Final = ("authorization", "cookie", "curl", "mysql", "mariadb", "sshpass")
_NAMES: Final = (*ASSIGNMENT_HINTS, *_WORDS)
_MAX_ENCODED: Final = 65_536
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]+(?:[-_.][A-Za-z]+)*[.!?]?")
_CODE: Final = re.compile(r"[A-Za-z_][\w.]*(?:\.\w+|\(|\[)|/|~/|\./|https?:|\d[\d.,]*[a-z%]{0,3}")


@dataclass(frozen=True, slots=True)
class Credential:
    """Where a credential is; its value is never carried along."""

    kind: str
    start: int
    end: int


def find_credentials(text: str) -> list[Credential]:
    """Credentials in `text`, from left to right, none overlapping another."""
    if len(text) < 8 or not is_suspicious(text):
        return []
    found = [*_private_keys(text), *_by_rules(text)]
    found += _assignments(text)
    found += _encoded(text)
    if "%" in text and _PERCENT.search(text):
        found += _percent_encoded(text)
    return _apart(found)


def is_suspicious(text: str) -> bool:
    """Whether any rule could find something: most texts need no closer look."""
    return (
        _TOKEN_RUN.is_in(text)
        or has_any(text.lower(), _NAMES)
        or has_any(text, _SIGNS)
        or ("://" in text and "@" in text)
    )


def could_hold(text: str) -> bool:
    """Whether a credential could be in a part of `text`: asked of many texts put together."""
    return is_suspicious(text) and (
        has_any(text, _SIGNS)
        or any(rule.pattern.search(text) for rule in _RULES.named_in(text))
        or (
            has_any(text.lower(), ASSIGNMENT_HINTS)
            and bool(ASSIGNMENT.search(text) or FLAG.search(text))
        )
        or any(_encoded(text))
    )


def _by_rules(text: str) -> Iterator[Credential]:
    for rule in _RULES.named_in(text):
        group = "secret" if "secret" in rule.pattern.groupindex else 0
        for match in rule.pattern.finditer(text):
            if group == 0 or not PLACEHOLDER.match(match[group]):
                yield Credential(rule.kind, match.start(group), match.end(group))


def _private_keys(text: str) -> Iterator[Credential]:
    """Key blocks from their first to their last line; a cut-off block to the end of its run."""
    if "PRIVATE" not in text:
        return
    at, closed = 0, True
    while match := KEY_BEGIN.search(text, at):
        end = KEY_END.search(text, match.end()) if closed else None
        closed = end is not None
        stop = end.end() if end else KEY_BODY.match(text, match.end()).end()  # type: ignore[union-attr]
        yield Credential("private-key", match.start(), stop)
        at = stop


def _assignments(text: str) -> Iterator[Credential]:
    if not has_any(text.lower(), ASSIGNMENT_HINTS):
        return
    matches = [*ASSIGNMENT.finditer(text), *(FLAG.finditer(text) if "-" in text else ())]
    for match in matches:
        quoted = match["quoted"]
        value = quoted if quoted is not None else match["bare"].rstrip(".,:;")
        if value and _is_secret(match, value):
            start = match.start("quoted" if quoted is not None else "bare")
            yield Credential(_kind_of(match["name"]), start, start + len(value))


def _is_secret(match: re.Match[str], value: str) -> bool:
    """Whether what a secret's name is given looks like a value of it, not like code or prose."""
    quoted = match["quoted"] is not None
    if PLACEHOLDER.match(value) or "withheld" in value:
        return False
    if match["end"] in ("(", "[") or (not quoted and _CODE.fullmatch(value + match["end"])):
        return False
    word = match["name"].lower().startswith(("passw", "passphrase", "pwd", "_pwd", "密", "口"))
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    has_mark = any(not c.isalnum() and c not in "-_." for c in value)
    says_is = match["mark"].strip().lower() in ("is", "是", "为", "為")
    if not quoted and _CODE.match(value) and not has_mark and not (has_digit and has_letter):
        return False
    if says_is and not (has_digit and (has_mark or has_letter)):
        return False
    if _PLAIN_WORD.fullmatch(value):
        # Letters only: a passphrase in quotes or after "=", else a word of the sentence.
        tight = quoted or match["mark"].rstrip("\"'\\").endswith("=")
        mixed = not value.islower() and not value.isupper() and not value.istitle()
        return (word and tight and len(value) >= 6) or (tight and mixed and len(value) >= 24)
    if word:
        return has_digit or has_mark
    return len(value) >= 8 and has_digit and has_letter


def _kind_of(name: str) -> str:
    lowered = name.lower()
    if lowered.startswith(("pass", "pwd", "_pwd", "密", "口")):
        return "password"
    return "token" if "token" in lowered or "令" in lowered else "secret"


def _encoded(text: str) -> Iterator[Credential]:
    """Base64 runs whose content holds a credential."""
    for start in _LONG_RUN.starts_in(text):
        match = _ENCODED.match(text, start)
        run = match[0] if match else ""
        if len(run) > _MAX_ENCODED or run.isalpha() or _is_hex(run):
            continue
        decoded = _decode(run)
        if decoded and (any(_by_rules(decoded)) or any(_assignments(decoded))):
            yield Credential("encoded-credential", start, start + len(run))


def _decode(run: str) -> str:
    padded = run.rstrip("=").replace("-", "+").replace("_", "/")
    padded += "=" * (-len(padded) % 4)
    try:
        data = base64.b64decode(padded)
    except (binascii.Error, ValueError):
        return ""
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return decoded if decoded.isprintable() or "\n" in decoded else ""


def _percent_encoded(text: str) -> Iterator[Credential]:
    """Words with percent escapes that hold a credential once decoded."""
    for match in re.finditer(r"\S+", text):
        word = match[0]
        if "%" not in word or len(word) > _MAX_ENCODED:
            continue
        decoded = unquote(word)
        if decoded != word:
            for inner in [*_by_rules(decoded), *_assignments(decoded)]:
                yield Credential(inner.kind, match.start(), match.end())
                break


def _is_hex(run: str) -> bool:
    return all(c in "0123456789abcdefABCDEF" for c in run)


def _apart(found: list[Credential]) -> list[Credential]:
    """Overlaps become one: the earliest, widest credential names the kind."""
    kept: list[Credential] = []
    for credential in sorted(found, key=lambda c: (c.start, -c.end)):
        if kept and credential.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = Credential(last.kind, last.start, max(last.end, credential.end))
        else:
            kept.append(credential)
    return kept
