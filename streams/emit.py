"""Fire and forget: an event that must never disturb the work it tells about."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .event import Event
from .store import EventStore

_log = logging.getLogger("ares.emit")


async def emit(
    store: EventStore | None,
    stream: str,
    type: str,
    module: str,
    payload: Mapping[str, Any] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
) -> bool:
    """Append one event whatever the version is; whether that succeeded.

    Never raises, but for cancellation: a failure is a log line and False. Without a store it
    does nothing and says True.
    """
    if store is None:
        return True
    try:
        event = Event(type, payload or {}, module_name=module, metadata=metadata or {})
        await store.append(stream, [event])
    except Exception as exc:
        _log.warning(
            "an event was not recorded",
            extra={"fields": {"stream": str(stream), "type": str(type), "error": str(exc)}},
        )
        return False
    return True
