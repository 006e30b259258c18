"""Pure. Edits made by an agent's file tools, whatever the agent calls them.

What a call did is read from its arguments: a path with an old and a new text is a replacement, a
path with a whole content is a write, and so on. Whether it did it is read from its result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from archive.prefilter import has_any

from .edit_keys import (
    CHANGING,
    CONTENT_KEYS,
    DRY_KEYS,
    EDITS_KEYS,
    LINE_KEYS,
    NEW_KEYS,
    OLD_KEYS,
    PART_KEYS,
    SOURCE_KEYS,
    TARGET_KEYS,
)
from .edit_results import NEW_FILE, shown_content, shown_hunks, was_done
from .ledger import Ledger
from .patches import PatchedFile, read_patch
from .paths import Roots, join, path_argument
from .tool_run import ToolRun

_WRITERS: Final = re.compile(r"write|create|save|new_?file|notebookedit|put_?file|add_?file")
_DELETERS: Final = re.compile(r"delete|remove|unlink")
_MOVERS: Final = re.compile(r"move|rename|copy")
_FOLDERS: Final = ("director", "folder", "mkdir")
_CHANGERS: Final = re.compile(
    f"edit|append|replace|{_WRITERS.pattern}|{_DELETERS.pattern}|{_MOVERS.pattern}"
)
_READERS: Final = re.compile(r"^(?:read|view|open|cat|show|get)|read_?file|view_?file")
_MAX_NUMBERED: Final = 200
_ALL: Final = frozenset({"replace_all", "replaceAll", "allow_multiple", "AllowMultiple"})


def apply_tool(run: ToolRun, ledger: Ledger, roots: Roots, opened: str) -> bool:
    """Book what a file tool did; False where `run` is no file tool."""
    arguments = run.arguments
    if has_any(run.tool, _FOLDERS) or _is_dry(arguments):
        return True
    editor = _is_editor(arguments)
    if run.script and not editor:
        return False
    if patch := _patch_of(run):
        if was_done(run):
            directory = run.directory or roots.directory
            for change in read_patch(patch):
                book(change, ledger, directory, run.index, path_argument(arguments))
        return True
    raw = path_argument(arguments)
    if not raw and _first(arguments, OLD_KEYS) is not None:
        raw = opened
    if not raw and _MOVERS.search(run.tool):
        raw = _first(arguments, SOURCE_KEYS) or ""
    if not raw:
        return _apply_scattered(run, ledger, roots)
    verb = str(arguments["command"]) if editor else run.tool
    reads = _READERS.search(verb) is not None and _first(arguments, NEW_KEYS) is None
    if reads:
        if not run.failed:
            ledger.saw(_place(run, raw, roots), shown_content(run))
    elif _may_change(arguments, verb) and was_done(run):
        _apply(run, verb, _place(run, raw, roots), ledger)
    return True


def _is_dry(arguments: Mapping[str, Any]) -> bool:
    dry = DRY_KEYS.intersection(arguments)
    return any(arguments[key] is True for key in dry)


def _may_change(arguments: Mapping[str, Any], verb: str) -> bool:
    return not CHANGING.isdisjoint(arguments) or _CHANGERS.search(verb) is not None


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


def _apply_scattered(run: ToolRun, ledger: Ledger, roots: Roots) -> bool:
    """Book edits that name their files one by one; False where there are none."""
    edits = [edit for edit in _edits(run.arguments) if path_argument(edit)]
    removed = run.arguments.get("file_paths") if _DELETERS.search(run.tool) else None
    if not was_done(run):
        return bool(edits or removed)
    for edit in edits:
        path = _place(run, path_argument(edit), roots)
        if "diff" in edit:
            for block in read_patch(_joined(edit["diff"])):
                ledger.edit(path, block.added, block.removed, run.index)
        else:
            _replace(run, edit, path, ledger)
    for name in removed if isinstance(removed, list) else ():
        ledger.delete(_place(run, str(name), roots), run.index)
    return bool(edits or removed)


def _joined(diff: Any) -> str:
    """A diff given as text, or as blocks of one."""
    blocks = diff if isinstance(diff, list) else [diff]
    return "\n".join(str(b.get("content", "") if isinstance(b, Mapping) else b) for b in blocks)


def _apply(run: ToolRun, verb: str, path: str, ledger: Ledger) -> None:
    arguments = run.arguments
    old, new = _first(arguments, OLD_KEYS), _first(arguments, NEW_KEYS)
    content = _first(arguments, CONTENT_KEYS)
    text = new if new is not None else content
    if verb == "undo_edit":
        ledger.undo(path)
    elif edits := _edits(arguments):
        for edit in edits:
            _replace(run, edit, path, ledger)
    elif "append" in verb and text is not None:
        ledger.append(path, text, run.index)
    elif verb == "insert" or _first(arguments, LINE_KEYS) is not None:
        if text is not None:
            ledger.edit(path, text.rstrip("\n").count("\n") + 1, 0, run.index)
    elif old is not None and new is not None:
        if old == "" and NEW_FILE.search(run.output[:200]):
            ledger.write(path, new, run.index, new=True)
        else:
            _replace(run, arguments, path, ledger)
    elif _DELETERS.search(verb):
        ledger.delete(path, run.index)
    elif _MOVERS.search(verb):
        if target := _first(arguments, TARGET_KEYS):
            act = ledger.copy if "copy" in verb else ledger.move
            act(path, join(run.directory, target), run.index)
    elif content is not None and (_WRITERS.search(verb) or verb.startswith("edit")):
        made = NEW_FILE.search(run.output[:200]) is not None
        ledger.write(path, content, run.index, new=True if made else None)
    elif _WRITERS.search(verb) and verb != "todowrite":
        ledger.write(path, "", run.index)
    else:
        _apply_part(run, verb, path, ledger)


def _apply_part(run: ToolRun, verb: str, path: str, ledger: Ledger) -> None:
    """Book an edit of which the arguments show a part at most, and the result perhaps a diff."""
    part = _first(run.arguments, PART_KEYS)
    if hunks := shown_hunks(run):
        ledger.edit(path, *hunks, run.index)
    elif part is not None or verb in ("edit", "edit_file"):
        lines = [line for line in (part or "").split("\n") if line and "..." not in line]
        ledger.edit(path, len(lines), 0, run.index, sure=False)


def _edits(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    edits = next((arguments[key] for key in EDITS_KEYS if arguments.get(key)), None)
    if isinstance(edits, Mapping):
        return [edits]
    if isinstance(edits, list):
        return [e for e in edits if isinstance(e, Mapping)]
    numbered: list[Mapping[str, Any]] = []
    while (olds := f"old_str_{len(numbered) + 1}") in arguments and len(numbered) < _MAX_NUMBERED:
        new = arguments.get(olds.replace("old", "new"))
        numbered.append({"old_str": arguments[olds], "new_str": new})
    return numbered


def _replace(run: ToolRun, edit: Mapping[str, Any], path: str, ledger: Ledger) -> None:
    old, new = _first(edit, OLD_KEYS), _first(edit, NEW_KEYS)
    ledger.replace(path, old or "", new or "", run.index, _times(edit, run))


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


_EDITOR_COMMANDS: Final = frozenset(
    {
        "view", "create", "str_replace", "insert", "undo_edit", "edit", "delete", "rename", "write",
        "read", "append",
    }
)  # fmt: skip


def _first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if key not in arguments:
            continue
        value = arguments[key]
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return "\n".join(value)
    return None
