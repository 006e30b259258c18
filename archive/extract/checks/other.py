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
        unless="-N --show-only",
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
        ("fail", r"(?<!\.)\.{3,}(?:\([^)\n]*\))?Failed$"),
        ("pass", r"(?<!\.)\.{3,}(?:\([^)\n]*\))?Passed$"),
        ("skip", r"(?<!\.)\.{3,}(?:\([^)\n]*\))?Skipped$"),
    ),
    tool(
        "c++ tests",
        "test",
        "gtest",
        "[  PASSED  ]|[  FAILED  ]|assertions in |test cases: |# PASS: |No errors detected"
        "|failures are detected|failure is detected",
        (
            "fail",
            r"^\[  FAILED  \]|test cases: +\d+ \|.{0,200}\b[1-9]\d* failed"
            r"|^# (?:FAIL|ERROR): +[1-9]|^\*\*\* \d+ failures? (?:is|are) detected",
        ),
        (
            "pass",
            r"^\[  PASSED  \]|^All tests passed \(\d+ assertions?|test cases: +\d+ \| +\d+ passed"
            r"|^# PASS: +[1-9]|^\*\*\* No errors detected",
        ),
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
        "Executed |** TEST |Test run with ",
        (
            "fail",
            r"^\*\* TEST FAILED|Executed \d+ tests?, with [1-9]\d* failures?"
            r"|Test run with \d+ tests?.{0,200} failed after",
        ),
        (
            "pass",
            r"^\*\* TEST SUCCEEDED|Executed \d+ tests?, with 0 failures"
            r"|Test run with \d+ tests?.{0,200} passed after",
        ),
    ),
    tool(
        "swift build",
        "build",
        "swift build, xcodebuild build, xcodebuild",
        "Build complete!|** BUILD |error: ",
        ("fail", r"^\*\* BUILD FAILED|^\S+\.swift:\d+:\d+: error: |^error: "),
        ("pass", r"^Build complete!|^\*\* BUILD SUCCEEDED"),
        unless="test -list -version -showsdks",
    ),
    tool(
        "swiftlint",
        "lint",
        "swiftlint",
        "Done linting!",
        ("count", r"^Done linting! Found ([1-9]\d*) violations?, [1-9]\d* serious"),
        ("pass", r"^Done linting! Found \d+ violations?, 0 serious"),
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
    tool(
        "zig test",
        "test",
        "zig test, zig build test",
        " tests passed.| failed",
        ("fail", r"^\d+ passed; .*\b[1-9]\d* failed|: error: "),
        ("pass", r"^All \d+ tests passed\."),
        silent=True,
    ),
    tool("zig build", "build", "zig build", "error: ", ("fail", r": error: "), silent=True),
    tool(
        "haskell test",
        "test",
        "cabal test, stack test",
        "est suite",
        ("fail", r"Test suite \S+ failed|^Test suite \S+: FAIL"),
        ("pass", r"Test suite \S+ passed|^Test suite \S+: PASS|^(\d+) of \1 test suites"),
    ),
    tool("dune test", "test", "dune runtest, dune test", "", silent=True),
    tool("dune build", "build", "dune build", "", silent=True),
    tool(
        "busted",
        "test",
        "busted",
        " successes / | success / ",
        ("fail", r"^\d+ success(?:es)? / (?:[1-9]\d* failures?|0 failures / [1-9])"),
        ("pass", r"^\d+ success(?:es)? / 0 failures / 0 errors"),
    ),
    tool(
        "luacheck",
        "lint",
        "luacheck",
        "Total: ",
        ("fail", r"^Total: .*\b[1-9]\d* errors? in|^Total: [1-9]\d* warnings?"),
        ("pass", r"^Total: 0 warnings / 0 errors"),
    ),
    # Tools of which the exit code says all.
    *(
        tool(start, "lint", start, "", silent=True)
        for start in (
            "buf lint",
            "sqlfluff lint",
            "vale",
            "codespell",
            "typos",
            "helm lint",
            "cspell",
            "spectral lint",
            "pydocstyle",
            "djlint",
            "taplo lint",
            "tombi lint",
            "checkmake",
        )
    ),
)
