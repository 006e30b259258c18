"""Pure. Case-insensitive literal search in the canonical JSON of messages."""

from __future__ import annotations

from typing import Final

from .budget import utf8_size
from .errors import SegmentInvalid
from .limits import MAX_QUERY_BYTES, MAX_SNIPPET_BYTES
from .record import Record

# The only letters outside ASCII with ASCII in their lower case: the Kelvin sign, and I with dot.
_LOWER_TO_ASCII: Final = {"k": "\u212a".encode(), "i": "\u0130".encode()}


class Query:
    """A checked query. Raises `SegmentInvalid` where it isn't text of at most 512 bytes."""

    def __init__(self, query: str) -> None:
        if not isinstance(query, str) or utf8_size(query) > MAX_QUERY_BYTES:
            raise SegmentInvalid(f"a query is text of at most {MAX_QUERY_BYTES} bytes")
        self._wanted = query.lower()
        self._ascii = self._wanted.encode() if self._wanted.isascii() else None
        self._letters = [made for low, made in _LOWER_TO_ASCII.items() if low in self._wanted]

    def snippet(self, record: Record) -> str | None:
        """The start of the record's first message that matches; None where none does.

        An empty query matches a record without messages too.
        """
        if self._wanted and not self._matches(record.elements):
            return None
        for text in record.texts():
            if not self._wanted or self._matches(text):
                return text[:MAX_SNIPPET_BYTES].decode(errors="ignore")
        return None if self._wanted else ""

    def _matches(self, text: bytes) -> bool:
        # Lower-casing bytes is several times faster than text, and exact for all but two letters.
        if self._ascii is not None:
            if self._ascii in text.lower():
                return True
            if text.isascii() or not any(letter in text for letter in self._letters):
                return False
        elif text.isascii():
            return False
        return self._wanted in text.decode().lower()
