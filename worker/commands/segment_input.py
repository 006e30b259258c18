"""Reads messages to seal from a file or standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from streams.errors import UsageError

MAX_BYTES: Final = 256 * 1024 * 1024


def read_messages(file: Path) -> list[Any]:
    """The messages in `file` (`-`: standard input): one JSON array, or a message a line.

    Raises `UsageError` for what is neither, naming the line but not its content.
    """
    return parse_messages(_read(file))


def parse_messages(data: bytes) -> list[Any]:
    """`read_messages` of bytes already read."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise UsageError(f"the messages are no UTF-8 at byte {exc.start}") from None
    if not text.strip():
        raise UsageError("there are no messages; an empty list is []")
    if text.lstrip(" \t\r\n").startswith("["):
        messages = _parse(text, "the messages")
        if isinstance(messages, list):
            return messages
    lines = enumerate(text.split("\n"), 1)
    try:
        return [_parse(line, f"line {number}") for number, line in lines if line.strip()]
    except UsageError as exc:
        raise UsageError(f"{exc}; write a message a line, or one array of them") from None


def _read(file: Path) -> bytes:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except OSError as exc:
        raise UsageError(f"can't read {file}: {exc.strerror}") from exc
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file} has more than {MAX_BYTES} bytes")
    return data


def _parse(text: str, where: str) -> Any:
    """A JSON value; raises `UsageError`."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as exc:
        place = f"{where}, column {exc.colno}" if exc.lineno == 1 else f"{where}, line {exc.lineno}"
        raise UsageError(f"{place}: {exc.msg}") from None
    except (ValueError, RecursionError) as exc:
        reason = "nested too deep" if isinstance(exc, RecursionError) else str(exc)
        raise UsageError(f"{where}: {reason}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        # One reader would take the first, another the last: a label could be hidden that way.
        raise ValueError("an object has a key twice")
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
