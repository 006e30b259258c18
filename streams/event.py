"""Pure but for defaults: a new event takes a random id and the current time.

The values every package speaks: `Event`, the known types, the payload keys with a meaning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from .clock import utc_now

DEFAULT_TENANT_ID: Final = "default"

_UUID_BITS: Final = (0xF << 76) | (0b11 << 62)
_UUID_4: Final = (4 << 76) | (0b10 << 62)
"""Version and variant of a random UUID (RFC 9562)."""


class EventType(StrEnum):
    """The known types. Others are accepted everywhere and carried unchanged."""

    AGENT_STARTED = "agent.started"
    AGENT_STOPPED = "agent.stopped"
    TASK_CREATED = "task.created"
    TASK_DISPATCHED = "task.dispatched"
    TASK_COMPLETED = "task.completed"
    TASK_FAILED = "task.failed"
    SESSION_CREATED = "session.created"
    MESSAGE_ADDED = "message.added"
    MEMORY_DISTILLED = "memory.distilled"
    FAILOVER_TRIGGERED = "failover.triggered"
    FAILOVER_COMPLETED = "failover.completed"
    LLM_CALL = "llm.call"
    TOOL_CALL_STARTED = "tool.call.started"
    TOOL_CALL_COMPLETED = "tool.call.completed"
    STEP_FAILED = "step.failed"
    STEP_RECOVERY_STARTED = "step.recovery.started"
    STEP_RECOVERY_COMPLETED = "step.recovery.completed"
    STEP_RECOVERY_FAILED = "step.recovery.failed"


SUMMARY_TYPE: Final = "event.summary"
"""Type of the synthetic event that stands for events compacted away."""

TERMINAL_TYPES: Final = frozenset({EventType.TASK_COMPLETED.value, EventType.TASK_FAILED.value})
"""Types that end a round."""


class PayloadKey(StrEnum):
    """Payload keys with a meaning; any other key is carried unchanged."""

    TASK = "task"
    RESULT = "result"
    TENANT_ID = "tenant_id"
    USED_EXPERIENCE_ID = "used_experience_id"
    TASK_ID = "task_id"
    AGENT_ID = "agent_id"
    SESSION_ID = "session_id"
    ERROR = "error"
    TOOL_NAME = "tool_name"
    TOOL = "tool"
    FUNCTION = "function"
    ARGS = "args"
    INPUT = "input"
    ARGUMENTS = "arguments"
    OUTPUT = "output"
    EXIT_CODE = "exit_code"
    CONTENT = "content"
    ROLE = "role"


def new_event_id() -> str:
    """A fresh event id: 32 lower-case hex digits of a random UUID."""
    # `uuid.uuid4` builds an object for it, which takes twice as long.
    return "%032x" % (int.from_bytes(os.urandom(16)) & ~_UUID_BITS | _UUID_4)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one agent.

    `version` is the 1-based place in its stream, 0 until appended. `timestamp` is aware and
    says when it happened; the time it was committed is part of its place in the log.
    """

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=new_event_id)
    stream_id: str = ""
    module_name: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0
    timestamp: datetime = field(default_factory=utc_now)
