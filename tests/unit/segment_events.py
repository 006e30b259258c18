"""Events of a conversation, for the tests of sealing."""

from __future__ import annotations

from typing import Any

from streams.event import Event


def event(type: str, version: int = 1, metadata: Any = None, **payload: Any) -> Event:
    return Event(type=type, payload=payload, metadata=metadata or {}, version=version)


def said(content: Any, role: str = "user", **more: Any) -> Event:
    return event("message.added", role=role, content=content, **more)


def started(call_id: str | None = "c1", **payload: Any) -> Event:
    ids = {"tool_call_id": call_id} if call_id else {}
    return event("tool.call.started", **ids, **{"tool_name": "bash", "args": {"a": 1}, **payload})


def completed(call_id: str | None = "c1", **payload: Any) -> Event:
    ids = {"tool_call_id": call_id} if call_id else {}
    return event("tool.call.completed", **ids, **{"tool_name": "bash", "output": "ok", **payload})
