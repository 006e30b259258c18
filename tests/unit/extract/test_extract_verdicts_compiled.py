"""Outputs of the tools of Go, Rust, JVM, .NET, C and C++."""

from __future__ import annotations

import pytest

GO_FAIL = (
    "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3\nFAIL\n"
    "FAIL\texample.org/m/sum\t0.003s\nFAIL"
)

CASES = [
    (
        "go test ./...",
        "ok  \texample.org/m/a\t0.003s\n?   \texample.org/m/c\t[no test files]",
        None,
        [("test", "go test", "pass")],
    ),
    (
        "go test ./...",
        "ok  \texample.org/m/a\t(cached)\n" + GO_FAIL,
        1,
        [("test", "go test", "fail")],
    ),
    ("go test ./c", "?   \texample.org/m/c\t[no test files]", 0, [("test", "go test", "skip")]),
    (
        "go test -v -run TestSum ./sum",
        "=== RUN   TestSum\n--- PASS: TestSum (0.00s)\nPASS\nok  \tm/sum\t0.2s",
        None,
        [("test", "go test", "pass")],
    ),
    (
        "go test ./... 2>&1 | tail -20",
        "FAIL\texample.org/m/d [build failed]\nFAIL",
        None,
        [("test", "go test", "fail")],
    ),
    (
        "go test ./... | grep -v 'no test files'",
        "ok  \texample.org/m/a\t0.1s",
        None,
        [("test", "go test", "pass")],
    ),
    ("go test ./... | grep -i fail", "", None, []),
    (
        "go test -race ./...",
        "ok  \texample.org/m/a\t1.003s",
        None,
        [("test", "go test", "pass"), ("race", "go test -race", "pass")],
    ),
    (
        "go test -race ./a",
        "WARNING: DATA RACE\nRead at 0x00\n--- FAIL: TestX (0.00s)\nFAIL\tm/a\t0.01s",
        1,
        [("test", "go test", "fail"), ("race", "go test -race", "fail")],
    ),
    (
        "go test -json ./a",
        '{"Action":"run","Test":"TestA"}\n{"Action":"pass","Package":"m/a"}',
        0,
        [("test", "go test", "pass")],
    ),
    (
        "go test -run '^Example' ./...",
        "ok  \tm/a\t0.1s",
        None,
        [("test", "go test", "pass"), ("examples", "go test examples", "pass")],
    ),
    ("gotestsum ./...", "DONE 12 tests in 0.4s", None, [("test", "go test", "pass")]),
    ("gotestsum", "DONE 12 tests, 1 failure in 0.4s", 1, [("test", "go test", "fail")]),
    ("go vet ./...", "", 0, [("vet", "go vet", "pass")]),
    (
        "go vet ./...",
        "# example.org/m/e\ne/e.go:3:12: fmt.Printf format %d has arg of wrong type",
        2,
        [("vet", "go vet", "fail")],
    ),
    ("golangci-lint run", "0 issues.", None, [("lint", "golangci-lint", "pass")]),
    (
        "golangci-lint run ./...",
        "a.go:3:1: unused (deadcode)\n3 issues:\n* errcheck: 3",
        1,
        [("lint", "golangci-lint", "3 issues")],
    ),
    (
        "golangci-lint run",
        "a/a.go:7:2: ineffectual assignment to err (ineffassign)",
        1,
        [("lint", "golangci-lint", "1 issues")],
    ),
    ("go build ./...", "", 0, [("build", "go build", "pass")]),
    (
        "go build ./...",
        "# example.org/m/d\nd/d.go:2:23: undefined: x",
        1,
        [("build", "go build", "fail")],
    ),
    ("go build ./... && go test ./...", "ok  \tm/a\t0.1s", 0, [("test", "go test", "pass")]),
    (
        "go build ./... && go test ./...",
        "# m/d\nd/d.go:2:3: undefined: x",
        1,
        [("build", "go build", "fail")],
    ),
    (
        "go vet ./... && golangci-lint run && go test ./...",
        "0 issues.\nok  \tm/a\t0.1s",
        0,
        [("vet", "go vet", "pass"), ("lint", "golangci-lint", "pass"), ("test", "go test", "pass")],
    ),
    (
        "cargo test",
        "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured",
        None,
        [("test", "cargo test", "pass")],
    ),
    (
        "cargo test --workspace 2>&1 | tail -5",
        "test result: FAILED. 0 passed; 1 failed; 1 ignored",
        None,
        [("test", "cargo test", "fail")],
    ),
    (
        "cargo +nightly test",
        "error[E0308]: mismatched types\nerror: could not compile `rr` (lib) due to "
        "1 previous error",
        101,
        [("test", "cargo test", "fail")],
    ),
    (
        "cargo nextest run",
        "     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped",
        None,
        [("test", "cargo test", "pass")],
    ),
    (
        "cargo nextest run",
        "     Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 0 skipped",
        100,
        [("test", "cargo test", "fail")],
    ),
    (
        "cargo clippy",
        "    Checking rr v0.1.0\n    Finished `dev` profile in 0.14s",
        None,
        [("lint", "cargo clippy", "pass")],
    ),
    (
        "cargo clippy -- -D warnings",
        "error: unneeded `return`\nerror: could not compile `rr` (lib) due to 2 previous errors",
        101,
        [("lint", "cargo clippy", "2 issues")],
    ),
    ("cargo check", "    Finished `dev` profile in 0.1s", None, [("vet", "cargo check", "pass")]),
    (
        "cargo build --release",
        "error: could not compile `rr` (bin) due to 1 previous error",
        101,
        [("build", "cargo build", "fail")],
    ),
    ("cargo fmt --check", "Diff in /w/src/lib.rs:1:", 1, [("lint", "cargo fmt", "fail")]),
    ("cargo fmt --all -- --check", "", 0, [("lint", "cargo fmt", "pass")]),
    (
        "mvn -q test",
        "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
        1,
        [("test", "mvn", "fail")],
    ),
    (
        "mvn clean verify",
        "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS",
        None,
        [("test", "mvn", "pass")],
    ),
    ("./mvnw package -DskipTests", "[INFO] BUILD SUCCESS", None, [("build", "mvn build", "pass")]),
    (
        "./gradlew test",
        "BUILD SUCCESSFUL in 3s\n5 actionable tasks: 5 executed",
        None,
        [("test", "gradle", "pass")],
    ),
    (
        "gradle test",
        "5 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.",
        1,
        [("test", "gradle", "fail")],
    ),
    ("./gradlew assemble", "BUILD FAILED in 1s", 1, [("build", "gradle build", "fail")]),
    (
        "dotnet test",
        "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5",
        None,
        [("test", "dotnet test", "pass")],
    ),
    (
        "dotnet test",
        "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5",
        1,
        [("test", "dotnet test", "fail")],
    ),
    (
        "dotnet build",
        "Build succeeded.\n    0 Warning(s)",
        None,
        [("build", "dotnet build", "pass")],
    ),
    (
        "dotnet build",
        "Program.cs(3,1): error CS0103: The name 'x' does not exist\nBuild FAILED.",
        1,
        [("build", "dotnet build", "fail")],
    ),
    (
        "ctest --test-dir build",
        "50% tests passed, 1 tests failed out of 2",
        8,
        [("test", "ctest", "fail")],
    ),
    (
        "cd build && ctest",
        "100% tests passed, 0 tests failed out of 12",
        None,
        [("test", "ctest", "pass")],
    ),
    ("ctest -R nope", "No tests were found!!!", 0, [("test", "ctest", "skip")]),
    (
        "cmake --build build -j4",
        "[ 50%] Building C object x.o\n[100%] Built target x",
        None,
        [("build", "cmake", "pass")],
    ),
    (
        "make",
        "gcc -c x.c\nx.c:1:1: error: unknown type name\nmake: *** [Makefile:3: x.o] Error 1",
        2,
        [("build", "cmake", "fail")],
    ),
    (
        "swift test",
        "Executed 5 tests, with 0 failures (0 unexpected) in 0.01 seconds",
        None,
        [("test", "swift test", "pass")],
    ),
    (
        "bazel test //...",
        "Executed 1 out of 1 test: 1 fails locally.",
        3,
        [("test", "bazel test", "fail")],
    ),
]


@pytest.mark.parametrize(("command", "output", "code", "checks"), CASES)
def test_a_compiled_languages_tool_is_judged_by_its_own_words(
    checks_of, command, output, code, checks
) -> None:
    assert checks_of(command, output, code) == checks


def test_the_ares_fields_come_from_the_go_tools_alone(script) -> None:
    script.shell("go vet ./...", "", 0).shell("golangci-lint run", "2 issues:", 1)
    script.shell("go test -race ./...", "ok  \tm/a\t0.1s", 0).shell("pytest", "1 failed in 0.1s", 1)

    verdict = script.done().extract().verdict

    assert (verdict.go_vet, verdict.go_lint, verdict.go_test) == ("pass", "2 issues", "pass")
    assert (verdict.race_detector, verdict.examples) == ("pass", "")
