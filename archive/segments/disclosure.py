"""Pure. Who may see a value, by its own labels; and what looks like a credential.

The screen for credentials is no universal detector: the host's labels and its redactor are the
authority. It is written as the format states it, so that both programs withhold the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from ahocorasick_rs import BytesAhoCorasick, MatchKind

CREDENTIAL_MARKS: Final = (
    "password",
    "passwd",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "refresh_token",
    "secret",
    "authorization",
    "bearer ",
    "private key",
    "sk-",
    "ghp_",
    "github_pat_",
    "xoxb-",
    "akia",
    "eyjh",
)
"""Text is credential-like when it contains one of these, ASCII letters in either case."""

# Leftmost matching is the kind that a vectorised search serves: a tenth of one search a mark.
_MARKS: Final = BytesAhoCorasick(
    [mark.encode() for mark in CREDENTIAL_MARKS], matchkind=MatchKind.LeftmostFirst
)

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

_CONTENT_CLASSES: Final = frozenset({"user_text", "assistant_text", "tool_calls", "tool_results"})
_OPEN_LABELS: Final = frozenset({"normal", "standard", "model_visible"})
_LABEL_KEYS: Final = ("sensitivity", "retention", "retention_class")
_DISCLOSURE_KEYS: Final = ("disclosure", "disclosure_class")

OBJECTS: Final = (dict, Mapping)
"""What counts as a JSON object; the common kind first, since it is looked up for every value."""

LABELS: Final = ("channel", "content_class", "private", *_LABEL_KEYS, *_DISCLOSURE_KEYS)
"""Every key that can make a value ineligible or restrict its text."""


class Disclosure(Enum):
    """How eligible text may be kept."""

    MODEL_VISIBLE = "model_visible"
    AFTER_REDACTION = "model_visible_after_redaction"


def disclosure_of(value: Any) -> Disclosure | None:
    """The class that the labels of `value` give it; None where it isn't eligible.

    What has no labels, as text or a list has none, is eligible. Of two disclosure keys
    `disclosure_class` decides, if both are eligible.
    """
    if not isinstance(value, OBJECTS):
        return Disclosure.MODEL_VISIBLE
    if value.keys().isdisjoint(LABELS):
        return Disclosure.MODEL_VISIBLE
    if "channel" in value and not _is_one(value["channel"], ("final",)):
        return None
    if "content_class" in value and not _is_one(value["content_class"], _CONTENT_CLASSES):
        return None
    if value.get("private", False) is not False:
        return None
    if not all(_is_one(value[key], _OPEN_LABELS) for key in _LABEL_KEYS if key in value):
        return None
    result = Disclosure.MODEL_VISIBLE
    for key in _DISCLOSURE_KEYS:
        if key not in value:
            continue
        if _is_one(value[key], (Disclosure.MODEL_VISIBLE.value,)):
            result = Disclosure.MODEL_VISIBLE
        elif _is_one(value[key], (Disclosure.AFTER_REDACTION.value,)):
            result = Disclosure.AFTER_REDACTION
        else:
            return None
    return result


def is_credential_like(text: bytes) -> bool:
    """Whether the UTF-8 `text` contains one of `CREDENTIAL_MARKS`."""
    return bool(_MARKS.find_matches_as_indexes(text.lower()))


def identifier(value: Any) -> str | None:
    """`value` where it is a valid identifier: 1–128 plain characters, not credential-like."""
    if not isinstance(value, str) or _IDENTIFIER.fullmatch(value) is None:
        return None
    return None if is_credential_like(value.encode()) else str(value)


def _is_one(value: Any, known: tuple[str, ...] | frozenset[str]) -> bool:
    return isinstance(value, str) and value in known
