"""How agents wrap what a command printed: its exit code, its background, its later looks."""

from __future__ import annotations

import pytest

TEXT = "compiling 12 modules\nlast line"

CODES = [
    "Command executed in terminal within working directory '/w'. Exit code: {}\nOutput:\n" + TEXT,
    "Command executed in terminal within working directory '/w'. Look into it.\nExit code: {}\n"
    "Output:\n" + TEXT,
    TEXT + "\n[The command completed with exit code {}.]\n[Current working directory: /w]\n"
    "[Command finished with exit code {}]",
    TEXT + "\n<exited with exit code {}>",
    "Exit code: {}\n\nCommand output:\n\n```\n" + TEXT + "\n```\n\nCommand completed in 12 ms.",
    TEXT + "\nExit code: {}",
    TEXT + "\n\nExit code {}\n\n<cwd>/w</cwd>",
    "Here are the results.\n<return-code>\n{}\n</return-code>\n<output>\n" + TEXT + "\n</output>",
    TEXT + "\n[Process exited with code {}]",
    TEXT + "\nCommand failed with exit code: {}.",
    'Command "make test" failed with exit code {}.\n\n```\n' + TEXT + "\n```",
    TEXT + "\n\nCommand exited with code {}",
    "Output: " + TEXT + "\nExit Code: {}\nProcess Group PGID: 12",
    "<status>done</status>\n\n<exit_code>{}</exit_code>\n\n<stdout>\n" + "x\n" * 900 + "</stdout>",
]


@pytest.mark.parametrize("form", CODES)
@pytest.mark.parametrize(("code", "result"), [(0, "pass"), (2, "fail")])
def test_an_exit_code_is_read_in_every_wrapping(script, form: str, code: int, result: str) -> None:
    script.call("bash", {"command": "make test"}, form.replace("{}", str(code)))

    assert script.done().checks() == [("test", "make test", result)]


def test_an_exit_code_may_be_a_field_of_the_metadata(script) -> None:
    script.call("bash", {"command": "make test"}, TEXT, metadata={"output": TEXT, "exit": 1})

    assert script.done().checks() == [("test", "make test", "fail")]


def test_words_about_exit_codes_in_an_output_are_none(script) -> None:
    output = "docs: Exit code 1 means trouble\n" + "x\n" * 400 + "3 passed in 0.1s"

    assert script.call("shell", {"command": "pytest"}, output).done().checks() == [
        ("test", "pytest", "pass")
    ]


STARTED = "Command running in background with ID: b12. Output is being written to: /tmp/b12.output"


@pytest.mark.parametrize(
    ("tool", "args", "shown"),
    [
        ("BashOutput", {"bash_id": "b12"}, "<exit_code>1</exit_code>\n1 failed in 3.2s"),
        ("Read", {"file_path": "/tmp/b12.output"}, "     1→1 failed, 2 passed in 3.2s"),
        ("Bash", {"command": "sleep 9; tail -3 /tmp/b12.output"}, "1 failed, 2 passed in 3.2s"),
    ],
)
def test_a_background_run_is_looked_after_by_its_name_or_its_file(
    script, tool, args, shown
) -> None:
    script.call("Bash", {"command": "pytest", "run_in_background": True}, STARTED)

    assert script.call(tool, args, shown).done().checks() == [("test", "pytest", "fail")]


def test_a_run_that_outlasts_its_call_is_looked_after_by_an_empty_command(script) -> None:
    first = (
        "...\n[The command has no new output after 30 seconds.]\n"
        "[Command finished with exit code -1]"
    )
    script.call("execute_bash", {"command": "pytest"}, first)
    script.call("execute_bash", {"command": "", "is_input": "true"}, "...\n9 passed in 45.1s")

    assert script.done().checks() == [("test", "pytest", "pass")]


def test_a_run_that_was_moved_to_the_background_ends_there(script) -> None:
    script.call("bash", {"command": "npm test"}, "<command with shellId: 7 is still running>")
    script.call(
        "read_bash", {"shellId": "7"}, "Tests: 1 failed, 3 total\n<exited with exit code 1>"
    )

    assert script.done().checks() == [("test", "jest", "fail")]


@pytest.mark.parametrize(
    "command",
    [
        "nix develop -c pytest -q",
        "nix-shell --run 'pytest -q'",
        "py -3 -m pytest -q",
        "script -q /dev/null pytest -q",
        "flox activate -- true; pytest -q",
    ],
)
def test_more_wrappers_are_taken_off(checks_of, command: str) -> None:
    assert checks_of(command, "3 passed in 0.1s", 0) == [("test", "pytest", "pass")]


@pytest.mark.parametrize("command", ["python reproduce.py", "node scripts/debug-1.mjs"])
def test_a_script_that_tries_something_out_verifies_nothing(checks_of, command: str) -> None:
    assert checks_of(command, "3 passed in 0.1s", 0) == []
