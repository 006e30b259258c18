"""Pure. One segment file: from a record to its bytes, and back.

A file in canonical form is recognised by writing it again and comparing, which also yields the
bytes under its digest. Any other spelling of the same values (spaces, another order of keys,
floats) takes a slower way and is judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .canonical import (
    FloatSpelling,
    array,
    encode,
    encode_exact,
    parse,
    spell_float,
    spell_float_as_ryu,
)
from .digest import projection_digest
from .types import ArchivedMessage

if TYPE_CHECKING:
    from .record_shape import Element, Live, Shape

_VERSION: Final = 1


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One segment: live with its messages, or a tombstone without content.

    `elements` is the canonical JSON array of the messages; `spelling` tells how floats stand
    in it, None where there is none.
    """

    logical: str
    id: str
    digest: str
    tombstone: bool = False
    source_message_count: int = 0
    stored: tuple[Element, ...] = ()
    elements: bytes = b"[]"
    note: str = ""
    spelling: FloatSpelling | None = None

    def messages(self, start: int = 0, stop: int | None = None) -> list[ArchivedMessage]:
        """The kept messages from `start` up to `stop`."""
        return [
            ArchivedMessage(one.source_index, one.block_indices, one.message)
            for one in self.stored[start:stop]
        ]

    def texts(self) -> Iterator[bytes]:
        """Each message's canonical JSON."""
        for one in self.stored:
            if self.spelling is None:
                yield encode(one.message, floats=False)
            else:
                yield encode_exact(one.message, self.spelling)


def encode_live(
    scope: str,
    logical: str,
    segment_id: str,
    digest: str,
    *,
    count: int,
    elements: bytes,
    note: str,
) -> tuple[bytes, bytes, bytes]:
    """The file of a live record, in parts: what may be megabytes isn't copied for it.

    `elements`, the canonical JSON array of its messages, is the second.
    """
    head = _head(scope, logical, segment_id, digest)
    kept = f'"state":"live","source_message_count":{count},"messages":'.encode()
    return head + kept, elements, b',"note":' + encode(note, floats=False) + b"}}"


def encode_tombstone(scope: str, record: Record) -> bytes:
    """The file that replaces a forgotten record: its identity, no content."""
    head = _head(scope, record.logical, record.id, record.digest)
    return head + b'"state":"tombstone"}}'


def decode(data: bytes, scope: str) -> Record:
    """The record in `data`. Raises `RecordFault` for anything that isn't one of `scope`."""
    from . import record_shape

    floats: list[str] = []

    def note_float(digits: str) -> float:
        floats.append(digits)
        return 0.0

    try:
        shape = record_shape.decode(data, note_float)
        canonical = not floats and record_shape.encode(shape) == data
    except record_shape.RecordFault:
        canonical = False
    if not canonical:
        return _decode_any(data, scope)
    record_shape.check(shape, scope)
    if not isinstance(shape.body, record_shape.Live):
        return Record(shape.logical, shape.id, shape.digest, tombstone=True)
    elements = record_shape.encode(shape.body.messages)
    if _digest(shape, shape.body, elements) != shape.digest:
        record_shape.fail("its digest doesn't match its messages")
    return _live(shape, shape.body, elements, None)


class _RepeatedKeys(dict[str, Any]):
    """An object in which a key stood twice: the last one counts, but no record has one."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _RepeatedKeys(made)


def _decode_any(data: bytes, scope: str) -> Record:
    from . import record_shape

    try:
        value = parse(data.decode(), _unique_keys).value
        if _repeats_fields(value):
            record_shape.fail("it has a field twice")
        shape = record_shape.convert(value)
        record_shape.check(shape, scope)
        if not isinstance(shape.body, record_shape.Live):
            return Record(shape.logical, shape.id, shape.digest, tombstone=True)
        return _live_as_spelled(shape, shape.body)
    except record_shape.RecordFault:
        raise
    except (ValueError, RecursionError):
        raise record_shape.RecordFault("it is no JSON that the format allows") from None


def _live_as_spelled(shape: Shape, body: Live) -> Record:
    """The record, whichever way its host spells, and digests, large floats."""
    from .record_shape import RecordFault

    for spelling in (spell_float, spell_float_as_ryu):
        elements = array(
            (one.source_index, one.block_indices, encode_exact(one.message, spelling))
            for one in body.messages
        )
        if _digest(shape, body, elements) == shape.digest:
            return _live(shape, body, elements, spelling)
    raise RecordFault("its digest doesn't match its messages")


def _repeats_fields(value: Any) -> bool:
    """Whether a part of the record itself, not of a message's content, repeats a key."""
    body = value.get("body") if isinstance(value, dict) else None
    messages = body.get("messages") if isinstance(body, dict) else None
    parts = [value, body, *(messages if isinstance(messages, list) else ())]
    return any(isinstance(part, _RepeatedKeys) for part in parts)


def _digest(shape: Shape, body: Live, elements: bytes) -> str:
    return projection_digest(shape.logical, body.source_message_count, elements)


def _live(shape: Shape, body: Live, elements: bytes, spelling: FloatSpelling | None) -> Record:
    return Record(
        shape.logical,
        shape.id,
        shape.digest,
        source_message_count=body.source_message_count,
        stored=tuple(body.messages),
        elements=elements,
        note=body.note,
        spelling=spelling,
    )


def _head(scope: str, logical: str, segment_id: str, digest: str) -> bytes:
    return (
        f'{{"version":{_VERSION},"scope":"{scope}","logical":"{logical}",'
        f'"id":"{segment_id}","digest":"{digest}","body":{{'
    ).encode()
