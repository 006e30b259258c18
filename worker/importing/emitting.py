"""One event from a person's hand: checked as the inbox would check it, then sent or appended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streams.clock import system_clock
from streams.codec import from_microseconds
from streams.documents import decode_document
from streams.event import Event, new_event_id
from streams.inbox import InboxEvent, inbox_fields, parse_entry
from streams.send import send_to_inbox
from worker.console.params import read_document

if TYPE_CHECKING:
    from streams.codec import Limits
    from streams.redis_store import RedisEventStore
    from streams.store import ExpectedVersion

Answer = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Asked:
    """The event as the command line says it; documents may be named by `@file` or `-`."""

    stream: str
    type: str
    payload: str | None = None
    metadata: str | None = None
    id: str | None = None
    module: str | None = None
    timestamp: str | None = None


async def send_event(store: RedisEventStore, asked: Asked) -> Answer:
    """XADD the event to the inbox; the answer has its id and its inbox id."""
    fields, accepted = _checked(asked, store.options.limits)
    (inbox_id,) = await send_to_inbox(store.wires, store.keys, [fields])
    return {**_named(accepted), "inbox_id": inbox_id}


async def append_event(store: RedisEventStore, asked: Asked, expected: ExpectedVersion) -> Answer:
    """Append the event to its log; the answer has its id and version."""
    _, accepted = _checked(asked, store.options.limits)
    encoded = accepted.event
    event = Event(
        type=encoded.type,
        payload=decode_document(encoded.payload),
        id=encoded.id,
        module_name=encoded.module,
        metadata=decode_document(encoded.metadata),
        timestamp=from_microseconds(encoded.timestamp_us),
    )
    version = await store.append(accepted.stream, [event], expected)
    return {**_named(accepted), "version": version}


def _named(accepted: InboxEvent) -> Answer:
    return {"stream": accepted.stream, "type": accepted.event.type, "id": accepted.event.id}


def _checked(asked: Asked, limits: Limits) -> tuple[list[bytes], InboxEvent]:
    """Names and values for XADD, and what they say; raises `InvalidEvent`."""
    documents = {
        name: read_document(source, max_bytes=limits.max_payload_bytes)
        for name, source in (("payload", asked.payload), ("metadata", asked.metadata))
        if source is not None
    }
    fields = inbox_fields(
        asked.stream,
        asked.type,
        payload=documents.get("payload"),
        metadata=documents.get("metadata"),
        id=new_event_id() if asked.id is None else asked.id,
        module=asked.module,
        timestamp=asked.timestamp,
    )
    flat = [
        # Arguments that are no UTF-8 arrive as half surrogate pairs; the check names them.
        part if isinstance(part, bytes) else part.encode(errors="surrogateescape")
        for field in fields.items()
        for part in field
    ]
    return flat, parse_entry(b"%d-0" % system_clock(), flat, limits)
