"""Pure. Case-insensitive literal search in the canonical JSON of messages."""

from __future__ import annotations

from collections.abc import Iterable

from .budget import utf8_size
from .errors import SegmentInvalid
from .limits import MAX_QUERY_BYTES, MAX_SNIPPET_BYTES

# The only letters outside ASCII whose lower case has ASCII in it: the Kelvin sign, and I with dot.
_LOWER_TO_ASCII = ("\u212a".encode(), "\u0130".encode())


class Query:
    """A checked query. Raises `SegmentInvalid` where it isn't text of at most 512 bytes."""

    def __init__(self, query: str) -> None:
        if not isinstance(query, str) or utf8_size(query) > MAX_QUERY_BYTES:
            raise SegmentInvalid(f"a query is text of at most {MAX_QUERY_BYTES} bytes")
        self._wanted = query.lower()
        self._ascii = self._wanted.encode() if self._wanted.isascii() else None

    def snippet(self, texts: Iterable[bytes]) -> str | None:
        """The start of the first of `texts` that matches; None where none does.

        An empty query matches whatever there is, nothing included.
        """
        for text in texts:
            if not self._wanted or self._matches(text):
                return text[:MAX_SNIPPET_BYTES].decode(errors="ignore")
        return None if self._wanted else ""

    def _matches(self, text: bytes) -> bool:
        # Lower-casing bytes is several times faster than text, and exact for all but two letters.
        if self._ascii is not None:
            if self._ascii in text.lower():
                return True
            if not any(letter in text for letter in _LOWER_TO_ASCII):
                return False
        elif text.isascii():
            return False
        return self._wanted in text.decode().lower()
