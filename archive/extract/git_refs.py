"""Pure. Commits, branches, pull requests and issues that git and the hosts' tools show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from archive.identifiers import find_urls
from archive.prefilter import Hinted, has_any

from .refs import URL_NUMBER, Refs, add_url
from .repos import may_hold_repos, repos_called, repos_in
from .tool_run import ToolRun
from .view import RoundView

_SHORT: Final = 7  # letters of the shortest commit name
_GIT_COMMITTED: Final = re.compile(
    r"^\[(?P<branch>[^\]\s]+(?: \(root-commit\))?) ([0-9a-f]{7,40})\] ", re.MULTILINE
)
_GIT_PUSHED: Final = re.compile(
    r"^ {1,3}[+ ]? ?[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40}) +(\S+) +-> "
    r"|^ \* \[new branch\] +(\S+) +-> ",
    re.MULTILINE,
)
_GIT_KNOWN: Final = re.compile(
    r"^(?:commit |\* |[|\\/* ]{0,8}|HEAD is now at |Merge: |[\w./-]{1,200} +)?([0-9a-f]{7,40})\b"
    r"|\b([0-9a-f]{7,40})\.{2,3}([0-9a-f]{7,40})\b|headSha\":\"([0-9a-f]{40})",
    re.MULTILINE,
)
_GIT_ARGUMENT: Final = re.compile(
    r"\bgit (?:-C \S+ )?(?:show|log|diff|checkout|cherry-pick|revert|reset|rebase|merge|branch"
    r"|tag)\b[^\n;|&]{0,80}?[ .~^]([0-9a-f]{7,40})\b"
)
# Words of commands whose output shows commits.
_GIT_LISTS: Final = (
    "log", "commit", "push", "merge", "pull", "rebase", "reflog", "rev-parse", "show", "cherry",
    "reset", "worktree", "branch", "checkout", "ls-remote", "gh ", "bisect", "revert", "describe",
    "cat-file", "status", "stash", "fetch",
)  # fmt: skip
_AIDER_COMMIT: Final = re.compile(r"^Commit ([0-9a-f]{7,40}) \S", re.MULTILINE)
_NEW_BRANCH: Final = re.compile(
    r"\bgit (?:-C \S+ )?(?:checkout -[bB]|switch -[cC]|worktree add -b"
    r"|branch)\s+[\"']?(\w[\w./-]{0,200})"
)
_BRANCHING: Final = ("checkout -", "switch -", "worktree add -b", "branch")
_GH_ACTS: Final = re.compile(
    r"\b(?:gh|glab) (pr|mr|issue) (?:view|checkout|merge|comment|edit|close|reopen|diff|review"
    r"|checks|ready|develop|pin) (?:-\S+ )*[\"']?#?([1-9]\d{0,6})\b"
    r"|\brepos/[^/\s]+/[^/\s]+/(pulls|issues)/([1-9]\d{0,6})\b"
)
_OPENS: Final = re.compile(r"(?:create|open|merge)_(?:pull_request|merge_request|issue|pr)$")
_GIT: Final = re.compile(r"\b(?:git|gh|glab|hub)\b")
_SCRATCH_REPO: Final = Hinted("git init|mktemp", r"\bgit init\b|\bmktemp\b", re.NOFLAG)
_CREATES: Final = Hinted(
    " create| new| merge",
    r"\b(?:gh|glab|hub) (?:pr|issue|mr|release|repo|gist) (?:create|new|merge)\b",
    re.NOFLAG,
)


class GitEvidence:
    """What git and the hosting tools printed in the round, looked at only when asked."""

    def __init__(self, view: RoundView) -> None:
        self._view = view
        self._commits: dict[str, set[str]] | None = None
        self._repos: set[str] | None = None

    def is_commit(self, value: str) -> bool:
        """Whether git showed `value`, or a longer or shorter form of it, as a commit."""
        if self._commits is None:
            self._commits = {}
            for commit in self._shown_commits():
                self._commits.setdefault(commit[:_SHORT], set()).add(commit)
        alike = self._commits.get(value[:_SHORT], ())
        return any(c.startswith(value) or value.startswith(c) for c in alike)

    def _runs(self) -> Iterator[ToolRun]:
        return (r for r in self._view.runs if r.script and _names_git(r.script[:2000]))

    def _shown_commits(self) -> Iterator[str]:
        for run in self._runs():
            yield from _GIT_ARGUMENT.findall(run.script[:4000])
            if has_any(run.script, _GIT_LISTS):
                for match in _GIT_KNOWN.finditer(run.output[:200_000]):
                    yield from (group for group in match.groups() if group)

    def is_repo(self, slug: str) -> bool:
        """Whether a command or its output named `slug` as a repository of a host."""
        texts = self._git_texts
        if self._repos is None and any(slug in text for text in texts):
            self._repos = {repo for text in texts for repo in repos_in(text)}
        return self._repos is not None and slug in self._repos

    @cached_property
    def may_name_repos(self) -> bool:
        """Whether any command or output could have named one."""
        return any(map(may_hold_repos, self._git_texts))

    @cached_property
    def _git_texts(self) -> list[str]:
        heads = ((run.script[:20_000], run.output[:20_000]) for run in self._runs())
        return [text for head in heads for text in head if "/" in text]


def add_made(view: RoundView, refs: Refs) -> None:
    """Keep what the round's own commands committed, pushed, opened or worked on."""
    for message in view.messages:
        if "Commit " in message.text:
            for match in _AIDER_COMMIT.finditer(message.text):
                refs.add("commit", match[1])
    for run in view.runs:
        if run.script and run.completed and not run.refused:
            _made_by(run, refs)
        elif _OPENS.search(run.tool) and run.completed and not run.failed:
            _opened(run.output[:20_000], refs)


def _made_by(run: ToolRun, refs: Refs) -> None:
    script = run.script
    if not _names_git(script[:20_000]):
        return
    output = run.output[:200_000]
    if not _SCRATCH_REPO.search(script):
        for match in _GIT_COMMITTED.finditer(output) if "] " in output else ():
            refs.add("commit", match[2])
            branch = match["branch"].split(" ", 1)[0]
            if branch != "detached":
                refs.add("branch", branch)
        for match in _GIT_PUSHED.finditer(output) if " -> " in output else ():
            if match[1]:
                refs.add("commit", match[1])
            refs.add("branch", match[2] or match[3])
        for match in _NEW_BRANCH.finditer(script[:4000]) if has_any(script, _BRANCHING) else ():
            refs.add("branch", match[1])
    if _CREATES.search(script) and not run.failed:
        _opened(output[-4000:], refs)
    if run.failed or ("gh " not in script and "glab " not in script):
        return
    for match in _GH_ACTS.finditer(script[:4000]):
        role = "issue" if "issue" in (match[1] or match[3]) else "pr"
        refs.add(role, f"#{match[2] or match[4]}")
    for slug in repos_called(script[:4000]):
        refs.add("repo", slug)


def _opened(output: str, refs: Refs) -> None:
    """Keep the pull request or issue whose address a call that opened it printed."""
    for url in find_urls(output):
        if URL_NUMBER.search(url) and "api." not in url:
            refs.add("url", url)
            add_url(url, refs)
            for slug in repos_in(url):
                refs.add("repo", slug)


def _names_git(script: str) -> bool:
    hinted = "git" in script or "gh " in script or "glab" in script or "hub " in script
    return hinted and _GIT.search(script) is not None
