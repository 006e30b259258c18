"""Outputs cut by pipes and short forms of reports: what they still prove, and what they don't."""

from __future__ import annotations

import pytest

SPINNER = "\x1b[1G\x1b[0K⠙\x1b[1G\x1b[0K"

FRAGMENTS = [
    ("pytest | head -30", "=========== FAILURES ===========\n____ test_two ____", "fail"),
    ("pytest -v | tail -4", "t/test_b.py::test_two FAILED   [100%]\n", "fail"),
    ("pytest -q | head -2", "..F.                                  [100%]\n", "fail"),
    ("pytest -x | tail -1", "!!!!!! stopping after 1 failures !!!!!!", "fail"),
    ("pytest -qq || true", "..                       [100%]", "pass"),
    ("pytest | head -5", "collected 0 items / 1 error", "fail"),
    ("pytest | head -3", "platform linux\nrootdir: /w\ncollected 3 items", ""),
    ("python -m unittest 2>&1 | tail -1", "OK (skipped=1)", "pass"),
    ("python -m unittest -v | head -2", "test_a (t.T) ... FAIL\ntest_b (t.T) ... ok", "fail"),
    ("python -m unittest", "s\n----\nRan 1 test in 0.0s\n\nOK (skipped=1)", "skip"),
    ("nose2", ".\nRan 2 tests in 0.0s\n\nFAILED (failures=1)", "fail"),
    ("npx jest | head -2", "FAIL src/a.test.js\n  ● adds", "fail"),
    ("npx jest 2>&1 | head -1", "PASS src/a.test.js", ""),
    ("npx jest 2>&1 | tail -2", "Time:  0.3 s\nRan all test suites.", ""),
    ("npx vitest run | tail -3", " FAIL  a.test.ts > adds\n", "fail"),
    ("npx vitest run", " Test Files  1 skipped (1)\n      Tests  1 skipped (1)", "skip"),
    ("npx vitest run", " Test Files 0 passed (1)\n" + SPINNER + " Tests  1 skipped (1)", "skip"),
    ("npx mocha -R tap", "ok 1 a\nnot ok 2 b\n# pass 1\n# fail 1", "fail"),
    ("npx mocha x.js", 'Error: No test files found: "x.js"', "fail"),
    ("npx jasmine", "2 specs, 1 failure\nFinished in 0.1 seconds", "fail"),
    ("npx jasmine", "2 specs, 0 failures\nFinished in 0.1 seconds", "pass"),
    ("node --test | tail -3", "✖ failing tests:\n✖ a (0.4ms)\n  Error: x", "fail"),
    ("rspec | tail -1", "rspec ./spec/a_spec.rb:2 # x a", "fail"),
    ("phpunit | tail -1", "Tests: 2, Assertions: 1, Errors: 1, Failures: 1.", "fail"),
    ("phpunit | tail -1", "Tests: 2, Assertions: 1, Skipped: 1.", "pass"),
    ("mix test --only db", "1 test, 0 failures, 1 excluded", "skip"),
    ("mix test", "== Compilation error in file lib/a.ex ==", "fail"),
    ("ctest | tail -2", "Errors while running CTest", "fail"),
    (
        "cargo test --no-fail-fast | tail -4",
        "test result: ok. 0 passed\nerror: 1 target failed:",
        "fail",
    ),
    ("cargo test | head -3", "test a::b ... FAILED\ntest a::c ... ok", "fail"),
    ("go test ./nope", "stat /w/nope: directory not found", "fail"),
    ("go test ./a", "go: downloading example.org/x v1.0.0\nok  \tm/a\t0.1s", "pass"),
    ("ruff check -q .", "F401 [*] `os` imported but unused\n --> a.py:1:8\n", "1 issues"),
    ("ruff check . | tail -1", "[*] 4 fixable with `--fix`.", "4 issues"),
    ("ruff check --output-format concise . | head -1", "a.py:1:8: F401 [*] unused", "1 issues"),
    ("ruff check --select NO .", "ruff failed\n  Cause: Unknown rule selector", "fail"),
    ("flake8 -q --statistics .", "3     F401 'os' imported but unused", "fail"),
    ("npx eslint . | head -3", "/w/a.js\n  2:5  error  'b' is unused  no-unused-vars", "1 issues"),
    (
        "npx eslint --max-warnings 0 .",
        "✖ 1 problem (0 errors, 1 warning)\n\nESLint found too many warnings (maximum: 0).",
        "fail",
    ),
    ("npx oxlint", "Found 0 warnings and 7 errors.\nFinished in 10ms", "7 issues"),
    ("npx oxlint", "Found 3 warnings and 0 errors.\nFinished in 10ms", "pass"),
    ("npx biome lint .", "Checked 1 file in 3ms. No fixes applied.\nFound 1 warning.", "pass"),
    ("npx biome format .", "× Some errors were emitted while running checks.", "fail"),
    ("npx markdownlint a.md", "a.md:1:1 error MD018/no-missing-space-atx No space", "1 issues"),
    ("npx prettier -l src", "src/a.js\nsrc/b.ts", "2 issues"),
    ("npx prettier -l src", "", "pass"),
    ("rubocop -f s | head -2", "C:  2:  6: Layout/SpaceInsideParens: Space inside", "1 issues"),
    ("shellcheck a.sh | tail -1", "  https://www.shellcheck.net/wiki/SC2086 -- Quote", "fail"),
    ("gofmt -l .", "a/b.go\nc.go", "2 issues"),
    ("gofmt -l .", "", "pass"),
    ("pyright", "  /w/a.py:5:10 - error: Operator + not supported", "fail"),
    ("ty check", "error[invalid-return-type]: x\nFound 1 diagnostic", "fail"),
    ("ty check", "All checks passed!", "pass"),
    ("bandit -r src", ">> Issue: [B101] Use of assert", "1 issues"),
]


@pytest.mark.parametrize(("command", "output", "result"), FRAGMENTS)
def test_a_fragment_proves_what_it_shows_and_no_more(checks_of, command, output, result) -> None:
    found = checks_of(command, output, None if "|" not in command else 0)

    assert [r for _, _, r in found] == ([result] if result else [])


TOLD = [
    ("flake8 . && echo CLEAN || echo DIRTY", "CLEAN", "pass"),
    ("flake8 . && echo CLEAN || echo DIRTY", "a.py:1:1: x\nDIRTY", "fail"),
    ("npx tsc --noEmit && echo OK", "OK", "pass"),
    ("npx tsc --noEmit || echo BROKEN", "", "pass"),
    ("npx tsc --noEmit || echo BROKEN", "BROKEN", "fail"),
    ("npx tsc --noEmit > /tmp/tsc.log 2>&1", "", ""),
    ("flake8 . > out.txt; git status", "On branch main", ""),
    ("npx tsc --noEmit | head -3 && echo OK", "a\nb\nOK", ""),
]


@pytest.mark.parametrize(("command", "output", "result"), TOLD)
def test_what_an_echo_behind_a_check_says_is_its_end(script, command, output, result) -> None:
    script.call("exec_command", {"cmd": command}, output)

    assert [r for _, _, r in script.done().checks()] == ([result] if result else [])


def test_a_silent_check_passed_if_what_its_success_led_to_ran(checks_of) -> None:
    output = "--- FAIL: TestA (0.0s)\nFAIL\tm/a\t0.1s\nFAIL"

    assert checks_of("go build ./... && go vet ./... && go test ./a", output, 1) == [
        ("vet", "go vet", "pass"),
        ("test", "go test", "fail"),
    ]


SESSIONS = [
    ("tox -e lint", "lint: OK (0.04 seconds)\n  congratulations :) (0.09 seconds)", ["lint pass"]),
    ("tox -q -e py311", "4 passed in 0.1s\n  congratulations :)", ["test pass"]),
    (
        "tox",
        "  py311: OK (1s)\n  lint: FAIL code 1 (2s)\n  evaluation failed :(",
        ["test pass", "lint fail"],
    ),
    ("tox", "  py39: commands succeeded\nERROR:   py310: commands failed", ["test fail"]),
    ("tox -e types 2>&1 | tail -1", "  evaluation failed :( (0.2 seconds)", ["vet fail"]),
    (
        "tox -e lint",
        "lint: commands[0]> ruff check .\nFound 2 errors.\n  lint: FAIL code 1",
        ["lint 2 issues"],
    ),
    ("tox -e docs", "  docs: OK (1s)\n  congratulations :)", []),
    ("tox list", "default environments:\npy311 -> [no description]", []),
    (
        "nox -s lint",
        "nox > ruff check .\nFound 7 errors.\nnox > Session lint failed.",
        ["lint 7 issues"],
    ),
    ("nox", "nox > * tests-3.11: success\nnox > * lint: failed", ["test pass", "lint fail"]),
    ("nox -l", "* tests-3.11\n* lint", []),
]


@pytest.mark.parametrize(("command", "output", "expected"), SESSIONS)
def test_an_environment_is_what_it_runs_or_is_called(checks_of, command, output, expected) -> None:
    found = checks_of(command, output)

    assert [f"{kind} {result}" for kind, _, result in found] == expected


NAMED = [
    ("make -s typecheck", "Success: no issues found in 1 source file", 0, ["vet pass"]),
    ("npm -s run lint", "", 0, ["lint pass"]),
    ("time -p pytest -q", "3 passed in 0.1s\nreal 0.5", None, ["test pass"]),
    ("docker compose -f dev.yml exec -T web pytest", "2 passed in 0.4s", None, ["test pass"]),
    ("hatch run test", "3 passed in 0.1s", 0, ["test pass"]),
    ("hatch run lint:all", "All checks passed!", 0, ["lint pass"]),
    ("pdm run lint", "", 1, ["lint fail"]),
    ("uv run pytest -q", "3 passed in 0.1s", None, ["test pass"]),
    (
        "make lint",
        "go vet ./...\na.go:5:1: wrong\nmake: *** [Makefile:7: lint] Error 2",
        2,
        ["vet fail"],
    ),
    ("npm run test:e2e 2>&1 | tail -2", "Time: 1 s\nRan all suites.", 0, []),
    ("npm run lint 2>&1 | head -2", "> web lint\n> eslint .", 0, []),
    ("npm run lint 2>&1 | tail -9", "\n> web lint\n> node lint.mjs\n\n", None, ["lint pass"]),
    ("make test 2>&1 | tail -1", "all 12 suites passed", 0, ["test pass"]),
    (
        "make lint",
        "ruff check src\nF401 x\nFound 3 errors.\nmake: *** [lint] Error 1",
        2,
        ["lint 3 issues"],
    ),
]


@pytest.mark.parametrize(("command", "output", "code", "expected"), NAMED)
def test_options_of_a_runner_are_no_tasks_and_a_name_is_no_proof(
    checks_of, command, output, code, expected
) -> None:
    found = checks_of(command, output, code)

    assert [f"{kind} {result}" for kind, _, result in found] == expected
