"""Tool calls inside messages: as blocks, as `tool_calls`, and beside events of their own."""

from __future__ import annotations

import pytest

ARGS = {"command": "pytest -q"}
OUTPUT = "1 failed, 2 passed in 0.1s"


def test_blocks_of_messages_are_calls_and_results(script) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": ARGS}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": OUTPUT, "is_error": True}
    script.event("message.added", {"role": "assistant", "content": [call]})
    script.event("message.added", {"role": "user", "content": [result]})

    assert script.done().checks() == [("test", "pytest", "fail")]


def test_tool_calls_of_a_message_are_answered_by_the_role_tool(script) -> None:
    call = {
        "id": "t1",
        "type": "function",
        "function": {"name": "shell", "arguments": '{"command": ["bash", "-lc", "pytest -q"]}'},
    }
    script.event("message.added", {"role": "assistant", "content": None, "tool_calls": [call]})
    script.event("message.added", {"role": "tool", "tool_call_id": "t1", "content": OUTPUT})

    assert script.done().checks() == [("test", "pytest", "fail")]


def test_a_call_in_a_message_and_in_events_is_one(script) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo x >> a.txt"}}
    event = {"tool_name": "Bash", "tool_call_id": "t1", "args": call["input"]}
    script.event("message.added", {"role": "assistant", "content": [call]})
    script.event("tool.call.started", event)
    script.event("tool.call.completed", {"tool_name": "Bash", "tool_call_id": "t1", "output": ""})
    result = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
    script.event("message.added", {"role": "user", "content": [result]})

    assert script.done().files() == {"a.txt": (1, 0)}


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "assistant", "tool_calls": 7},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "none"}]},
        {"role": "tool", "content": "pytest: 3 passed in 0.1s"},
        {"role": "assistant", "content": [3, None, "pytest"]},
    ],
)
def test_what_pairs_with_nothing_is_no_call(script, payload) -> None:
    assert script.event("message.added", payload).done().checks() == []


def test_the_directory_may_be_named_when_the_task_begins(script) -> None:
    script.event("task.created", {"task": "x", "cwd": "/home/u/repo"})
    args = {"file_path": "/home/u/repo/src/a.py", "old_string": "x", "new_string": "y"}

    assert script.call("Edit", args, "updated").done().files() == {"src/a.py": (1, 1)}


@pytest.mark.parametrize(
    ("args", "files"),
    [
        ({"command": ["bash", "--login", "-c", "echo x >> a.txt"]}, {"a.txt": (1, 0)}),
        ({"command": ["python", "-c", "print(1) > a.txt"]}, {}),
        (
            {"command": ["powershell.exe", "-NoProfile", "-Command", "Remove-Item src\\a.txt"]},
            {"src/a.txt": (0, 0)},
        ),
        ({"command": ["cmd.exe", "/c", "del src\\a.txt"]}, {"src/a.txt": (0, 0)}),
    ],
)
def test_an_argv_list_holds_a_script_if_its_program_is_a_shell(script, args, files) -> None:
    assert script.call("shell", args, "").done().files() == files
