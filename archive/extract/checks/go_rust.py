"""Pure. What the tools of Go and Rust print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

# An error of the compiler, not the word of `cargo test` that follows in the same script.
RUST_ERROR: Final = r"^error(?:\[E\d+\])?: (?!test failed|doctest failed|\d+ targets? failed)"
GO_LINE: Final = r"^[^\s:]+\.go:\d+:\d+: "

GO_RUST: Final[tuple[CheckTool, ...]] = (
    tool(
        "go test",
        "test",
        "go test, gotestsum, richgo test, ginkgo",
        'ok  \t|FAIL|PASS|[no test files]|"Action":|[build failed]|DONE |[no tests to run]|ok ',
        (
            "fail",
            r"^(?:[ \t]*--- FAIL: |FAIL\b|panic: |DONE \d+ tests?.*, \d+ failures?"
            r"|Test Suite Failed)",
        ),
        ("fail", r"\[(?:build|setup) failed\]|\"Action\":\"fail\""),
        (
            "pass",
            r"^ok[ \t]+\S|^PASS$|^[ \t]*--- PASS: |\"Action\":\"pass\"|^DONE \d+ tests?"
            r"|^Test Suite Passed",
        ),
        ("skip", r"\[no test files\]|^[ \t]*--- SKIP: "),
        unless="-list -c",
        own=(
            ("fail", GO_LINE + r"|^stat .*: directory not found|^# [\w./-]+$|^no required module"),
            (
                "fail",
                r"^go: (?!downloading|finding|extracting|added|upgraded)|^package \S+ is not in",
            ),
        ),
    ),
    tool(
        "go vet",
        "vet",
        "go vet",
        "vet: |# ",
        ("fail", r"^vet: |^# [\w./-]+|" + GO_LINE),
        silent=True,
    ),
    tool(
        "golangci-lint",
        "lint",
        "golangci-lint run",
        " issues| issue|level=error|.go:",
        ("count", r"^([1-9]\d*) issues?[.:]"),
        ("pass", r"^0 issues\b"),
        ("fail", r"^level=error|^ERRO |^Error: can't load config"),
        ("lines", GO_LINE + r".*\(\w+\)$"),
        silent=True,
        own=(("fail", r"^Error: |^level=fatal|^FATA"),),
    ),
    tool(
        "staticcheck",
        "lint",
        "staticcheck, revive, golint, errcheck",
        ".go:",
        ("lines", GO_LINE),
        silent=True,
    ),
    tool(
        "go build",
        "build",
        "go build, go install",
        "# |.go:",
        ("fail", r"^# [\w./-]+|" + GO_LINE + r"|^go: (?!downloading|finding|extracting|added)"),
        silent=True,
    ),
    tool(
        "gofmt",
        "lint",
        "gofmt, gofumpt, goimports",
        ".go",
        ("lines", r"^\S+\.go$"),
        ("fail", r"^diff |" + GO_LINE),
        silent=True,
        needs="-l -d",
        unless="-w",
    ),
    tool(
        "cargo test",
        "test",
        "cargo test, cargo nextest run, cargo t, cargo miri test, cargo llvm-cov, cargo tarpaulin",
        "test result: |could not compile|error: test failed|Summary [|error[E|t failed:|s failed:",
        (
            "fail",
            r"^test result: FAILED|^error: (?:test failed|could not compile|doctest failed"
            r"|\d+ targets? failed)|^error\[E\d+\]|^ +Summary \[.*\b[1-9]\d* failed",
        ),
        ("pass", r"^test result: ok\.|^ +Summary \[.*\b\d+ passed"),
        unless="--no-run --list",
        own=(("fail", r"^test .* \.\.\. FAILED$|^---- \S+ stdout ----$|^error: |^ +FAIL \["),),
    ),
    tool(
        "cargo clippy",
        "lint",
        "cargo clippy",
        "could not compile|Finished |error: |error[",
        ("count", r"^error: could not compile .* due to ([1-9]\d*) previous errors?"),
        ("fail", RUST_ERROR),
        ("pass", r"^ +Finished "),
    ),
    tool(
        "cargo fmt",
        "lint",
        "cargo fmt",
        "Diff in ",
        ("fail", r"^Diff in "),
        silent=True,
        needs="--check",
        own=(("fail", r"^[+-]|^error"),),
    ),
    tool(
        "cargo check",
        "vet",
        "cargo check, cargo c",
        "could not compile|Finished |error",
        ("fail", RUST_ERROR),
        ("pass", r"^ +Finished "),
    ),
    tool(
        "cargo build",
        "build",
        "cargo build, cargo b",
        "could not compile|Finished |error",
        ("fail", RUST_ERROR),
        ("pass", r"^ +Finished "),
    ),
)
