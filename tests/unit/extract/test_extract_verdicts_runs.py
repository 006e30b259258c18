"""Which runs count: task runners, chains, pipes, background runs, refusals, repeats."""

from __future__ import annotations

import pytest

WRAPPED = [
    ("make test", "go test ./...\nok  \tm/a\t0.1s", None, [("test", "go test", "pass")]),
    (
        "make check",
        "ruff check .\nAll checks passed!\nmypy src\nSuccess: no issues found in 3 source "
        "files\npytest -q\n4 passed in 0.10s",
        0,
        [("lint", "ruff", "pass"), ("vet", "mypy", "pass"), ("test", "pytest", "pass")],
    ),
    (
        "make lint",
        "eslint .\nmake: *** [Makefile:9: lint] Error 1",
        2,
        [("lint", "eslint", "fail")],
    ),
    (
        "mise run test:ci",
        "[test:ci] $ go test -count=1 -race ./...\nok  \tm/a\t2.1s",
        None,
        [("test", "go test", "pass"), ("race", "go test -race", "pass")],
    ),
    (
        "mise run lint 2>&1 | tail -3",
        "[lint:go] a.go:1:1: x\n[lint:go] 2 issues:\n[lint:go] ERROR task ended",
        None,
        [("lint", "golangci-lint", "2 issues")],
    ),
    (
        "npm test",
        "\n> app@1.0.0 test\n> mocha\n\n  3 passing (5ms)",
        None,
        [("test", "mocha", "pass")],
    ),
    (
        "npm run lint --silent",
        "✖ 4 problems (4 errors, 0 warnings)",
        1,
        [("lint", "eslint", "4 issues")],
    ),
    (
        "pnpm --filter @acme/web check-types",
        "\n> @acme/web@0.1.0 check-types /w\n> tsc --noEmit\n",
        0,
        [("vet", "tsc", "pass")],
    ),
    (
        "pnpm --filter @acme/web check-types",
        "> tsc --noEmit\n\nsrc/a.ts(5,3): error TS2345: x\n ELIFECYCLE "
        "Command failed with exit code 2.",
        2,
        [("vet", "tsc", "fail")],
    ),
    (
        "pnpm -r test",
        "packages/a test$ vitest run\npackages/a test:  Test Files  1 passed (1)\npackages/a "
        "test:       Tests  2 passed (2)",
        None,
        [("test", "vitest", "pass")],
    ),
    (
        "yarn test",
        "$ jest\nTests:       1 failed, 1 total\nerror Command failed with exit code 1.",
        1,
        [("test", "jest", "fail")],
    ),
    (
        "just ci",
        "cargo test\ntest result: ok. 9 passed; 0 failed",
        None,
        [("test", "cargo test", "pass")],
    ),
    (
        "task test",
        "task: [test] go test ./...\nok  \tm/a\t0.1s",
        None,
        [("test", "go test", "pass")],
    ),
    ("./scripts/test.sh", "7 passed in 1.20s", None, [("test", "pytest", "pass")]),
    (
        "bash ci/run.sh",
        "Success: no issues found in 9 source files",
        None,
        [("vet", "mypy", "pass")],
    ),
    ("make test", "all good", 0, [("test", "make test", "pass")]),
    ("npm run build", "> app build\n> node build.mjs\n\ndone", 0, [("build", "npm build", "pass")]),
    ("make test | tail -2", "make: *** [test] Error 1", None, [("test", "make test", "fail")]),
    ("make fmt", "gofmt -w .", 0, []),
    ("npm install", "added 12 packages, and audited 13 packages", 0, []),
    ("make -n test", "pytest -q", 0, []),
    ("npm run nothing", 'npm error Missing script: "nothing"', 1, []),
]


@pytest.mark.parametrize(("command", "output", "code", "checks"), WRAPPED)
def test_a_task_runner_is_what_it_runs(checks_of, command, output, code, checks) -> None:
    assert checks_of(command, output, code) == checks


def test_the_last_run_of_a_tool_wins_and_takes_its_place(script) -> None:
    script.shell("pytest", "1 failed in 0.1s", 1).shell("ruff check .", "All checks passed!", 0)
    script.shell("pytest", "3 passed in 0.1s", 0)

    assert script.done().checks() == [("lint", "ruff", "pass"), ("test", "pytest", "pass")]


def test_a_formatter_that_ends_the_chain_did_not_run_the_tests(checks_of) -> None:
    output = "gofmt -w .\na.go:11:18: expected ';', found tide"

    assert checks_of("mise run fmt && mise run unit", output, 2) == []


def test_a_pipe_hides_the_exit_code(checks_of) -> None:
    assert checks_of("make test | grep summary", "", 0) == []


def test_pipefail_gives_it_back(checks_of) -> None:
    assert checks_of("set -o pipefail; make test | grep x", "", 1) == [
        ("test", "make test", "fail")
    ]


def test_of_two_lint_runs_in_one_call_the_worse_is_the_calls(checks_of) -> None:
    output = "Found 2 errors.\n4 files already formatted"

    assert checks_of("ruff check .; ruff format --check .", output, 0) == [
        ("lint", "ruff format", "pass"),
        ("lint", "ruff", "2 issues"),
    ]


def test_a_rejected_run_is_none(script) -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    script.call("Bash", {"command": "pytest"}, refusal, is_error=True)

    assert script.done().checks() == []


def test_a_call_that_never_ended_is_none(script) -> None:
    script.event("tool.call.started", {"tool_name": "Bash", "args": {"command": "pytest"}})

    assert script.done().checks() == []


def test_a_background_run_is_judged_by_what_a_later_call_shows(script) -> None:
    script.call(
        "exec_command", {"cmd": "pytest -q"}, "Process running with session ID 71\nOutput:\n.."
    )
    script.call(
        "write_stdin",
        {"session_id": 71, "chars": ""},
        "Process exited with code 1\nOutput:\n2 failed, 1 passed in 9.10s",
    )

    assert script.done().checks() == [("test", "pytest", "fail")]


def test_a_log_shown_later_is_the_run_that_wrote_it(script) -> None:
    script.shell("nohup pytest > /tmp/run.log 2>&1 &", "")
    script.shell("tail -3 /tmp/run.log", "=== 5 passed in 8.01s ===")

    assert script.done().checks() == [("test", "pytest", "pass")]


def test_a_tool_that_is_missing_takes_no_other_ones_result_away(checks_of) -> None:
    output = "bash: mypy: command not found\n3 passed in 0.1s"

    assert checks_of("mypy src; pytest -q", output, 0) == [("test", "pytest", "pass")]


@pytest.mark.parametrize(
    "output",
    [
        "bash: line 1: cd: web: No such file or directory",
        "bash: .venv/bin/activate: No such file or directory",
    ],
)
def test_what_stands_behind_a_missing_folder_did_not_run(checks_of, output: str) -> None:
    assert checks_of("cd web && . .venv/bin/activate && pytest", output, 1) == []


def test_of_commands_in_turn_those_before_the_failed_one_passed(checks_of) -> None:
    output = (
        "> x@1 ci\n> npm run lint && npm run typecheck && npm test\n\n> x@1 lint\n> eslint .\n\n"
        "> x@1 typecheck\n> tsc --noEmit\n\n> x@1 test\n> jest\n\nTests:       1 failed, 1 total"
    )

    assert checks_of("npm run ci", output, 1) == [
        ("lint", "eslint", "pass"),
        ("vet", "tsc", "pass"),
        ("test", "jest", "fail"),
    ]


@pytest.mark.parametrize(
    ("tool", "output", "checks"),
    [
        ("runTests", "<summary passed=3 failed=0 />", [("test", "runtests", "pass")]),
        ("runTests", "<summary passed=3 failed=1 />", [("test", "runtests", "fail")]),
        ("run_tests", '{"passed": 0, "failed": 0}', [("test", "run_tests", "skip")]),
        ("mcp__x__run_tests", "3 passed in 0.1s", [("test", "pytest", "pass")]),
        ("test_sim", "** TEST FAILED **", [("test", "swift test", "fail")]),
        ("read_file", "passed=3 failed=1", []),
        ("get_test_list", "3 passed in 0.1s", []),
    ],
)
def test_a_tool_of_the_agent_may_run_the_tests(script, tool, output, checks) -> None:
    assert script.call(tool, {"files": ["a.py"]}, output).done().checks() == checks
