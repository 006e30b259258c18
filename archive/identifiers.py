"""Pure. Identifiers by role: their exact forms, how to find them, and how to refuse a damaged one.

An identifier is kept whole or not at all: a commit of 39 digits, a URL that ends in an ellipsis
or a UUID without its last group points nowhere, and is refused instead of stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from .errors import InvalidIdentifier
from .prefilter import Run

SEPARATOR: Final = ", "
"""Between the values of one role in a record's `refs`."""

_OWNER: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_NAME: Final = r"[A-Za-z0-9._-]{1,100}"
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}"
_IPV6: Final = r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}"
_PORT: Final = r"[1-9][0-9]{0,4}"

FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "commit": re.compile(r"[0-9a-f]{7,40}|[0-9a-f]{64}"),
    "pr": re.compile(rf"(?:{_OWNER}/{_NAME})?[#!]?[1-9]\d{{0,8}}"),
    "issue": re.compile(rf"(?:{_OWNER}/{_NAME})?#?[1-9]\d{{0,8}}"
                        rf"|[A-Z][A-Z0-9]{{1,9}}-[1-9]\d{{0,6}}"),
    "url": re.compile(r"(?:https?|wss?|ftp|ssh|git|rediss?|file)://[^\s<>\"'`\\{}|^\x00-\x1f]+"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "ip": re.compile(rf"{_IPV4}|{_IPV6}"),
    "ip_port": re.compile(rf"(?:{_IPV4}|\[{_IPV6}\]|localhost|[A-Za-z0-9.-]{{1,253}}):{_PORT}"),
    "repo": re.compile(rf"{_OWNER}(?:/{_NAME}){{1,4}}"),
    "branch": re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[^\s~^:?*\[\\\x00-\x1f/.-][^\s~^:?*\["
                         r"\\\x00-\x1f]*"),
}  # fmt: skip
"""Role → the form that a whole value must have."""

_ALIASES: Final = {
    "commits": "commit", "sha": "commit", "commit_hash": "commit", "hash": "commit",
    "git_commit": "commit", "prs": "pr", "pull_request": "pr", "pr_number": "pr", "mr": "pr",
    "issues": "issue", "issue_number": "issue", "urls": "url", "link": "url", "uuids": "uuid",
    "hostport": "ip_port", "host_port": "ip_port", "ip:port": "ip_port", "addr": "ip_port",
    "address": "ip_port", "endpoint": "ip_port", "repos": "repo", "repository": "repo",
    "owner/repo": "repo", "branches": "branch",
}  # fmt: skip
_ROLE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_CUT_OFF: Final = re.compile(
    r"(?:\.\.\.|…|\[truncated\]?|<truncated>|\\)$|^(?:\.\.\.|…)|\[\.\.\.\]"
)
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_UUID_PART: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{1,4}-?){0,3}(?:-[0-9a-fA-F]{0,11})?")

_URL: Final = re.compile(
    r"http(?<![A-Za-z0-9_]http)s?://[^\s<>\"'`\\\]\[{}|^\x00-\x1f“”，。；：！？、（）【】《》「」]+"
)
_GLUED: Final = re.compile(r"(?<=[^:]{4})(?=https?://)")
_UUID: Final = re.compile(
    r"(?<![0-9A-Za-z-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z-])"
)
_UUID_LIKE: Final = re.compile(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
_ADDRESS: Final = re.compile(rf"(?<![\w.:/-]){_IPV4}(?::{_PORT})?(?![\w:]|\.\d)")
_HOST_PORT: Final = re.compile(
    rf"(?<![\w.:/@-])(?:localhost|(?:[a-z0-9-]{{1,63}}\.){{1,6}}[a-z]{{2,12}}):{_PORT}(?![\w:-]|\.\w)",
)
_DOTTED: Final = Run("0123456789.", len("1.1.1.1"))
_PORT_LIKE: Final = re.compile(r":[1-9]")
_HOST_ENDS: Final = frozenset(
    {
        "localhost", "com", "net", "org", "io", "dev", "app", "local", "internal", "lan",
        "cloud", "ai", "co", "cluster", "svc", "corp", "home", "arpa", "edu", "gov", "info",
        "biz", "tech", "xyz", "site", "online",
    }
)  # fmt: skip


def protect_identifiers(refs: Mapping[str, str]) -> dict[str, str]:
    """Caller's refs, validated: every value whole, in the form of its role, each once.

    A value may hold several separated by commas. Roles are those of `FORMS` or a usual other name
    for one; a role of the caller's own is kept if its values look whole. Raises
    `InvalidIdentifier` for a value without the form of its role, or one that looks cut off.
    """
    protected: dict[str, dict[str, None]] = {}
    for given, text in refs.items():
        role = _ALIASES.get(str(given).strip().lower(), str(given).strip().lower())
        if not _ROLE_NAME.fullmatch(role):
            raise InvalidIdentifier(str(given), str(text), "no role name")
        if not isinstance(text, str):
            raise InvalidIdentifier(role, str(text), "a ref is text")
        for value in _values(role, text):
            protected.setdefault(role, {})[_checked(role, value)] = None
    return {role: SEPARATOR.join(values) for role, values in protected.items() if values}


def extract_identifiers(text: str) -> dict[str, list[str]]:
    """Identifiers that their form alone proves: URLs, UUIDs, IP addresses and ports."""
    found: dict[str, list[str]] = {}
    for role, value in scan_identifiers(text):
        values = found.setdefault(role, [])
        if value not in values:
            values.append(value)
    return found


def may_hold_identifiers(text: str) -> bool:
    """Whether it is worth to scan `text` for identifiers: a cheap look."""
    return "://" in text or _has_uuid(text) or _has_address(text) or _has_port(text)


def scan_identifiers(text: str) -> Iterator[tuple[str, str]]:
    """(role, value) of every identifier in `text` that needs no context, kind by kind."""
    if "://" in text:
        for url in find_urls(text):
            yield "url", url
    if _has_uuid(text):
        for match in _UUID.finditer(text):
            yield "uuid", match[0]
    if _has_address(text):
        for match in _ADDRESS.finditer(text):
            if not _is_version(text, match.start()):
                yield ("ip_port" if ":" in match[0] else "ip"), match[0]
    if _has_port(text):
        for match in _HOST_PORT.finditer(text):
            host, _, port = match[0].rpartition(":")
            if host.rsplit(".", 1)[-1] in _HOST_ENDS and int(port) < 65_536:
                yield "ip_port", match[0]


def _has_uuid(text: str) -> bool:
    return "-" in text and _UUID_LIKE.search(text) is not None


def _has_address(text: str) -> bool:
    return "." in text and _DOTTED.is_in(text)


def _has_port(text: str) -> bool:
    return ":" in text and _PORT_LIKE.search(text) is not None


def find_urls(text: str) -> Iterator[str]:
    """Whole URLs: glued ones parted, closing punctuation and Markdown marks taken off."""
    for match in _URL.finditer(text):
        for url in _GLUED.split(match[0]):
            if url and (cleaned := clean_url(url)):
                yield cleaned


def clean_url(url: str) -> str:
    """A URL without what the sentence around it added; nothing where no host is left."""
    url = url.rstrip(".,;:!?*_~")
    while url.endswith(")") and url.count("(") < url.count(")"):
        url = url[:-1].rstrip(".,;:!?*_~")
    host = url.split("://", 1)[-1]
    return url if host and host[0].isalnum() and "…" not in url else ""


def _values(role: str, text: str) -> list[str]:
    if role == "url":
        return [v for v in re.split(r",\s+|\s+", text.strip()) if v]
    return [v for v in (part.strip() for part in text.split(",")) if v]


def _checked(role: str, value: str) -> str:
    if _CUT_OFF.search(value):
        raise InvalidIdentifier(role, value, "looks cut off")
    form = FORMS.get(role)
    if form is None:
        if "\n" in value or len(value) > 2048:
            raise InvalidIdentifier(role, value, "longer than a ref can be")
        return value
    if role == "commit":
        value = value.lower()
        if _HEX.fullmatch(value) and 35 <= len(value) != 40 and len(value) != 64:
            raise InvalidIdentifier(role, value, f"looks cut off: {len(value)} of 40 or 64 digits")
    if role == "uuid" and not form.fullmatch(value) and _UUID_PART.fullmatch(value):
        raise InvalidIdentifier(role, value, "looks cut off: a part of a UUID")
    if not form.fullmatch(value):
        raise InvalidIdentifier(role, value, f"does not have the form of a {role}")
    if role == "ip_port" and int(value.rpartition(":")[2]) > 65_535:
        raise InvalidIdentifier(role, value, "has a port above 65535")
    return value


def _is_version(text: str, at: int) -> bool:
    """Whether four numbers with dots are a version: `v1.2.3.4`, `version 1.2.3.4`."""
    before = text[max(0, at - 12) : at].lower()
    return before.endswith(("v", "version ", "version: ", "==", ">=", "~=", "@", "release "))
