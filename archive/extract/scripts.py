"""Pure. Files that small Python, JavaScript and Ruby scripts write, as far as their text tells."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .linediff import changed_lines

_MAX_SCRIPT: Final = 200_000
_MAX_LOOPED: Final = 200  # files of one loop
_NAMED: Final = re.compile(
    r"""^[ \t]*(?:const |let |var )?(\w+) *= *(?:pathlib\.)?(?:Path\()?"""
    r"""[rf]?(["'])([^"'\n]{1,300})\2""",
    re.MULTILINE,
)
_LOOPED: Final = re.compile(r"^[ \t]*for (\w+) in [\[(]([^\])]{1,4000})[\])]:", re.MULTILINE)
_LITERAL: Final = re.compile(r"""["']([^"'\n]{1,300})["']""")
_LONG_TEXT: Final = re.compile(
    r"""^[ \t]*(?:const |let |var )?(\w+) *= *[rf]?(\"\"\"|'''|`)""", re.MULTILINE
)
_NAME: Final = r"""(?:[rf]?["']([^"'\n]{1,300})["']|(\w{1,80}))"""
_OPENED: Final = re.compile(
    r"\bopen\(\s*" + _NAME + r"""\s*,\s*(?:mode\s*=\s*)?["']([rwax+bt]{1,3})["']"""
)
_PATH_WRITTEN: Final = re.compile(
    r"(?:\bPath\(\s*" + _NAME + r"\s*\)|\b(\w{1,80}))\.write_(?:text|bytes)\("
)
_JS_WRITTEN: Final = re.compile(
    r"\b(write|append)File(?:Sync)?\(\s*" + _NAME + r"|\bFile\.(write)\(\s*" + _NAME
)
_REMOVED: Final = re.compile(
    r"\b(?:os\.(?:remove|unlink)|unlinkSync|rmSync|File\.delete)\(\s*" + _NAME
)
_MOVED: Final = re.compile(
    r"\b(?:os\.(?:rename|replace)|shutil\.(move|copy\w*)|renameSync|(copyFile)Sync)\(\s*"
    + _NAME + r"\s*,\s*" + _NAME
)  # fmt: skip
_WRITE_CALL: Final = re.compile(r"\.write(?:_text|lines)?\(\s*(\w{1,80})\s*\)")


@dataclass(frozen=True, slots=True)
class ScriptWrite:
    """`verb` is write, append, delete, move or copy; `content` only where it is a literal."""

    verb: str
    path: str
    target: str = ""
    content: str | None = None


def script_writes(code: str) -> Iterator[ScriptWrite]:
    """The file changes that a script would make, in no particular order of kinds."""
    if len(code) > _MAX_SCRIPT or not _could_write(code):
        return
    names = {m[1]: [m[3]] for m in _NAMED.finditer(code)}
    for match in _LOOPED.finditer(code):
        names[match[1]] = _LITERAL.findall(match[2])[:_MAX_LOOPED]

    def name(literal: str | None, variable: str | None) -> str:
        return literal or next(iter(names.get(variable or "", ())), "")

    def every(literal: str | None, variable: str | None) -> list[str]:
        return [literal] if literal else names.get(variable or "", [])

    content = _only_text(code)
    for match in _OPENED.finditer(code):
        mode = match[3]
        if not {"w", "a", "x", "+"}.isdisjoint(mode):
            for path in every(match[1], match[2]):
                yield ScriptWrite("append" if "a" in mode else "write", path, content=content)
    for match in _PATH_WRITTEN.finditer(code):
        for path in every(match[1], match[2] or match[3]):
            yield ScriptWrite("write", path, content=content)
    for match in _JS_WRITTEN.finditer(code):
        if path := name(match[2] or match[5], match[3] or match[6]):
            yield ScriptWrite("append" if match[1] == "append" else "write", path, content=content)
    for match in _REMOVED.finditer(code):
        if path := name(match[1], match[2]):
            yield ScriptWrite("delete", path)
    for match in _MOVED.finditer(code):
        source, target = name(match[3], match[4]), name(match[5], match[6])
        if source and target:
            copies = (match[1] or "").startswith("copy") or match[2]
            yield ScriptWrite("copy" if copies else "move", source, target)


def replaced_lines(code: str) -> tuple[int, int]:
    """Lines that the script's replacements of literal text by literal text add and remove."""
    added = removed = 0
    if ".replace(" not in code or (tree := _parsed(code)) is None:
        return 0, 0
    texts: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            texts[target.id] = _literal(node.value)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "replace"
            and len(node.args) >= 2
        ):
            old, new = (
                texts.get(a.id, "") if isinstance(a, ast.Name) else _literal(a)
                for a in node.args[:2]
            )
            if old:
                plus, minus = changed_lines(old, new)
                added, removed = added + plus, removed + minus
    return added, removed


def _parsed(code: str) -> ast.Module | None:
    if len(code) > _MAX_SCRIPT:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign code: nobody here can heed them
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def skill_edits(code: str) -> Iterator[tuple[str, str, str, str]]:
    """(function, path, old, new) of the file functions that notebook agents call in their code."""
    if not any(name in code for name in _SKILLS) or (tree := _parsed(code)) is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = _SKILLS.get(node.func.id)
            if names is not None:
                values = dict(zip(names, map(_literal, node.args), strict=False))
                values.update({k.arg: _literal(k.value) for k in node.keywords if k.arg})
                yield (
                    node.func.id,
                    values.get("file_name", "") or values.get("filename", ""),
                    values.get("to_replace", ""),
                    values.get("new_content", "") or values.get("content", ""),
                )


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


_SKILLS: Final = {
    "edit_file_by_replace": ("file_name", "to_replace", "new_content"),
    "edit_file_by_line": ("file_name", "start", "end", "new_content"),
    "insert_content_at_line": ("file_name", "line_number", "content"),
    "append_file": ("file_name", "content"),
    "create_file": ("filename",),
}


def _could_write(code: str) -> bool:
    return any(
        word in code
        for word in ("open(", "write", "remove", "unlink", "rename", "move(", "copy", "delete")
    )


def _only_text(code: str) -> str | None:
    """The long text literal that the script's only write call writes."""
    calls = list(_WRITE_CALL.finditer(code))
    if len(calls) != 1:
        return None
    for match in _LONG_TEXT.finditer(code):
        if match[1] == calls[0][1]:
            end = code.find(match[2], match.end())
            return code[match.end() : end] if end >= 0 else None
    return None
