"""Pure. Edits made by an agent's file tools, whatever the agent calls them.

What a call did is read from its arguments: a path with an old and a new text is a replacement, a
path with a whole content is a write, and so on. Whether it did it is read from its result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .ledger import Ledger
from .patches import PatchedFile, read_patch
from .paths import Roots, join, path_argument
from .tool_run import ToolRun

_OLD_KEYS: Final = (
    "old_string", "old_str", "oldText", "old_text", "search", "old_content", "old", "find",
    "oldString", "TargetContent", "original_text",
)  # fmt: skip
_NEW_KEYS: Final = (
    "new_string", "new_str", "newText", "new_text", "replace", "replacement", "new_content", "new",
    "newString", "ReplacementContent", "replacement_text",
)  # fmt: skip
_CONTENT_KEYS: Final = (
    "content", "file_text", "contents", "file_content", "new_source", "text", "CodeContent",
    "code_edit", "data",
)  # fmt: skip
_LINE_KEYS: Final = ("insert_line", "insertLine", "line", "line_number", "insert_at")
_CHANGING: Final = frozenset(
    {*_OLD_KEYS, *_NEW_KEYS, *_CONTENT_KEYS, *_LINE_KEYS, "edits", "ReplacementChunks"}
)
_WRITERS: Final = re.compile(r"write|create|save|new_?file|notebookedit|put_?file|add_?file")
_DELETERS: Final = re.compile(r"delete|remove|unlink")
_MOVERS: Final = re.compile(r"move|rename")
_CHANGERS: Final = re.compile(f"undo_edit|{_WRITERS.pattern}|{_DELETERS.pattern}|{_MOVERS.pattern}")
_READERS: Final = re.compile(r"^(?:read|view|open|cat|show|get)|read_?file|view_?file")
_NOT_DONE: Final = re.compile(
    r"^\s*(?:<tool_use_error>|ERROR\b|Error\b|error:|Failed|failed|Invalid|Cannot|Could not"
    r"|Unable|No changes|apply_patch verification failed|\[?[Ee]xecution error)"
    r"|[Ss]tring to replace (?:was )?not found|No replacement was performed"
    r"|not found in (?:the )?file|Found \d+ matches of the string|has not been read yet"
    r"|File has been (?:unexpectedly )?modified|introduced new syntax error"
    r"|[Ee]dit was not applied|No match found|did not match|0 occurrences|could not be found"
    r"|must (?:first )?read|was NOT written|[Nn]o edits? (?:was|were)|Failed to (?:edit|apply"
    r"|find|write|create)|[Pp]atch does not apply|identical (?:to|strings)|file already exists"
    r"|File already exists|No file open|not allowed|Permission denied|are exactly the same"
    r"|must be different",
)
_DONE: Final = re.compile(
    r"has been (?:updated|edited|created|written|modified)|[Ff]ile created|[Ss]uccess|^Created |"
    r"^Updated |^Wrote |updated with changes|Text replaced|[Ff]ile updated|edited successfully|"
    r"^Applied|Edit applied|^Deleted |^Edited|\[File: "
)
_NEW_FILE: Final = re.compile(r"[Cc]reated|new file")
_ALL: Final = frozenset({"replace_all", "replaceAll", "allow_multiple", "AllowMultiple"})
_NUMBERED: Final = re.compile(r"\A {0,6}\d+(?:→|\t)")
_NUMBERED_LINE: Final = re.compile(r" {0,6}(\d{1,7})(?:→|\t)(.*)")
_OPEN_FILE: Final = re.compile(r"^\[File: (.+?) \(\d+ lines? total\)\]", re.MULTILINE)
_WINDOW_LINE: Final = re.compile(r"^(\d+):(.*)$", re.MULTILINE)


def was_done(run: ToolRun) -> bool:
    """Whether the result of an edit says that it happened."""
    if run.refused or not run.completed:
        return False
    head = run.output[:1500]
    if _DONE.search(head[:300]) and not run.failed:
        return not _NOT_DONE.search(head[:120])
    if run.failed and run.exit_code is None:
        return False
    return run.exit_code in (0, None) and not _NOT_DONE.search(head)


def apply_tool(run: ToolRun, ledger: Ledger, roots: Roots, opened: str) -> bool:
    """Book what a file tool did; False where `run` is no file tool."""
    arguments = run.arguments
    editor = _is_editor(arguments)
    if run.script and not editor:
        return False
    if patch := _patch_of(run):
        if was_done(run):
            directory = run.directory or roots.directory
            for change in read_patch(patch):
                book(change, ledger, directory, run.index, path_argument(arguments))
        return True
    raw = path_argument(arguments) or (opened if _first(arguments, _OLD_KEYS) is not None else "")
    if not raw:
        return False
    verb = str(arguments["command"]) if editor else run.tool
    reads = _READERS.search(verb) is not None and _first(arguments, _NEW_KEYS) is None
    if reads:
        if not run.failed:
            ledger.saw(_place(run, raw, roots), _shown(run))
    elif _may_change(arguments, verb) and was_done(run):
        _apply(run, verb, _place(run, raw, roots), ledger)
    return True


def _may_change(arguments: Mapping[str, Any], verb: str) -> bool:
    return not _CHANGING.isdisjoint(arguments) or _CHANGERS.search(verb) is not None


def _place(run: ToolRun, raw: str, roots: Roots) -> str:
    if raw[:1] in ("/", "~"):
        return join("", raw)
    return join(run.directory or roots.directory, raw)


def book(
    change: PatchedFile, ledger: Ledger, directory: str, index: int, default: str = ""
) -> None:
    """Book one file of a patch."""
    path = join(directory, change.path or default)
    if change.kind == "delete":
        ledger.delete(path, index)
    elif change.kind == "move":
        ledger.move(path, join(directory, change.target), index)
        if change.added or change.removed:
            ledger.edit(join(directory, change.target), change.added, change.removed, index)
    elif change.kind == "create":
        ledger.write(path, "\n" * change.added, index, new=True)
    else:
        ledger.edit(path, change.added, change.removed, index)


def opened_file(run: ToolRun, before: str) -> str:
    """The file that an editor with a current file shows after `run`."""
    head = run.output[:400]
    match = _OPEN_FILE.search(head) if "[File: " in head else None
    return match[1] if match else before


def window_lines(output: str) -> dict[int, str]:
    """The numbered lines that such an editor shows."""
    return {int(m[1]): m[2] for m in _WINDOW_LINE.finditer(output[:100_000]) if len(m[1]) < 9}


def _apply(run: ToolRun, verb: str, path: str, ledger: Ledger) -> None:
    arguments = run.arguments
    if verb == "undo_edit":
        ledger.undo(path)
        return
    old, new = _first(arguments, _OLD_KEYS), _first(arguments, _NEW_KEYS)
    edits = arguments.get("edits") or arguments.get("ReplacementChunks")
    content = _first(arguments, _CONTENT_KEYS)
    if isinstance(edits, list):
        for edit in edits:
            if isinstance(edit, Mapping):
                before, after = _first(edit, _OLD_KEYS), _first(edit, _NEW_KEYS)
                ledger.replace(path, before or "", after or "", run.index, _times(edit, run))
    elif verb == "insert" or _first(arguments, _LINE_KEYS) is not None:
        text = new if new is not None else content
        if text is not None:
            ledger.edit(path, text.rstrip("\n").count("\n") + 1, 0, run.index)
    elif old is not None and new is not None:
        if old == "" and _NEW_FILE.search(run.output[:200]):
            ledger.write(path, new, run.index, new=True)
        else:
            ledger.replace(path, old, new, run.index, _times(arguments, run))
    elif _DELETERS.search(verb):
        ledger.delete(path, run.index)
    elif _MOVERS.search(verb):
        target = _first(arguments, ("destination", "new_path", "target", "to", "newPath"))
        if target:
            ledger.move(path, join(run.directory, target), run.index)
    elif content is not None and (_WRITERS.search(verb) or verb in ("edit_file", "edit")):
        made = _NEW_FILE.search(run.output[:200]) is not None
        ledger.write(path, content, run.index, new=True if made else None)
    elif _WRITERS.search(verb) and verb != "todowrite":
        ledger.write(path, "", run.index)


def _times(arguments: Mapping[str, Any], run: ToolRun) -> int:
    if not any(arguments.get(k) for k in _ALL):
        expected = arguments.get("expected_replacements")
        return min(expected, 10_000) if isinstance(expected, int) and expected > 0 else 1
    match = re.search(r"(\d{1,6}) (?:occurrences?|replacements?|matches)", run.output[:400])
    return int(match[1]) if match else 0


def _patch_of(run: ToolRun) -> str:
    if run.tool in ("apply_patch", "patch", "apply_diff") or run.text.startswith("*** Begin Patch"):
        return run.text or next(
            (
                str(run.arguments[k])
                for k in ("patch", "input", "diff", "patchText", "content")
                if run.arguments.get(k)
            ),
            "",
        )
    diff = run.arguments.get("diff") or run.arguments.get("patch")
    return diff if isinstance(diff, str) and ("\n" in diff) else ""


def _is_editor(arguments: Mapping[str, Any]) -> bool:
    command = arguments.get("command")
    return isinstance(command, str) and command in _EDITOR_COMMANDS


_EDITOR_COMMANDS: Final = frozenset({"view", "create", "str_replace", "insert", "undo_edit",
                                     "edit", "delete", "rename", "write", "read"})  # fmt: skip


def _first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return "\n".join(value)
    return None


def _shown(run: ToolRun) -> Callable[[], str | None] | None:
    """Reads the whole file out of a result that shows it without a range."""
    arguments = run.arguments
    if any(arguments.get(k) is not None for k in ("offset", "limit", "view_range", "start_line")):
        return None
    if len(run.output) > 200_000:
        return None
    return lambda: _without_numbers(run.output)


def _without_numbers(text: str) -> str | None:
    """File content as shown by a reading tool, its line numbers taken off; None when cut."""
    if not _NUMBERED.match(text):
        return None if "truncated" in text[-400:] else text
    lines: list[str] = []
    for line in text.split("\n"):
        match = _NUMBERED_LINE.match(line)
        if match is None:
            if lines:
                break
            return None
        if int(match[1]) != len(lines) + 1:
            return None
        lines.append(match[2])
    return "\n".join(lines)
