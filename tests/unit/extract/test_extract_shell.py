"""A shell script cut into its simple commands."""

from __future__ import annotations

import pytest

from archive.extract.commands import calls_of
from archive.extract.shell import parse_script


def words(script: str) -> list[list[str]]:
    return [list(command.words) for command in parse_script(script)]


def run(script: str) -> list[tuple[str, ...]]:
    return [call.words for call in calls_of(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls -la", [["ls", "-la"]]),
        ("a && b || c; d | e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a\nb\n\n# c\nd # e", [["a"], ["b"], ["d"]]),
        ("echo 'a b' \"c d\" e\\ f", [["echo", "a b", "c d", "e f"]]),
        ('echo "say \\"hi\\" \\n"', [["echo", 'say "hi" \\n']]),
        ("echo 'don'\\''t'", [["echo", "don't"]]),
        ("echo $'a\\nb'", [["echo", "a\nb"]]),
        ("long \\\n  --option", [["long", "--option"]]),
        ("(cd x && make) & wait", [["cd", "x"], ["make"], ["wait"]]),
        ("if true; then a; else b; fi", [["true"], ["a"], ["b"], ["fi"]]),
        ("x=$(cat <<'E'\n) ; rm \"\nE\n) cmd", [["x=$(cat <<'E'\n) ; rm \"\nE\n)", "cmd"]]),
        ('echo "$(a "b" $(c))" d', [["echo", '$(a "b" $(c))', "d"]]),
        ("echo `a; b` c", [["echo", "`a; b`", "c"]]),
        ("echo ${x:-a b}", [["echo", "${x:-a b}"]]),
        ("[[ a > b ]] && c", [["[[", "a", ">", "b", "]]"], ["c"]]),
        ("diff <(a) <(b)", [["diff", "<(a)", "<(b)"]]),
        ("'unclosed", [["unclosed"]]),
        ("echo a\u3000b \u00a0 c", [["echo", "a\u3000b", "\u00a0", "c"]]),
        ("", []),
    ],
)  # fmt: skip
def test_words_are_those_of_a_shell(script: str, expected: list[list[str]]) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a > out", [(">", "out", "")]),
        ("a >> out 2>&1", [(">>", "out", ""), (">&", "1", "")]),
        ("a &> out", [("&>", "out", "")]),
        ("a 2>/dev/null", [(">", "/dev/null", "")]),
        ("cat > f <<EOF\none\ntwo\nEOF\n", [(">", "f", ""), ("<<", "EOF", "one\ntwo\n")]),
        ("cat <<-'E' > f\n\tone\n\tE\nb", [("<<-", "E", "one\n"), (">", "f", "")]),
        ("a <<< text", [("<<<", "text", "text")]),
        ("cat <<EOF\nno end", [("<<", "EOF", "no end\n")]),
    ],
)
def test_redirections_keep_their_bodies(script: str, expected: list[tuple[str, str, str]]) -> None:
    command = parse_script(script)[0]
    assert [(r.operator, r.target, r.body) for r in command.redirects] == expected


def test_two_here_documents_of_a_line_follow_each_other() -> None:
    first, second = parse_script("a <<X; b <<Y\n1\nX\n2\nY\n")
    assert (first.here_document, second.here_document) == ("1\n", "2\n")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("sudo -u app env A=1 pytest -q", [("pytest", "-q")]),
        ("timeout 30 uv run pytest", [("pytest",)]),
        ("python -m pytest -q", [("pytest", "-q")]),
        ("bash -lc 'cd x && make test'", [("cd", "x"), ("make", "test")]),
        ("npx --yes eslint .", [("eslint", ".")]),
        ("CI=1 npm test", [("npm", "test")]),
        ("docker compose exec -T web pytest", [("pytest",)]),
        ("time cargo test", [("cargo", "test")]),
    ],
)
def test_wrappers_are_taken_off_a_command(script: str, expected: list[tuple[str, ...]]) -> None:
    assert run(script) == expected
