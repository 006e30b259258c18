"""Refs by context: what was named or made, whole; shapes that only look like one stay out."""

from __future__ import annotations

import pytest

SHA = "4f9c2d7e81b3a5069cde12f47780ab93dd5e6c1f"

SAID = [
    ("Fixed in commit 4f9c2d7.", {"commit": ["4f9c2d7"]}),
    ("Committed as `4f9c2d7e` and pushed.", {"commit": ["4f9c2d7e"]}),
    ("The merge commit `f9d5e461` did it", {"commit": ["f9d5e461"]}),
    (
        f"See https://github.com/acme/shop/commit/{SHA}.",
        {
            "commit": [SHA],
            "url": [f"https://github.com/acme/shop/commit/{SHA}"],
            "repo": ["acme/shop"],
        },
    ),
    (
        f"at https://github.com/acme/shop/blob/{SHA}/a.py#L3",
        {
            "commit": [SHA],
            "url": [f"https://github.com/acme/shop/blob/{SHA}/a.py#L3"],
            "repo": ["acme/shop"],
        },
    ),
    ("PR #142 and issue #9", {"pr": ["#142"], "issue": ["#9"]}),
    ("pull request 77 is merged", {"pr": ["#77"]}),
    ("This closes #950", {"issue": ["#950"]}),
    ('Updated **#191 - "Keep it"**', {"pr": ["#191"]}),
    ("acme/shop#31 has it", {"repo": ["acme/shop"], "issue": ["#31"]}),
    ("see (https://example.org/a_(b)).", {"url": ["https://example.org/a_(b)"]}),
    (
        "**https://example.org/x**, https://example.org/yhttps://example.org/z",
        {"url": ["https://example.org/x", "https://example.org/y", "https://example.org/z"]},
    ),
    (
        "https://github.com/acme/shop/pull/12",
        {"pr": ["#12"], "url": ["https://github.com/acme/shop/pull/12"], "repo": ["acme/shop"]},
    ),
    (
        "resume 5be07c12-93fd-4e6a-b1c8-07d2f4a9e635 now",
        {"uuid": ["5be07c12-93fd-4e6a-b1c8-07d2f4a9e635"]},
    ),
    (
        "listens on 10.0.0.7:6379 and localhost:3000",
        {"ip_port": ["10.0.0.7:6379", "localhost:3000"]},
    ),
    ("the host 192.168.1.20 is down", {"ip": ["192.168.1.20"]}),
    ("db.example.com:5432 refuses", {"ip_port": ["db.example.com:5432"]}),
    ("the repo `acme/shop` is private", {"repo": ["acme/shop"]}),
    ("push to github:acme/shop-private", {"repo": ["acme/shop-private"]}),
    ("Worktree **branch:** on branch `fix/login`", {"branch": ["fix/login"]}),
]

TRAPS = [
    "the session 0a93878f is stale",
    "container bcd3959393a1 stopped, checkpoint a1b2c3d4e5f6 kept",
    'too long (e.g., "f6e5d4c3b2a1987")',
    "color: #888; background: #1a2b3c",
    "class pr-16 and mt-2",
    "comment #6 and step #2, option #3",
    "page.tsx:32 and setup_test.go:551",
    "deadbeef and defaced and 1234567",
    "version 1.2.3.4 of the OID 1.2.840.10008.1.2",
    "src/lib and and/or, feat/tides and cmd/kiln/cli",
    "uuid piece 882f-3cd8",
    "in 2026-01-15T12:00:00 at 10:30",
    "https://",
    "Issue #1: the first finding",
]


@pytest.mark.parametrize(("text", "refs"), SAID)
def test_what_was_said_is_kept_whole_by_role(script, text, refs) -> None:
    assert script.user(text).done().refs() == refs


@pytest.mark.parametrize("text", TRAPS)
def test_what_only_looks_like_a_ref_is_none(script, text) -> None:
    assert script.user(text).done().refs() == {}


def test_a_bare_hash_counts_once_git_printed_it_as_a_commit(script) -> None:
    script.user("what is in 4f9c2d7?").shell(
        "git log --oneline -2", "4f9c2d7 Add login\n11aa22b Init", 0
    )

    assert script.done().refs() == {"commit": ["4f9c2d7"]}


def test_all_digit_commits_count_when_git_made_them(script) -> None:
    script.shell("git commit -m x", "[main 1234567] x\n 1 file changed", 0)

    assert script.done().refs() == {"commit": ["1234567"], "branch": ["main"]}


def test_a_listing_nobody_talks_about_is_not_kept(script) -> None:
    script.shell("git log --oneline", "4f9c2d7 Add login (#12)\n11aa22b Init", 0)
    script.shell("git diff", "index 5d1c07b9e..c2a4e6f80 100644", 0)

    assert script.done().refs() == {}


def test_what_the_round_made_is_kept(script) -> None:
    push = "To https://github.com/acme/shop.git\n   4afc7ae8..c1a49bf0  login -> login"
    script.shell("git push origin login 2>&1 | tail -3", push, 0)
    script.shell("gh pr create --fill", "https://github.com/acme/shop/pull/33", 0)

    assert script.done().refs() == {
        "commit": ["c1a49bf0"],
        "pr": ["#33"],
        "url": ["https://github.com/acme/shop/pull/33"],
        "repo": ["acme/shop"],
        "branch": ["login"],
    }


def test_commits_of_a_scratch_repository_are_not_kept(script) -> None:
    script.shell("cd /tmp && git init && git commit -m x", "[main (root-commit) 967fe65] x", 0)

    assert script.done().refs() == {}


def test_a_short_commit_gives_way_to_its_whole_one(script) -> None:
    script.user("commit 4f9c2d7").assistant(f"That is commit {SHA}.")

    assert script.done().refs() == {"commit": [SHA]}


def test_a_slug_counts_once_an_address_proves_it(script) -> None:
    script.shell("git remote -v", "origin\tgit@github.com:acme/shop.git (fetch)", 0)

    assert script.assistant("`acme/shop` has two branches").done().refs() == {"repo": ["acme/shop"]}


@pytest.mark.parametrize(
    "injected",
    [
        "<system-reminder>see PR #41</system-reminder>go on",
        "This session is being continued from a previous conversation. PR #41",
        "# AGENTS.md instructions for /repo\nPR #41",
    ],
)
def test_injected_text_is_nobodys_word(script, injected) -> None:
    assert script.user(injected).done().refs() == {}


def test_text_that_tools_show_is_not_said(script) -> None:
    script.call("Read", {"file_path": "a.md"}, "PR #41, https://example.org, commit 4f9c2d7")

    assert script.done().refs() == {}


PASSAGES = [
    ("请看https://acme.io/x。谢谢", {"url": ["https://acme.io/x"]}),
    ("（https://acme.io/x）", {"url": ["https://acme.io/x"]}),
    ("regression since 1a2b3c4", {"commit": ["1a2b3c4"]}),
    ("diff between commits 1a2b3c4..5d6e7f8", {"commit": ["1a2b3c4", "5d6e7f8"]}),
    ("Commits: 6289e2b, 7a8b9c0 and 8b9c0d1", {"commit": ["6289e2b", "7a8b9c0", "8b9c0d1"]}),
    ("| `6289e2b` | fix: the parser |", {"commit": ["6289e2b"]}),
    ("push it to the feat/x-1 branch", {"branch": ["feat/x-1"]}),
    (
        "https://github.com/a/b/compare/1a2b3c4...5d6e7f8",
        {
            "commit": ["1a2b3c4", "5d6e7f8"],
            "url": ["https://github.com/a/b/compare/1a2b3c4...5d6e7f8"],
            "repo": ["a/b"],
        },
    ),
    ("merge PRs #12, #13 and #14", {"pr": ["#12", "#13", "#14"]}),
    ("use #888888 and #1a2b3c", {}),
    ("the color is #888", {}),
    ("agent 1a2b3c4 finished since then", {}),
    ("index 1a2b3c4..5d6e7f8 100644", {}),
]


@pytest.mark.parametrize(("text", "refs"), PASSAGES)
def test_what_is_said_is_referred_to_whole(script, text, refs) -> None:
    assert script.user(text).done().refs() == refs


def test_a_pull_request_that_a_tool_opened_is_made_by_the_round(script) -> None:
    output = (
        '{"url":"https://api.github.com/repos/acme/kiln/pulls/44",'
        '"html_url":"https://github.com/acme/kiln/pull/44"}'
    )
    script.user("open it").call("mcp__github__create_pull_request", {"title": "x"}, output)

    assert script.done().refs() == {
        "pr": ["#44"],
        "url": ["https://github.com/acme/kiln/pull/44"],
        "repo": ["acme/kiln"],
    }


def test_a_new_branch_on_the_remote_is_made_by_the_round(script) -> None:
    script.shell("git push -u origin feat/x", " * [new branch]      feat/x -> feat/x", 0)

    assert script.done().refs() == {"branch": ["feat/x"]}
