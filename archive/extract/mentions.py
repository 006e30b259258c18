"""Pure. The refs of a round: what user or assistant named, and what the round made.

Shape alone proves little: seven hex digits may be a blob, a colour or a container. A commit
counts when git printed it as one, or when the words around it say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from archive.identifiers import find_urls, scan_identifiers

from .prose import Speech
from .view import RoundView, ToolRun

ROLES: Final = ("commit", "pr", "issue", "url", "uuid", "ip", "ip_port", "repo", "branch")
_MAX_PER_ROLE: Final = 200
_MAX_CANDIDATES: Final = 2000  # looked at in one utterance

_HEX: Final = re.compile(
    r"(?<![0-9A-Za-z_#@./:=-])[0-9a-f]{7,40}(?![0-9A-Za-z_-]|\.[0-9A-Za-z]|:\d)"
)
_COMMIT_BEFORE: Final = re.compile(
    r"(?:\bcommit(?:ted|s)?(?: (?:hash|sha|id|as|is|message|pushed|to \S{1,80}))?|\bsha|\bhash|\brev"
    r"|\brevision|\bHEAD(?: is(?: now)? at)?|\bmerged?(?: commit)?|\bcherry-pick(?:ed)?|\brevert(?:ed)?"
    r"|\bpushed(?: as)?|\brebased?(?: onto)?|\bcheckout|\bat commit|\bbase|\bparent|\btag|\bfixup"
    r"|\bbisect \w+|\bgit (?:show|log|diff|reset|revert|cherry-pick|checkout|branch)(?: --?\S+)*"
    r"|提交|コミット|\bbranch ref(?: itself)?)"
    r"(?:[ :=#`'\"*(\[]|\(s\)){1,6}$",
    re.IGNORECASE,
)
_COMMIT_AS: Final = re.compile(r"\bas [`'\"*]{1,3}$")
_COMMITTED: Final = re.compile(r"\b(?:commit|push|merg|rebas|cherry|revert|amend)", re.IGNORECASE)
_COMMIT_AFTER: Final = re.compile(
    r"^[`*]{0,3} (?:(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style|revert)(?:\([\w./-]+\))?!?: )"
)
_NOT_COMMIT: Final = re.compile(
    r"(?:\b(?:checkpoint|session|task|container|image|digest|blob|object|tree|colou?r|agent|request"
    r"|trace|span|build|run|job|token|key|etag|checksum|md5|id|pid)(?:[ _-]?(?:id|hash))?"
    r"[ :=#`'\"*(]{1,4})$|\be\.g\., [`'\"]{0,2}$",
    re.IGNORECASE,
)
_URL_COMMIT: Final = re.compile(
    r"/(?:commits?|blob|tree|raw|blame|compare)/([0-9a-f]{7,40})\b(?!-)"
)
_URL_NUMBER: Final = re.compile(
    r"/(pull|pulls|merge_requests|issues|pull-requests)/([1-9]\d{0,6})\b"
)
_URL_REPO: Final = re.compile(
    r"(?:https?://(?:[\w.-]+@)?(?:www\.)?|ssh://git@|git@|\b)(?:github\.com|gitlab\.com|bitbucket\.org"
    r"|codeberg\.org|raw\.githubusercontent\.com)[/:]([A-Za-z0-9][A-Za-z0-9-]{0,38})/"
    r"([A-Za-z0-9._-]{1,100})"
)
_API_REPO: Final = re.compile(r"\brepos/([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})")
_GH_REPO: Final = re.compile(
    r"(?:--repo[ =]|-R )[\"']?([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})"
)
_SLUG: Final = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})(?:#([1-9]\d{0,6}))?"
)
_AROUND: Final = "`'\"*_()[]{}<>,.;:!?’“”"
_HOST_SLUG: Final = re.compile(
    r"\b(?:github|gitlab|bitbucket):([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})"
)
_HOSTS: Final = ("github", "gitlab", "bitbucket", "codeberg")
_REPO_PATTERNS: Final = (
    (_URL_REPO, _HOSTS),
    (_API_REPO, ("repos/",)),
    (_GH_REPO, ("--repo", "-R ")),
    (_HOST_SLUG, ("github:", "gitlab:", "bitbucket:")),
)
_RESERVED: Final = frozenset(
    {
        "orgs", "features", "settings", "marketplace", "sponsors", "topics", "explore",
        "about", "pricing", "login", "join", "search", "notifications", "apps", "enterprise",
        "contact", "security", "site", "collections", "trending", "users",
    }
)  # fmt: skip
_REPO_WORD: Final = re.compile(
    r"\b(?:repo(?:sitory)?|fork|clone[ds]?)(?: (?:is|of|at|named|called|to|from|in))?[ :`'\"*(\[]{1,4}$",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![\w&/#.-])#([1-9]\d{0,6})(?![\w-]|\.\d)")
_NUMBER_WORD: Final = re.compile(
    r"(?<![\w.-])(pull requests?|PRs?|merge requests?|MRs?|issues?|tickets?|bugs?|GH(?=-))"
    r"(?: (?:number |no\.? ?)?|-|(?=#)|(?=!))[`*(]{0,3}[#!]?([1-9]\d{0,6})(?![\w.%]|-\w)"
    r"(?: ?(?:,|and|&|/) ?#([1-9]\d{0,6}))?",
    re.IGNORECASE,
)
_NUMBER_HINT: Final = re.compile(
    r"(?:pr|request|mr|issue|ticket|bug|gh)s?[ -]?(?:number |no\.? ?|#|!)?[`*(]{0,3}#?\d"
)
_PR_WORDS: Final = ("pull", "pr", "merge", "mr")
_OTHER_NUMBER: Final = re.compile(
    r"(?:\b(?:comment|step|option|item|point|phase|task|test|section|number|layer|question|rule|round"
    r"|scenario|case|part|problem|finding|no\.?|line|page|chapter|version|attempt|priority|choice"
    r"|idea|approach|reason|example|figure|table|note|goal|requirement|day|week|todo|thread|player"
    r"|channel|slide|version|colou?r|background|fill|stroke|border)s?:? ?[*_`(]{0,3})$",
    re.IGNORECASE,
)
_CSS: Final = re.compile(
    r"(?:colou?r|background|fill|stroke|border|shadow)[\w-]*\s*[:=]\s*[\"']?$", re.I
)
_ISSUE_BEFORE: Final = re.compile(
    r"\b(?:issues?|tickets?|bugs?|closes?|closed|fix(?:es|ed)?|resolves?|resolved|refs?)[ :*_`(\[]{0,4}$",
    re.IGNORECASE,
)
_GIT_COMMITTED: Final = re.compile(
    r"^\[(?P<branch>[^\]\s]+(?: \(root-commit\))?) ([0-9a-f]{7,40})\] ", re.MULTILINE
)
_GIT_PUSHED: Final = re.compile(
    r"^ {1,3}[+ ]? ?[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40}) +(\S+) +-> ", re.MULTILINE
)
_GIT_KNOWN: Final = re.compile(
    r"^(?:commit |\* |[|\\/* ]{0,8}|HEAD is now at |Merge: |[\w./-]{1,200} +)?([0-9a-f]{7,40})\b"
    r"|\b([0-9a-f]{7,40})\.{2,3}([0-9a-f]{7,40})\b|headSha\":\"([0-9a-f]{40})",
    re.MULTILINE,
)
_GIT_ARGUMENT: Final = re.compile(
    r"\bgit (?:-C \S+ )?(?:show|log|diff|checkout|cherry-pick|revert|reset|rebase|merge|branch|tag)\b"
    r"[^\n;|&]{0,80}?[ .~^]([0-9a-f]{7,40})\b"
)
_AIDER_COMMIT: Final = re.compile(r"^Commit ([0-9a-f]{7,40}) \S", re.MULTILINE)
_NEW_BRANCH: Final = re.compile(
    r"\bgit (?:-C \S+ )?(?:checkout -[bB]|switch -[cC]|worktree add -b|branch)\s+[\"']?(\w[\w./-]{0,200})"
)
_GH_ACTS: Final = re.compile(
    r"\b(?:gh|glab) (pr|mr|issue) (?:view|checkout|merge|comment|edit|close|reopen|diff|review|checks"
    r"|ready|develop|pin) (?:-\S+ )*[\"']?#?([1-9]\d{0,6})\b|\brepos/[^/\s]+/[^/\s]+/(pulls|issues)/"
    r"([1-9]\d{0,6})\b"
)
_SAID_BRANCH: Final = re.compile(r"\b[Bb]ranch(?: is| named| called|:\**)? `([\w./-]{1,200})`")
_GIT: Final = re.compile(r"\b(?:git|gh|glab|hub)\b")
_SCRATCH_REPO: Final = re.compile(r"\bgit init\b|\bmktemp\b")
_CREATES: Final = re.compile(
    r"\b(?:gh|glab|hub) (?:pr|issue|mr|release|repo|gist) (?:create|new|merge)\b"
)


class _Refs:
    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}

    def add(self, role: str, value: str) -> None:
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


def find_refs(
    view: RoundView, speech: Sequence[Speech], notices: Iterable[str]
) -> dict[str, list[str]]:
    """Values by role, in the order met: said first, then made."""
    refs = _Refs()
    evidence = _Evidence(view)
    texts = [s.text for s in speech]
    texts += list(notices)
    for text in texts:
        _said(text, refs, evidence)
    _made(view, refs)
    return refs.result()


class _Evidence:
    """What git and the hosting tools printed in the round, looked at only when asked."""

    def __init__(self, view: RoundView) -> None:
        self._runs = [r for r in view.runs if r.script and _names_git(r.script[:2000])]
        self._commits: set[str] | None = None
        self._repos: set[str] | None = None

    def is_commit(self, value: str) -> bool:
        if self._commits is None:
            self._commits = set()
            for run in self._runs:
                self._commits.update(_GIT_ARGUMENT.findall(run.script[:4000]))
                if any(word in run.script for word in _GIT_LISTS):
                    for match in _GIT_KNOWN.finditer(run.output[:200_000]):
                        self._commits.update(g for g in match.groups() if g)
        return value in self._commits or any(
            c.startswith(value) or value.startswith(c) for c in self._commits
        )

    def is_repo(self, slug: str) -> bool:
        if self._repos is None:
            self._repos = set()
            for run in self._runs:
                for text in (run.script[:20_000], run.output[:20_000]):
                    self._repos.update(repos_in(text))
        return slug in self._repos


_GIT_LISTS: Final = ("log", "commit", "push", "merge", "pull", "rebase", "reflog", "rev-parse", "show",
                     "cherry", "reset", "worktree", "branch", "checkout", "ls-remote", "gh ",
                     "bisect", "revert", "describe", "cat-file", "status", "stash", "fetch")  # fmt: skip


def _names_git(script: str) -> bool:
    return any(word in script for word in ("git", "gh ", "glab", "hub ")) and (
        _GIT.search(script) is not None
    )


def _said(text: str, refs: _Refs, evidence: _Evidence) -> None:
    for role, value in scan_identifiers(text):
        refs.add(role, value)
        if role == "url":
            _from_url(value, refs)
    for slug in repos_in(text):
        refs.add("repo", slug)
    if "/" in text:
        _said_repos(text, refs, evidence)
    _said_numbers(text, refs)
    _said_commits(text, refs, evidence)
    if "ranch" in text:
        for match in _SAID_BRANCH.finditer(text):
            refs.add("branch", match[1])


def _from_url(url: str, refs: _Refs) -> None:
    for match in _URL_COMMIT.finditer(url):
        refs.add("commit", match[1])
    if number := _URL_NUMBER.search(url):
        refs.add("issue" if number[1] == "issues" else "pr", f"#{number[2]}")


def repos_in(text: str) -> Iterator[str]:
    """owner/repo of every address of a code host in `text`."""
    if "/" not in text:
        return
    for pattern, needles in _REPO_PATTERNS:
        if not any(needle in text for needle in needles):
            continue
        for match in pattern.finditer(text):
            if slug := _slug(match[1], match[2]):
                yield slug


def _slug(owner: str, name: str) -> str:
    name = name.rstrip(".").removesuffix(".git")
    if not name or owner.lower() in _RESERVED or owner.lower() in ("repos", "api"):
        return ""
    return f"{owner}/{name}"


def _said_repos(text: str, refs: _Refs, evidence: _Evidence) -> None:
    for token in text.split():
        if "/" not in token or not (match := _SLUG.fullmatch(token.strip(_AROUND))):
            continue
        slug = _slug(match[1], match[2])
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


def _said_numbers(text: str, refs: _Refs) -> None:
    marked = "#" in text
    worded = _NUMBER_HINT.search(text.lower()) is not None
    strong: set[str] = set()
    others: set[str] = set()
    for match in islice(_NUMBER_WORD.finditer(text), _MAX_CANDIDATES) if worded else ():
        word = match[1].lower()
        marked_here = "#" in match[0] or "!" in match[0]
        if not marked_here and (
            word.endswith("s") or (match[0][len(word)] == "-" and word != "gh")
        ):
            continue
        if _enumerates(text, match.start(), match.end()):
            others.add(match[2])
            continue
        role = "pr" if word.startswith(_PR_WORDS) else "issue"
        for number in (match[2], match[3]):
            if number:
                strong.add(number)
                refs.add(role, f"#{number}")
    for match in islice(_NUMBER.finditer(text), _MAX_CANDIDATES) if marked else ():
        before = text[max(0, match.start() - 40) : match.start()]
        number = match[1]
        if (
            number in others
            or number in strong
            or ("pr", f"#{number}") in refs
            or ("issue", f"#{number}") in refs
        ):
            continue
        if _OTHER_NUMBER.search(before) or _CSS.search(before):
            continue
        issue = _ISSUE_BEFORE.search(before) is not None
        if len(number) == 1 and not issue:
            continue
        refs.add("issue" if issue else "pr", f"#{number}")


def _enumerates(text: str, start: int, end: int) -> bool:
    """Whether a number heads a list of findings: a line that begins with `Issue #1:`."""
    line_start = text.rfind("\n", 0, start) + 1
    before = text[line_start:start].strip(" #*-\t")
    return not before and text[end : end + 3].lstrip("*` ")[:1] in (":", "—", "-", ".", ")")


def _said_commits(text: str, refs: _Refs, evidence: _Evidence) -> None:
    for match in islice(_HEX.finditer(text), _MAX_CANDIDATES):
        value = match[0]
        if ("commit", value) in refs:
            continue
        before = text[max(0, match.start() - 100) : match.start()]
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


def _made(view: RoundView, refs: _Refs) -> None:
    for message in view.messages:
        if "Commit " in message.text:
            for match in _AIDER_COMMIT.finditer(message.text):
                refs.add("commit", match[1])
    for run in view.runs:
        if run.script and run.completed and not run.refused:
            _made_by(run, refs)


def _made_by(run: ToolRun, refs: _Refs) -> None:
    script = run.script
    if not _names_git(script[:20_000]):
        return
    output = run.output[:200_000]
    if not _SCRATCH_REPO.search(script):
        for match in _GIT_COMMITTED.finditer(output):
            refs.add("commit", match[2])
            branch = match["branch"].split(" ", 1)[0]
            if branch != "detached":
                refs.add("branch", branch)
        for match in _GIT_PUSHED.finditer(output):
            refs.add("commit", match[1])
            refs.add("branch", match[2])
        for match in _NEW_BRANCH.finditer(script[:4000]):
            refs.add("branch", match[1])
    if _CREATES.search(script) and not run.failed:
        for url in find_urls(output[-4000:]):
            if _URL_NUMBER.search(url):
                refs.add("url", url)
                _from_url(url, refs)
                for slug in repos_in(url):
                    refs.add("repo", slug)
    if run.failed or ("gh " not in script and "glab " not in script):
        return
    for match in _GH_ACTS.finditer(script[:4000]):
        role = "issue" if "issue" in (match[1] or match[3]) else "pr"
        refs.add(role, f"#{match[2] or match[4]}")
    for pattern in (_GH_REPO, _API_REPO):
        for owner, name in pattern.findall(script[:4000]):
            if slug := _slug(owner, name):
                refs.add("repo", slug)
