"""Pure, as far as the redactor is. The chosen parts of messages as kept, and their JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from .canonical import encode
from .screening import WITHHELD, WITHHELD_ARGUMENTS, Screen
from .selection import Selected, Text, ToolResult, ToolUse
from .types import ArchivedMessage


class Rendered(NamedTuple):
    """A kept message and its canonical JSON."""

    archived: ArchivedMessage
    json: bytes

    def __repr__(self) -> str:
        return f"<Rendered {self.archived!r}>"


def render(choice: Selected, screen: Screen) -> Rendered:
    """`choice` as it is kept: each of its texts as `screen` lets it pass."""
    content: str | list[dict[str, Any]]
    if isinstance(choice.content, Text):
        content, indices, floats = screen.keep(choice.content), [], False
    else:
        content, floats = _blocks(choice.content, screen)
        indices = [index for index, _ in choice.content]
    message = {"role": choice.role, "content": content}
    archived = ArchivedMessage(choice.source_index, indices, message)
    return Rendered(archived, encode(message, floats=floats))


def _blocks(
    chosen: list[tuple[int, Text | ToolUse | ToolResult]], screen: Screen
) -> tuple[list[dict[str, Any]], bool]:
    """The kept blocks, and whether a float is among them."""
    kept: list[dict[str, Any]] = []
    floats = False
    for _, block in chosen:
        if isinstance(block, Text):
            kept.append(_text(block, screen))
        elif isinstance(block, ToolUse):
            rendered, has_floats = _tool_use(block, screen)
            kept.append(rendered)
            floats = floats or has_floats
        else:
            kept.append(_tool_result(block, screen))
    return kept, floats


def _text(block: Text, screen: Screen) -> dict[str, Any]:
    return {"type": "text", "text": screen.keep(block)}


def _tool_use(block: ToolUse, screen: Screen) -> tuple[dict[str, Any], bool]:
    arguments: Any = dict(WITHHELD_ARGUMENTS)
    floats = False
    if block.arguments is not None:
        arguments, floats = screen.arguments(block.arguments)
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments}, floats


def _tool_result(block: ToolResult, screen: Screen) -> dict[str, Any]:
    content: str | list[dict[str, Any]]
    if block.content is None:
        content = WITHHELD
    elif isinstance(block.content, Text):
        content = screen.keep(block.content)
    else:
        content = [_text(text, screen) for text in block.content]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    result["content"] = content
    if block.is_error is not None:
        result["is_error"] = block.is_error
    return result
