"""Edit calls of more agents: what each changes, and which of their results say that nothing did."""

from __future__ import annotations

from typing import Any

import pytest

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
BLOCK = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
ONE = {"a.py": (1, 1)}
TWO_NEW = {"a.py": (2, 0)}

EDITS: list[tuple[str, dict[str, Any], Any, dict[str, tuple[int, int]]]] = [
    (
        "writeToolCall",
        {"path": "a.py", "fileText": "x\ny\n"},
        {"success": {"path": "a.py", "linesCreated": 2}},
        TWO_NEW,
    ),
    ("editToolCall", {"path": "a.py", "streamContent": "x\ny\n"}, {"success": {}}, TWO_NEW),
    (
        "apply_diff",
        {"args": {"file": [{"path": "a.py", "diff": [{"content": BLOCK, "start_line": 3}]}]}},
        "Changes successfully applied to a.py",
        ONE,
    ),
    ("replace_text_in_file", {"pathInProject": "a.py", "oldText": "x", "newText": "y"}, "ok", ONE),
    ("create_new_file", {"pathInProject": "a.py", "text": "x\ny\n"}, "ok", TWO_NEW),
    ("StrReplaceFile", {"path": "a.py", "edit": {"old": "x", "new": "y"}}, "edited", ONE),
    (
        "str-replace-editor",
        {"command": "str_replace", "path": "a.py", "old_str_1": "x", "new_str_1": "y"},
        "Successfully edited the file a.py.",
        ONE,
    ),
    (
        "remove-files",
        {"file_paths": ["a.py", "b.py"]},
        "File(s) removed: a.py, b.py",
        {"a.py": (0, 0), "b.py": (0, 0)},
    ),
    ("strReplace", {"path": "a.py", "oldStr": "x", "newStr": "y"}, "Replaced text", ONE),
    ("fsAppend", {"path": "a.py", "text": "x\ny\n"}, "Appended the text to a.py.", TWO_NEW),
    ("write", {"filePath": "a.py", "content": "x\ny\n"}, "", TWO_NEW),
    ("edit_notebook_file", {"filePath": "a.ipynb", "newCode": ["x"]}, "ok", {"a.ipynb": (1, 0)}),
    ("copy_file", {"source": "a.py", "destination": "b.py"}, "ok", {"b.py": (0, 0)}),
    (
        "execute",
        {"language": "python", "code": "open('a.py', 'w').write(x)"},
        "",
        {"a.py": (0, 0)},
    ),
    ("execute", {"language": "bash", "code": "echo x >> a.py"}, "", {"a.py": (1, 0)}),
]

NO_EDITS: list[tuple[str, dict[str, Any], Any]] = [
    ("write_file", {"file_path": "a.py", "content": "x"}, "[Operation Cancelled] Reason: User"),
    ("search_replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"},
     "Rejected: User chose to skip this edit"),
    ("editToolCall", {"path": "a.py", "streamContent": "x"}, {"rejected": {"reason": ""}}),
    ("editToolCall", {"path": "a.py", "streamContent": "x"}, {"error": {"errorMessage": "no"}}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK},
     "The tool execution failed with the following error:\n<error>no match</error>"),
    ("write_to_file", {"path": "a.py", "content": "x"}, "The user denied this operation."),
    ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}, "The user rejected this tool call."),
    ("write", {"file_path": "a.py", "content": "x"}, "permission denied"),
    ("apply_patch", {"input": PATCH}, "patch rejected by user"),
    ("mcp__fs__edit_file", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}],
                            "dryRun": True}, "-x\n+y"),
    ("mcp__fs__create_directory", {"path": "d"}, "Successfully created directory d"),
    ("execute_command", {"command": "rm a.py"}, "The user denied this operation."),
    ("developer__shell", {"command": "rm a.py"}, "The user has declined to run this tool."),
    ("shell", {"command": ["bash", "-lc", "rm a.py"]}, "exec command rejected by user"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "output", "files"), EDITS)
def test_an_edit_call_changes_what_its_arguments_say(script, tool, args, output, files) -> None:
    assert script.call(tool, args, output).done().files() == files


@pytest.mark.parametrize(("tool", "args", "output"), NO_EDITS)
def test_a_call_that_was_refused_or_only_tried_changes_nothing(script, tool, args, output) -> None:
    assert script.call(tool, args, output).done().files() == {}


@pytest.mark.parametrize(
    "output", ["The user denied this operation.", "exec command rejected by user"]
)
def test_a_check_that_was_refused_without_a_mark_did_not_run(script, output) -> None:
    assert script.call("execute_command", {"command": "make test"}, output).done().checks() == []


def test_an_output_that_speaks_of_a_user_is_no_refusal(script) -> None:
    output = "create table users\nThe user denied column is gone\n3 passed in 0.1s"

    assert script.call("shell", {"command": "pytest"}, output).done().checks() == [
        ("test", "pytest", "pass")
    ]


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ({"success": {"stdout": "3 passed in 0.1s", "exitCode": 0}}, "pass"),
        ({"success": {"stdout": "no summary", "exitCode": 0}}, "pass"),
        ({"failure": {"stdout": "no summary", "exitCode": 1}}, "fail"),
    ],
)
def test_an_output_under_the_word_for_its_end_is_read(script, output, result) -> None:
    script.call("shellToolCall", {"command": "pytest"}, output)

    assert script.done().checks() == [("test", "pytest", result)]
