"""Pure. Reads the payloads of any emitter: names, arguments, outputs, exit codes, failures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

_NAME_KEYS: Final = ("tool_name", "tool", "function", "name")
_ARGUMENT_KEYS: Final = ("args", "input", "arguments", "parameters")
_OUTPUT_KEYS: Final = ("output", "result", "content")
_TEXT_KEYS: Final = ("aggregated_output", "output", "text", "content", "result", "message", "error")
_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_EXIT_KEYS: Final = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "exit")
_EXITS: Final = frozenset(_EXIT_KEYS)
_BESIDES: Final = _EXITS | {"stdout", "stderr", "metadata"}
_MARKS: Final = frozenset({"is_error", "isError", "success", "status"})
_ENVELOPE_KEYS: Final = frozenset({"output", "stdout", "stderr", "metadata", *_EXIT_KEYS})
_FAILED_STATES: Final = frozenset(
    {"error", "failed", "failure", "rejected", "cancelled", "canceled", "denied", "aborted"}
)
_ENDS: Final = frozenset({"failure", "error", "rejected"})
_MAX_DEPTH: Final = 64


def tool_name(payload: Mapping[str, Any]) -> str:
    """The tool's name; a `function` object may hold it one level down."""
    for key in _NAME_KEYS:
        value = payload.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            return str(value["name"])
    return ""


def tool_arguments(payload: Mapping[str, Any]) -> Any:
    """The arguments as an object, a list or text; JSON text is decoded."""
    value: Any = None
    for key in _ARGUMENT_KEYS:
        value = payload.get(key)
        if value is not None:
            break
    else:
        function = payload.get("function")
        if isinstance(function, Mapping):
            value = function.get("arguments")
    if isinstance(value, str):
        decoded = decode_json(value)
        return value if decoded is None else decoded
    return value


def decode_json(text: str) -> Mapping[str, Any] | Sequence[Any] | None:
    """The object or array that `text` is, or None where it is anything else or too deep."""
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return None
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        value = _lax_json(text)
    return value if isinstance(value, dict | list) and not _is_deep(value) else None


def _lax_json(text: str) -> Any:
    """JSON with what a strict parser refuses, such as NaN; None where it is none at all."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_deep(value: Any) -> bool:
    """Whether a value is nested deeper than an event's payload may be."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def tool_output(payload: Mapping[str, Any]) -> tuple[str, int | None]:
    """Output text and, where a field says it, the exit code."""
    value = payload.get("output")  # most outputs are plain text, with nothing said beside
    if isinstance(value, str) and value[:1] not in ("", "{") and _BESIDES.isdisjoint(payload):
        return value, None
    code = _exit_code(payload)
    streams = [flatten(payload[k]) for k in ("stdout", "stderr") if payload.get(k)]
    for key in _OUTPUT_KEYS:
        value = payload.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, str) and value[:1] == "{":
            value = _envelope(value) or value
        if isinstance(value, Mapping):
            value = _ended(value)
            code = _exit_code(value) if code is None and isinstance(value, Mapping) else code
        streams.append(flatten(value))
        break
    if not streams and payload.get("error"):
        streams.append(flatten(payload["error"]))
    return "\n".join(streams), code


def is_failed(payload: Mapping[str, Any]) -> bool:
    """Whether a field of the completion says that the call failed."""
    if not _MARKS.isdisjoint(payload):
        if payload.get("is_error") is True or payload.get("isError") is True:
            return True
        if payload.get("success") is False:
            return True
        status = payload.get("status")
        if isinstance(status, str) and status.lower() in _FAILED_STATES:
            return True
    output = payload.get("output", payload.get("result"))
    if isinstance(output, str):
        return False
    return (
        isinstance(output, Mapping) and len(output) == 1 and any(output.get(key) for key in _ENDS)
    )


def _ended(value: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """What stands under the only key of an output, where that key says how the call ended."""
    key, inner = next(iter(value.items())) if len(value) == 1 else ("", None)
    if not isinstance(inner, Mapping):
        return value
    if key == "rejected":
        return f"Rejected: {flatten(inner.get('reason'))}"
    return inner if key == "success" or key in _ENDS else value


def flatten(value: Any, depth: int = 0) -> str:
    """The text of a value: blocks joined by line breaks, objects by their text keys."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        parts = [flatten(value[k], depth + 1) for k in ("stdout", "stderr") if value.get(k)]
        if parts:
            return "\n".join(parts)
        for key in _TEXT_KEYS:
            if key in value:
                return flatten(value[key], depth + 1)
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    if isinstance(value, list | tuple):
        return "\n".join(text for item in value if (text := flatten(item, depth + 1)))
    return str(value)


def message_text(payload: Mapping[str, Any]) -> str:
    """What a message says; objects, tool calls and results are no words of anybody."""
    content = payload.get("content")
    return _spoken(content if content is not None else payload.get("text"))


def _spoken(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(text for block in content if (text := _block_text(block)))
    return _block_text(content)


def _block_text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else ""
    if block.get("type", "text") not in ("text", "output_text", "input_text"):
        return ""
    return flatten(next((block[key] for key in _TEXT_KEYS if key in block), ""))


def _exit_code(fields: Mapping[str, Any]) -> int | None:
    metadata = fields.get("metadata")
    if not metadata and _EXITS.isdisjoint(fields):
        return None
    for part in (fields, metadata) if isinstance(metadata, Mapping) else (fields,):
        for key in _EXIT_KEYS:
            if key not in part:
                continue
            value = part[key]
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            if isinstance(value, str) and _INTEGER.fullmatch(value):
                return int(value)
    return None


def _envelope(text: str) -> Mapping[str, Any] | None:
    value = decode_json(text)
    if isinstance(value, Mapping) and not _ENVELOPE_KEYS.isdisjoint(value):
        return value
    return None
