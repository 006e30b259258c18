"""Outputs of Python's tools: what a person would conclude from each."""

from __future__ import annotations

import pytest

RED, GREEN, BOLD, OFF = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
BAR = "=" * 20

PYTEST = [
    ("pytest", f"{BAR} 4 passed in 0.12s {BAR}", None, "pass"),
    ("pytest -q", "....                                     [100%]\n4 passed in 0.10s", 0, "pass"),
    ("pytest", f"{BAR} 1 failed, 3 passed, 2 skipped in 1.02s {BAR}", None, "fail"),
    ("pytest", f"{BAR} 3 passed, 1 error in 1.02s {BAR}", None, "fail"),
    (
        "pytest",
        f"!!!!! Interrupted: 1 error during collection !!!!!\n{BAR} 1 error in 0.09s {BAR}",
        2,
        "fail",
    ),
    ("pytest", f"{BAR} 5 skipped in 0.01s {BAR}", 0, "skip"),
    ("pytest -k nothing", f"{BAR} 3 deselected in 0.01s {BAR}", 5, "skip"),
    (
        "pytest tests/none.py",
        f"{BAR} no tests ran in 0.00s {BAR}\nERROR: file or directory not found: tests/none.py",
        4,
        "fail",
    ),
    ("pytest", f"{BAR} 12 passed, 1 xfailed, 3 warnings in 61.20s (0:01:01) {BAR}", 0, "pass"),
    (
        "python -m pytest -x",
        f"{RED}{BOLD}1 failed{OFF}, {GREEN}7 passed{OFF}{RED} in 0.05s{OFF}",
        None,
        "fail",
    ),
    (
        "python3.12 -m pytest tests/ 2>&1 | tail -3",
        "tests/test_a.py ..   [100%]\n\n2 passed in 0.1s",
        None,
        "pass",
    ),
    ("uv run pytest -q | tail -1", "9 passed in 0.80s", None, "pass"),
    (
        "poetry run pytest --tb=short 2>&1 | head -20",
        "FAILED tests/test_x.py::test_one - assert 1",
        None,
        "fail",
    ),
    ("cd /srv/app && . .venv/bin/activate && pytest tests/unit", "3 passed in 0.3s", None, "pass"),
    ("PYTHONPATH=. timeout 60 pytest -n 4", "8 passed in 4.04s", None, "pass"),
    ("docker compose exec -T web pytest", "2 passed in 0.4s", None, "pass"),
    ("pytest > out.log 2>&1; tail -1 out.log", "=== 1 failed, 2 passed in 0.3s ===", 0, "fail"),
    ('pytest -q; echo "exit: $?"', "exit: 0", None, "pass"),
    ("bash -lc 'pytest -q'", "1 passed in 0.0s", None, "pass"),
]

OTHERS = [
    (
        "python -m unittest",
        "..\n----\nRan 2 tests in 0.001s\n\nOK",
        None,
        ("test", "unittest", "pass"),
    ),
    (
        "python -m unittest discover",
        "F.\nRan 2 tests in 0.0s\n\nFAILED (failures=1)",
        None,
        ("test", "unittest", "fail"),
    ),
    (
        "python -m unittest x",
        "Ran 3 tests in 0.0s\n\nOK (skipped=1)",
        0,
        ("test", "unittest", "pass"),
    ),
    (
        "python manage.py test shop",
        "Ran 12 tests in 3.2s\n\nFAILED (errors=2)",
        1,
        ("test", "unittest", "fail"),
    ),
    (
        "tox -q",
        "  py311: OK (1.2 seconds)\n  congratulations :) (1.3 seconds)",
        None,
        ("test", "tox", "pass"),
    ),
    (
        "tox",
        "  py311: FAIL code 1\n  evaluation failed :( (0.12 seconds)",
        1,
        ("test", "tox", "fail"),
    ),
    ("nox -s tests", "nox > Session tests was successful.", None, ("test", "nox", "pass")),
    ("ruff check .", "All checks passed!", None, ("lint", "ruff", "pass")),
    (
        "ruff check src",
        "src/a.py:1:8: F401 `os` imported but unused\nFound 3 errors.\n[*] 3 fixable",
        1,
        ("lint", "ruff", "3 issues"),
    ),
    ("ruff check --fix .", "Found 2 errors (2 fixed, 0 remaining).", 0, ("lint", "ruff", "pass")),
    (
        "ruff check --fix .",
        "Found 5 errors (2 fixed, 3 remaining).",
        1,
        ("lint", "ruff", "3 issues"),
    ),
    (
        "ruff format --check .",
        "Would reformat: a.py\n2 files would be reformatted",
        1,
        ("lint", "ruff format", "2 issues"),
    ),
    ("ruff format --check .", "14 files already formatted", 0, ("lint", "ruff format", "pass")),
    (
        "flake8 src",
        "src/a.py:1:1: F401 'os' imported but unused\nsrc/b.py:9:80: E501 line too long",
        1,
        ("lint", "flake8", "2 issues"),
    ),
    ("flake8 src", "", 0, ("lint", "flake8", "pass")),
    ("flake8 src | head", "", None, ("lint", "flake8", "pass")),
    (
        "pylint app",
        "a.py:1:0: C0114: Missing module docstring (missing-module-docstring)\n\nYour code "
        "has been rated at 8.00/10",
        16,
        ("lint", "pylint", "1 issues"),
    ),
    (
        "pylint app | tail -2",
        "Your code has been rated at 10.00/10 (previous run: 9.50/10)",
        None,
        ("lint", "pylint", "pass"),
    ),
    ("mypy src", "Success: no issues found in 12 source files", None, ("vet", "mypy", "pass")),
    (
        "mypy --strict src",
        "src/a.py:4: error: Incompatible return value type\nFound 1 error in 1 file "
        "(checked 9 source files)",
        1,
        ("vet", "mypy", "fail"),
    ),
    ("npx pyright", "0 errors, 0 warnings, 0 informations", None, ("vet", "pyright", "pass")),
    (
        "pyright src",
        "  a.py:3:12 - error: wrong\n1 error, 0 warnings, 0 informations",
        1,
        ("vet", "pyright", "fail"),
    ),
    (
        "black --check .",
        "would reformat a.py\n1 file would be reformatted.",
        1,
        ("lint", "black", "1 issues"),
    ),
    (
        "black --check .",
        "All done!\n9 files would be left unchanged.",
        0,
        ("lint", "black", "pass"),
    ),
    (
        "pre-commit run --all-files",
        "ruff....................Passed\nmypy....................Failed\n- hook id: mypy",
        1,
        ("lint", "pre-commit", "fail"),
    ),
    (
        "pre-commit run -a",
        "trim trailing whitespace.......Passed\nruff...........(no files to check)Skipped",
        0,
        ("lint", "pre-commit", "pass"),
    ),
]

NO_RUNS = [
    ("pytest", "bash: pytest: command not found", 127),
    ("python -m pytest", "/usr/bin/python: No module named pytest", 1),
    ("pytest --version", "pytest 8.3.0", 0),
    ("pytest --collect-only -q", "tests/test_a.py::test_a\n\n1 test collected in 0.00s", 0),
    ("cat tests/test_a.py", "# 3 passed in 0.1s\nassert 1", 0),
    ("grep -rn 'FAILED' logs", "logs/ci.txt:9: 1 failed, 3 passed in 0.1s", 0),
    ("gh run view 912 --log-failed", "test\t=== 1 failed, 3 passed in 0.1s ===", 0),
    ("git commit -m 'run pytest: 3 passed in 0.1s'", "[main 1a2b3c4] run pytest: 3 passed", 0),
    ("gh pr create --body 'ruff check: All checks passed!'", "https://github.com/o/r/pull/1", 0),
    ("python reproduce.py", "Traceback (most recent call last):\nValueError", 1),
    ("ruff format .", "3 files reformatted", 0),
    ("pip install pytest ruff mypy", "Successfully installed pytest-8.3.0", 0),
]


@pytest.mark.parametrize(("command", "output", "code", "result"), PYTEST)
def test_pytest_is_judged_by_its_summary(checks_of, command, output, code, result) -> None:
    assert checks_of(command, output, code) == [("test", "pytest", result)]


@pytest.mark.parametrize(("command", "output", "code", "check"), OTHERS)
def test_a_python_tool_is_judged_by_its_own_words(checks_of, command, output, code, check) -> None:
    assert checks_of(command, output, code) == [check]


@pytest.mark.parametrize(("command", "output", "code"), NO_RUNS)
def test_what_ran_nothing_is_no_check(checks_of, command, output, code) -> None:
    assert checks_of(command, output, code) == []
