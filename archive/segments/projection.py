"""Pure, as far as the redactor is. Messages in; the eligible, screened part of them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .budget import plain_text, utf8_size
from .canonical import array
from .digest import DigestBeside, hash_parts
from .disclosure import is_credential_like
from .errors import SegmentInvalid
from .limits import MAX_KEY_BYTES, MAX_NOTE_BYTES, MAX_SEGMENT_BYTES
from .rendering import Rendered, render
from .screening import UNSCREENED, Screen
from .selection import Selected, select
from .types import ArchivedMessage, ArchiveProjection, Redactor


def project_archive(
    logical_id: str, messages: Sequence[Any], note: str, redactor: Redactor | None = None
) -> ArchiveProjection:
    """What a seal of `messages` would keep. Touches no file and none of its arguments.

    Raises `SegmentInvalid` for data that breaks a limit, before `redactor` is called, and for a
    redactor that fails, returns no text or makes the result too large.
    """
    return project(hash_key(logical_id), messages, note, redactor).projection()


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
    """A projection whose digest may still be on its way.

    `elements` is the canonical JSON array of `messages`, as the digest covers it.
    """

    logical: str
    source_message_count: int
    messages: list[ArchivedMessage]
    note: str
    elements: bytes
    beside: DigestBeside

    @property
    def digest(self) -> str:
        """The digest, waited for."""
        return self.beside.result()

    def projection(self) -> ArchiveProjection:
        """As callers see it."""
        return ArchiveProjection(
            self.logical, self.source_message_count, self.messages, self.note, self.digest
        )


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
    screen = Screen(redactor)
    first = UNSCREENED if redactor is None else screen
    kept = [render(choice, first) for choice in selected]
    elements = _array(kept)
    digest = DigestBeside(logical_hash, count, elements)
    if redactor is None and _screen_again(kept, selected, screen):
        elements = _array(kept)
        digest = DigestBeside(logical_hash, count, elements)
    if len(elements) > MAX_SEGMENT_BYTES:
        raise SegmentInvalid(f"the kept messages exceed {MAX_SEGMENT_BYTES} bytes of JSON")
    screened = screen.text(plain_text(note))
    if utf8_size(screened) > MAX_NOTE_BYTES:
        raise SegmentInvalid(f"the redacted note exceeds {MAX_NOTE_BYTES} bytes")
    archived = [message for message, _ in kept]
    return Projected(logical_hash, count, archived, screened, elements, digest)


def _screen_again(kept: list[Rendered], selected: Sequence[Selected], screen: Screen) -> bool:
    """Screen the texts of the messages in `kept` that may hold a credential; whether any may.

    A mark in a text stands in its JSON as it is, since no character of it is escaped.
    """
    suspects = [at for at, message in enumerate(kept) if is_credential_like(message.json)]
    for at in suspects:
        kept[at] = render(selected[at], screen)
    return bool(suspects)


def _array(kept: Sequence[Rendered]) -> bytes:
    return array((message.source_index, message.block_indices, json) for message, json in kept)
