"""Made-up agent sessions in the import format, the same for the same numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import redis

_BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
_TOOLS = ("bash", "edit", "read", "search")


def session(
    stream: str, rounds: int, *, steps: int = 6, text: str = ""
) -> Iterator[dict[str, Any]]:
    """The events of one agent: `rounds` tasks of `steps` tool calls each, some of which fail."""
    chance = random.Random(f"{stream} {rounds} {steps}")
    moment = _BEGAN

    def event(type_: str, payload: dict[str, Any]) -> dict[str, Any]:
        nonlocal moment
        moment += timedelta(milliseconds=chance.randint(1, 5_000))
        return {
            "stream": stream,
            "type": type_,
            "timestamp": moment.isoformat(),
            "payload": payload,
        }

    yield event("session.created", {"session_id": stream})
    for number in range(1, rounds + 1):
        task_id = f"{stream}-{number}"
        yield event("task.created", {"task_id": task_id, "task": f"Mend part {number}. {text}"})
        for step in range(steps):
            tool = chance.choice(_TOOLS)
            call = {"tool_name": tool, "tool_call_id": f"{task_id}-{step}"}
            yield event("tool.call.started", {**call, "args": {"command": f"pytest -q part{step}"}})
            output = f"{chance.randint(1, 90)} passed in 0.{step}s 🚀 {text}"
            yield event("tool.call.completed", {**call, "output": output, "exit_code": 0})
        if chance.random() < 0.2:
            yield event("task.failed", {"task_id": task_id, "error": f"part {number} is stuck"})
        else:
            yield event("task.completed", {"task_id": task_id, "result": f"Mended part {number}."})


def write_import(folder: Path, streams: int, rounds: int, **more: Any) -> tuple[list[str], int]:
    """One import file a stream; their names, and how many events they hold."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    names = []
    for number in range(streams):
        path = folder / f"agent-{number}.jsonl"
        lines = [json.dumps(event) for event in session(f"agent/{number}", rounds, **more)]
        path.write_text("\n".join(lines) + "\n")
        count += len(lines)
        names.append(str(path))
    return names, count


def produce(admin: redis.Redis, inbox: bytes, agents: Iterable[int], rounds: int = 3) -> int:
    """XADD the sessions of some agents, their events in turns; how many rounds that makes.

    Every event has an id, so that producing again after a failure records nothing twice.
    """
    sessions = [list(session(f"agent-{n}", rounds, steps=3)) for n in agents]
    for turn in range(max(map(len, sessions))):
        for events in sessions:
            if turn < len(events):
                event = {**events[turn], "payload": json.dumps(events[turn]["payload"])}
                admin.xadd(inbox, {**event, "id": f"{event['stream']}-{turn}"})
    return rounds * len(sessions)


def rounds_due(agents: Iterable[int], rounds: int = 3) -> list[tuple[object, ...]]:
    """What the archive must say of `produce`d sessions: stream, round, versions, outcome."""
    found: list[tuple[object, ...]] = []
    for n in agents:
        number = first = 1
        for version, event in enumerate(session(f"agent-{n}", rounds, steps=3), 1):
            if event["type"] in ("task.completed", "task.failed"):
                outcome = event["type"].removeprefix("task.")
                found.append((f"agent-{n}", number, first, version, outcome))
                number, first = number + 1, version + 1
    return sorted(found)


def rounds_in(files: Mapping[str, bytes]) -> list[tuple[object, ...]]:
    """The same of round files."""
    return sorted(
        (r["stream_id"], r["round"], r["first_version"], r["last_version"], r["outcome"])
        for r in map(json.loads, files.values())
    )
