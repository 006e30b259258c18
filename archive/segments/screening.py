"""Pure, as far as the redactor is. What of a kept text may stand: the redactor, then the screen."""

from __future__ import annotations

from typing import Any, Final

from .budget import plain_text
from .canonical import WideInteger, encode, nesting, parse
from .disclosure import is_credential_like
from .errors import SegmentInvalid
from .limits import MAX_REDACTED_NESTING, MAX_SEGMENT_BYTES
from .selection import Text
from .types import Redactor

WITHHELD: Final = "[archive: withheld]"
WITHHELD_ARGUMENTS: Final = {"_archive_withheld": True}


class Screen:
    """The redactor and the credential screen; keeps the total of what passes within bounds."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._kept = 0

    def keep(self, text: Text) -> str:
        """The screened text of a kept field."""
        kept = WITHHELD if text.text is None else self.text(text.text)
        self._charge(len(kept))
        return kept

    def arguments(self, text: str) -> tuple[Any, bool]:
        """The screened arguments of a tool, and whether a float is among them."""
        try:
            parsed = parse(self.text(text))
            if nesting(parsed.value, MAX_REDACTED_NESTING) > MAX_REDACTED_NESTING:
                return dict(WITHHELD_ARGUMENTS), False
            canonical = encode(parsed.value, floats=parsed.floats)
        except WideInteger:
            raise SegmentInvalid("redacted arguments hold an integer beyond 64 bits") from None
        except SegmentInvalid:
            raise
        except (ValueError, RecursionError):
            return dict(WITHHELD_ARGUMENTS), False
        if is_credential_like(canonical):  # escapes in the redactor's text hid it
            return dict(WITHHELD_ARGUMENTS), False
        self._charge(len(canonical))
        return parsed.value, parsed.floats

    def text(self, text: str) -> str:
        """`text` after redactor and screen: whole, or withheld as a whole."""
        if self._redactor is not None:
            text = _redact(self._redactor, text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise SegmentInvalid("the redactor's text holds half a surrogate pair") from None
        if is_credential_like(data):
            return WITHHELD
        if len(data) > MAX_SEGMENT_BYTES:
            raise SegmentInvalid(f"the redactor's text exceeds {MAX_SEGMENT_BYTES} bytes")
        return text

    def _charge(self, size: int) -> None:
        # Every kept byte is in the JSON too: stop before a growing redactor fills the memory.
        self._kept += size
        if self._kept > MAX_SEGMENT_BYTES:
            raise SegmentInvalid(f"the kept messages exceed {MAX_SEGMENT_BYTES} bytes of JSON")


class _Unscreened(Screen):
    def keep(self, text: Text) -> str:
        return WITHHELD if text.text is None else text.text


UNSCREENED: Final = _Unscreened(None)
"""Lets every text pass, for one look at a whole message's JSON: what that finds is screened.

Only without a redactor, so that the limits of the input hold for what passes.
"""


def _redact(redactor: Redactor, text: str) -> str:
    try:
        redacted: Any = redactor(text)
    except Exception as exc:
        # The type alone: its message or traceback may hold what was to be redacted.
        raise SegmentInvalid(f"the redactor failed with {type(exc).__name__}") from None
    if not isinstance(redacted, str):
        raise SegmentInvalid(f"the redactor returned {type(redacted).__name__}, not text")
    return plain_text(redacted)
