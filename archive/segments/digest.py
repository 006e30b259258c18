"""Pure. The hash with length-prefixed parts, and the digest of a projection."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from threading import Thread
from typing import Final

_WORTH_A_THREAD: Final = 512 * 1024
"""Bytes whose hash takes longer than a thread needs to start, some 0.2 ms."""


def hash_parts(*parts: bytes) -> str:
    """Hex SHA-256 over each part's length as 8 bytes big-endian and its bytes, in turn."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def projection_digest(logical_id: str, source_message_count: int, elements: bytes) -> str:
    """The digest of a projection; `elements` is the canonical JSON array of its messages."""
    return hash_parts(logical_id.encode(), source_message_count.to_bytes(8, "big"), elements)


class DigestBeside:
    """`projection_digest` of the same arguments, where it pays beside its caller's other work."""

    def __init__(self, logical_id: str, source_message_count: int, elements: bytes) -> None:
        self._of = logical_id, source_message_count, elements
        self._digest = ""
        self._thread: Thread | None = None
        if len(elements) >= _WORTH_A_THREAD:
            thread = Thread(target=self._run, daemon=True)
            with suppress(RuntimeError):  # no more threads: `result` does the work itself
                thread.start()
                self._thread = thread

    def result(self) -> str:
        """The digest, waited for where it isn't there yet."""
        if self._thread is not None:
            self._thread.join()
        if not self._digest:
            self._run()
        return self._digest

    def _run(self) -> None:
        self._digest = projection_digest(*self._of)
