"""Pure. The limits of the format; both programs on a directory must have the same."""

from __future__ import annotations

from typing import Final

MAX_SEGMENTS: Final = 128
"""Slots of a scope; tombstones keep theirs."""

MAX_SCOPE_BYTES: Final = 256 * 1024 * 1024
"""Bytes of all segment files of a scope."""

MAX_SEGMENT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a segment file, of the kept messages' JSON, and of one redacted text."""

MAX_INPUT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of eligible strings and structure in one seal."""

MAX_NODES: Final = 65_536
MAX_DEPTH: Final = 32
MAX_MESSAGES: Final = 4_096
MAX_NOTE_BYTES: Final = 8_192
MAX_KEY_BYTES: Final = 4_096
MAX_FETCH_MESSAGES: Final = 128
MAX_QUERY_BYTES: Final = 512
MAX_SEARCH_RESULTS: Final = 32
MAX_SNIPPET_BYTES: Final = 256

MAX_NESTING: Final = 127
"""Levels of JSON that the other program's reader takes in a segment file."""

MAX_REDACTED_NESTING: Final = MAX_NESTING - 7
"""Levels left for a tool's arguments: record, body, list, element, message, list and block
stand around them."""
