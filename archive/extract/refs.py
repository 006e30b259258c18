"""Pure. The refs of a round under collection."""

from __future__ import annotations

import re
from typing import Final

ROLES: Final = ("commit", "pr", "issue", "url", "uuid", "ip", "ip_port", "repo", "branch")
MAX_CANDIDATES: Final = 2000  # of one kind that are looked at in one utterance
_MAX_PER_ROLE: Final = 200
_URL_COMMIT: Final = re.compile(
    r"/(?:commits?|blob|tree|raw|blame|compare)/([0-9a-f]{7,40})\b(?!-)(?:\.{2,3}([0-9a-f]{7,40})\b)?"
)
URL_NUMBER: Final = re.compile(
    r"/(pull|pulls|merge_requests|issues|pull-requests)/([1-9]\d{0,6})\b"
)


class Refs:
    """Values by role, each once, in the order found; a bounded number of each role."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}

    def add(self, role: str, value: str) -> None:
        """Keep `value` unless the role is full."""
        values = self._found.setdefault(role, {})
        if len(values) < _MAX_PER_ROLE:
            values.setdefault(value)

    def __contains__(self, item: tuple[str, str]) -> bool:
        return item[1] in self._found.get(item[0], ())

    def result(self) -> dict[str, list[str]]:
        """Roles in their fixed order; a commit's prefix goes when the whole one is there."""
        commits = list(self._found.get("commit", ()))
        for short in commits:
            if any(c != short and c.startswith(short) for c in commits):
                del self._found["commit"][short]
        return {role: list(self._found[role]) for role in ROLES if self._found.get(role)}


def add_url(url: str, refs: Refs) -> None:
    """Keep the commit, pull request or issue that an address of a code host names."""
    for match in _URL_COMMIT.finditer(url):
        for commit in filter(None, match.groups()):
            refs.add("commit", commit)
    if number := URL_NUMBER.search(url):
        refs.add("issue" if number[1] == "issues" else "pr", f"#{number[2]}")
