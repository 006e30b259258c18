"""Pure. What Python's tools print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

PYTHON: Final[tuple[CheckTool, ...]] = (
    tool(
        "pytest",
        "test",
        "pytest, py.test, hatch test",
        " passed| failed| error| skipped|FAILED |no tests ran| deselected|ERROR| xfailed|[100%]"
        "|Required test coverage",
        (
            "fail",
            r"^(?:=+ )?(?:\d+ [a-z]+, ){0,9}\d+ (?:failed|errors?)\b(?:, \d+ [a-z]+){0,9} in \d",
        ),
        (
            "fail",
            r"^(?:(?:FAILED|ERROR) [^\s:]+\.py\b|E       |INTERNALERROR>"
            r"|ERROR: (?:(?:file or directory )?not found|usage)"
            r"|ImportError while loading conftest|FAIL Required test coverage)",
        ),
        ("fail", r"pytest: error: "),
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
        own=(
            ("fail", r"^=+ (?:FAILURES|ERRORS) =+$|^[^\s:]{1,300}::\S[^\n]* (?:FAILED|ERROR)\b"),
            ("fail", r"^(?:\S+\.py )?[.sxXFE]*[FE][.sxXFE]* *(?:\[ *\d+%\])?$"),
            ("fail", r"^collected \d+ items? / \d+ errors?\b|^!+ .*(?:stopping after|Interrupted)"),
            ("fail", r"^ +[1-9]\d* (?:failed|error)$"),
            ("pass", r"^[^\s:]{1,300}::\S[^\n]* PASSED\b|^ +[1-9]\d* passed$"),
        ),
    ),
    tool(
        "unittest",
        "test",
        "unittest, manage.py test, setup.py test, trial, nose2, nosetests, green, stestr run",
        "FAILED (|Ran |NO TESTS RAN",
        ("fail", r"^FAILED \((?:failures|errors|unexpected|passes)"),
        ("skip", r"^NO TESTS RAN|^Ran 0 tests in |^Ran (\d+) tests? in .*\n+OK \(skipped=\1\)$"),
        ("pass", r"^OK(?: \([^)\n]*\))?$"),
        own=(
            ("fail", r"^(?:FAIL|ERROR): \w+ \(|\.\.\. (?:FAIL|ERROR)$"),
            ("pass", r"^OK(?: \([^)\n]*\))?$"),
        ),
    ),
    tool(
        "sympy tests",
        "test",
        "sympy.testing.runtests",
        "tests finished: ",
        ("fail", r"^=+ tests finished: .*\b[1-9]\d* (?:failed|exceptions)"),
        ("pass", r"^=+ tests finished: [1-9]\d* passed"),
    ),
    tool(
        "doctest",
        "test",
        "doctest",
        "***Test Failed***|Test passed",
        ("fail", r"^\*\*\*Test Failed\*\*\*"),
        ("pass", r"^Test passed"),
        silent=True,
    ),
    tool(
        "ruff",
        "lint",
        "ruff check, ruff lint, ruff .",
        "All checks passed!|Found |ruff failed",
        ("pass", r"^Found \d+ errors? \(\d+ fixed, 0 remaining\)"),
        ("count", r"^Found \d+ errors? \(\d+ fixed, ([1-9]\d*) remaining\)"),
        ("count", r"^Found ([1-9]\d*) errors?\.$"),
        ("fail", r"^ruff failed|^error: "),
        ("pass", r"^All checks passed!"),
        silent=True,
        own=(
            ("lines", r"^[^\s:][^:\n]*:\d+:\d+: (?:[A-Z]{1,5}\d{1,4} |SyntaxError|invalid-syntax)"),
            ("lines", r"^ +--> \S+:\d+:\d+$|^::error title=[Rr]uff|^ +\"code\": \"[A-Z]{1,5}\d"),
            ("count", r"^\[\*\] ([1-9]\d*) fixable with|^([1-9]\d*)\t[A-Z]{1,5}\d"),
            ("fail", r"^error: |^ +Cause: "),
        ),
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
        own=(
            ("fail", r"^\d+ +[A-Z]{1,4}\d{1,4} |^[1-9]\d{0,5}$|^There was a critical error"),
            ("pass", r"^0$"),
        ),
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
        silent=True,
        own=(
            ("fail", r"^mypy: error: |^\S.*: error: |^usage: mypy"),
            ("pass", r"^Daemon started$|^Success"),
        ),
    ),
    tool(
        "pyright",
        "vet",
        "pyright, basedpyright",
        " errors, | error, ",
        ("fail", r"^[1-9]\d* errors?, \d+ warnings?"),
        ("pass", r"^0 errors, \d+ warnings?"),
        own=(("fail", r"^ +\S+:\d+:\d+ - error: "),),
    ),
    tool(
        "ty",
        "vet",
        "ty check, pyrefly check, pyre check, pytype",
        " diagnostic|INFO 0 errors|INFO ",
        ("fail", r"^Found [1-9]\d* diagnostics?|^ *INFO [1-9]\d* errors?"),
        ("pass", r"^ *INFO 0 errors"),
        own=(
            ("fail", r"^error\[[\w-]+\]: |^ *ERROR "),
            ("pass", r"^All checks passed!|^No (?:type )?errors found"),
        ),
    ),
    tool(
        "bandit",
        "lint",
        "bandit",
        "No issues identified|>> Issue: ",
        ("lines", r"^>> Issue: "),
        ("pass", r"No issues identified"),
        silent=True,
    ),
)
