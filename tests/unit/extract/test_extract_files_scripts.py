"""Shell scripts whose changes hide in pipes, variables, subshells, backups and small programs."""

from __future__ import annotations

import pytest

HOME = "/home/u/repo"

CHANGES = [
    ("cat <<'E' | tee a.py\nx\ny\nE", "x\ny", {"a.py": (2, 0)}),
    ("echo x | sudo tee a.py", "x", {"a.py": (1, 0)}),
    ("echo x | tee -a a.py", "x", {"a.py": (1, 0)}),
    ("jq . a.json | sponge a.json", "", {"a.json": (0, 0)}),
    ("(cd d && echo x > a.py); echo y > b.py", "", {"d/a.py": (1, 0), "b.py": (1, 0)}),
    ("bash -c 'cd d && echo x > a.py'; echo y > b.py", "", {"d/a.py": (1, 0), "b.py": (1, 0)}),
    ("printf '%s\\n' x y > a.py", "", {"a.py": (2, 0)}),
    ("sed -i.bak 's/x/y/' a.py", "", {"a.py.bak": (0, 0), "a.py": (1, 1)}),
    ("sed -i.bak 's/x/y/' a.py && rm a.py.bak", "", {"a.py": (1, 1)}),
    ("F=src/a.py; sed -i 's/x/y/' $F", "", {"src/a.py": (1, 1)}),
    ('D=src; cd "$D" && echo x > "${D}/a.py"', "", {"src/src/a.py": (1, 0)}),
    ("ed -s a.py <<'E'\n,s/x/y/g\nw\nE", "", {"a.py": (1, 1)}),
    ("git rm -rq d && git status --short", "D  d/a.py\nD  d/b.py\n M c.py",
     {"d/a.py": (0, 0), "d/b.py": (0, 0)}),
    ("python - <<'P'\nfor p in ['a.py', 'b.py']:\n    open(p, 'w').write('')\nP", "",
     {"a.py": (0, 0), "b.py": (0, 0)}),
    ("python - <<'P'\np = 'a.py'\nold = 'x'\nnew = '''x\ny\n'''\ns = open(p).read()\n"
     "open(p, 'w').write(s.replace(old, new))\nP", "", {"a.py": (1, 0)}),
    ("Set-Content -Path a.txt -Value 'x'", "", {"a.txt": (1, 0)}),
    ("Get-Date | Out-File -FilePath a.txt -Encoding utf8", "", {"a.txt": (0, 0)}),
    ("Remove-Item a.txt -Force", "", {"a.txt": (0, 0)}),
    ("Move-Item -Path a.txt -Destination b.txt", "", {"a.txt": (0, 0), "b.txt": (0, 0)}),
    ("echo x >> ~/repo/a.py", "", {"a.py": (1, 0)}),
    ("echo x >> ~/.zshrc", "", {"~/.zshrc": (1, 0)}),
]  # fmt: skip

FORMATTED = [
    (
        "black .",
        "reformatted src/a.py\nAll done!\n1 file reformatted, 3 files left unchanged.",
        {"src/a.py"},
    ),
    ("npx prettier --write src", "src/a.ts 12ms\nsrc/b.ts 3ms (unchanged)", {"src/a.ts"}),
    ("npx prettier --check src", "Checking formatting...\n[warn] src/a.ts", set()),
    ("isort .", "Fixing src/a.py", {"src/a.py"}),
]


@pytest.mark.parametrize(("command", "output", "files"), FORMATTED)
def test_a_formatter_changes_the_files_it_names(script, command, output, files) -> None:
    assert set(script.session(HOME).shell(command, output, 0).done().files()) == files


NO_CHANGES = [
    "find . -name '*.py' -exec sed -i 's/x/y/' {} +",
    "T=$(mktemp); echo x > $T",
    "cp a.py a.py.bak; sed -i 's/x/y/' a.py; mv a.py.bak a.py",
    "cp a.py /tmp/a.bak; sed -i 's/x/y/' a.py; cp /tmp/a.bak a.py",
]


@pytest.mark.parametrize(("command", "output", "files"), CHANGES)
def test_a_script_changes_these_files(script, command, output, files) -> None:
    assert script.session(HOME).shell(command, output, 0).done().files() == files


@pytest.mark.parametrize("command", NO_CHANGES)
def test_a_script_leaves_everything_as_it_was(script, command) -> None:
    assert script.session(HOME).shell(command, "", 0).done().files() == {}


@pytest.mark.parametrize(
    ("command", "output", "files"),
    [
        ("echo x > a.py && false && echo y > b.py", "", {"a.py"}),
        ("echo x > a.py && python a.py", "ZeroDivisionError", {"a.py"}),
        ("python - <<'P'\np='a.py'\nassert 0\nopen(p,'w').write('')\nP",
         "Traceback (most recent call last):\nAssertionError", set()),
    ],
)  # fmt: skip
def test_what_stands_behind_a_failure_did_not_run(script, command, output, files) -> None:
    assert set(script.session(HOME).shell(command, output, 1).done().files()) == files


def test_files_that_git_cleans_away_are_no_changes(script) -> None:
    script.shell("echo x > new.py").shell("git clean -fd", "Removing new.py")

    assert script.done().files() == {}


LISTED = [
    ("rm -rf d", "git status --short", " D d/a.py\n M c.py", {"d/a.py"}),
    ("rm -rf d", "git commit -m x", "[main 1a2b3c4] x\n delete mode 100644 d/a.py", {"d/a.py"}),
    (
        "git mv o n",
        "git commit -m x",
        "[main 1a2b3c4] x\n rename {o => n}/a.py (100%)",
        {"o/a.py", "n/a.py"},
    ),
    ("git mv o n", "git status --short", "R  o/a.py -> n/a.py", {"o/a.py", "n/a.py"}),
    ("rm -rf build", "git status --short", "?? x.txt", set()),
    ("sed -i 's/x/y/' src/*.py", "git status --short", " M src/a.py\n M lib/b.py", {"src/a.py"}),
    ("sed -i 's/x/y/' src/*.py", "git diff --stat", " src/a.py | 2 +-\n b.py | 1 +", {"src/a.py"}),
    ("rm logs/*.txt", "git status --short", " D logs/a.txt\n M c.py", {"logs/a.txt"}),
    ("cat src/*.py", "git status --short", " M src/a.py", set()),
    (
        "npm install lodash",
        "git status --short",
        " M package.json\n M package-lock.json\n M src/a.js",
        {"package.json", "package-lock.json"},
    ),
    ("npm test", "git status --short", " M package.json", set()),
    (
        "go get example.org/x",
        "git diff --stat",
        " go.mod | 1 +\n go.sum | 2 ++",
        {"go.mod", "go.sum"},
    ),
    ("npm install lodash", "git status --short", "", set()),
]


@pytest.mark.parametrize(("command", "later", "output", "files"), LISTED)
def test_the_files_of_a_folder_are_those_that_git_lists_later(
    script, command, later, output, files
) -> None:
    script.session(HOME).shell(command, "", 0).shell(later, output, 0)

    assert set(script.done().files()) == files


def test_a_diff_put_aside_and_applied_again_is_there(script) -> None:
    script.session(HOME).call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    script.shell("git diff > /tmp/p.diff && git checkout .").shell("git apply /tmp/p.diff")

    assert script.done().files() == {"a.py": (1, 1)}


def test_a_file_as_committed_is_no_change(script) -> None:
    script.shell("sed -i 's/x/y/' a.py").shell("git show HEAD:a.py > a.py")

    assert script.done().files() == {}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("create /w/a.py --file_text 'x\ny\n'", {"/w/a.py": (2, 0)}),
        ("str_replace /w/a.py --old_str 'x' --new_str 'y'", {"/w/a.py": (1, 1)}),
        ("insert /w/a.py --insert_line 3 --new_str 'x'", {"/w/a.py": (1, 0)}),
        ("view /w/a.py", {}),
    ],
)
def test_an_edit_tool_may_be_a_command(script, command, files) -> None:
    script.call("bash", {"command": f"str_replace_editor {command}"}, "The file has been edited.")

    assert script.done().files() == files


def test_a_write_of_what_the_file_holds_changes_nothing(script) -> None:
    script.call("Read", {"file_path": "a.py"}, "     1→x\n     2→z\n")
    script.call("Write", {"file_path": "a.py", "content": "x\nz\n"}, "The file has been updated.")

    assert script.done().files() == {}


@pytest.mark.parametrize(
    ("cwd", "path"),
    [
        ("/tmp/work", "/tmp/work/src/a.py"),
        ("/private/tmp/w", "/private/tmp/w/src/a.py"),
        ("C:\\Users\\u\\repo", "C:\\Users\\u\\repo\\src\\a.py"),
        ("C:\\Users\\u\\repo", "src\\a.py"),
        ("C:/w", "C:/w/src/a.py"),
    ],
)
def test_the_session_may_be_anywhere(script, cwd, path) -> None:
    script.session(cwd).call("Edit", {"file_path": path, "old_string": "x", "new_string": "y"}, "")

    assert script.shell("echo x > /tmp/note.txt").done().files() == {"src/a.py": (1, 1)}
