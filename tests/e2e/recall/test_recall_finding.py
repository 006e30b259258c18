"""Recall by command: which rounds are found, by text and by filter, with an index or without."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from archive.record import Check, FileChange, Verdict
from support.command_line import Command
from support.rounds import a_round


def test_the_newest_come_first_and_a_limit_keeps_these(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(*(a_round(number) for number in (1, 2, 3)))
    rounds = [record["round"] for record in recall("query", "round", "--json").json]
    assert rounds == [3, 2, 1]
    assert [line["round"] for line in recall("list", "--limit", "2", "--json").json] == [3, 2]


def test_nothing_found_is_a_no_with_an_empty_array(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1))
    text, exact = recall("query", "absent"), recall("query", "absent", "--json")
    assert (text.code, text.out, text.err) == (1, "", "No round fits.\n")
    assert (exact.code, exact.json) == (1, [])


@pytest.mark.parametrize("text", ["(", "[", ".*", "a.c", "\\d", "*", "$x", "%s", "'", "NUL OR"])
def test_the_text_is_taken_literally(
    recall: Command, archive: Callable[..., None], text: str
) -> None:
    archive(a_round(1, summary=f"has {text} in it"), a_round(2, summary="abc 123 everything"))
    found = recall("query", text, "--json").json
    assert [record["round"] for record in found] == [1]


def test_text_that_looks_like_an_option_follows_two_dashes(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1, summary="run with --force and -v"))
    assert recall("query", "--", "--force", "-v").code == 0
    refused = recall("query", "--force")
    assert refused.code == 2
    assert "Write -- before text that begins with a dash." in refused.err


@pytest.mark.parametrize("args", [("",), ("  ",), ("--regex", "("), ("--regex", "")])
def test_what_is_no_query_is_refused(
    recall: Command, archive: Callable[..., None], args: tuple[str, ...]
) -> None:
    archive(a_round(1))
    assert recall("query", *args).code == 2


def test_bytes_that_are_no_text_are_refused_or_found_nowhere(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1))
    for options in ((), ("--regex",)):
        done = recall("query", "x\udcff", *options)
        assert (done.code, "no UTF-8" in done.err) == (2, True)
    for option in ("--file", "--ref", "--stream"):
        assert recall("list", option, "x\udcff").code == 1
        assert recall("list", option, "x\udcff", "--no-index").code == 1
    for args in (("timeline", "\udcff"), ("round", "1", "--stream", "\udcff")):
        assert recall(*args).code == 1


def test_a_pattern_that_never_ends_is_stopped(
    recall: Command, archive: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archive.recall.guard.MATCH_SECONDS", 0.2)
    archive(a_round(1, summary="a" * 60 + "!"))
    answer = recall("query", "--regex", "(a+)+$")
    assert answer.code == 2
    assert "takes more than" in answer.err


def test_filters_narrow_down(recall: Command, archive: Callable[..., None]) -> None:
    archive(
        a_round(1, files=(FileChange("src/a.py"),), refs={"commit": "0123456789abcdef"}),
        a_round(2, action="plan", outcome="failed"),
        a_round(3, "t", verdict=Verdict(checks=(Check("lint", "ruff", "2 issues"),))),
    )

    def found(*args: str) -> list[int]:
        answer = recall("list", "--json", *args)
        assert answer.code == (0 if answer.json else 1)
        return [line["round"] for line in answer.json]

    assert found("--stream", "t") == [3]
    assert found("--stream", "t", "--stream", "s") == [3, 2, 1]
    assert found("--action", "plan") == [2]
    assert found("--outcome", "failed") == [2]
    assert found("--failed") == [3, 2]
    assert found("--file", "a.py") == [1]
    assert found("--ref", "0123456") == [1]
    assert found("--since", "2026-01-02") == [3, 2]
    assert found("--until", "2026-01-02") == [2, 1]
    assert found("--since", "2026-01-03T12:00:01Z") == []
    assert recall("list", "--since", "soon").code == 2


def test_tenants_are_a_filter_and_named_where_not_the_default(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1), a_round(2, tenant_id="acme"))
    assert "tenant acme" in recall("query", "round").out
    assert "acme/s #2" in recall("list").out
    (only,) = recall("list", "--tenant", "acme", "--json").json
    assert (only["tenant_id"], only["round"]) == ("acme", 2)
    (only,) = recall("list", "--tenant", "default", "--json").json
    assert (only["tenant_id"], only["round"]) == ("default", 1)


def test_answers_are_the_same_without_the_index(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(*(a_round(number, summary=f"日本 round {number}") for number in range(1, 9)))
    for args in (("日本",), ("round", "3"), ("本",)):
        indexed = recall("query", *args, "--json").json
        assert indexed
        assert indexed == recall("query", *args, "--json", "--no-index").json


def test_a_round_that_several_streams_have_needs_a_stream(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1, "a"), a_round(1, "b"), a_round(2, "b"))
    asked = recall("round", "1")
    assert asked.code == 2
    assert "2 streams have a round 1; say --stream: a, b" in asked.err
    assert recall("round", "1", "--stream", "b").json["stream_id"] == "b"
    assert recall("round", "2").json["stream_id"] == "b"


@pytest.mark.parametrize("args", [("7",), ("1", "--stream", "nobody"), ("7", "--stream", "s")])
def test_a_round_nobody_has_is_a_no(
    recall: Command, archive: Callable[..., None], args: tuple[str, ...]
) -> None:
    archive(a_round(1))
    assert recall("round", *args).code == 1
