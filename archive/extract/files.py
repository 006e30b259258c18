"""Pure. The files that differ at a round's end because of the agent, and why."""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import attrgetter
from typing import Final

from archive.prefilter import has_any
from archive.record import FileChange

from .balance import Entry
from .edit_results import opened_file, shows_window, was_done, window_lines
from .edit_tools import apply_tool
from .ledger import Ledger
from .linediff import changed_lines
from .patches import PatchedFile, read_blocks, read_loose, read_unified
from .paths import Roots, join
from .shell_code import apply_code
from .shell_edits import apply_shell
from .text import shorten, unmarked
from .tool_run import ToolRun
from .view import Message, RoundView

_APPLIED: Final = re.compile(r"^(?:> )?Applied edit to (.+)$", re.MULTILINE)
_RANGE_EDIT: Final = re.compile(
    r"\Aedit(?: (\d{1,9}):(\d{1,9}))?[ \t]*\n(.*?)\n?end_of_edit", re.DOTALL
)
_EDITOR_WORD: Final = re.compile(r"\A(create|insert|append|open|edit|submit)\b[ \t]*([^\n]*)")
_SUBMISSIONS: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_SUMMARY_LIMIT: Final = 160


def find_files(view: RoundView) -> tuple[FileChange, ...]:
    """Changed files in the order of their first change, with lines and a reason."""
    booking = _Booking(view)
    booking.run()
    return booking.changes()


class _Booking:
    def __init__(self, view: RoundView) -> None:
        self._view = view
        self._roots = Roots(view)
        self._ledger = Ledger(self._roots.session)
        self._opened = ""
        self._window = ""
        self._submitted = ""
        self._proposed: dict[str, list[PatchedFile]] = {}
        self._said = [m for m in view.messages if m.role == "assistant"]

    def run(self) -> None:
        moments: list[Message | ToolRun] = [*self._view.messages, *self._view.runs]
        for moment in sorted(moments, key=attrgetter("index")):
            if isinstance(moment, ToolRun):
                self._tool(moment)
            else:
                self._message(moment)
        if self._view.result.lstrip().startswith("diff --git "):
            self._submitted = self._view.result
        self._correct()

    def _tool(self, run: ToolRun) -> None:
        if "submit" in (run.tool, run.script.strip()):
            self._submitted = run.output if "diff --git " in run.output else self._submitted
            return
        if has_any(run.script, _SUBMISSIONS) and "diff --git " in run.output:
            self._submitted = run.output
        if run.code:
            if was_done(run):
                apply_code(run.code, self._ledger, self._roots.directory, run.index)
        elif not self._windowed_editor(run):
            booked = apply_tool(run, self._ledger, self._roots, self._opened)
            if not booked and run.script:
                apply_shell(run, self._ledger, self._roots)
        self._opened = opened_file(run, self._opened)
        if self._opened and shows_window(run.output):
            self._window = run.output

    def _windowed_editor(self, run: ToolRun) -> bool:
        """Commands of an editor that knows a current file: `create`, `edit 3:7 … end_of_edit`."""
        if not (self._opened or "[File: " in run.output[:200]):
            return False
        match = _EDITOR_WORD.match(run.script)
        if match is None:
            return False
        if match[1] == "open" or not was_done(run):
            return True
        path = join(self._roots.directory, opened_file(run, self._opened))
        if match[1] == "create":
            self._ledger.write(path, "", run.index, new=True)
        elif edit := _RANGE_EDIT.match(run.script):
            first, last = int(edit[1] or 0), int(edit[2] or 0)
            shown = window_lines(self._window).items()
            old = "\n".join(text for at, text in shown if first <= at <= last)
            added, removed = changed_lines(old, edit[3])
            self._ledger.edit(path, added, removed, run.index, sure=False)
        else:
            self._ledger.edit(path, 1, 0, run.index, sure=False)
        return True

    def _message(self, message: Message) -> None:
        """Edit blocks that the assistant writes, and its program's word that it applied them."""
        text = message.text
        if message.role == "assistant" and ("SEARCH" in text or "ORIGINAL" in text):
            for block in read_blocks(text):
                self._proposed.setdefault(block.path, []).append(block)
        elif message.role == "assistant" and "\n+++ " in text and "```diff" in text:
            for block in read_loose(text):
                self._proposed.setdefault(block.path, []).append(block)
        if "failed to match" in text:
            self._proposed.clear()  # they are proposed again
        if "pplied edit to" not in text:
            return
        for path in dict.fromkeys(p.strip() for p in _APPLIED.findall(text)):
            found = self._proposed.pop(path, [])
            added = sum(b.added for b in found)
            removed = sum(b.removed for b in found)
            name = join(self._roots.directory, path)
            self._ledger.edit(name, added, removed, message.index, sure=bool(found))

    def _correct(self) -> None:
        """Diffs that the round shows know better than estimates; a submitted one knows all."""
        if self._submitted:
            self._replace_all(self._submitted)
        elif any(e.uncounted and e.changed for e in self._ledger.entries.values()):
            known = self._by_name()
            for run in self._view.runs:
                if not (run.script and "diff --git " in run.output and "diff" in run.script):
                    continue
                for change in read_unified(run.output):
                    entry = known.get(_name_of(change))
                    if entry is not None and entry.uncounted and entry.last_index < run.index:
                        _adopt(entry, change)

    def _replace_all(self, diff: str) -> None:
        shown = {_name_of(c): c for c in read_unified(diff[diff.find("diff --git ") :])}
        for path in [p for p in self._ledger.entries if self._relative(p) not in shown]:
            del self._ledger.entries[path]
        known = self._by_name()
        for name, change in shown.items():
            if name not in known:
                entry = Entry(existed=change.kind != "create")
                known[name] = self._ledger.entries[name] = entry
            _adopt(known[name], change)

    def _by_name(self) -> dict[str, Entry]:
        return {self._relative(path): entry for path, entry in self._ledger.entries.items()}

    def _relative(self, path: str) -> str:
        return self._roots.relative(path)

    def changes(self) -> tuple[FileChange, ...]:
        found: dict[str, FileChange] = {}
        for path, entry in self._ledger.changed().items():
            name = self._relative(path)
            summary = self._summary(name, entry)
            added, removed = max(0, entry.added), max(0, entry.removed)
            found[name] = FileChange(name, added, removed, summary)
        return tuple(found.values())

    def _summary(self, path: str, entry: Entry) -> str:
        verb = "Removed" if not entry.exists else "Edited" if entry.existed else "Created"
        reason = self._reason(path, entry)
        return shorten(f"{verb}: {reason}", _SUMMARY_LIMIT) if reason else verb

    def _reason(self, path: str, entry: Entry) -> str:
        """The line that names the file in the last words of the assistant, or before the edit."""
        name = path.rsplit("/", 1)[-1]
        for message in reversed(self._said[-2:]):
            if line := _line_naming(name, message.text):
                return line
        place = bisect_left(self._said, entry.last_index, key=lambda m: m.index)
        return _line_naming(name, self._said[place - 1].text) if place else ""


def _name_of(change: PatchedFile) -> str:
    return change.target or change.path


def _adopt(entry: Entry, change: PatchedFile) -> None:
    entry.added, entry.removed, entry.changed = change.added, change.removed, True


def _line_naming(name: str, text: str) -> str:
    at = text.find(name)
    if at < 0 or len(text) > 200_000:
        return ""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = unmarked(text[start : end if end >= 0 else None]).strip("| ")
    return line if len(line) > len(name) + 12 else ""
