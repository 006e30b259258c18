"""Pure. What Python's tools print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

PYTHON: Final[tuple[CheckTool, ...]] = (
    tool(
        "pytest",
        "test",
        "pytest, py.test, hatch test",
        " passed| failed| error| skipped|FAILED |no tests ran| deselected|ERROR| xfailed",
        (
            "fail",
            r"^(?:=+ )?(?:\d+ [a-z]+, ){0,9}\d+ (?:failed|errors?)\b(?:, \d+ [a-z]+){0,9} in \d",
        ),
        (
            "fail",
            r"^(?:FAILED|ERROR) [^\s:]+\.py\b|^E       |^INTERNALERROR>"
            r"|^ERROR: (?:file or directory )?not found|^ERROR: usage|pytest: error: "
            r"|^ImportError while loading conftest",
        ),
        (
            "pass",
            r"^(?:=+ )?(?:\d+ [a-z]+, ){0,9}\d+ (?:passed|xfailed|xpassed)\b(?:, \d+ [a-z]+){0,9} "
            r"in \d",
        ),
        (
            "skip",
            r"^(?:=+ )?(?:no tests ran|(?:\d+ [a-z]+, ){0,9}\d+ (?:skipped|deselected))\b.* in \d",
        ),
        ("pass", r"\.py [.sx]+ +\[100%\]$|^[.sx]+ +\[100%\]$"),
        unless="--collect-only --co --fixtures --markers",
    ),
    tool(
        "unittest",
        "test",
        "unittest, manage.py test, setup.py test, trial",
        "FAILED (|Ran |NO TESTS RAN",
        ("fail", r"^FAILED \((?:failures|errors|unexpected)"),
        ("skip", r"^NO TESTS RAN|^Ran 0 tests in "),
        ("pass", r"^OK(?: \([^)\n]*\))?$"),
    ),
    tool(
        "tox",
        "test",
        "tox",
        "congratulations :)|evaluation failed :(|: OK (|: FAIL ",
        ("fail", r"^ +evaluation failed :\(|^ +[\w.-]+: FAIL\b|^ERROR: +[\w.-]+: "),
        ("pass", r"^ +congratulations :\)|^ +[\w.-]+: OK\b"),
    ),
    tool(
        "nox",
        "test",
        "nox",
        "nox > Session",
        ("fail", r"^nox > Session .* failed\.|^nox > \* .*: failed"),
        ("pass", r"^nox > Session .* was successful"),
    ),
    tool(
        "ruff",
        "lint",
        "ruff check, ruff lint, ruff .",
        "All checks passed!|Found ",
        ("pass", r"^Found \d+ errors? \(\d+ fixed, 0 remaining\)"),
        ("count", r"^Found \d+ errors? \(\d+ fixed, ([1-9]\d*) remaining\)"),
        ("count", r"^Found ([1-9]\d*) errors?\."),
        ("fail", r"^ruff failed|^error: "),
        ("pass", r"^All checks passed!"),
    ),
    tool(
        "ruff format",
        "lint",
        "ruff format",
        "reformatted|formatted",
        ("count", r"^([1-9]\d*) files? would be reformatted"),
        ("pass", r"already formatted$|left unchanged$"),
        needs="--check --diff",
    ),
    tool(
        "black",
        "lint",
        "black",
        "would be reformatted|left unchanged",
        ("count", r"^([1-9]\d*) files? would be reformatted"),
        ("pass", r"would be left unchanged"),
        needs="--check --diff",
    ),
    tool(
        "isort",
        "lint",
        "isort",
        "incorrectly sorted",
        ("lines", r"^ERROR: .* incorrectly sorted"),
        silent=True,
        needs="--check --check-only -c --diff",
    ),
    tool(
        "flake8",
        "lint",
        "flake8",
        ": E|: W|: F|: C|: D|: N|: B",
        ("lines", r"^[^\s:][^:\n]*:\d+:\d+: [A-Z]{1,4}\d{1,4} "),
        silent=True,
    ),
    tool(
        "pylint",
        "lint",
        "pylint",
        "rated at|: C0|: R|: W|: E|: F",
        ("lines", r"^[^\s:][^:\n]*:\d+:\d+: [CRWEF]\d{4}: "),
        ("pass", r"rated at 10(?:\.0+)?/10"),
        ("fail", r"rated at -?\d"),
        silent=True,
    ),
    tool(
        "mypy",
        "vet",
        "mypy, dmypy run",
        "Success: no issues found|Found | error: ",
        ("fail", r"^Found [1-9]\d* errors? in |^[^\s:]+:\d+: (?:\d+: )?error: "),
        ("pass", r"^Success: no issues found"),
    ),
    tool(
        "pyright",
        "vet",
        "pyright, basedpyright",
        " errors, | error, ",
        ("fail", r"^[1-9]\d* errors?, \d+ warnings?"),
        ("pass", r"^0 errors, \d+ warnings?"),
    ),
)
