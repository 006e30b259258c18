"""Pure. What the tools of C, the shell, mobile platforms and data files print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

OTHER: Final[tuple[CheckTool, ...]] = (
    tool(
        "ctest",
        "test",
        "ctest, meson test",
        " tests passed, |No tests were found|Fail: ",
        ("fail", r"^\d+% tests passed, [1-9]\d* tests? failed|^Fail: +[1-9]"),
        ("skip", r"^No tests were found"),
        ("pass", r"^100% tests passed|^Fail: +0$"),
        own=(("fail", r"^The following tests FAILED:|^Errors while running CTest|\*\*\*Failed"),),
    ),
    tool(
        "cmake",
        "build",
        "cmake --build, cmake -B, cmake -S, cmake ., cmake .., ninja, make, gmake, "
        "meson compile, bazel build",
        "Built target|*** [|ninja: build stopped|CMake Error|Build files have been written|error: ",
        ("fail", r"^g?make(?:\[\d+\])?: \*\*\* |^ninja: build stopped|^CMake Error|^FAILED: "),
        ("pass", r"^\[100%\] Built target|Build files have been written"),
    ),
    tool(
        "bazel test",
        "test",
        "bazel test",
        "Executed ",
        ("fail", r"^Executed .* fails? "),
        ("pass", r"^Executed .* tests? pass(?:es)?"),
    ),
    tool(
        "shellcheck",
        "lint",
        "shellcheck",
        "In |SC",
        ("lines", r"^In \S+ line \d+:$|^[^\s:]+:\d+:\d+: (?:note|warning|error|style): .*\[SC"),
        silent=True,
        own=(("fail", r"^ *\^-+\^? SC\d+|shellcheck\.net/wiki/SC\d|\"code\":\d{4}"),),
    ),
    tool(
        "pre-commit",
        "lint",
        "pre-commit run, prek run",
        "Passed|Failed|Skipped",
        ("fail", r"\.{3,}(?:\([^)\n]*\))?Failed$"),
        ("pass", r"\.{3,}(?:\([^)\n]*\))?Passed$"),
        ("skip", r"\.{3,}(?:\([^)\n]*\))?Skipped$"),
    ),
    tool(
        "bats",
        "test",
        "bats, prove",
        "Result: |All tests successful| failures|not ok",
        ("fail", r"^Result: FAIL|^not ok |^\d+ tests?, [1-9]\d* failures?"),
        ("pass", r"^Result: PASS|^All tests successful|^\d+ tests?, 0 failures|^ok \d+"),
    ),
    tool(
        "swift test",
        "test",
        "swift test, xcodebuild test",
        "Executed |** TEST ",
        ("fail", r"^\*\* TEST FAILED|Executed \d+ tests?, with [1-9]\d* failures?"),
        ("pass", r"^\*\* TEST SUCCEEDED|Executed \d+ tests?, with 0 failures"),
    ),
    tool(
        "flutter test",
        "test",
        "flutter test, dart test",
        "tests passed|tests failed",
        ("fail", r"Some tests failed"),
        ("pass", r"All tests passed!"),
    ),
    tool(
        "flutter analyze",
        "lint",
        "flutter analyze, dart analyze",
        "issues found|issue found|No ",
        ("count", r"\b([1-9]\d*) issues? found"),
        ("pass", r"No issues found!"),
    ),
    tool(
        "yamllint",
        "lint",
        "yamllint, actionlint, hadolint, tflint, ansible-lint",
        ":",
        ("lines", r"^[^\s:]+:\d+(?::\d+)? |^ +\d+:\d+ +(?:error|warning)"),
        silent=True,
    ),
)
