"""Pure. The refs of a round: what user or assistant named, and what the round made.

Shape alone proves little: seven hex digits may be a blob, a colour or a container. A commit
counts when git printed it as one, or when the words around it say so.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from archive.identifiers import may_hold_identifiers, scan_identifiers
from archive.prefilter import Run, has_any

from .git_refs import GitEvidence, add_made
from .numbers import add_numbers, may_number
from .prose import Speech
from .refs import MAX_CANDIDATES, Refs, add_url
from .repos import repo_slug, repos_in
from .view import RoundView

_HEX: Final = re.compile(r"[0-9a-f]{7,40}(?![0-9A-Za-z_-]|\.[0-9A-Za-z]|:\d)")
_HEX_RUN: Final = Run("0123456789abcdef", 7)
_JOINED: Final = frozenset(f"{string.ascii_letters}{string.digits}_#@./:=-")
_COMMIT_BEFORE: Final = re.compile(
    r"(?:\bcommit(?:ted|s)?(?: (?:hash|sha|id|as|is|message|pushed|to \S{1,80}))?|\bsha|\bhash"
    r"|\brev|\brevision|\bHEAD(?: is(?: now)? at)?|\bmerged?(?: commit)?|\bcherry-pick(?:ed)?"
    r"|\brevert(?:ed)?|\bpushed(?: as)?|\brebased?(?: onto)?|\bcheckout|\bat commit|\bbase"
    r"|\bparent|\btag|\bfixup|\bbisect \w+|\bgit (?:show|log|diff|reset|revert|cherry-pick"
    r"|checkout|branch)(?: --?\S+)*|提交|コミット"
    r"|\b(?:regress\w*|broken?|breaks|introduced|works?|worked|chang\w+)\b.{0,30}\b(?:since|in|by|at"
    r"|with|after)|\bbranch ref(?: itself)?)(?:[ :=#`'\"*(\[]|\(s\)){1,6}$",
    re.IGNORECASE,
)
_COMMIT_AS: Final = re.compile(r"\bas [`'\"*]{1,3}$")
_COMMITTED: Final = re.compile(r"\b(?:commit|push|merg|rebas|cherry|revert|amend)", re.IGNORECASE)
_COMMIT_ALSO: Final = re.compile(
    r"[`*)]{0,3}(?:\.{2,3}|, ?(?:and )?| and | & )[`*(]{0,3}"
    r"([0-9a-f]{7,40})(?![0-9A-Za-z_-]|\.[0-9A-Za-z])"
)
_COMMIT_AFTER: Final = re.compile(
    r"^[`*]{0,3} (?:\| )?(?:(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style"
    r"|revert)(?:\([\w./-]+\))?!?: )"
)
_NOT_COMMIT: Final = re.compile(
    r"(?:\b(?:checkpoint|session|task|container|image|digest|blob|object|tree|colou?r|agent|request"
    r"|trace|span|build|run|job|token|key|etag|checksum|md5|id|pid)(?:[ _-]?(?:id|hash))?"
    r"[ :=#`'\"*(]{1,4})$|\be\.g\., [`'\"]{0,2}$",
    re.IGNORECASE,
)
_SLUG: Final = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})(?:#([1-9]\d{0,6}))?"
)
_AROUND: Final = "`'\"*_()[]{}<>,.;:!?’“”"
_REPO_HINTS: Final = ("repo", "fork", "clone")
_REPO_WORD: Final = re.compile(
    r"\b(?:repo(?:sitory)?|fork|clone[ds]?)(?: (?:is|of|at|named|called|to|from"
    r"|in))?[ :`'\"*(\[]{1,4}$",
    re.IGNORECASE,
)
_SAID_BRANCH: Final = re.compile(
    r"[Bb](?<!\w.)ranch(?: is| named| called|:\**)? `([\w./-]{1,200})`"
    r"|(?<![\w./-])`?([A-Za-z][\w.-]{0,60}/[\w./-]{0,139}\w)`? branch\b"
)


def find_refs(
    view: RoundView, speech: Sequence[Speech], notices: Iterable[str]
) -> dict[str, list[str]]:
    """Values by role, in the order met: said first, then made."""
    refs = Refs()
    evidence = GitEvidence(view)
    texts = [*(s.text for s in speech), *notices]
    together = "\n".join(texts)
    finders = [find for could_be_in, find in _FINDERS if could_be_in(together)]
    for text in texts:
        for find in finders:
            find(text, refs, evidence)
    add_made(view, refs)
    return refs.result()


def _said_identifiers(text: str, refs: Refs, evidence: GitEvidence) -> None:
    for role, value in scan_identifiers(text):
        refs.add(role, value)
        if role == "url":
            add_url(value, refs)


def _said_branches(text: str, refs: Refs, evidence: GitEvidence) -> None:
    for line in text.split("\n") if "ranch" in text else ():
        if "ranch" in line:
            for match in _SAID_BRANCH.finditer(line):
                refs.add("branch", match[1] or match[2])


def _said_repos(text: str, refs: Refs, evidence: GitEvidence) -> None:
    if "/" not in text:
        return
    for slug in repos_in(text):
        refs.add("repo", slug)
    if not ("#" in text or evidence.may_name_repos or has_any(text.lower(), _REPO_HINTS)):
        return
    for token in [word for word in text.split() if "/" in word]:
        if not (match := _SLUG.fullmatch(token.strip(_AROUND))):
            continue
        slug = repo_slug(match[1], match[2])
        if not slug or (("repo", slug) in refs and not match[3]):
            continue
        if match[3]:
            refs.add("repo", slug)
            refs.add("issue", f"#{match[3]}")
        elif evidence.is_repo(slug) or (
            _looks_like_repo(match[1], match[2]) and _called_repo(text, token)
        ):
            refs.add("repo", slug)


def _called_repo(text: str, token: str) -> bool:
    at = text.find(token)
    return _REPO_WORD.search(text[max(0, at - 60) : at]) is not None


def _looks_like_repo(owner: str, name: str) -> bool:
    return owner.lower() not in _FOLDERS and "." not in name.strip(".") and not name.isupper()


_FOLDERS: Final = frozenset(
    {
        "origin", "upstream", "src", "lib", "app", "apps", "packages", "docs", "test", "tests",
        "cmd", "internal", "pkg", "bin", "scripts", "and", "read", "plugins", "feat", "fix",
        "feature", "hotfix", "release", "chore", "main", "refs", "heads", "remotes",
        "node_modules", "build", "dist", "create", "input", "output", "client", "server", "on",
        "yes", "i", "he", "his", "tcp", "ci", "github", "either", "add", "import",
    }
)  # fmt: skip


def _said_numbers(text: str, refs: Refs, evidence: GitEvidence) -> None:
    add_numbers(text, refs)


def _said_commits(text: str, refs: Refs, evidence: GitEvidence) -> None:
    for start in islice(_HEX_RUN.starts_in(text), MAX_CANDIDATES):
        match = _HEX.match(text, start)
        if match is None or (start and text[start - 1] in _JOINED):
            continue
        value = match[0]
        if ("commit", value) in refs:
            continue
        before = text[max(0, start - 100) : start]
        before = before.rsplit("\n", 1)[-1]
        plain = value.isdecimal() or value.isalpha()
        cued = _COMMIT_BEFORE.search(before) is not None
        if not cued and _NOT_COMMIT.search(before):
            continue
        if not cued and not plain:
            after = text[match.end() : match.end() + 60]
            sentence = before[-80:]
            cued = _COMMIT_AFTER.match(after) is not None or (
                _COMMIT_AS.search(before) is not None and _COMMITTED.search(sentence) is not None
            )
        if (cued and (not plain or len(value) == 40)) or evidence.is_commit(value):
            refs.add("commit", value)
            _also_commits(text, match.end(), refs)


def _also_commits(text: str, at: int, refs: Refs) -> None:
    """Keep the commits that a range or an enumeration goes on with."""
    while match := _COMMIT_ALSO.match(text, at):
        if not match[1].isdecimal() and not match[1].isalpha():
            refs.add("commit", match[1])
        at = match.end()


_Finder = Callable[[str, Refs, GitEvidence], None]
# Most rounds name few kinds: a finder is called only if what it finds could be in the round.
_FINDERS: Final[tuple[tuple[Callable[[str], bool], _Finder], ...]] = (
    (may_hold_identifiers, _said_identifiers),
    (lambda text: "/" in text, _said_repos),
    (may_number, _said_numbers),
    (_HEX_RUN.is_in, _said_commits),
    (lambda text: "ranch" in text, _said_branches),
)
