"""The file tools of one agent after the other, each with a result as it words it."""

from __future__ import annotations

from typing import Any

import pytest

Lines = dict[str, tuple[int, int]]
BLOCK = "<<<<<<< SEARCH\nwet\nsalt\n=======\nwet\ndry\nsweet\n>>>>>>> REPLACE"
DASHED = "------- SEARCH\nwet\nsalt\n=======\nwet\ndry\nsweet\n+++++++ REPLACE"
PLACED = BLOCK.replace("SEARCH\n", "SEARCH\n:start_line:3\n-------\n")
HUNK = "@@ -1,2 +1,3 @@\n wet\n+dry\n salt"
SAVED = "The content was successfully saved to src/tide.ts."
EDITED = "The following files were successfully edited:\nsrc/tide.ts"

CALLS: list[tuple[str, dict[str, Any], str, Lines]] = [
    ("write_to_file", {"path": "src/tide.ts", "content": "1\n2\n"}, SAVED, {"src/tide.ts": (2, 0)}),
    ("replace_in_file", {"path": "src/tide.ts", "diff": BLOCK}, SAVED, {"src/tide.ts": (2, 1)}),
    ("replace_in_file", {"path": "src/tide.ts", "diff": DASHED}, SAVED, {"src/tide.ts": (2, 1)}),
    ("apply_diff", {"path": "src/tide.ts", "diff": PLACED}, SAVED, {"src/tide.ts": (2, 1)}),
    ("edit_file", {"target_file": "src/tide.ts", "code_edit": "// ...\ndry()"},
     f"The apply model made these changes:\n```\n{HUNK}\n```", {"src/tide.ts": (1, 0)}),
    ("edit_file", {"path": "src/tide.ts", "mode": "edit"},
     f"Edited src/tide.ts:\n\n```diff\n{HUNK}\n```", {"src/tide.ts": (1, 0)}),
    ("search_replace", {"file_path": "src/tide.ts", "old_string": "a\n", "new_string": "b\nc\n"},
     "The file src/tide.ts has been updated.", {"src/tide.ts": (2, 1)}),
    ("delete_file", {"target_file": "src/tide.ts"}, "Deleted", {"src/tide.ts": (0, 0)}),
    ("edit", {"filePath": "src/tide.ts", "oldString": "a", "newString": "b"}, "",
     {"src/tide.ts": (1, 1)}),
    ("developer__text_editor",
     {"command": "str_replace", "path": "src/tide.ts", "old_str": "a", "new_str": "b\nc"},
     "The file src/tide.ts has been edited", {"src/tide.ts": (2, 1)}),
    ("create_file", {"filePath": "src/tide.ts", "content": "a\n"}, EDITED, {"src/tide.ts": (1, 0)}),
    ("multi_replace_string_in_file",
     {"replacements": [{"filePath": "src/tide.ts", "oldString": "a", "newString": "b"},
                       {"filePath": "src/moon.ts", "oldString": "a", "newString": "b\nc"}]},
     EDITED, {"src/tide.ts": (1, 1), "src/moon.ts": (2, 1)}),
    ("insert_edit_into_file", {"filePath": "src/tide.ts", "code": "// ...existing code...\nx()\n"},
     EDITED, {"src/tide.ts": (1, 0)}),
    ("fs_write", {"command": "append", "path": "src/tide.ts", "new_str": "b\nc"}, "",
     {"src/tide.ts": (2, 0)}),
    ("fs_write", {"command": "insert", "path": "src/tide.ts", "insert_line": 3, "new_str": "b"}, "",
     {"src/tide.ts": (1, 0)}),
    ("replace_file_content",
     {"TargetFile": "src/tide.ts",
      "ReplacementChunks": [{"TargetContent": "a", "ReplacementContent": "b\nc"}]},
     "The following changes were made", {"src/tide.ts": (2, 1)}),
    ("write_to_file", {"TargetFile": "src/tide.ts", "CodeContent": "a\n"}, "Created file",
     {"src/tide.ts": (1, 0)}),
    ("edit_existing_file", {"filepath": "src/tide.ts", "changes": "x()\n// ... rest"},
     "File edited successfully", {"src/tide.ts": (1, 0)}),
    ("mcp__code__replace_symbol_body",
     {"name_path": "ebb", "relative_path": "src/tide.ts", "body": "ebb() {\n}"}, "OK",
     {"src/tide.ts": (2, 0)}),
    ("mcp__files__move_file", {"source": "src/tide.ts", "destination": "src/moon.ts"},
     "Successfully moved", {"src/tide.ts": (0, 0), "src/moon.ts": (0, 0)}),
    ("ApplyPatch", {"input": "*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+b\n+c\n"
                             "*** End Patch"},
     "Successfully applied", {"a.ts": (2, 1)}),
    ("Grep", {"pattern": "x", "path": "src/tide.ts"}, "src/tide.ts:1:x", {}),
    ("list_dir", {"target_file": "src"}, "a\nb", {}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "output", "expected"), CALLS)
def test_an_edit_is_read_whatever_the_agent_calls_it(
    script, tool: str, args: dict[str, Any], output: str, expected: Lines
) -> None:
    assert script.call(tool, args, output).done().files() == expected


SHOWN = [
    ("execute_command", "Command executed.\nOutput:\n\n> jest\n\nTests:       2 failed, 5 total\n"),
    ("execute_command", "Command executed in terminal. Exit code: 1\nOutput:\n"
                        "Tests: 2 failed, 5 total"),
    ("run_terminal_cmd", "Exit code: 1\n\nCommand output:\n\n```\nTests:       2 failed, 5 total\n"
                         "```"),
    ("run_in_terminal", "\x1b[1mTests:       \x1b[31m2 failed\x1b[0m, 5 total"),
    ("Execute", "Tests:       2 failed, 5 total\n\n[Process exited with code 1]"),
    ("execute_bash", '{"exit_status":1,"stdout":"Tests:       2 failed, 5 total\\n","stderr":""}'),
    ("Bash", '{"output":"Tests:       2 failed, 5 total\\n","exitCode":1}'),
    ("terminal", 'Command "npm test" failed with exit code 1.\n\n```\nTests: 2 failed, 5 total\n'
                 '```'),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "output"), SHOWN)
def test_a_command_is_read_whatever_the_agent_prints_around_it(
    script, tool: str, output: str
) -> None:
    assert script.call(tool, {"command": "npm test"}, output).done().checks() == [
        ("test", "jest", "fail")
    ]


BLOCK = "src/a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```"
LOOSE = "```diff\n--- src/a.py\n+++ src/a.py\n@@ ... @@\n-x\n+y\n```"


@pytest.mark.parametrize(
    "messages",
    [
        [BLOCK, "> Applied edit to src/a.py  "],
        [LOOSE, "Applied edit to src/a.py"],
        [BLOCK, "# 1 SEARCH/REPLACE block failed to match!", BLOCK, "Applied edit to src/a.py"],
    ],
)
def test_blocks_count_once_they_are_applied(script, messages) -> None:
    for message in messages:
        script.assistant(message)

    assert script.done().files() == {"src/a.py": (1, 1)}


def test_blocks_that_failed_to_match_change_nothing(script) -> None:
    script.assistant(BLOCK).assistant("# 1 SEARCH/REPLACE block failed to match!")

    assert script.done().files() == {}
