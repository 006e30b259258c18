"""A run that is not read, because its checks ran again later, would have changed nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from archive.extract import extract
from archive.record import Verdict
from streams.event import Event

START = datetime(2026, 3, 1, tzinfo=UTC)
COMMANDS = [
    "pytest -q",
    "pytest -q tests > out.log 2>&1",
    "pytest -q > out.log; cat out.log",
    "cat out.log",
    "tail -3 other.log",
    "ruff check . && pytest -q",
    "ruff check . > other.log",
    "mypy src | tail -1",
    "go build ./... && go test -race ./...",
    "go test -run ExampleParse ./examples/...",
    "go vet ./...",
    "make test",
    "npm run lint",
    "npx eslint . ; npx tsc --noEmit",
    "pytest -q || true",
]
OUTPUTS = [
    "3 passed in 0.10s",
    "1 failed, 2 passed in 0.10s",
    "All checks passed!",
    "Found 2 errors.",
    "All checks passed!\n1 failed, 2 passed in 0.10s",
    "Success: no issues found in 3 source files",
    "ok  \tm/a\t0.1s",
    "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tm/a\t0.1s",
    "go test ./...\nok  \tm/a\t0.1s",
    "bash: pytest: command not found",
    "src/a.ts(5,3): error TS2345: x",
    "",
]
runs = st.tuples(
    st.sampled_from(COMMANDS), st.sampled_from(OUTPUTS), st.sampled_from([None, 0, 1, 2])
)


def verdict_of(ran: list[tuple[str, str, int | None]]) -> Verdict:
    events = [
        Event(
            type="tool.call.completed",
            payload={"tool_name": "Bash", "args": {"command": command}, "output": output}
            | ({} if code is None else {"exit_code": code}),
            version=number,
            timestamp=START + timedelta(seconds=number),
        )
        for number, (command, output, code) in enumerate(ran, 1)
    ]
    return extract(events).verdict


@given(st.lists(runs, max_size=8))
def test_the_verdict_is_that_of_reading_every_run(ran: list[tuple[str, str, int | None]]):
    with patch("archive.extract.verdicts._ran_again", return_value=False):
        every = verdict_of(ran)
    assert verdict_of(ran) == every
