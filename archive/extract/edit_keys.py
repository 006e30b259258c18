"""Pure. What the agents call the arguments of their file tools."""

from __future__ import annotations

from typing import Final

OLD_KEYS: Final = (
    "old_string", "old_str", "oldText", "old_text", "search", "old_content", "old", "find",
    "oldString", "TargetContent", "original_text", "regex", "needle", "oldStr",
)  # fmt: skip
NEW_KEYS: Final = (
    "new_string", "new_str", "newText", "new_text", "replace", "replacement", "new_content", "new",
    "newString", "ReplacementContent", "replacement_text", "repl", "newStr",
)  # fmt: skip
CONTENT_KEYS: Final = (
    "content", "file_text", "contents", "file_content", "new_source", "text", "CodeContent",
    "data", "fileText", "streamContent",
)  # fmt: skip
PART_KEYS: Final = ("code_edit", "changes", "code", "body", "newCode")
"""Part of a file, the rest of it left out or only hinted at."""
EDITS_KEYS: Final = ("edits", "ReplacementChunks", "replacements", "edit", "file")
DRY_KEYS: Final = frozenset({"dryRun", "dry_run", "preview_only"})
SOURCE_KEYS: Final = ("source", "old_path", "oldPath", "source_path", "from", "src")
TARGET_KEYS: Final = (
    "destination", "new_path", "target", "to", "newPath", "destination_path", "dest",
)  # fmt: skip
LINE_KEYS: Final = ("insert_line", "insertLine", "line", "line_number", "insert_at")
CHANGING: Final = frozenset(
    {*OLD_KEYS, *NEW_KEYS, *CONTENT_KEYS, *LINE_KEYS, *PART_KEYS, *EDITS_KEYS}
)
