"""Pure. Repositories of code hosts, by their addresses: owner/name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from archive.prefilter import has_any

# `\b` stands behind the first letter: at the beginning it would keep the engine from skipping.
_URL_REPO: Final = re.compile(
    r"(?:g(?<!\wg)it(?:hub|lab)\.com|b(?<!\wb)itbucket\.org|c(?<!\wc)odeberg\.org"
    r"|r(?<!\wr)aw\.githubusercontent\.com)"
    r"[/:]([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})"
)
_API_REPO: Final = re.compile(r"\brepos/([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})")
_GH_REPO: Final = re.compile(
    r"(?:--repo[ =]|-R )[\"']?([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})"
)
_HOST_SLUG: Final = re.compile(
    r"\b(?:github|gitlab|bitbucket):([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})"
)
_REPO_PATTERNS: Final = (
    (("github", "gitlab", "bitbucket", "codeberg"), _URL_REPO),
    (("repos/",), _API_REPO),
    (("--repo", "-R "), _GH_REPO),
    (("github:", "gitlab:", "bucket:"), _HOST_SLUG),
)
_RESERVED: Final = frozenset(
    {
        "orgs", "features", "settings", "marketplace", "sponsors", "topics", "explore",
        "about", "pricing", "login", "join", "search", "notifications", "apps", "enterprise",
        "contact", "security", "site", "collections", "trending", "users",
    }
)  # fmt: skip


def may_hold_repos(text: str) -> bool:
    """Whether `repos_in` could find one: a cheap look."""
    return any(has_any(text, needles) for needles, _ in _REPO_PATTERNS)


def repos_in(text: str) -> Iterator[str]:
    """owner/repo of every address of a code host in `text`."""
    if "/" not in text:
        return
    for needles, pattern in _REPO_PATTERNS:
        if has_any(text, needles):
            for match in pattern.finditer(text):
                if slug := repo_slug(match[1], match[2]):
                    yield slug


def repos_called(script: str) -> Iterator[str]:
    """owner/repo of every call of a host's tool in `script`."""
    for pattern in (_GH_REPO, _API_REPO):
        for owner, name in pattern.findall(script):
            if slug := repo_slug(owner, name):
                yield slug


def repo_slug(owner: str, name: str) -> str:
    """owner/name as a host would show it; empty for what is no repository's."""
    name = name.rstrip(".").removesuffix(".git")
    if not name or owner.lower() in _RESERVED or owner.lower() in ("repos", "api"):
        return ""
    return f"{owner}/{name}"
