"""Pure. What the tools of Ruby, PHP and Elixir print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

RUBY_PHP_ELIXIR: Final[tuple[CheckTool, ...]] = (
    tool(
        "rspec",
        "test",
        "rspec",
        " example, | examples, ",
        ("fail", r"^\d+ examples?, (?:[1-9]\d* failures?|0 failures, .*\d+ errors? occurred)"),
        ("skip", r"^0 examples, 0 failures"),
        ("pass", r"^\d+ examples?, 0 failures"),
        own=(("fail", r"^rspec \./\S|^Failures:$|^An error occurred while loading"),),
    ),
    tool(
        "minitest",
        "test",
        "rails test, rake test, minitest",
        " assertions, ",
        ("fail", r"^\d+ (?:runs|tests), \d+ assertions, (?:[1-9]\d* failures|0 failures, [1-9])"),
        ("pass", r"^\d+ (?:runs|tests), \d+ assertions, 0 failures, 0 errors"),
    ),
    tool(
        "rubocop",
        "lint",
        "rubocop, standardrb",
        " offenses detected| offense detected|no offenses",
        ("pass", r"\b(\d+) offenses? detected, \1 offenses? corrected"),
        ("count", r"\b([1-9]\d*) offenses? detected"),
        ("pass", r"no offenses detected"),
        silent=True,
        unless="--auto-gen-config --show-cops",
        own=(("lines", r"^(?:\S+:\d+:\d+: )?[CWEFR]: +(?:\d+: +\d+: )?\S|^Error: "),),
    ),
    tool(
        "sorbet",
        "vet",
        "srb tc, srb, steep check",
        "No errors! |Errors: |Detected ",
        ("fail", r"^Errors: [1-9]|^Detected [1-9]\d* problems?"),
        ("pass", r"^No errors! |^No type error detected"),
    ),
    tool(
        "phpunit",
        "test",
        "phpunit, pest, php artisan test",
        "FAILURES!|ERRORS!|OK (|OK, but|Tests: |No tests executed",
        (
            "fail",
            r"^(?:FAILURES|ERRORS)!|^Tests: \d+, Assertions: \d+,.* (?:Errors|Failures): [1-9]"
            r"|^ *Tests: +(?:\d+ [a-z]+, ){0,9}[1-9]\d* failed\b.* assertions?\)",
        ),
        (
            "pass",
            r"^OK \(|^OK, but |^Tests: \d+, Assertions: \d+"
            r"|^ *Tests: +(?:\d+ [a-z]+, ){0,9}\d+ passed\b.* assertions?\)",
        ),
        ("skip", r"^No tests executed"),
        own=(("fail", r"^There (?:was|were) \d+ (?:failure|error)s?:|^PHP Fatal error"),),
    ),
    tool(
        "phpstan",
        "lint",
        "phpstan analyse, phpstan analyze, phpstan, larastan, psalm, phpcs",
        "[OK] No errors|[ERROR]|No errors found|errors found|FOUND ",
        ("count", r"\[ERROR\] Found ([1-9]\d*) errors?|^([1-9]\d*) errors found"),
        ("count", r"^FOUND ([1-9]\d*) ERRORS?"),
        ("pass", r"\[OK\] No errors|No errors found"),
        silent=True,
    ),
    tool(
        "php-cs-fixer",
        "lint",
        "php-cs-fixer, pint",
        "Found | style issue|PASS ",
        ("count", r"^Found ([1-9]\d*) of \d+ files that can be fixed| ([1-9]\d*) style issues?$"),
        ("pass", r"^Found 0 of \d+ files|^ *PASS +\.+ \d+ files?$"),
        silent=True,
        needs="--dry-run --test check",
    ),
    tool(
        "mix test",
        "test",
        "mix test",
        " failure|== Compilation error|** (|no test was executed",
        (
            "fail",
            r"^(?:\d+ (?:doctests?|propert(?:y|ies)), ){0,9}\d+ tests?, [1-9]\d* failures?"
            r"|^\*\* \(\w*Error\)|^== Compilation error",
        ),
        ("skip", r"no test was executed|^(\d+) tests?, 0 failures(?: \(|, )\1 excluded"),
        ("pass", r"^(?:\d+ (?:doctests?|propert(?:y|ies)), ){0,9}\d+ tests?, 0 failures"),
    ),
    tool(
        "mix credo",
        "lint",
        "mix credo",
        "mods/funs, found ",
        ("pass", r"mods/funs, found no issues"),
        ("fail", r"mods/funs, found [1-9]\d* "),
    ),
    tool(
        "mix dialyzer",
        "vet",
        "mix dialyzer",
        "passed successfully|Total errors",
        ("pass", r"done \(passed successfully\)|^Total errors: 0"),
        ("fail", r"^Total errors: [1-9]|done \(warnings were emitted\)"),
    ),
    tool(
        "mix format",
        "lint",
        "mix format",
        "not formatted",
        ("fail", r"not formatted"),
        silent=True,
        needs="--check-formatted",
    ),
    tool(
        "mix compile",
        "build",
        "mix compile",
        "Generated |Compilation error|** (",
        ("fail", r"^== Compilation error|^\*\* \("),
        ("pass", r"^Generated "),
        silent=True,
    ),
)
