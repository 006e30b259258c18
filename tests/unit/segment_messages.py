"""Messages to project, what is kept of them, and the format's hash."""

from __future__ import annotations

import hashlib
from typing import Any

from archive.segments import project_archive

WITHHELD = "[archive: withheld]"
NO_ARGUMENTS = {"_archive_withheld": True}


def h(*parts: bytes) -> str:
    """The format's hash, written out by hand."""
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.sha256(whole).hexdigest()


def same(text: str) -> str:
    return text


def kept(messages: list[Any], redactor: Any = None) -> list[dict[str, Any]]:
    return [one.message for one in project_archive("c", messages, "", redactor).messages]


def block(message: dict[str, Any], redactor: Any = None) -> Any:
    """The only kept block of a message, None where none is kept."""
    found = kept([message], redactor)
    return found[0]["content"][0] if found else None


def user(content: Any, **labels: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **labels}


def tool_use(input: Any, *, name: str = "read", id: str = "r1", **labels: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": id, "name": name, "input": input, **labels}
    return {"role": "assistant", "content": [call]}


def tool_result(content: Any, **more: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": "r1", "content": content, **more}
    return user([result])
