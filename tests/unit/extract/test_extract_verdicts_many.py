"""Reports of many tools, as they print them: whole, short, piped, with and without a code.

`reports/*.txt` holds them: a line `#### exit 1: lint fail` (or `no code`, `nothing`), the command
behind a `$`, the output.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPORTS = Path(__file__).parent / "reports"
HEAD = re.compile(r"(?:exit (\d+)|no code): (.+)\n\$ (.+)\n")


def read_reports() -> list[tuple[str, str, int | None, list[str]]]:
    found: list[tuple[str, str, int | None, list[str]]] = []
    for path in sorted(REPORTS.glob("*.txt")):
        for block in ("\n" + path.read_text(encoding="utf-8")).split("\n#### ")[1:]:
            head = HEAD.match(block + "\n")
            assert head is not None, block
            expected = [] if head[2] == "nothing" else head[2].split(", ")
            found.append(
                (head[3], block[head.end() :], int(head[1]) if head[1] else None, expected)
            )
    return found


@pytest.mark.parametrize(("command", "output", "code", "expected"), read_reports())
def test_a_report_is_read_as_a_person_reads_it(
    checks_of, command: str, output: str, code: int | None, expected: list[str]
) -> None:
    found = {kind: result for kind, _, result in checks_of(command, output, code)}
    plain = {k: "fail" if r.endswith("issues") else r for k, r in found.items()}

    assert sorted(f"{kind} {result}" for kind, result in plain.items()) == sorted(expected)


NO_CHECKS = [
    ("mix deps.get", "* Getting jason (Hex package)\n  New: jason 1.4"),
    ("mix ecto.gen.migration add_test", "* creating priv/repo/migrations/1_add_test.exs"),
    ("rake db:test:prepare", ""),
    ("xcodebuild -list", "Information about project"),
    ("npm run dev", "> vite\n\n  VITE v5.2.0  ready in 300 ms"),
    ("./gradlew dependencies", "BUILD SUCCESSFUL in 1s"),
    ("mvn dependency:tree", "[INFO] BUILD SUCCESS"),
    ("dotnet restore", "Restored /w/a.csproj"),
    ("cargo add serde", "      Adding serde v1.0"),
    ("grep -rn 'assertions in' tests", "tests/a.cc:1: All tests passed (1 assertions in"),
    ("docker build -t x .", "=> exporting to image"),
    ("kubectl get pods", "web-test-1   1/1   Running"),
    ("zig fmt src", "src/main.zig"),
    ("terraform validate", "Success! The configuration is valid."),
]


@pytest.mark.parametrize(("command", "output"), NO_CHECKS)
def test_what_verifies_nothing_is_no_check(checks_of, command: str, output: str) -> None:
    assert checks_of(command, output, 0) == []
