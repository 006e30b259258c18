"""Pure. Pairs tool calls with their results, in events or in the blocks of messages."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from .payload import tool_arguments, tool_name
from .tool_run import (
    CallDraft,
    ToolRun,
    background_file,
    background_name,
    continue_call,
    continued_name,
    finish_call,
    glimpse,
    is_waiting,
    looks_on,
    shows_file,
)

_MAX_FILES: Final = 100  # that runs in the background write to
_CALL_BLOCKS: Final = frozenset({"tool_use", "tool_call", "function_call", "function"})
_RESULT_BLOCKS: Final = frozenset({"tool_result", "function_call_output", "tool_output"})
_ID_KEYS: Final = ("tool_use_id", "tool_call_id", "call_id", "id")


class Calls:
    """Tool calls under assembly, in the order started."""

    def __init__(self) -> None:
        self._drafts: list[CallDraft] = []
        self._by_id: dict[str, CallDraft] = {}
        self._by_tool: defaultdict[str, deque[CallDraft]] = defaultdict(deque)
        self._shown: set[str] = set()

    def start(self, index: int, payload: Mapping[str, Any]) -> None:
        """A call began; one that a message showed before is the same."""
        call_id = _call_id(payload)
        if call_id and call_id in self._shown:
            self._shown.discard(call_id)
        else:
            self._add(index, payload, call_id)

    def said(self, index: int, payload: Mapping[str, Any]) -> None:
        """Calls and results among the blocks of a message, where no event of their own is."""
        plain = isinstance(payload.get("content"), str) and "tool_calls" not in payload
        if plain and payload.get("role") != "tool":
            return
        lists = (payload.get("content"), payload.get("tool_calls"))
        for block in [block for blocks in lists if isinstance(blocks, list) for block in blocks]:
            if not isinstance(block, Mapping):
                continue
            kind, call_id = block.get("type"), _block_id(block)
            if kind in _CALL_BLOCKS and call_id and call_id not in self._by_id:
                self._add(index, block, call_id)
                self._shown.add(call_id)
            elif kind in _RESULT_BLOCKS and call_id in self._by_id:
                self._end(index, self._by_id[call_id], block)
        call_id = _call_id(payload)
        if payload.get("role") == "tool" and call_id in self._by_id:
            self._end(index, self._by_id[call_id], payload)

    def _end(self, index: int, draft: CallDraft, result: Mapping[str, Any]) -> None:
        if not draft.completed:
            draft.index, draft.completed = index, True
            draft.payloads.append(result)

    def complete(self, index: int, payload: Mapping[str, Any]) -> None:
        """A call ended, paired by id, else by name and order."""
        call_id = _call_id(payload)
        draft = self._by_id.get(call_id) if call_id else self._oldest_open(tool_name(payload))
        if draft is None:
            draft = self._add(index, payload, call_id)
        if draft.arguments is None:
            arguments = tool_arguments(payload)
            draft.arguments = arguments if arguments is not None else dict(payload)
        draft.index, draft.completed = index, True
        draft.payloads.append(payload)

    def _add(self, index: int, payload: Mapping[str, Any], call_id: str) -> CallDraft:
        draft = CallDraft(index, tool_name(payload), tool_arguments(payload))
        self._drafts.append(draft)
        self._by_tool[draft.tool].append(draft)
        if call_id:
            self._by_id[call_id] = draft
        return draft

    def _oldest_open(self, tool: str) -> CallDraft | None:
        waiting = self._by_tool.get(tool)
        while waiting and waiting[0].completed:
            waiting.popleft()
        return waiting[0] if waiting else None

    def runs(self) -> tuple[ToolRun, ...]:
        """The calls with their results, in the order of their ends."""
        found: list[ToolRun] = []
        places: dict[str, int] = {}
        files: dict[str, int] = {}
        waiting = -1
        later: defaultdict[int, list[ToolRun]] = defaultdict(list)
        for draft in self._drafts:
            run = finish_call(draft)
            if (name := continued_name(run)) in places:
                later[places[name]].append(run)
                continue
            if waiting >= 0 and looks_on(run):
                later[waiting].append(run)
                continue
            for path, place in files.items():
                if shows_file(run, path):
                    later[place].append(glimpse(run))
            if run.script and (name := background_name(run)):
                places[name] = len(found)
                if (path := background_file(run)) and len(files) < _MAX_FILES:
                    files[path] = len(found)
            if run.script and is_waiting(run):
                waiting = len(found)
            found.append(run)
        for place, calls in later.items():
            found[place] = continue_call(found[place], calls)
        found.sort(key=attrgetter("index"))
        return tuple(found)


def _call_id(payload: Mapping[str, Any]) -> str:
    return str(payload.get("tool_call_id") or payload.get("call_id") or "")


def _block_id(block: Mapping[str, Any]) -> str:
    """The id of a call or of the call that a result belongs to."""
    return str(next((block[key] for key in _ID_KEYS if block.get(key)), ""))
