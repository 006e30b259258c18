"""Pure. The table of verification tools: how each is called and what its output means.

To teach another tool, add an entry. A rule's pattern is searched line by line in the output; the
first rule of a tool that matches decides, so failures stand before passes. `count` rules say
"N issues" from a number in the last match, or from the number of matches. `needles` are plain
strings one of which is in every output of the tool: they keep the patterns off other output.
All patterns are linear: no quantifier can match what its neighbour matches too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from archive.record import CheckKind

Outcome = Literal["pass", "fail", "skip", "count", "lines"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`outcome` when `pattern` is in the output; `count` reads group 1, `lines` counts matches."""

    outcome: Outcome
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class CheckTool:
    """`starts` are the command beginnings; `silent`: no output at all means a pass."""

    name: str
    kind: CheckKind
    starts: tuple[str, ...]
    needles: tuple[str, ...]
    rules: tuple[Rule, ...]
    silent: bool = False
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


def _tool(
    name: str,
    kind: CheckKind,
    starts: str,
    needles: str,
    *rules: tuple[Outcome, str],
    silent: bool = False,
    needs: str = "",
    unless: str = "",
) -> CheckTool:
    compiled = tuple(Rule(outcome, re.compile(text, re.MULTILINE)) for outcome, text in rules)
    return CheckTool(
        name,
        kind,
        tuple(s.strip() for s in starts.split(",")),
        tuple(n for n in needles.split("|") if n),
        compiled,
        silent,
        tuple(needs.split()),
        tuple(unless.split()),
    )


_GO_LINE: Final = r"^[^\s:]+\.go:\d+:\d+: "
_PROBLEMS: Final = r"^✖ ([1-9]\d*) problems? \([1-9]\d* errors?"

TOOLS: Final[tuple[CheckTool, ...]] = (
    # Python
    _tool(
        "pytest", "test", "pytest, py.test, hatch test", " passed| failed| error| skipped|FAILED |no tests "
        "ran| deselected|ERROR| xfailed",
        ("fail", r"^(?:=+ )?(?:\d+ [a-z]+, ){0,9}\d+ (?:failed|errors?)\b(?:, \d+ [a-z]+){0,9} in \d"),
        ("fail", r"^(?:FAILED|ERROR) [^\s:]+\.py\b|^E       |^INTERNALERROR>"
                 r"|^ERROR: (?:file or directory )?not found|^ERROR: usage|pytest: error: "
                 r"|^ImportError while loading conftest"),
        ("pass", r"^(?:=+ )?(?:\d+ [a-z]+, ){0,9}\d+ (?:passed|xfailed|xpassed)\b(?:, \d+ [a-z]+){0,9} "
                 r"in \d"),
        ("skip", r"^(?:=+ )?(?:no tests ran|(?:\d+ [a-z]+, ){0,9}\d+ (?:skipped|deselected))\b.* in \d"),
        ("pass", r"\.py [.sx]+ +\[100%\]$|^[.sx]+ +\[100%\]$"),
        unless="--collect-only --co --fixtures --markers",
    ),
    _tool(
        "unittest", "test", "unittest, manage.py test, setup.py test, trial",
        "FAILED (|Ran |NO TESTS RAN",
        ("fail", r"^FAILED \((?:failures|errors|unexpected)"),
        ("skip", r"^NO TESTS RAN|^Ran 0 tests in "),
        ("pass", r"^OK(?: \([^)\n]*\))?$"),
    ),
    _tool(
        "tox", "test", "tox", "congratulations :)|evaluation failed :(|: OK (|: FAIL ",
        ("fail", r"^ +evaluation failed :\(|^ +[\w.-]+: FAIL\b|^ERROR: +[\w.-]+: "),
        ("pass", r"^ +congratulations :\)|^ +[\w.-]+: OK\b"),
    ),
    _tool(
        "nox", "test", "nox", "nox > Session",
        ("fail", r"^nox > Session .* failed\.|^nox > \* .*: failed"),
        ("pass", r"^nox > Session .* was successful"),
    ),
    _tool(
        "ruff", "lint", "ruff check, ruff lint, ruff .", "All checks passed!|Found ",
        ("pass", r"^Found \d+ errors? \(\d+ fixed, 0 remaining\)"),
        ("count", r"^Found \d+ errors? \(\d+ fixed, ([1-9]\d*) remaining\)"),
        ("count", r"^Found ([1-9]\d*) errors?\."),
        ("fail", r"^ruff failed|^error: "),
        ("pass", r"^All checks passed!"),
    ),
    _tool(
        "ruff format", "lint", "ruff format", "reformatted|formatted",
        ("count", r"^([1-9]\d*) files? would be reformatted"),
        ("pass", r"already formatted$|left unchanged$"),
        needs="--check --diff",
    ),
    _tool(
        "black", "lint", "black", "would be reformatted|left unchanged",
        ("count", r"^([1-9]\d*) files? would be reformatted"),
        ("pass", r"would be left unchanged"),
        needs="--check --diff",
    ),
    _tool(
        "isort", "lint", "isort", "incorrectly sorted",
        ("lines", r"^ERROR: .* incorrectly sorted"),
        silent=True, needs="--check --check-only -c --diff",
    ),
    _tool(
        "flake8", "lint", "flake8", ": E|: W|: F|: C|: D|: N|: B",
        ("lines", r"^[^\s:][^:\n]*:\d+:\d+: [A-Z]{1,4}\d{1,4} "),
        silent=True,
    ),
    _tool(
        "pylint", "lint", "pylint", "rated at|: C0|: R|: W|: E|: F",
        ("lines", r"^[^\s:][^:\n]*:\d+:\d+: [CRWEF]\d{4}: "),
        ("pass", r"rated at 10(?:\.0+)?/10"),
        ("fail", r"rated at -?\d"),
        silent=True,
    ),
    _tool(
        "mypy", "vet", "mypy, dmypy run", "Success: no issues found|Found | error: ",
        ("fail", r"^Found [1-9]\d* errors? in |^[^\s:]+:\d+: (?:\d+: )?error: "),
        ("pass", r"^Success: no issues found"),
    ),
    _tool(
        "pyright", "vet", "pyright, basedpyright", " errors, | error, ",
        ("fail", r"^[1-9]\d* errors?, \d+ warnings?"),
        ("pass", r"^0 errors, \d+ warnings?"),
    ),
    # Go
    _tool(
        "go test", "test", "go test, gotestsum, richgo test, ginkgo",
        "ok  \t|FAIL|PASS|[no test files]|\"Action\":|[build failed]|DONE |[no tests to run]|ok ",
        ("fail", r"^[ \t]*--- FAIL: |^FAIL\b|\[(?:build|setup) failed\]|\"Action\":\"fail\""
                 r"|^panic: |^DONE \d+ tests?.*, \d+ failures?|^Test Suite Failed"),
        ("pass", r"^ok[ \t]+\S|^PASS$|^[ \t]*--- PASS: |\"Action\":\"pass\"|^DONE \d+ tests?"
                 r"|^Test Suite Passed"),
        ("skip", r"\[no test files\]|^[ \t]*--- SKIP: "),
    ),
    _tool(
        "go vet", "vet", "go vet", "vet: |# ",
        ("fail", r"^vet: |^# [\w./-]+|" + _GO_LINE),
        silent=True,
    ),
    _tool(
        "golangci-lint", "lint", "golangci-lint run", " issues| issue|level=error|.go:",
        ("count", r"^([1-9]\d*) issues?[.:]"),
        ("pass", r"^0 issues\b"),
        ("fail", r"^level=error|^ERRO |^Error: can't load config"),
        ("lines", _GO_LINE + r".*\(\w+\)$"),
        silent=True,
    ),
    _tool("staticcheck", "lint", "staticcheck, revive, golint, errcheck", ".go:",
          ("lines", _GO_LINE), silent=True),
    _tool("go build", "build", "go build, go install", "# |.go:",
          ("fail", r"^# [\w./-]+|" + _GO_LINE + r"|^go: "), silent=True),
    # Rust
    _tool(
        "cargo test", "test", "cargo test, cargo nextest run, cargo t",
        "test result: |could not compile|error: test failed|Summary [|error[E",
        ("fail", r"^test result: FAILED|^error: (?:test failed|could not compile|doctest failed)"
                 r"|^error\[E\d+\]|^ +Summary \[.*\b[1-9]\d* failed"),
        ("pass", r"^test result: ok\.|^ +Summary \[.*\b\d+ passed"),
    ),
    _tool(
        "cargo clippy", "lint", "cargo clippy", "could not compile|Finished |error: |error[",
        ("count", r"^error: could not compile .* due to ([1-9]\d*) previous errors?"),
        ("fail", r"^error(?:\[E\d+\])?: "),
        ("pass", r"^ +Finished "),
    ),
    _tool("cargo fmt", "lint", "cargo fmt", "Diff in ", ("fail", r"^Diff in "),
          silent=True, needs="--check"),
    _tool("cargo check", "vet", "cargo check, cargo c", "could not compile|Finished |error",
          ("fail", r"^error(?:\[E\d+\])?: "), ("pass", r"^ +Finished ")),
    _tool("cargo build", "build", "cargo build, cargo b", "could not compile|Finished |error",
          ("fail", r"^error(?:\[E\d+\])?: "), ("pass", r"^ +Finished ")),
    # JavaScript and TypeScript
    _tool(
        "vitest", "test", "vitest", "Test Files |      Tests | RUN |No test files found",
        ("fail", r"^ *(?:Test Files|Tests) +(?:\d+ [a-z]+ \| ){0,9}[1-9]\d* failed"
                 r"|^ *Errors +[1-9]\d* errors?|Failed (?:Tests|Suites) \d+"),
        ("pass", r"^ *(?:Test Files|Tests) +(?:\d+ [a-z]+ \| ){0,9}\d+ passed"),
        ("skip", r"^ *(?:Test Files|Tests) +\d+ skipped|^No test files found"),
    ),
    _tool(
        "jest", "test", "jest, react-scripts test, craco test", "Tests: |Test Suites: |No tests found",
        ("fail", r"^(?:Tests|Test Suites): +(?:\d+ [a-z]+, ){0,9}[1-9]\d* failed"),
        ("pass", r"^(?:Tests|Test Suites): +(?:\d+ [a-z]+, ){0,9}\d+ passed"),
        ("skip", r"^Tests: +(?:\d+ [a-z]+, ){0,9}\d+ skipped|^No tests found"),
    ),
    _tool(
        "mocha", "test", "mocha, nyc mocha, c8 mocha", " passing| failing",
        ("fail", r"^ *[1-9]\d* failing$"), ("pass", r"^ *[1-9]\d* passing(?: \(|$)"),
        ("skip", r"^ *0 passing"),
    ),
    _tool(
        "node test", "test", "node --test, tap, tape", "# fail |ℹ fail |# pass |ℹ pass ",
        ("fail", r"^(?:#|ℹ) fail +[1-9]"), ("pass", r"^(?:#|ℹ) pass +[1-9]"),
        ("skip", r"^(?:#|ℹ) pass +0"),
    ),
    _tool(
        "bun test", "test", "bun test", " pass\n| fail\n| pass| fail",
        ("fail", r"^ *[1-9]\d* fail$"), ("pass", r"^ *[1-9]\d* pass$"),
    ),
    _tool(
        "deno test", "test", "deno test", " passed | failed",
        ("fail", r"^FAILED \| \d+ passed"), ("pass", r"^ok \| \d+ passed"),
    ),
    _tool(
        "playwright", "test", "playwright test", " passed (| failed",
        ("fail", r"^ +[1-9]\d* failed$"), ("pass", r"^ +[1-9]\d* passed \("),
    ),
    _tool(
        "ava", "test", "ava, cypress run, karma start",
        " test failed| tests failed| test passed| tests passed|All specs passed| of ",
        ("fail", r"^ *[1-9]\d* tests? failed|[1-9]\d* of \d+ failed|Executed \d+ of \d+.*FAILED"),
        ("pass", r"^ *[1-9]\d* tests? passed|All specs passed!|Executed \d+ of \d+.*SUCCESS"),
    ),
    _tool(
        "eslint", "lint", "eslint, next lint, xo, standard, oxlint",
        "✖ |✔ No ESLint|Oops! Something went wrong| problem|  Error: ",
        ("count", _PROBLEMS), ("pass", r"^✖ \d+ problems? \(0 errors|^✔ No ESLint warnings or"),
        ("fail", r"^Oops! Something went wrong|^\d+:\d+ +Error: "),
        ("count", r"^Found \d+ warnings? and ([1-9]\d*) errors?"),
        silent=True,
    ),
    _tool("stylelint", "lint", "stylelint, htmlhint, markdownlint, markdownlint-cli2", "✖ |MD0",
          ("count", r"^✖ ([1-9]\d*) problems?"), ("lines", r"^[^\s:]+:\d+(?::\d+)? MD\d+"),
          silent=True),
    _tool(
        "biome", "lint", "biome check, biome lint, biome ci, rome check", "Checked |Found ",
        ("count", r"^Found ([1-9]\d*) errors?\."), ("pass", r"^Checked \d+ files? in "),
    ),
    _tool(
        "prettier", "lint", "prettier", "Code style issues|All matched files|[warn] ",
        ("fail", r"Code style issues"), ("pass", r"^All matched files use Prettier"),
        needs="--check -c --list-different -l",
    ),
    _tool(
        "tsc", "vet", "tsc, vue-tsc", "error TS|Found ",
        ("fail", r"\berror TS\d+: |^Found [1-9]\d* errors?"), ("pass", r"^Found 0 errors"),
        silent=True,
    ),
    _tool(
        "svelte-check", "vet", "svelte-check, astro check", "found |errors",
        ("fail", r"svelte-check found [1-9]\d* errors?|^- [1-9]\d* errors?$"),
        ("pass", r"svelte-check found 0 errors|^- 0 errors$"),
    ),
    _tool(
        "vite build", "build",
        "vite build, next build, webpack, rollup, tsup, esbuild, astro build, nuxt build, ng build, "
        "react-scripts build, bun build, parcel build, remix build",
        "built in|Compiled |compiled |Failed to compile|Build failed|error during build|Build "
        "success|Build error",
        ("fail", r"^Failed to compile|error during build|Build (?:failed|error)"
                 r"|compiled with [1-9]\d* errors?|^✘ \[ERROR\]"),
        ("pass", r"✓ built in|[Cc]ompiled successfully|compiled with \d+ warnings?|Build success"),
    ),
    # JVM and .NET
    _tool(
        "mvn", "test", "mvn test, mvn verify, mvn install, mvn package, mvn integration-test, "
        "mvnw test, mvnw verify, mvnw install, mvnw package",
        "Tests run:|BUILD SUCCESS|BUILD FAILURE",
        ("fail", r"BUILD FAILURE|Tests run: \d+, Failures: (?:[1-9]\d*|0, Errors: [1-9])"),
        ("pass", r"Tests run: [1-9]\d*, Failures: 0, Errors: 0|BUILD SUCCESS"),
        unless="-DskipTests -Dmaven.test.skip=true -DskipTests=true",
    ),
    _tool(
        "mvn build", "build", "mvn compile, mvn package, mvn install, mvnw compile, mvnw package",
        "BUILD SUCCESS|BUILD FAILURE",
        ("fail", r"BUILD FAILURE"), ("pass", r"BUILD SUCCESS"),
    ),
    _tool(
        "gradle", "test", "gradle test, gradlew test, gradle check, gradlew check",
        "BUILD SUCCESSFUL|BUILD FAILED| tests completed",
        ("fail", r"^BUILD FAILED|^FAILURE: Build failed|\d+ tests? completed, [1-9]\d* failed"),
        ("pass", r"^BUILD SUCCESSFUL"),
    ),
    _tool(
        "gradle build", "build", "gradle build, gradlew build, gradle assemble, gradlew assemble",
        "BUILD SUCCESSFUL|BUILD FAILED",
        ("fail", r"^BUILD FAILED|^FAILURE: Build failed"), ("pass", r"^BUILD SUCCESSFUL"),
    ),
    _tool(
        "ktlint", "lint", "ktlint, gradle ktlintCheck, gradlew ktlintCheck, gradlew spotlessCheck, "
        "gradlew detekt, checkstyle", "BUILD SUCCESSFUL|BUILD FAILED",
        ("fail", r"^BUILD FAILED"), ("pass", r"^BUILD SUCCESSFUL"), silent=True,
    ),
    _tool(
        "sbt", "test", "sbt test", "All tests passed|Failed tests|[error]|Passed: ",
        ("fail", r"^\[error\] "), ("pass", r"All tests passed|Passed: Total"),
    ),
    _tool(
        "dotnet test", "test", "dotnet test", "Passed!|Failed!|Test Run |Build FAILED|error CS|total:",
        ("fail", r"^ *Failed! |Test Run Failed|^Build FAILED|: error (?:CS|MSB)\d+"
                 r"|^ *failed: [1-9]"),
        ("pass", r"^ *Passed! |Test Run Successful|^ *succeeded: [1-9]"),
    ),
    _tool(
        "dotnet build", "build", "dotnet build, msbuild", "Build succeeded|Build FAILED|error CS",
        ("fail", r"^Build FAILED|: error (?:CS|MSB)\d+"), ("pass", r"^ *Build succeeded"),
    ),
    _tool("dotnet format", "lint", "dotnet format", "error WHITESPACE|error IDE",
          ("lines", r": error [A-Z]+"), silent=True, needs="--verify-no-changes"),
    # Ruby, PHP, Elixir
    _tool(
        "rspec", "test", "rspec", " example, | examples, ",
        ("fail", r"^\d+ examples?, (?:[1-9]\d* failures?|0 failures, .*\d+ errors? occurred)"),
        ("skip", r"^0 examples, 0 failures"), ("pass", r"^\d+ examples?, 0 failures"),
    ),
    _tool(
        "minitest", "test", "rails test, rake test, minitest", " assertions, ",
        ("fail", r"^\d+ (?:runs|tests), \d+ assertions, (?:[1-9]\d* failures|0 failures, [1-9])"),
        ("pass", r"^\d+ (?:runs|tests), \d+ assertions, 0 failures, 0 errors"),
    ),
    _tool(
        "rubocop", "lint", "rubocop, standardrb", " offenses detected| offense detected|no offenses",
        ("count", r"\b([1-9]\d*) offenses? detected"), ("pass", r"no offenses detected"),
        silent=True,
    ),
    _tool(
        "phpunit", "test", "phpunit, pest, php artisan test", "FAILURES!|ERRORS!|OK (|OK, but|Tests: "
        "|No tests executed",
        ("fail", r"^(?:FAILURES|ERRORS)!|^ *Tests: +(?:\d+ [a-z]+, ){0,9}[1-9]\d* failed"),
        ("pass", r"^OK \(|^OK, but |^ *Tests: +(?:\d+ [a-z]+, ){0,9}\d+ passed"),
        ("skip", r"^No tests executed"),
    ),
    _tool(
        "phpstan", "lint", "phpstan analyse, phpstan analyze, psalm, phpcs, php-cs-fixer",
        "[OK] No errors|[ERROR]|No errors found|errors found",
        ("count", r"\[ERROR\] Found ([1-9]\d*) errors?|^([1-9]\d*) errors found"),
        ("pass", r"\[OK\] No errors|No errors found"), silent=True,
    ),
    _tool(
        "mix test", "test", "mix test", " failure",
        ("fail", r"^(?:\d+ (?:doctests?|propert(?:y|ies)), ){0,9}\d+ tests?, [1-9]\d* failures?"
                 r"|^\*\* \(\w*Error\)|^== Compilation error"),
        ("pass", r"^(?:\d+ (?:doctests?|propert(?:y|ies)), ){0,9}\d+ tests?, 0 failures"),
    ),
    _tool("mix credo", "lint", "mix credo", "found no issues|found ",
          ("pass", r"found no issues"), ("fail", r"found [1-9]\d* ")),
    _tool("mix dialyzer", "vet", "mix dialyzer", "passed successfully|Total errors",
          ("pass", r"done \(passed successfully\)|^Total errors: 0"),
          ("fail", r"^Total errors: [1-9]|done \(warnings were emitted\)")),
    _tool("mix format", "lint", "mix format", "not formatted", ("fail", r"not formatted"),
          silent=True, needs="--check-formatted"),
    _tool("mix compile", "build", "mix compile", "Generated |Compilation error|** (",
          ("fail", r"^== Compilation error|^\*\* \("), ("pass", r"^Generated "), silent=True),
    # C, C++, shell, mobile, other
    _tool(
        "ctest", "test", "ctest, meson test", " tests passed, |No tests were found|Fail: ",
        ("fail", r"^\d+% tests passed, [1-9]\d* tests? failed|^Fail: +[1-9]"),
        ("skip", r"^No tests were found"), ("pass", r"^100% tests passed|^Fail: +0$"),
    ),
    _tool(
        "cmake", "build", "cmake --build, cmake -B, cmake -S, cmake ., cmake .., ninja, make, gmake, "
        "meson compile, bazel build",
        "Built target|*** [|ninja: build stopped|CMake Error|Build files have been written|error: ",
        ("fail", r"^g?make(?:\[\d+\])?: \*\*\* |^ninja: build stopped|^CMake Error|^FAILED: "),
        ("pass", r"^\[100%\] Built target|Build files have been written"),
    ),
    _tool("bazel test", "test", "bazel test", "Executed ",
          ("fail", r"^Executed .* fails? "), ("pass", r"^Executed .* tests? pass(?:es)?")),
    _tool(
        "shellcheck", "lint", "shellcheck", "In |SC",
        ("lines", r"^In \S+ line \d+:$|^[^\s:]+:\d+:\d+: (?:note|warning|error|style): .*\[SC"),
        silent=True,
    ),
    _tool(
        "pre-commit", "lint", "pre-commit run, prek run", "Passed|Failed|Skipped",
        ("fail", r"\.{3,}(?:\([^)\n]*\))?Failed$"), ("pass", r"\.{3,}(?:\([^)\n]*\))?Passed$"),
        ("skip", r"\.{3,}(?:\([^)\n]*\))?Skipped$"),
    ),
    _tool("bats", "test", "bats, prove", "Result: |All tests successful| failures|not ok",
          ("fail", r"^Result: FAIL|^not ok |^\d+ tests?, [1-9]\d* failures?"),
          ("pass", r"^Result: PASS|^All tests successful|^\d+ tests?, 0 failures|^ok \d+")),
    _tool(
        "swift test", "test", "swift test, xcodebuild test", "Executed |** TEST ",
        ("fail", r"^\*\* TEST FAILED|Executed \d+ tests?, with [1-9]\d* failures?"),
        ("pass", r"^\*\* TEST SUCCEEDED|Executed \d+ tests?, with 0 failures"),
    ),
    _tool("flutter test", "test", "flutter test, dart test", "tests passed|tests failed",
          ("fail", r"Some tests failed"), ("pass", r"All tests passed!")),
    _tool("flutter analyze", "lint", "flutter analyze, dart analyze", "issues found|issue found|No ",
          ("count", r"\b([1-9]\d*) issues? found"), ("pass", r"No issues found!")),
    _tool("yamllint", "lint", "yamllint, actionlint, hadolint, tflint, ansible-lint", ":",
          ("lines", r"^[^\s:]+:\d+(?::\d+)? |^ +\d+:\d+ +(?:error|warning)"), silent=True),
)  # fmt: skip
