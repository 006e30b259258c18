"""Pure. One segment file: from a record to its bytes, and back.

A file in canonical form is recognised by writing it again and comparing, which also yields the
bytes under its digest. Any other spelling of the same values (spaces, another order of keys,
floats) takes a slower way and is judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .canonical import (
    array,
    element,
    encode,
    encode_exact,
    parse,
    projection_digest,
    spell_float,
    spell_float_as_ryu,
)
from .record_rules import VERSION, RecordFault, check_record, fail, unique_keys
from .types import ArchivedMessage


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One segment: live with its messages, or a tombstone without content.

    `texts` is each message's canonical JSON, in order.
    """

    scope: str
    logical: str
    id: str
    digest: str
    tombstone: bool = False
    source_message_count: int = 0
    messages: tuple[ArchivedMessage, ...] = ()
    texts: tuple[bytes, ...] = ()
    note: str = ""


def encode_live(
    scope: str,
    logical: str,
    segment_id: str,
    digest: str,
    *,
    count: int,
    elements: bytes,
    note: str,
) -> bytes:
    """The file of a live record; `elements` is the canonical JSON array of its messages."""
    return b"".join(
        (
            _head(scope, logical, segment_id, digest),
            f'"state":"live","source_message_count":{count},"messages":'.encode(),
            elements,
            b',"note":',
            encode(note, floats=False),
            b"}}",
        )
    )


def encode_tombstone(scope: str, logical: str, segment_id: str, digest: str) -> bytes:
    """The file that replaces a forgotten record: its identity, no content."""
    return _head(scope, logical, segment_id, digest) + b'"state":"tombstone"}}'


def decode(data: bytes, scope: str) -> Record:
    """The record in `data`. Raises `RecordFault` for anything that isn't one of `scope`."""
    try:
        return _decode_canonical(data, scope) or _decode_any(data, scope)
    except RecordFault:
        raise
    except (ValueError, RecursionError):
        fail("it is no JSON that the format allows")


def _head(scope: str, logical: str, segment_id: str, digest: str) -> bytes:
    return (
        f'{{"version":{VERSION},"scope":"{scope}","logical":"{logical}",'
        f'"id":"{segment_id}","digest":"{digest}","body":{{'
    ).encode()


def _decode_canonical(data: bytes, scope: str) -> Record | None:
    """The record where `data` is in canonical form and holds no float; None where it isn't."""
    import msgspec

    floats: list[str] = []

    def note_float(digits: str) -> float:
        floats.append(digits)
        return 0.0

    try:
        value = msgspec.json.Decoder(float_hook=note_float).decode(data)
    except (msgspec.MsgspecError, ValueError):
        return None
    if floats:
        return None
    fields = check_record(value, scope)
    identity, body = _identity(fields), fields["body"]
    if body["state"] == "tombstone":
        same = encode_tombstone(*identity) == data
        return Record(*identity, tombstone=True) if same else None
    texts = [encode(message["message"], floats=False) for message in body["messages"]]
    elements = _elements(body, texts)
    count, note = body["source_message_count"], body["note"]
    if encode_live(*identity, count=count, elements=elements, note=note) != data:
        return None
    if _digest(fields, elements) != fields["digest"]:
        fail("its digest doesn't match its messages")
    return _live(fields, texts)


def _decode_any(data: bytes, scope: str) -> Record:
    fields = check_record(parse(data.decode(), unique_keys).value, scope)
    body = fields["body"]
    if body["state"] == "tombstone":
        return Record(*_identity(fields), tombstone=True)
    # Hosts built with an older float printer spell, and digest, large numbers without a plus.
    for spelling in (spell_float, spell_float_as_ryu):
        texts = [encode_exact(message["message"], spelling) for message in body["messages"]]
        if _digest(fields, _elements(body, texts)) == fields["digest"]:
            break
    else:
        fail("its digest doesn't match its messages")
    return _live(fields, texts)


def _identity(fields: dict[str, Any]) -> tuple[str, str, str, str]:
    return fields["scope"], fields["logical"], fields["id"], fields["digest"]


def _elements(body: dict[str, Any], texts: Sequence[bytes]) -> bytes:
    return array(
        element(message["source_index"], message["block_indices"], text)
        for message, text in zip(body["messages"], texts, strict=True)
    )


def _digest(fields: dict[str, Any], elements: bytes) -> str:
    count = fields["body"]["source_message_count"]
    return projection_digest(fields["logical"], count, elements)


def _live(fields: dict[str, Any], texts: Sequence[bytes]) -> Record:
    body = fields["body"]
    return Record(
        *_identity(fields),
        source_message_count=body["source_message_count"],
        messages=tuple(ArchivedMessage(**message) for message in body["messages"]),
        texts=tuple(texts),
        note=body["note"],
    )
