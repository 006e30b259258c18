"""Pure. What may be shown: no password, no control character, nothing without end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote, unquote

MASK: Final = "***"

_SHORTEST_SECRET: Final = 3
"""Masking shorter values wherever they occur would garble everything and hide nothing."""

_ASSIGNED: Final = re.compile(
    r"(?i)((?:password|passwd|passphrase|secret|token|requirepass|masterauth|api_?key)"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)[^\s&\"',;]+"
)
# C0, DEL, C1, direction marks and overrides, line separators, half surrogate pairs, and the
# byte order mark.
UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""A character that can drive a terminal or forge a line."""


def redact_url(url: str) -> str:
    """`url` with its password masked; the user stays where a password follows it.

    Unparsable ones too: everything from `://` to the last `@` counts as credentials.
    """
    scheme, found, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if found and at:
        user, colon, _ = credentials.partition(":")
        masked = f"{user}:{MASK}" if colon and re.fullmatch(r"[\w.-]{0,64}", user) else MASK
        url = f"{scheme}://{masked}@{place}"
    return _ASSIGNED.sub(rf"\g<1>{MASK}", url)


def redact(text: str) -> str:
    """`text` with the credentials of every URL and every `password=…` masked; linear."""
    if "://" in text:
        text = re.sub(r"\S+", lambda word: redact_url(word[0]) if "@" in word[0] else word[0], text)
    return _ASSIGNED.sub(rf"\g<1>{MASK}", text)


class Redactor:
    """`redact`, which also masks the secrets it was told, wherever they occur."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Mask `secret` from now on, also as a URL would write it."""
        forms = {secret, unquote(secret), quote(secret, safe=""), repr(secret)[1:-1]}
        known = {*self._secrets, *(form for form in forms if len(form) >= _SHORTEST_SECRET)}
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """`text` without credentials."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return redact(text)


def secrets_in_url(url: str) -> list[str]:
    """The passwords inside `url`, so that a `Redactor` knows them; empty when it has none."""
    _, found, rest = url.partition("://")
    if not found:
        return []
    secrets = re.findall(r"[?&]\w*password=([^&#]+)", rest)
    credentials, at, _ = rest.rpartition("@")
    if at:
        _, colon, password = credentials.partition(":")
        secrets.append(password if colon else credentials)
    return secrets


def escape_controls(text: str, *, keep: str = "") -> str:
    """`text` on one line that can't drive a terminal: controls, bidi marks and the like escaped.

    Characters in `keep` stay as they are, newlines say.
    """

    def escaped(found: re.Match[str]) -> str:
        char = found[0]
        return char if char in keep else char.encode("unicode_escape", "surrogatepass").decode()

    return UNSAFE.sub(escaped, text)


def shortened(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more)"


def shown(value: Any, limit: int = 80) -> str:
    """A value for an error message: quoted, redacted, escaped, short."""
    text = value if isinstance(value, str) else repr(value)
    safe = shortened(escape_controls(redact(text)), limit)
    return f"'{safe}'" if isinstance(value, str) else safe
