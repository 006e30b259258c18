"""Wrappings, exit codes and chains: what is a command's own, and what is its neighbour's."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "output",
    [
        {"output": "3 passed in 0.1s", "metadata": {"exit_code": 0}},
        '{"output": "3 passed in 0.1s\\n", "metadata": {"exit_code": 0}}',
        [{"type": "text", "text": "3 passed in 0.1s"}],
        {"stdout": "3 passed in 0.1s", "stderr": ""},
        "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
        "3 passed in 0.1s",
        "<returncode>0</returncode>\n<output>\n3 passed in 0.1s\n</output>",
        "Command: pytest\nDirectory: (root)\nOutput: 3 passed in 0.1s\nError: (none)\nExit Code: 0",
        "3 passed in 0.1s\n<shellId: 3 completed with exit code 0>",
        "3 passed in 0.1s\r\n",
        "\ufeff10%\r50%\r3 passed in 0.1s",
    ],
)
def test_the_wrapping_of_the_output_does_not_matter(script, output) -> None:
    script.call("shell", {"command": ["bash", "-lc", "pytest"]}, output)

    assert script.done().checks() == [("test", "pytest", "pass")]


@pytest.mark.parametrize(
    "output",
    [
        "Exit code 1\nno summary here",
        "<returncode>1</returncode>\n<output>\nno summary here\n</output>",
        '{"output": "no summary here", "metadata": {"exit_code": 1}}',
        "no summary here\n[The command completed with exit code 1.]",
    ],
)
def test_without_a_summary_the_exit_code_decides(script, output) -> None:
    script.call("Bash", {"command": "pytest"}, output)

    assert script.done().checks() == [("test", "pytest", "fail")]


CHAINS = [
    (
        "cargo clippy -- -D warnings && cargo test",
        "error: this function has too many arguments\n"
        "error: could not compile `kiln` (lib) due to 2 previous errors",
        [("lint", "cargo clippy", "2 issues")],
    ),
    (
        "cargo clippy && cargo test",
        "    Finished `dev` profile\ntest result: FAILED. 1 passed; 1 failed\n"
        "error: test failed, to rerun pass `--lib`",
        [("lint", "cargo clippy", "pass"), ("test", "cargo test", "fail")],
    ),
    (
        "ruff check . && pytest -q",
        "a.py:1:1: F401 unused\nFound 1 error.",
        [("lint", "ruff", "1 issues")],
    ),
    (
        "ruff check . | tail -3 && pytest -q",
        "Found 1 error.\n3 passed in 0.10s",
        [("test", "pytest", "pass"), ("lint", "ruff", "1 issues")],
    ),
    (
        "mypy src; pytest -q",
        "Found 2 errors in 1 file (checked 3 source files)\n1 failed, 2 passed in 0.10s",
        [("vet", "mypy", "fail"), ("test", "pytest", "fail")],
    ),
    (
        "go vet ./... && go test ./...",
        "# acme/kiln\n./a.go:3:2: undefined: heat",
        [("vet", "go vet", "fail")],
    ),
]


@pytest.mark.parametrize(("command", "output", "expected"), CHAINS, ids=[c[0] for c in CHAINS])
def test_a_check_behind_one_that_failed_counts_if_it_ran(
    checks_of, command: str, output: str, expected: list[tuple[str, str, str]]
) -> None:
    assert checks_of(command, output, 1) == expected


def test_an_exit_code_among_the_metadata_may_be_text(script) -> None:
    script.call("Bash", {"command": "make test"}, "ok", metadata={"exit_code": "0"})
    assert script.done().checks() == [("test", "make test", "pass")]


def test_an_exit_code_that_is_no_number_tells_nothing(script) -> None:
    script.call("shell", {"command": "make lint | cat"}, "0 errors", exit_code="--5")
    assert script.done().checks() == [("lint", "make lint", "pass")]


def test_the_output_is_found_among_the_facts_around_it(script) -> None:
    output = (
        "Output: Tests:       1 failed, 11 passed, 12 total\nExit Code: 1\nProcess Group PGID: 7"
    )
    script.call("run_shell_command", {"command": "npm test --silent"}, output)
    assert script.done().checks() == [("test", "jest", "fail")]
