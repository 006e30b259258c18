"""Extraction: a plain round, megabytes of agents' sessions, and how cost grows with size."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from archive.build import build_round_record, cut_rounds
from archive.digest import events_digest
from bench.measure import Bench, Row
from streams.event import Event

SESSIONS = Path(__file__).parents[3] / "shared" / "transcripts" / "dev"
START = datetime(2026, 1, 1, tzinfo=UTC)
PROSE = "the pump stops when the tank is empty and nobody has asked it to run dry before noon "


def rows(bench: Bench) -> Iterator[Row]:
    """CPU time of one core: what else runs on the machine counts little."""
    plain = plain_round()
    runs = bench.count(2_000, least=100)
    yield Row(
        "extract: record of 20 events of 300 B, digest included",
        "ms",
        1e3 * seconds(lambda: build_round_record(round=1, events=plain), runs),
        at_most=0.4,
    )
    yield Row(
        "extract: of which the digest",
        "ms",
        1e3 * seconds(lambda: events_digest(plain), runs),
    )
    sessions = real_rounds() or [plain_round(120, 40) for _ in range(60)]
    size = sum(map(text_size, sessions))
    took = seconds(lambda: [build_round_record(round=1, events=r) for r in sessions], 15, forget)
    yield Row(
        f"extract: {len(sessions)} rounds of coding agents",
        "MB/s",
        size / took / 1e6,
        at_least=20,
        note="" if real_rounds() else "made-up rounds",
    )
    for what, made in (("output", one_output), ("events", many_events)):
        small, large = made(bench.count(20_000)), made(bench.count(40_000))
        ratio = seconds(lambda e=large: build_round_record(round=1, events=e), 3) / seconds(
            lambda e=small: build_round_record(round=1, events=e), 3
        )
        yield Row(f"extract: twice the {what}", "x", ratio, at_most=2.6, note="2 is linear")


def forget() -> None:
    """Make the archive forget the commands it has seen: a round comes once."""
    for name, module in list(sys.modules.items()):
        if name.startswith("archive."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def seconds(work: Callable[[], Any], runs: int, before: Callable[[], None] | None = None) -> float:
    """CPU seconds of one run, the best of fifteen series, with `before` in front of each."""
    best = float("inf")
    for _ in range(15):
        if before is not None:
            before()
        started = time.process_time()
        for _ in range(max(1, runs // 15)):
            work()
        best = min(best, (time.process_time() - started) / max(1, runs // 15))
    return best


def event(number: int, type: str, **payload: Any) -> Event:
    return Event(
        type=type,
        payload=payload,
        id=f"{number:032x}",
        stream_id="s-1",
        version=number,
        timestamp=START + timedelta(seconds=number),
    )


def plain_round(steps: int = 6, lines: int = 4) -> list[Event]:
    """What an archiver sees most: a task, some words, some calls, an end."""
    events = [event(1, "task.created", task="Make the pump stop in time. " + PROSE * 2)]
    for step in range(steps):
        at, call = len(events) + 1, f"c{step}"
        words = f"Step {step}: I look at the pump's loop. " + PROSE * 2
        listing = "src/pump/loop.py:12: stop = False\n" * (2 * lines)
        arguments = {"command": "grep -rn stop src/pump | head -20", "why": PROSE}
        events += [
            event(at, "message.added", role="assistant", content=words),
            event(at + 1, "tool.call.started", tool_name="bash", tool_call_id=call, args=arguments),
            event(
                at + 2, "tool.call.completed", tool_name="bash", tool_call_id=call, output=listing
            ),
        ]
    last = len(events) + 1
    return [*events, event(last, "task.completed", task="Stop the pump", result="Done. " + PROSE)]


def one_output(lines: int) -> list[Event]:
    output = "".join(f"tests/test_pump.py::test_{n} PASSED\n" for n in range(lines))
    call = {"tool_name": "bash", "tool_call_id": "1"}
    return [
        event(1, "tool.call.started", **call, args={"command": "pytest -v"}),
        event(2, "tool.call.completed", **call, output=output + f"{lines} passed in 9.10s"),
        event(3, "task.completed", task="Test it", result="All pass."),
    ]


def many_events(steps: int) -> list[Event]:
    return plain_round(steps // 40)


def real_rounds() -> list[tuple[Event, ...]]:
    """The sessions beside the project, where there are any."""
    found: list[tuple[Event, ...]] = []
    for path in sorted(SESSIONS.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        cut = cut_rounds(event(n, e["type"], **e["payload"]) for n, e in enumerate(lines, 1))
        found += [part for part in (*cut.finished, cut.open) if part]
    return found


def text_size(events: Sequence[Event]) -> int:
    return sum(len(json.dumps(e.payload, ensure_ascii=False).encode()) for e in events)
