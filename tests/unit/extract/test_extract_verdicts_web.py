"""Outputs of the tools of JavaScript, TypeScript, Ruby, PHP, Elixir and the shell."""

from __future__ import annotations

import pytest

ESC = "\x1b["
VITEST_RED = (
    f"{ESC}31m⎯⎯⎯{ESC}39m{ESC}1m{ESC}41m Failed Tests 1 {ESC}49m{ESC}22m\n"
    f"{ESC}2m Test Files {ESC}22m {ESC}1m{ESC}31m1 failed{ESC}39m{ESC}22m{ESC}90m (1){ESC}39m\n"
    f"{ESC}2m      Tests {ESC}22m {ESC}1m{ESC}31m1 failed{ESC}39m{ESC}22m{ESC}2m | {ESC}22m1 "
    f"passed (2)"
)

CASES = [
    (
        "npx vitest run",
        " Test Files  2 passed (2)\n      Tests  8 passed | 1 skipped (9)",
        None,
        ("test", "vitest", "pass"),
    ),
    ("pnpm exec vitest run a.test.ts", VITEST_RED, None, ("test", "vitest", "fail")),
    ("vitest run none", "No test files found, exiting with code 1", 1, ("test", "vitest", "skip")),
    (
        "npx jest",
        "PASS t/a.test.js\nTest Suites: 1 passed, 1 total\n"
        "Tests:       1 skipped, 1 passed, 2 total",
        None,
        ("test", "jest", "pass"),
    ),
    (
        "node_modules/.bin/jest 2>&1 | tail -4",
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 passed, 2 total",
        None,
        ("test", "jest", "fail"),
    ),
    ("jest x", "No tests found, exiting with code 1", 1, ("test", "jest", "skip")),
    (
        "npx mocha",
        "  x\n    ✔ a\n\n  1 passing (3ms)\n  1 pending",
        None,
        ("test", "mocha", "pass"),
    ),
    ("mocha test/", "  1 passing (5ms)\n  2 failing\n\n  1) x", 2, ("test", "mocha", "fail")),
    ("node --test test/", "# tests 3\n# pass 3\n# fail 0", None, ("test", "node test", "pass")),
    ("node --test", "ℹ tests 3\nℹ pass 2\nℹ fail 1", 1, ("test", "node test", "fail")),
    (
        "bun test",
        " 5 pass\n 0 fail\nRan 5 tests across 1 file.",
        None,
        ("test", "bun test", "pass"),
    ),
    ("bun test src", " 4 pass\n 1 fail", 1, ("test", "bun test", "fail")),
    ("deno test", "ok | 5 passed | 0 failed (10ms)", None, ("test", "deno test", "pass")),
    (
        "npx playwright test",
        "  1 failed\n    a.spec.ts:3:1 › logs in\n  4 passed (9.1s)",
        1,
        ("test", "playwright", "fail"),
    ),
    ("npx eslint src", "", 0, ("lint", "eslint", "pass")),
    ("npx eslint .", "✖ 3 problems (2 errors, 1 warning)", 1, ("lint", "eslint", "3 issues")),
    ("eslint .", "✖ 1 problem (0 errors, 1 warning)", 0, ("lint", "eslint", "pass")),
    ("next lint", "✔ No ESLint warnings or errors", None, ("lint", "eslint", "pass")),
    (
        "npx biome check .",
        "Checked 12 files in 5ms. No fixes applied.\nFound 2 errors.",
        1,
        ("lint", "biome", "2 issues"),
    ),
    ("biome ci", "Checked 12 files in 5ms. No fixes applied.", None, ("lint", "biome", "pass")),
    (
        "npx prettier --check src",
        "All matched files use Prettier code style!",
        None,
        ("lint", "prettier", "pass"),
    ),
    (
        "prettier -c .",
        "[warn] a.js\n[warn] Code style issues found in the above file.",
        1,
        ("lint", "prettier", "fail"),
    ),
    ("npx tsc --noEmit", "", 0, ("vet", "tsc", "pass")),
    ("npx tsc --noEmit -p . 2>&1 | head -20", "", None, ("vet", "tsc", "pass")),
    (
        "tsc --noEmit",
        "src/a.ts(1,7): error TS2322: Type 'number' is not assignable.",
        2,
        ("vet", "tsc", "fail"),
    ),
    (
        "tsc --noEmit --pretty",
        f"{ESC}96msrc/a.ts{ESC}0m:1:7 - {ESC}91merror{ESC}0m{ESC}90m TS2322: {ESC}0mx\n\n"
        "Found 2 errors in the same file",
        1,
        ("vet", "tsc", "fail"),
    ),
    (
        "npx vite build",
        "✓ 34 modules transformed.\n✓ built in 1.20s",
        None,
        ("build", "vite build", "pass"),
    ),
    (
        "next build",
        "Failed to compile.\n\n./app/page.tsx:3:1\nType error: x",
        1,
        ("build", "vite build", "fail"),
    ),
    ("bundle exec rspec", "5 examples, 0 failures, 1 pending", None, ("test", "rspec", "pass")),
    ("rspec spec/a_spec.rb", "2 examples, 1 failure", 1, ("test", "rspec", "fail")),
    (
        "rspec x",
        "0 examples, 0 failures, 1 error occurred outside of examples",
        1,
        ("test", "rspec", "fail"),
    ),
    (
        "bin/rails test",
        "8 runs, 12 assertions, 0 failures, 0 errors, 1 skips",
        None,
        ("test", "minitest", "pass"),
    ),
    ("rubocop", "12 files inspected, no offenses detected", None, ("lint", "rubocop", "pass")),
    (
        "bundle exec rubocop",
        "1 file inspected, 3 offenses detected, 2 offenses autocorrectable",
        1,
        ("lint", "rubocop", "3 issues"),
    ),
    ("vendor/bin/phpunit", "OK (5 tests, 9 assertions)", None, ("test", "phpunit", "pass")),
    (
        "phpunit",
        "FAILURES!\nTests: 2, Assertions: 1, Failures: 1, Skipped: 1.",
        1,
        ("test", "phpunit", "fail"),
    ),
    (
        "php artisan test",
        "  Tests:    1 failed, 4 passed (9 assertions)",
        1,
        ("test", "phpunit", "fail"),
    ),
    (
        "vendor/bin/phpstan analyse src",
        " [ERROR] Found 4 errors",
        1,
        ("lint", "phpstan", "4 issues"),
    ),
    (
        "mix test",
        "Finished in 0.01 seconds\n1 doctest, 4 tests, 0 failures",
        None,
        ("test", "mix test", "pass"),
    ),
    ("mix test --trace", "2 tests, 1 failure, 1 skipped", 2, ("test", "mix test", "fail")),
    ("mix credo", "84 mods/funs, found no issues.", None, ("lint", "mix credo", "pass")),
    (
        "shellcheck bin/*.sh",
        "\nIn a.sh line 2:\necho $1\n     ^-- SC2086 (info): Double quote",
        1,
        ("lint", "shellcheck", "1 issues"),
    ),
    ("shellcheck a.sh", "", 0, ("lint", "shellcheck", "pass")),
]


@pytest.mark.parametrize(("command", "output", "code", "check"), CASES)
def test_a_web_tool_is_judged_by_its_own_words(checks_of, command, output, code, check) -> None:
    assert checks_of(command, output, code) == [check]
