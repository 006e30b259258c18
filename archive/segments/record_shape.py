"""Pure. The shape and the rules of a segment file; what breaks one is corrupt.

Apart from `record`, since it loads the JSON library: only who reads a record pays for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec

from .canonical import INT_MAX, INT_MIN
from .limits import MAX_MESSAGES, MAX_NESTING, MAX_NOTE_BYTES

VERSION: Final = 1
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ID_DIGITS: Final = frozenset("0123456789abcdef")

# A message stands in an element, a list, the body and the record.
_MESSAGE_NESTING: Final = MAX_NESTING - 4


class RecordFault(ValueError):
    """The bytes are no record of this scope; the message says why, without content."""


class _Quiet(msgspec.Struct):
    """Shows no content in its repr."""

    __repr__ = object.__repr__


class Element(_Quiet, forbid_unknown_fields=True):
    """One kept message as stored."""

    source_index: int
    block_indices: list[int]
    message: dict[str, Any]


class Live(_Quiet, tag_field="state", tag="live", forbid_unknown_fields=True):
    """The body of a segment that is there."""

    source_message_count: int
    messages: list[Element]
    note: str


class Tombstone(_Quiet, tag_field="state", tag="tombstone", forbid_unknown_fields=True):
    """The body of a segment that was forgotten."""


class Shape(_Quiet, forbid_unknown_fields=True):
    """A whole file. Fields stand in the order in which they are written."""

    version: int
    scope: str
    logical: str
    id: str
    digest: str
    body: Live | Tombstone


# Sorts the keys of objects but keeps the order of the fields above.
encode: Final = msgspec.json.Encoder(order="deterministic").encode


def decode(data: bytes, float_hook: Callable[[str], float]) -> Shape:
    """`data` as a record's shape; `float_hook` makes each float. Raises `RecordFault`."""
    try:
        return msgspec.json.Decoder(Shape, float_hook=float_hook).decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        fail("it is no JSON of a record")


def convert(value: Any) -> Shape:
    """A parsed JSON value as a record's shape. Raises `RecordFault`."""
    try:
        return msgspec.convert(value, Shape)
    except (msgspec.ValidationError, RecursionError):
        fail("a field is unknown, missing or of the wrong kind")


def check(shape: Shape, scope: str) -> None:
    """Everything but the digest. Raises `RecordFault`."""
    if shape.version != VERSION:
        fail(f"its version isn't {VERSION}")
    if shape.scope != scope:
        fail("it belongs to another scope")
    if not _is_hash(shape.logical) or not _is_hash(shape.digest):
        fail("its logical id or digest is no SHA-256")
    if not is_segment_id(shape.id):
        fail("its id is none")
    if isinstance(shape.body, Live):
        _check_live(shape.body)


def is_segment_id(text: Any) -> bool:
    """Whether `text` is 32 lower-case hex digits."""
    return isinstance(text, str) and len(text) == 32 and _ID_DIGITS.issuperset(text)


def fail(why: str) -> NoReturn:
    """Raise `RecordFault`."""
    raise RecordFault(why)


def _is_hash(text: str) -> bool:
    return len(text) == 64 and _HEX.issuperset(text)


def _check_live(body: Live) -> None:
    count = body.source_message_count
    if not 0 <= count <= MAX_MESSAGES or len(body.messages) > MAX_MESSAGES:
        fail(f"it has more than {MAX_MESSAGES} messages")
    if len(_utf8(body.note)) > MAX_NOTE_BYTES:
        fail(f"its note exceeds {MAX_NOTE_BYTES} bytes")
    previous = -1
    for element in body.messages:
        if not previous < element.source_index < count:
            fail("its source indices don't grow within the source")
        previous = element.source_index
        if not all(0 <= index <= INT_MAX for index in element.block_indices):
            fail("a block index is out of range")
        for value in element.message.values():
            if type(value) is not str:
                _check_value(value, _MESSAGE_NESTING - 1)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        fail("its note holds half a surrogate pair")


def _check_value(value: Any, levels: int) -> None:
    """Every integer fits 64 bits, and lists and objects nest at most `levels` deep."""
    if isinstance(value, dict | list):
        if levels == 0:
            fail(f"it is nested deeper than {MAX_NESTING} levels")
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) is not str:
                _check_value(item, levels - 1)
    elif isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        fail("an integer doesn't fit 64 bits")
