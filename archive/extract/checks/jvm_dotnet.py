"""Pure. What the tools of the JVM and .NET print."""

from __future__ import annotations

from typing import Final

from .tool import CheckTool, tool

JVM_DOTNET: Final[tuple[CheckTool, ...]] = (
    tool(
        "mvn",
        "test",
        "mvn test, mvn verify, mvn install, mvn package, mvn integration-test, "
        "mvnw test, mvnw verify, mvnw install, mvnw package",
        "Tests run:|BUILD SUCCESS|BUILD FAILURE",
        ("fail", r"BUILD FAILURE|Tests run: \d+, Failures: (?:[1-9]\d*|0, Errors: [1-9])"),
        ("pass", r"Tests run: [1-9]\d*, Failures: 0, Errors: 0|BUILD SUCCESS$"),
        silent=True,
        unless="-DskipTests -Dmaven.test.skip=true -DskipTests=true",
    ),
    tool(
        "mvn build",
        "build",
        "mvn compile, mvn package, mvn install, mvnw compile, mvnw package",
        "BUILD SUCCESS|BUILD FAILURE",
        ("fail", r"BUILD FAILURE"),
        ("pass", r"BUILD SUCCESS$"),
    ),
    tool(
        "mvn lint",
        "lint",
        ", ".join(
            f"{mvn} {goal}:check"
            for mvn in ("mvn", "mvnw")
            for goal in ("checkstyle", "spotless", "spotbugs", "pmd", "formatter", "ktlint")
        ),
        "BUILD SUCCESS|BUILD FAILURE",
        ("fail", r"BUILD FAILURE"),
        ("pass", r"BUILD SUCCESS$"),
    ),
    tool(
        "gradle",
        "test",
        "gradle test, gradlew test, gradle check, gradlew check, gradle build, gradlew build",
        "BUILD SUCCESSFUL|BUILD FAILED| tests completed",
        ("fail", r"^BUILD FAILED|^FAILURE: Build failed|\b\d+ tests? completed, [1-9]\d* failed"),
        ("pass", r"^BUILD SUCCESSFUL"),
        silent=True,
        own=(("fail", r"^\S[^>\n]* > .* FAILED$|^> Task :\S+ FAILED"),),
    ),
    tool(
        "gradle build",
        "build",
        "gradle build, gradlew build, gradle assemble, gradlew assemble",
        "BUILD SUCCESSFUL|BUILD FAILED",
        ("fail", r"^BUILD FAILED|^FAILURE: Build failed"),
        ("pass", r"^BUILD SUCCESSFUL"),
    ),
    tool(
        "ktlint",
        "lint",
        "ktlint, gradle lint, gradlew lint, detekt, checkstyle",
        "BUILD SUCCESSFUL|BUILD FAILED",
        ("fail", r"^BUILD FAILED"),
        ("pass", r"^BUILD SUCCESSFUL"),
        silent=True,
    ),
    tool(
        "sbt",
        "test",
        "sbt test, sbt testOnly, sbt testQuick, sbt testFull",
        "All tests passed|Failed tests|[error]|Passed: ",
        ("fail", r"^\[error\] "),
        ("pass", r"All tests passed|Passed: Total"),
    ),
    tool(
        "sbt build",
        "build",
        "sbt compile, sbt package, sbt assembly",
        "[success]|[error]",
        ("fail", r"^\[error\] "),
        ("pass", r"^\[success\]"),
    ),
    tool(
        "clojure",
        "test",
        "lein test, clojure -M:test, clj -M:test, clojure -X:test, bb test",
        " failures, | errors.",
        ("fail", r"^(?:[1-9]\d* failures, |0 failures, [1-9]\d* errors)"),
        ("pass", r"^0 failures, 0 errors"),
    ),
    tool(
        "dotnet test",
        "test",
        "dotnet test",
        "Passed!|Failed!|Test Run |Build FAILED|error CS|total:|No test ",
        (
            "fail",
            r"^ *Failed! |Test Run Failed|^Build FAILED|: error (?:CS|MSB)\d+"
            r"|^ *failed: [1-9]|^Test summary: total: \d+, failed: [1-9]",
        ),
        ("pass", r"^ *Passed! |Test Run Successful|^ *succeeded: [1-9]"),
        ("pass", r"^Test summary: total: [1-9]\d*, failed: 0"),
        ("skip", r"^No test (?:is available|matches)"),
        unless="--list-tests -t",
        own=(("fail", r"^  Failed \S|^Build failed with"),),
    ),
    tool(
        "dotnet build",
        "build",
        "dotnet build, msbuild",
        "Build succeeded|Build FAILED|error CS|Build failed with",
        ("fail", r"^Build (?:FAILED|failed with)|: error (?:CS|MSB|NETSDK)\d+"),
        ("pass", r"^ *Build succeeded"),
    ),
    tool(
        "dotnet format",
        "lint",
        "dotnet format",
        "error WHITESPACE|error IDE",
        ("lines", r": error [A-Z]+"),
        silent=True,
        needs="--verify-no-changes",
    ),
)
