"""File changes by agents' own tools: every dialect, successes only."""

from __future__ import annotations

import pytest

OLD = "def area(w, h):\n    return w + h\n"
NEW = "def area(w, h):\n    # sides\n    return w * h\n"
EDITED = "The file src/shape.py has been updated. Here's the result of running `cat -n`"

EDITS = [
    ("Edit", {"file_path": "src/shape.py", "old_string": OLD, "new_string": NEW}, EDITED),
    (
        "edit",
        {"path": "src/shape.py", "old_str": OLD, "new_str": NEW},
        "File src/shape.py updated with changes.",
    ),
    (
        "replace",
        {"file_path": "src/shape.py", "old_string": OLD, "new_string": NEW},
        "Successfully modified file: src/shape.py (1 replacements).",
    ),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "src/shape.py", "old_str": OLD, "new_str": NEW},
        "The file src/shape.py has been edited. Here's",
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "src/shape.py", "old_str": OLD, "new_str": NEW},
        "",
    ),
    (
        "MultiEdit",
        {"file_path": "src/shape.py", "edits": [{"old_string": OLD, "new_string": NEW}]},
        "Applied 1 edit to src/shape.py",
    ),
    ("search_replace", {"target_file": "src/shape.py", "search": OLD, "replace": NEW}, "ok"),
    (
        "replace_in_file",
        {"path": "src/shape.py", "diff": f"<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n"},
        "The content was successfully saved to src/shape.py.",
    ),
    (
        "mcp__fs__edit_file",
        {"path": "src/shape.py", "edits": [{"oldText": OLD, "newText": NEW}]},
        "done",
    ),
    (
        "apply_patch",
        "*** Begin Patch\n*** Update File: src/shape.py\n@@\n def area(w, h):\n-    return w + h\n"
        "+    # sides\n+    return w * h\n*** End Patch\n",
        "Success. Updated the following files:\nM src/shape.py",
    ),
    (
        "apply_patch",
        {
            "input": "*** Begin Patch\n*** Update File: src/shape.py\n@@\n-    return w + h\n"
            "+    # sides\n+    return w * h\n*** End Patch"
        },
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.",
    ),
    (
        "shell",
        {
            "command": [
                "apply_patch",
                "*** Begin Patch\n*** Update File: src/shape.py\n@@\n-    return w + h\n"
                "+    # sides\n+    return w * h\n*** End Patch",
            ]
        },
        "Success. Updated",
    ),
    (
        "shell",
        {
            "command": [
                "bash",
                "-lc",
                "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/shape.py\n@@\n"
                "-    return w + h\n+    # sides\n+    return w * h\n*** End Patch\nEOF\n",
            ]
        },
        '{"output":"Success. Updated the following files:\\nM src/shape.py\\n'
        '","metadata":{"exit_code":0}}',
    ),
    (
        "patch",
        {
            "patch": "--- a/src/shape.py\n+++ b/src/shape.py\n@@ -1,2 +1,3 @@\n def area(w, h):\n"
            "-    return w + h\n"
            "+    # sides\n+    return w * h\n"
        },
        "ok",
    ),
    (
        "run_ipython",
        {
            "code": "edit_file_by_replace('src/shape.py', to_replace="
            + repr(OLD)
            + ", new_content="
            + repr(NEW)
            + ")"
        },
        "[File updated (edited at line 1)]",
    ),
]

FAILED = [
    (
        "Edit",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        True,
    ),
    ("Edit", "<tool_use_error>String to replace not found in file.</tool_use_error>", True),
    ("Edit", "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", True),
    ("edit", "Error: Found 3 matches of the string to replace", False),
    ("str_replace_editor", "ERROR:\nNo replacement was performed, old_str did not appear", False),
    ("edit", "Your proposed edit has introduced new syntax error(s).", False),
    ("replace", "Failed to edit, 0 occurrences found for old_string", False),
]


@pytest.mark.parametrize(("tool", "args", "output"), EDITS)
def test_an_edit_counts_with_its_lines(script, tool, args, output) -> None:
    assert script.call(tool, args, output).done().files() == {"src/shape.py": (2, 1)}


@pytest.mark.parametrize(("tool", "output", "is_error"), FAILED)
def test_a_failed_or_refused_edit_changes_nothing(script, tool, output, is_error) -> None:
    args = {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"}
    if tool != "str_replace_editor":
        args.pop("command")

    assert script.call(tool, args, output, is_error=is_error).done().files() == {}


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Write", {"file_path": "doc/a.md", "content": "one\ntwo\nthree\n"}),
        ("create", {"path": "doc/a.md", "file_text": "one\ntwo\nthree"}),
        ("write_file", {"file_path": "doc/a.md", "content": "one\ntwo\nthree\n"}),
        ("write_to_file", {"path": "doc/a.md", "content": "one\ntwo\nthree\n"}),
        (
            "str_replace_editor",
            {"command": "create", "path": "doc/a.md", "file_text": "one\ntwo\nthree\n"},
        ),
        (
            "apply_patch",
            "*** Begin Patch\n*** Add File: doc/a.md\n+one\n+two\n+three\n*** End Patch",
        ),
    ],
)
def test_a_new_file_counts_all_its_lines(script, tool, args) -> None:
    assert script.call(tool, args, "File created successfully").done().files() == {
        "doc/a.md": (3, 0)
    }


def test_arguments_may_come_as_json_text_and_the_name_under_another_key(script) -> None:
    script.event(
        "tool.call.started",
        {
            "function": {
                "name": "Edit",
                "arguments": '{"file_path": "a.py", "old_string": "x", "new_string": "y"}',
            },
            "tool_call_id": "1",
        },
    )
    script.event("tool.call.completed", {"tool": "Edit", "tool_call_id": "1", "result": "ok"})

    assert script.done().files() == {"a.py": (1, 1)}


def test_calls_without_ids_pair_by_name_and_order(script) -> None:
    for path in ("a.py", "b.py"):
        args = {"path": path, "old_str": "x", "new_str": "y"}
        script.event("tool.call.started", {"tool": "edit", "input": args})
    script.event("tool.call.completed", {"tool": "edit", "output": "updated with changes"})
    script.event(
        "tool.call.completed", {"tool": "edit", "output": "Error: no match", "status": "failed"}
    )

    assert script.done().files() == {"a.py": (1, 1)}


def test_an_edit_whose_end_is_unknown_does_not_count(script) -> None:
    script.event(
        "tool.call.started",
        {"tool_name": "Edit", "args": {"file_path": "a", "old_string": "x", "new_string": "y"}},
    )

    assert script.done().files() == {}


def test_an_edit_taken_back_leaves_no_trace(script) -> None:
    script.call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, EDITED)
    script.call("Edit", {"file_path": "a.py", "old_string": "y", "new_string": "x"}, EDITED)

    assert script.done().files() == {}


def test_a_file_made_and_removed_in_the_round_is_none(script) -> None:
    script.call("Write", {"file_path": "repro.py", "content": "print(1)\n"}, "File created")
    script.shell("python repro.py", "1", 0).shell("rm repro.py", "", 0)

    assert script.done().files() == {}


def test_a_rewrite_counts_what_differs_from_what_was_read(script) -> None:
    script.call("read_file", {"file_path": "a.txt"}, "one\ntwo\n")
    script.call(
        "write_file", {"file_path": "a.txt", "content": "one\n2\nthree\n"}, "Successfully overwrote"
    )

    assert script.done().files() == {"a.txt": (2, 1)}


def test_line_numbers_of_a_read_are_no_content(script) -> None:
    script.call("Read", {"file_path": "a.txt"}, "     1→one\n     2→one\n     3→two\n")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": True}
    script.call("Edit", edit, "All occurrences of 'one' were successfully replaced with '1'.")

    assert script.done().files() == {"a.txt": (2, 2)}
