"""Pure, as far as the redactor is. Messages in; the eligible, screened part of them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .budget import plain_text, utf8_size
from .canonical import WideInteger, array, encode, hash_parts, nesting, parse
from .canonical import projection_digest as digest_of
from .disclosure import is_credential_like
from .errors import SegmentInvalid
from .limits import (
    MAX_KEY_BYTES,
    MAX_NOTE_BYTES,
    MAX_REDACTED_NESTING,
    MAX_SEGMENT_BYTES,
)
from .selection import Selected, Text, ToolResult, ToolUse, select
from .types import ArchivedMessage, ArchiveProjection, Redactor

WITHHELD: Final = "[archive: withheld]"
_WITHHELD_ARGUMENTS: Final = {"_archive_withheld": True}


def project_archive(
    logical_id: str, messages: Sequence[Any], note: str, redactor: Redactor | None = None
) -> ArchiveProjection:
    """What a seal of `messages` would keep. Touches no file and none of its arguments.

    Raises `SegmentInvalid` for data that breaks a limit, before `redactor` is called, and for a
    redactor that fails, returns no text or makes the result too large.
    """
    return project(hash_key(logical_id), messages, note, redactor).projection


def hash_key(key: str) -> str:
    """A scope key or logical id as the format stores it: 64 hex digits.

    Raises `SegmentInvalid` unless it is text of 1 to 4,096 bytes.
    """
    if not isinstance(key, str):
        raise SegmentInvalid("a scope key or logical id is text")
    if not 1 <= utf8_size(key) <= MAX_KEY_BYTES:
        raise SegmentInvalid(f"a scope key or logical id has 1 to {MAX_KEY_BYTES} bytes")
    return hash_parts(key.encode())


@dataclass(frozen=True, slots=True, repr=False)
class Projected:
    """A projection and the canonical JSON array of its messages, as its digest covers it."""

    projection: ArchiveProjection
    elements: bytes


def project(
    logical_hash: str, messages: Sequence[Any], note: str, redactor: Redactor | None
) -> Projected:
    """`project_archive` for a logical id that is hashed already."""
    if not isinstance(note, str):
        raise SegmentInvalid("the note must be text")
    if utf8_size(note) > MAX_NOTE_BYTES:
        raise SegmentInvalid(f"the note exceeds {MAX_NOTE_BYTES} bytes")
    selected = select(messages, redacts=redactor is not None)
    count = len(messages)
    screen = _Screen(redactor)
    kept, elements = _render_all(selected, screen)
    digest = digest_of(logical_hash, count, elements)
    screened = screen.text(plain_text(note))
    if utf8_size(screened) > MAX_NOTE_BYTES:
        raise SegmentInvalid(f"the redacted note exceeds {MAX_NOTE_BYTES} bytes")
    return Projected(ArchiveProjection(logical_hash, count, kept, screened, digest), elements)


class _Screen:
    """The redactor and the credential screen; keeps the total of what passes within bounds."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._kept = 0

    def keep(self, text: Text) -> str:
        """The screened text of a kept field."""
        kept = WITHHELD if text.text is None else self.text(text.text)
        self._charge(len(kept))
        return kept

    def arguments(self, text: str) -> tuple[Any, bool]:
        """The screened arguments of a tool, and whether a float is among them."""
        try:
            parsed = parse(self.text(text))
            if nesting(parsed.value, MAX_REDACTED_NESTING) > MAX_REDACTED_NESTING:
                return dict(_WITHHELD_ARGUMENTS), False
            canonical = encode(parsed.value, floats=parsed.floats)
        except WideInteger:
            raise SegmentInvalid("redacted arguments hold an integer beyond 64 bits") from None
        except SegmentInvalid:
            raise
        except (ValueError, RecursionError):
            return dict(_WITHHELD_ARGUMENTS), False
        if is_credential_like(canonical):  # escapes in the redactor's text hid it
            return dict(_WITHHELD_ARGUMENTS), False
        self._charge(len(canonical))
        return parsed.value, parsed.floats

    def text(self, text: str) -> str:
        """`text` after redactor and screen: whole, or withheld as a whole."""
        if self._redactor is not None:
            text = _redact(self._redactor, text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise SegmentInvalid("the redactor's text holds half a surrogate pair") from None
        if is_credential_like(data):
            return WITHHELD
        if len(data) > MAX_SEGMENT_BYTES:
            raise SegmentInvalid(f"the redactor's text exceeds {MAX_SEGMENT_BYTES} bytes")
        return text

    def _charge(self, size: int) -> None:
        # Every kept byte is in the JSON too: stop before a growing redactor fills the memory.
        self._kept += size
        if self._kept > MAX_SEGMENT_BYTES:
            raise SegmentInvalid(f"the kept messages exceed {MAX_SEGMENT_BYTES} bytes of JSON")


def _redact(redactor: Redactor, text: str) -> str:
    try:
        redacted: Any = redactor(text)
    except Exception as exc:
        # The type alone: its message or traceback may hold what was to be redacted.
        raise SegmentInvalid(f"the redactor failed with {type(exc).__name__}") from None
    if not isinstance(redacted, str):
        raise SegmentInvalid(f"the redactor returned {type(redacted).__name__}, not text")
    return plain_text(redacted)


def _render_all(
    selected: Sequence[Selected], screen: _Screen
) -> tuple[list[ArchivedMessage], bytes]:
    """The kept messages, and their canonical JSON array."""
    kept, parts = [], []
    for choice in selected:
        archived, floats = _render(choice, screen)
        kept.append(archived)
        text = encode(archived.message, floats=floats)
        parts.append((archived.source_index, archived.block_indices, text))
    elements = array(parts)
    if len(elements) > MAX_SEGMENT_BYTES:
        raise SegmentInvalid(f"the kept messages exceed {MAX_SEGMENT_BYTES} bytes of JSON")
    return kept, elements


def _render(choice: Selected, screen: _Screen) -> tuple[ArchivedMessage, bool]:
    """The kept message, and whether a float is in it."""
    if isinstance(choice.content, Text):
        text = screen.keep(choice.content)
        return ArchivedMessage(choice.source_index, [], _message(choice, text)), False
    blocks: list[dict[str, Any]] = []
    floats = False
    for _, block in choice.content:
        if isinstance(block, Text):
            blocks.append({"type": "text", "text": screen.keep(block)})
        elif isinstance(block, ToolUse):
            rendered, has_floats = _render_tool_use(block, screen)
            blocks.append(rendered)
            floats = floats or has_floats
        else:
            blocks.append(_render_tool_result(block, screen))
    indices = [index for index, _ in choice.content]
    return ArchivedMessage(choice.source_index, indices, _message(choice, blocks)), floats


def _message(choice: Selected, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": choice.role, "content": content}


def _render_tool_use(block: ToolUse, screen: _Screen) -> tuple[dict[str, Any], bool]:
    arguments: Any = dict(_WITHHELD_ARGUMENTS)
    floats = False
    if block.arguments is not None:
        arguments, floats = screen.arguments(block.arguments)
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments}, floats


def _render_tool_result(block: ToolResult, screen: _Screen) -> dict[str, Any]:
    content: str | list[dict[str, Any]]
    if block.content is None:
        content = WITHHELD
    elif isinstance(block.content, Text):
        content = screen.keep(block.content)
    else:
        content = [{"type": "text", "text": screen.keep(text)} for text in block.content]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.tool_use_id}
    result["content"] = content
    if block.is_error is not None:
        result["is_error"] = block.is_error
    return result
