"""Pure. What the tools of JavaScript and TypeScript print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

WEB: Final[tuple[CheckTool, ...]] = (
    tool(
        "vitest",
        "test",
        "vitest",
        "Test Files |      Tests | RUN |No test files found",
        (
            "fail",
            r"^ *(?:Test Files|Tests) +(?:\d+ [a-z]+ \| ){0,9}[1-9]\d* failed"
            r"|^ *Errors +[1-9]\d* errors?|Failed (?:Tests|Suites) \d+",
        ),
        ("pass", r"^ *(?:Test Files|Tests) +(?:\d+ [a-z]+ \| ){0,9}[1-9]\d* passed"),
        ("skip", r"^ *(?:Test Files|Tests) +\d+ (?:skipped|todo)|^No test files found"),
        unless="list init",
        own=(
            ("fail", r"^ *FAIL +\S|^ *(?:×|✗) |^ *❯ .*\| \d+ failed\b|^⎯+ Unhandled Errors"),
            ("pass", r"^ *✓ \S+ \(\d+ tests?"),
        ),
    ),
    tool(
        "jest",
        "test",
        "jest, react-scripts test, craco test",
        "Tests: |Test Suites: |No tests found|threshold for",
        (
            "fail",
            r"^(?:Tests|Test Suites): +(?:\d+ [a-z]+, ){0,9}[1-9]\d* failed"
            r"|^Jest: .* threshold for",
        ),
        ("pass", r"^(?:Tests|Test Suites): +(?:\d+ [a-z]+, ){0,9}\d+ passed"),
        ("skip", r"^Tests: +(?:\d+ [a-z]+, ){0,9}\d+ (?:skipped|todo)|^No tests found"),
        unless="--listTests --init --clearCache --showConfig",
        own=(
            ("fail", r"^ *FAIL +\S|^ *✕ |^ +● "),
            ("pass", r"^ *PASS +\S"),
        ),
    ),
    tool(
        "mocha",
        "test",
        "mocha, nyc mocha, c8 mocha",
        " passing| failing",
        ("fail", r"^ *[1-9]\d* failing$"),
        ("pass", r"^ *[1-9]\d* passing(?: \(|$)"),
        ("skip", r"^ *0 passing"),
        own=(
            (
                "fail",
                r"^not ok \d|^# fail [1-9]|^Error: No test files found|^ +\"failures\": [1-9]",
            ),
            ("pass", r"^# fail 0|^ +\"failures\": 0,"),
            ("fail", r"^ +[1-9]\d*\) \S"),
        ),
    ),
    tool(
        "jasmine",
        "test",
        "jasmine, ng test",
        " specs, | spec, |TOTAL: |Executed ",
        ("fail", r"^\d+ specs?, [1-9]\d* failures?|^TOTAL: [1-9]\d* FAILED|Executed .*FAILED"),
        ("skip", r"^0 specs, "),
        ("pass", r"^\d+ specs?, 0 failures|^TOTAL: [1-9]\d* SUCCESS|Executed .*SUCCESS"),
    ),
    tool(
        "node test",
        "test",
        "node --test, tap, tape",
        "# fail |ℹ fail |# pass |ℹ pass ",
        ("fail", r"^(?:#|ℹ) fail +[1-9]"),
        ("pass", r"^(?:#|ℹ) pass +[1-9]"),
        ("skip", r"^(?:#|ℹ) pass +0"),
        own=(("fail", r"^ *✖ |^not ok \d"), ("pass", r"^ok \d|^✔ ")),
    ),
    tool(
        "bun test",
        "test",
        "bun test",
        " pass\n| fail\n| pass| fail",
        ("fail", r"^ *[1-9]\d* fail$"),
        ("pass", r"^ *[1-9]\d* pass$"),
    ),
    tool(
        "deno test",
        "test",
        "deno test",
        " passed | failed",
        ("fail", r"^FAILED \| \d+ passed"),
        ("pass", r"^ok \| \d+ passed"),
    ),
    tool(
        "deno lint",
        "lint",
        "deno lint",
        "Checked | problem",
        ("count", r"^Found ([1-9]\d*) problems?"),
        ("pass", r"^Checked \d+ files?$"),
    ),
    tool(
        "deno check",
        "vet",
        "deno check",
        "TS|error: ",
        ("fail", r"^(?:error: )?TS\d+ \[ERROR\]|^error: "),
        silent=True,
    ),
    tool(
        "playwright",
        "test",
        "playwright test",
        " passed (| failed",
        ("fail", r"^ +[1-9]\d* failed$"),
        ("pass", r"^ +[1-9]\d* passed \("),
    ),
    tool(
        "ava",
        "test",
        "ava, cypress run, karma start",
        " test failed| tests failed| test passed| tests passed|All specs passed| of ",
        ("fail", r"^ *[1-9]\d* tests? failed|\b[1-9]\d* of \d+ failed|Executed \d+ of \d+.*FAILED"),
        ("pass", r"^ *[1-9]\d* tests? passed|All specs passed!|Executed \d+ of \d+.*SUCCESS"),
    ),
    tool(
        "eslint",
        "lint",
        "eslint, next lint, xo, standard, oxlint",
        "✖ |✔ No ESLint|Oops! Something went wrong| problem|  Error: |ESLint found too many| and ",
        ("count", r"^✖ ([1-9]\d*) problems? \([1-9]\d* errors?"),
        ("fail", r"^ESLint found too many warnings"),
        ("pass", r"^✖ \d+ problems? \(0 errors|^✔ No ESLint warnings or"),
        ("fail", r"^Oops! Something went wrong|^\d+:\d+ +Error: "),
        ("count", r"^Found \d+ warnings? and ([1-9]\d*) errors?"),
        ("pass", r"^Found \d+ warnings? and 0 errors"),
        silent=True,
        unless="--init --print-config --env-info --inspect-config",
        own=(
            ("lines", r"^ +\d+:\d+ +error +\S|^[^\s:][^:\n]*:\d+:\d+: .*\[Error/|^ +[×x✖] \S"),
            ("fail", r"\"errorCount\":[1-9]|^No files matching|^Please check for typing mistakes"),
            ("fail", r"formatter is no longer part of core|^Invalid option|^Error: "),
        ),
    ),
    tool(
        "stylelint",
        "lint",
        "stylelint, htmlhint, markdownlint, markdownlint-cli2",
        "✖ |MD0",
        ("count", r"^✖ ([1-9]\d*) problems? \([1-9]\d* errors?"),
        ("pass", r"^✖ [1-9]\d* problems? \(0 errors"),
        ("count", r"^✖ ([1-9]\d*) problems?"),
        ("lines", r"^[^\s:]+:\d+(?::\d+)? (?:error |warning )?MD\d+"),
        silent=True,
    ),
    tool(
        "biome",
        "lint",
        "biome check, biome lint, biome ci, biome format, rome check",
        "Checked |Found ",
        ("count", r"^Found ([1-9]\d*) errors?\.$"),
        ("pass", r"^Checked \d+ files? in "),
        unless="--write --fix --apply",
        own=(
            ("fail", r"^ *× .*errors? (?:were|was) emitted"),
            ("pass", r"^Found [1-9]\d* (?:warnings?|infos?)\.$"),
        ),
    ),
    tool(
        "prettier",
        "lint",
        "prettier",
        "Code style issues|All matched files|[warn] ",
        ("fail", r"Code style issues"),
        ("pass", r"^All matched files use Prettier"),
        silent=True,
        needs="--check -c --list-different -l",
        own=(("fail", r"^\[(?:warn|error)\] \S"), ("lines", r"^[^\s:\[]\S*\.\w{1,6}$")),
    ),
    tool(
        "tsc",
        "vet",
        "tsc, vue-tsc",
        "error TS|Found ",
        (
            "fail",
            r"\berror TS\d+: |^Found [1-9]\d* errors?(?:\.? Watching| in \S+:\d| in the same file)",
        ),
        ("fail", r"^Found [1-9]\d* errors? in \d+ files\.$"),
        ("pass", r"^Found 0 errors\. Watching"),
        silent=True,
        unless="--init --showConfig --listFiles -v",
    ),
    tool(
        "svelte-check",
        "vet",
        "svelte-check, astro check",
        "found |errors",
        ("fail", r"svelte-check found [1-9]\d* errors?|^- [1-9]\d* errors?$"),
        ("pass", r"svelte-check found 0 errors|^- 0 errors$"),
    ),
    tool(
        "vite build",
        "build",
        "vite build, next build, webpack, rollup, tsup, esbuild, astro build, nuxt build, ng "
        "build, "
        "react-scripts build, bun build, parcel build, remix build",
        "built in|Compiled |compiled |Failed to compile|Build failed|error during build|Build "
        "success|Build error",
        (
            "fail",
            r"^Failed to compile|error during build|Build (?:failed|error)"
            r"|compiled with [1-9]\d* errors?|^✘ \[ERROR\]",
        ),
        ("pass", r"✓ built in|[Cc]ompiled successfully|compiled with \d+ warnings?|Build success"),
        own=(("fail", r"^Error: |^✗ Build failed|^ *> Build error"),),
    ),
)
