"""Pure. Chooses what of a message list may be kept, within the limits, before anything is screened.

One walk decides and pays: the result holds all that screening needs, so neither a redactor nor a
later change of the caller's objects can alter the choice. Costs are those of the other program.
Named tuples, not dataclasses: there may be tens of thousands, and they are made faster. Their
repr shows no content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from .arguments import read_arguments
from .budget import Budget, plain_text
from .disclosure import OBJECTS, Disclosure, disclosure_of, identifier
from .errors import SegmentInvalid
from .limits import MAX_MESSAGES

CHECKPOINT_TOOL: Final = "context_checkpoint"
"""This tool's arguments repeat the hidden note."""

ROLES: Final = ("user", "assistant")


class Text(NamedTuple):
    """Text to screen; None where its class wants a redactor and there is none."""

    text: str | None

    def __repr__(self) -> str:
        return "<Text>"


class ToolUse(NamedTuple):
    """A tool call; `arguments` is their canonical JSON, None where they are withheld."""

    id: str
    name: str
    arguments: str | None

    def __repr__(self) -> str:
        return "<ToolUse>"


class ToolResult(NamedTuple):
    """A tool's answer: one text, the texts of its blocks, or None where it is withheld."""

    tool_use_id: str
    content: Text | list[Text] | None
    is_error: bool | None

    def __repr__(self) -> str:
        return "<ToolResult>"


Block = Text | ToolUse | ToolResult


class Selected(NamedTuple):
    """One message to keep: its string content, or its kept blocks with their indices."""

    source_index: int
    role: str
    content: Text | list[tuple[int, Block]]

    def __repr__(self) -> str:
        return "<Selected>"


def select(messages: Sequence[Any], *, redacts: bool) -> list[Selected]:
    """What may be kept of `messages`; `redacts` says whether a redactor will screen it.

    Raises `SegmentInvalid` where a limit is exceeded or eligible data is no JSON.
    """
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise SegmentInvalid("messages must be a list")
    if len(messages) > MAX_MESSAGES:
        raise SegmentInvalid(f"more than {MAX_MESSAGES} messages")
    selector = _Selector(redacts)
    found = (selector.message(index, message) for index, message in enumerate(messages))
    return [selected for selected in found if selected is not None]


class _Selector:
    def __init__(self, redacts: bool) -> None:
        self._redacts = redacts
        self._budget = Budget()

    def message(self, index: int, message: Any) -> Selected | None:
        budget = self._budget
        budget.node(0)
        if not isinstance(message, OBJECTS) or "_synaps_context" in message:
            return None
        disclosure, role = disclosure_of(message), message.get("role")
        if disclosure is None or not isinstance(role, str) or "content" not in message:
            return None
        role = plain_text(role)
        if role not in ROLES:
            return None
        budget.charge(8)
        budget.field("role", role, 1)
        content = message["content"]
        if isinstance(content, str):
            return Selected(index, role, self._text("content", content, disclosure, 1))
        budget.node(1)
        if not _is_list(content):
            return None
        budget.charge(len("content") + 8)
        blocks = self._blocks(content, role, disclosure)
        return Selected(index, role, blocks) if blocks else None

    def _blocks(
        self, content: Sequence[Any], role: str, inherited: Disclosure
    ) -> list[tuple[int, Block]]:
        kept: list[tuple[int, Block]] = []
        for index, block in enumerate(content):
            self._budget.node(2)
            disclosure = disclosure_of(block)
            if disclosure is None or not isinstance(block, OBJECTS):
                continue
            if inherited is Disclosure.AFTER_REDACTION:
                disclosure = inherited
            found = self._block(block, role, disclosure)
            if found is not None:
                kept.append((index, found))
        return kept

    def _block(self, block: Mapping[str, Any], role: str, disclosure: Disclosure) -> Block | None:
        kind = block.get("type")
        if kind == "text":
            return self._text_block(block, disclosure, 3)
        if kind == "tool_use" and role == "assistant":
            return self._tool_use(block)
        if kind == "tool_result" and role == "user":
            return self._tool_result(block, disclosure)
        return None

    def _text_block(
        self, block: Mapping[str, Any], disclosure: Disclosure, depth: int
    ) -> Text | None:
        text = block.get("text")
        if not isinstance(text, str):
            return None
        self._budget.charge(8)
        self._budget.field("type", "text", depth)
        return self._text("text", text, disclosure, depth)

    def _text(self, key: str, text: str, disclosure: Disclosure, depth: int) -> Text:
        if disclosure is Disclosure.AFTER_REDACTION and not self._redacts:
            self._budget.node(depth)  # only a fixed marker will stand here
            return Text(None)
        text = plain_text(text)
        self._budget.field(key, text, depth)
        return Text(text)

    def _tool_use(self, block: Mapping[str, Any]) -> ToolUse | None:
        tool_id, name = identifier(block.get("id")), identifier(block.get("name"))
        if tool_id is None or name is None:
            return None
        budget = self._budget
        budget.charge(8)
        for key, text in (("type", "tool_use"), ("id", tool_id), ("name", name)):
            budget.field(key, text, 3)
        arguments = None
        if self._redacts and name != CHECKPOINT_TOOL and "input" in block:
            arguments = read_arguments(block["input"], budget)
        return ToolUse(tool_id, name, arguments)

    def _tool_result(self, block: Mapping[str, Any], disclosure: Disclosure) -> ToolResult | None:
        tool_use_id, is_error = identifier(block.get("tool_use_id")), block.get("is_error")
        if tool_use_id is None:
            return None
        budget = self._budget
        budget.charge(8)
        budget.field("type", "tool_result", 3)
        budget.field("tool_use_id", tool_use_id, 3)
        if isinstance(is_error, bool):
            budget.field("is_error", "", 3)
        else:
            is_error = None
        content = None
        if self._redacts and "content" in block:
            content = self._result_content(block["content"], disclosure)
        return ToolResult(tool_use_id, content, is_error)

    def _result_content(self, content: Any, disclosure: Disclosure) -> Text | list[Text] | None:
        if isinstance(content, str):
            return self._text("content", content, disclosure, 3)
        self._budget.node(3)
        if not _is_list(content):
            return None
        self._budget.charge(len("content") + 8)
        kept = []
        for block in content:
            self._budget.node(4)
            disclosed = disclosure_of(block)
            if disclosed is None or not isinstance(block, OBJECTS) or block.get("type") != "text":
                continue
            text = self._text_block(block, disclosed, 5)
            if text is not None:
                kept.append(text)
        return kept or None


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)
