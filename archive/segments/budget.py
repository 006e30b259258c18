"""Pure. What one seal may cost: bytes of eligible strings and structure, visits, depth."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from .errors import SegmentInvalid
from .limits import MAX_DEPTH, MAX_INPUT_BYTES, MAX_NODES

_LONG: Final = 4_096
"""Characters of a text from which encoding it twice is felt."""


class Budget:
    """Counts a seal's input; raises `SegmentInvalid` at the first excess."""

    __slots__ = ("_bytes", "_nodes")

    def __init__(self) -> None:
        self._bytes = 0
        self._nodes = 0

    def node(self, depth: int) -> None:
        """One value visited at `depth`."""
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise SegmentInvalid(f"eligible data is nested deeper than {MAX_DEPTH} levels")
        if self._nodes > MAX_NODES:
            raise SegmentInvalid(f"more than {MAX_NODES} values to visit")

    def charge(self, size: int) -> None:
        """`size` bytes that may be kept."""
        self._bytes += size
        if self._bytes > MAX_INPUT_BYTES:
            raise SegmentInvalid(f"eligible input exceeds {MAX_INPUT_BYTES} bytes")

    def field(self, key: str, text: str, depth: int) -> None:
        """One visited text under `key`."""
        self.node(depth)
        self.charge(len(key) + 8 + (len(text) if text.isascii() else utf8_size(text)))


def plain_text(text: str) -> str:
    """`text` as a `str` of exactly that type: a subclass could answer differently later."""
    return text if type(text) is str else str.__str__(text)


def utf8_size(text: str) -> int:
    """Bytes of `text` in UTF-8. Raises `SegmentInvalid` for half a surrogate pair."""
    if text.isascii():
        return len(text)
    try:
        if len(text) >= _LONG:
            _encode_for_good(text)
        return len(text.encode())
    except UnicodeEncodeError:
        raise SegmentInvalid("eligible text holds half a surrogate pair") from None


def _encode_for_good(text: str) -> None:
    """Encode `text` in the way that keeps its UTF-8 with it, for whoever asks for it next.

    `str.encode` doesn't, and takes twice as long as all the rest of writing it as JSON.
    """
    _packer()(text)


@cache
def _packer() -> Callable[[Any], bytes]:
    import msgspec

    return msgspec.msgpack.Encoder().encode
