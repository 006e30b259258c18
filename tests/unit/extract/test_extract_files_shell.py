"""File changes by shell commands."""

from __future__ import annotations

import pytest

CASES = [
    ("echo one > a.txt", {"a.txt": (1, 0)}),
    ("echo -e 'one\\ntwo' >> a.txt", {"a.txt": (2, 0)}),
    ("printf 'a\\nb\\n' > a.txt", {"a.txt": (2, 0)}),
    ("cat > cfg/a.toml <<'EOF'\nx = 1\ny = \"2\"\nEOF", {"cfg/a.toml": (2, 0)}),
    ("cat <<EOF > a.sh\n#!/bin/sh\necho hi\nEOF\nchmod +x a.sh", {"a.sh": (2, 0)}),
    ("tee -a a.txt <<< 'line'", {"a.txt": (1, 0)}),
    ("cat <<'X' | tee a.txt > /dev/null\n1\nX", {"a.txt": (1, 0)}),
    ("sed -i 's/a/b/' lib/x.py", {"lib/x.py": (1, 1)}),
    ("sed -i '' -e 's/a/b/' x.py", {"x.py": (1, 1)}),
    ("sed -i -e 's/a/b/;s/c/d/' x.py y.py", {"x.py": (2, 2), "y.py": (2, 2)}),
    ("sed -i '3d' x.py", {"x.py": (0, 1)}),
    ("sed -i '2,4d' x.py", {"x.py": (0, 3)}),
    ("sed -i '1i import os\\nimport sys' x.py", {"x.py": (2, 0)}),
    ("sed -n 's/a/b/p' x.py", {}),
    ("perl -pi -e 's/a/b/' x.pl", {"x.pl": (1, 1)}),
    ("mv a.py b.py", {"a.py": (0, 0), "b.py": (0, 0)}),
    ("mv a.py b.py lib/", {"a.py": (0, 0), "b.py": (0, 0), "lib/a.py": (0, 0), "lib/b.py": (0, 0)}),
    ("git mv old/a.py new/a.py", {"old/a.py": (0, 0), "new/a.py": (0, 0)}),
    ("cp tpl.env .env", {".env": (0, 0)}),
    ("rm a.py b.py", {"a.py": (0, 0), "b.py": (0, 0)}),
    ("git rm -q --cached a.py", {}),
    ("git checkout --theirs lock.json", {"lock.json": (0, 0)}),
    ("git restore -- lib/a.py", {"lib/a.py": (0, 0)}),
    ("git checkout main", {}),
    ("git checkout -b feature/x.y", {}),
    ("touch pkg/__init__.py", {"pkg/__init__.py": (0, 0)}),
    ("curl -s https://example.org/x -o data/x.json", {"data/x.json": (0, 0)}),
    ("for f in a.py b.py; do sed -i 's/x/y/' \"$f\"; done", {"a.py": (1, 1), "b.py": (1, 1)}),
    ("cd sub && echo x > a.txt", {"sub/a.txt": (1, 0)}),
    ('cd "$(mktemp -d)" && echo x > a.txt', {}),
    ("echo x > /tmp/a && cat /tmp/a", {}),
    ("make 2> /dev/null && ls 2>&1", {}),
    ("grep -c x a.txt > /dev/null", {}),
    ("git apply <<'P'\n--- a/x.c\n+++ b/x.c\n@@ -1,1 +1,2 @@\n a\n+b\nP", {"x.c": (1, 0)}),
    ("python - <<'PY'\nopen('out.txt', 'w').write('x')\nPY", {"out.txt": (0, 0)}),
    ("python -c \"from pathlib import Path; Path('v.txt').write_text('1')\"", {"v.txt": (0, 0)}),
    ("node -e \"require('fs').writeFileSync('p.json', '{}')\"", {"p.json": (0, 0)}),
    (
        "python3 <<'PY'\ntext = \"\"\"a\nb\nc\n\"\"\"\nwith open('LICENSE', 'w') as f:\n"
        "    f.write(text)\nPY",
        {"LICENSE": (3, 0)},
    ),
    ("python -c \"print(open('a.txt').read())\"", {}),
    ("echo 'rm -rf x > y'", {}),
    ("git commit -m 'sed -i s/a/b/ x > y'", {}),
]


@pytest.mark.parametrize(("command", "files"), CASES)
def test_a_shell_command_changes_these_files(script, command, files) -> None:
    assert script.shell(command, "", 0).done().files() == files


def test_git_rm_names_what_it_removed(script) -> None:
    script.shell("git rm -r old", "rm 'old/a.py'\nrm 'old/b.py'", 0)

    assert script.done().files() == {"old/a.py": (0, 0), "old/b.py": (0, 0)}


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("mv a.py b.py", "mv: cannot stat 'a.py': No such file or directory"),
        ("sed -i 's/a/b/' none.py", "sed: can't read none.py: No such file or directory"),
        ("cp a b", "cp: cannot stat 'a': No such file or directory"),
    ],
)
def test_a_failed_command_changes_nothing(script, command, output) -> None:
    assert script.shell(command, output, 1).done().files() == {}


def test_a_file_written_before_another_command_failed_is_there(script) -> None:
    script.shell("cat > t.py <<'E'\nx\nE\npython t.py", "NameError: name 'x' is not defined", 1)

    assert script.done().files() == {"t.py": (1, 0)}


def test_a_stash_and_its_pop_change_nothing(script) -> None:
    script.shell("sed -i 's/a/b/' x.py", "", 0).shell("git stash", "Saved working directory", 0)
    script.shell("git stash pop", "Dropped refs/stash@{0}", 0)

    assert script.done().files() == {"x.py": (1, 1)}


def test_what_was_restored_is_unchanged(script) -> None:
    script.shell("sed -i 's/a/b/' x.py", "", 0).shell("git checkout -- x.py", "", 0)

    assert script.done().files() == {}


def test_a_reset_keeps_what_was_committed(script) -> None:
    script.shell("sed -i 's/a/b/' x.py && git commit -am one", "[main 1a2b3c4] one", 0)
    script.shell("sed -i 's/a/b/' y.py", "", 0).shell(
        "git reset --hard", "HEAD is now at 1a2b3c4 one", 0
    )

    assert script.done().files() == {"x.py": (1, 1)}


def test_a_shown_diff_corrects_an_estimate(script) -> None:
    script.shell("sed -i 's/foo/bar/g' x.py", "", 0)
    diff = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-foo\n-foo\n+bar\n"
        "+bar\n"
    )
    script.shell("git diff", diff, 0)

    assert script.done().files() == {"x.py": (2, 2)}


def test_a_script_that_the_round_wrote_does_what_it_says(script) -> None:
    code = "open('gen.py', 'w').write('x')\n"
    script.call("Write", {"file_path": "/tmp/gen_it.py", "content": code}, "File created")
    script.shell("python /tmp/gen_it.py", "", 0)

    assert script.done().files() == {"gen.py": (0, 0)}


def test_a_folder_removed_takes_along_what_was_made_in_it(script) -> None:
    script.shell("echo x > out/a.txt", "", 0).shell("rm -rf out", "", 0)

    assert script.done().files() == {}
