"""Reports of many tools, as they print them: whole, short, piped, with and without a code.

`reports/*.txt` holds them: a line `#### exit 1: lint fail` (or `no code`, `nothing`), the command
behind a `$`, the output. `reports/nothing.tsv` holds commands that name a tool and check nothing.
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


def read_commands() -> list[tuple[str, str]]:
    lines = (REPORTS / "nothing.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("\t") for line in lines)
    return [(command, output.replace("\\n", "\n")) for command, _, output in pairs]


@pytest.mark.parametrize("code", [0, None])
@pytest.mark.parametrize(("command", "output"), read_commands())
def test_what_verifies_nothing_is_no_check(
    checks_of, command: str, output: str, code: int | None
) -> None:
    assert checks_of(command, output, code) == []
