"""Pure. The rules that a decoded segment file has to keep; what breaks one is corrupt."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from .canonical import INT_MAX, INT_MIN
from .limits import MAX_MESSAGES, MAX_NESTING, MAX_NOTE_BYTES

VERSION: Final = 1
_RECORD_KEYS: Final = frozenset({"version", "scope", "logical", "id", "digest", "body"})
_LIVE_KEYS: Final = frozenset({"state", "source_message_count", "messages", "note"})
_TOMBSTONE_KEYS: Final = frozenset({"state"})
_MESSAGE_KEYS: Final = frozenset({"source_index", "block_indices", "message"})
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ID_DIGITS: Final = frozenset("0123456789abcdef")

# A message stands in an element, a list, the body and the record.
_MESSAGE_NESTING: Final = MAX_NESTING - 4


class RecordFault(ValueError):
    """The bytes are no record of this scope; the message says why, without content."""


class RepeatedKeys(dict[str, Any]):
    """An object in which a key stood twice: the last one counts, but no record has one."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of `pairs`; a `RepeatedKeys` where a key stands twice."""
    made = dict(pairs)
    return made if len(made) == len(pairs) else RepeatedKeys(made)


def is_segment_id(text: Any) -> bool:
    """Whether `text` is 32 lower-case hex digits."""
    return isinstance(text, str) and len(text) == 32 and _ID_DIGITS.issuperset(text)


def check_record(value: Any, scope: str) -> dict[str, Any]:
    """`value` as a record of `scope`, but for its digest. Raises `RecordFault`."""
    fields = _object(value, _RECORD_KEYS, "the record")
    if not _is_count(fields["version"], VERSION) or fields["version"] != VERSION:
        fail("its version isn't 1")
    if fields["scope"] != scope:
        fail("it belongs to another scope")
    for key in ("logical", "digest"):
        digits = fields[key]
        if type(digits) is not str or len(digits) != 64 or not _HEX.issuperset(digits):
            fail(f"its {key} is no SHA-256")
    if not is_segment_id(fields["id"]):
        fail("its id is none")
    body = fields["body"]
    if isinstance(body, dict) and body.get("state") == "tombstone":
        _object(body, _TOMBSTONE_KEYS, "the tombstone")
    else:
        _check_live(_object(body, _LIVE_KEYS, "the body"))
    return fields


def fail(why: str) -> NoReturn:
    """Raise `RecordFault`."""
    raise RecordFault(why)


def _check_live(body: dict[str, Any]) -> None:
    count, messages, note = body["source_message_count"], body["messages"], body["note"]
    if body["state"] != "live":
        fail("its state is neither live nor tombstone")
    if not _is_count(count, MAX_MESSAGES):
        fail("its source message count is out of range")
    if type(note) is not str or len(note.encode("utf-8", "surrogatepass")) > MAX_NOTE_BYTES:
        fail(f"its note is no text of at most {MAX_NOTE_BYTES} bytes")
    if type(messages) is not list or len(messages) > MAX_MESSAGES:
        fail(f"its messages are no list of at most {MAX_MESSAGES}")
    previous = -1
    for message in messages:
        fields = _object(message, _MESSAGE_KEYS, "a message")
        index, blocks = fields["source_index"], fields["block_indices"]
        if not _is_count(index, count - 1) or index <= previous:
            fail("its source indices don't grow within the source")
        if type(blocks) is not list or not all(_is_count(block, INT_MAX) for block in blocks):
            fail("its block indices are no list of counts")
        if not isinstance(fields["message"], dict):
            fail("a message is no object")
        _check_value(fields["message"], _MESSAGE_NESTING)
        previous = index


def _object(value: Any, keys: frozenset[str], what: str) -> dict[str, Any]:
    if type(value) is not dict:
        fail(f"{what} is no object, or has a field twice")
    if value.keys() != keys:
        fail(f"{what} has unknown or missing fields")
    return value


def _is_count(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


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
