"""Pure. A round's events as the message list that is sealed: one message an event.

Messages stay as their emitters sent them, so their own labels decide what is kept. A tool call
becomes a `tool_use` block where it started and a `tool_result` block where it completed; a call
that never completed, or never started, is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from archive.extract.payload import is_failed, tool_arguments, tool_name, tool_output
from archive.segments.disclosure import LABELS, Disclosure, disclosure_of
from archive.segments.limits import MAX_NOTE_BYTES
from streams.event import Event, EventType

_CALL_ID_KEYS: Final = ("tool_call_id", "call_id", "id")
_ARGUMENT_KEYS: Final = ("args", "input", "arguments", "parameters")
_OUTPUT_KEYS: Final = ("output", "result", "content")


def round_messages(events: Sequence[Event]) -> list[dict[str, Any]]:
    """What of `events` is offered to a segment, in their order."""
    calls = _paired_calls(events)
    messages = []
    for index, event in enumerate(events):
        call = calls.get(index)
        if event.type == EventType.MESSAGE_ADDED:
            messages.append(_labelled(_message(event.payload), event))
        elif call is not None:
            if call.starts:
                messages.append(_tool_use(event, call.id))
            if call.completes:
                messages.append(_tool_result(event, call.id))
    return messages


def note_of(summary: str) -> str:
    """`summary` as a note: cut at a character within the note's limit."""
    data = summary.encode("utf-8", "replace")
    return data[:MAX_NOTE_BYTES].decode("utf-8", "ignore")


def _message(payload: Mapping[str, Any]) -> dict[str, Any]:
    message = dict(payload)
    if "content" not in message and isinstance(message.get("text"), str):
        message["content"] = message["text"]
    return message


def _labelled(message: dict[str, Any], event: Event) -> dict[str, Any]:
    """`message` no more visible than the event's metadata lets it be."""
    allowed = disclosure_of(event.metadata)
    if allowed is None:
        message["private"] = True
    elif allowed is Disclosure.AFTER_REDACTION and disclosure_of(message) is not None:
        message["disclosure"] = message["disclosure_class"] = allowed.value
    return message


def _labels(event: Event) -> dict[str, Any]:
    return {key: event.payload[key] for key in LABELS if key in event.payload}


def _tool_use(event: Event, call_id: str) -> dict[str, Any]:
    block = {
        **_labels(event),
        "type": "tool_use",
        "id": call_id,
        "name": tool_name(event.payload),
        "input": tool_arguments(event.payload),
    }
    return {"role": "assistant", "content": [_labelled(block, event)]}


def _tool_result(event: Event, call_id: str) -> dict[str, Any]:
    block = {
        **_labels(event),
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": _result(event.payload),
        "is_error": is_failed(event.payload),
    }
    return {"role": "user", "content": [_labelled(block, event)]}


def _result(payload: Mapping[str, Any]) -> Any:
    """The output as sent where it is text or blocks, else its text."""
    for key in _OUTPUT_KEYS:
        value = payload.get(key)
        if isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(item, Mapping) for item in value)
        ):
            return value
    return tool_output(payload)[0]


@dataclass(frozen=True, slots=True)
class _Call:
    """What one event is to a call: its start, its completion, or both."""

    id: str
    starts: bool = False
    completes: bool = False


def _paired_calls(events: Sequence[Event]) -> dict[int, _Call]:
    """The call of each start and completion that has the other, by place.

    Paired by call id; without one, with the oldest open call of that tool. A completion that
    brings its own arguments is a pair by itself.
    """
    open_calls: dict[str, deque[int]] = {}
    calls: dict[int, _Call] = {}
    for index, event in enumerate(events):
        key = _call_key(event)
        if event.type == EventType.TOOL_CALL_STARTED:
            open_calls.setdefault(key, deque()).append(index)
        elif event.type == EventType.TOOL_CALL_COMPLETED:
            if waiting := open_calls.get(key):
                start = waiting.popleft()
                call_id = _call_id(event) or _made_id(events[start])
                calls[start] = _Call(call_id, starts=True)
                calls[index] = _Call(call_id, completes=True)
            elif any(name in event.payload for name in _ARGUMENT_KEYS):
                call_id = _call_id(event) or _made_id(event)
                calls[index] = _Call(call_id, starts=True, completes=True)
    return calls


def _call_key(event: Event) -> str:
    call_id = _call_id(event)
    return f"id {call_id}" if call_id else f"tool {tool_name(event.payload)}"


def _call_id(event: Event) -> str:
    for key in _CALL_ID_KEYS:
        value = event.payload.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _made_id(event: Event) -> str:
    return f"call-{event.version}"
