"""The query language and the filters."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from archive.failures import InvalidQuery
from archive.places import ArchivedRound, Place, StreamFolder
from archive.recall.query import (
    Filters,
    failed_checks,
    matches,
    parse_pattern,
    parse_query,
    parse_when,
)
from archive.record import Check, FileChange, RoundRecord, Verdict

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
RECORD = RoundRecord(
    7,
    "fix",
    "Made the parser (a+)+$ robust",
    files=(FileChange("src/app/[id]/page.tsx", 4, 1, "escape the pattern"),),
    verdict=Verdict(go_test="pass", checks=(Check("test", "pytest", "pass"),)),
    todos=("TODO: measure it",),
    decisions=("We keep one writer per stream.",),
    refs={"pr": "#142, #15", "commit": "deadbeefcafe", "repo": "owner/repo"},
    stream_id="session-42",
    error="late failure",
    started_at=NOW - timedelta(hours=1),
    ended_at=NOW,
    events_digest="feed" * 16,
)


def found(record: RoundRecord = RECORD, **raw: object) -> ArchivedRound:
    place = Place(StreamFolder("default", ("default", "session-42"), "session-42"), record.round)
    return ArchivedRound(place, record.stream_id, record, raw)


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("one two", ("one", "two")),
        ('"one two" three', ("one two", "three")),
        ('say "hi', ("say", '"hi')),
        ('a"b c"', ('a"b', 'c"')),
        ("(a+)+$", ("(a+)+$",)),
        ("-v .* [", ("-v", ".*", "[")),
        ("Fox FOX", ("fox",)),
        ('"  "', ("  ",)),
    ],
)
def test_words_are_literal_and_quotes_make_a_phrase(text, needles):
    assert parse_query(text).needles == needles


@pytest.mark.parametrize("text", ["", "  ", "\n", "x\udcff"])
def test_an_empty_text_is_refused_and_bytes_that_are_none(text):
    with pytest.raises(InvalidQuery):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "parser",
        "PARSER robust",
        "page.tsx",
        "escape pytest",
        "todo one",
        "#142",
        "session-42",
        "late failure",
        "(a+)+$",
        "x" * 1_000_000 + " or",
    ],
)
def test_every_word_has_to_be_somewhere_in_the_round(text):
    assert matches(parse_query(text), found()) == (len(text) < 100)


@pytest.mark.parametrize("text", ["feedfeed", "2026-03", '"one writer" two', "parserrobust"])
def test_digests_and_times_are_not_looked_in_and_words_not_joined(text):
    assert not matches(parse_query(text), found())


def test_a_phrase_is_not_found_across_two_fields():
    assert not matches(parse_query('"late failure todo"'), found())


def test_text_in_fields_we_do_not_know_is_found():
    assert matches(parse_query("grumpy"), found(mood={"words": ["grumpy", 3]}))


def test_a_pattern_ignores_case_and_matches_line_by_line():
    record = replace(RECORD, summary="first\nSecond line")
    assert matches(parse_pattern("^second LINE$"), found(record))
    assert not matches(parse_pattern("^line"), found(record))


@pytest.mark.parametrize("text", ["", "(", "[", "*", "\udcff", "(?P<x", "a{99999999999999999999}"])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(InvalidQuery):
        parse_pattern(text)


@pytest.mark.parametrize(
    ("filters", "accepted"),
    [
        (Filters(), True),
        (Filters(streams=("session-42", "x")), True),
        (Filters(streams=("session-4",)), False),
        (Filters(action="fix", outcome="completed"), True),
        (Filters(action="plan"), False),
        (Filters(outcome="failed"), False),
        (Filters(failed=True), False),
        (Filters(file="[id]/PAGE"), True),
        (Filters(file="*.tsx"), True),
        (Filters(file="page.ts?"), True),
        (Filters(file="*.ts"), False),
        (Filters(ref="#142"), True),
        (Filters(ref="142"), True),
        (Filters(ref="#14"), False),
        (Filters(ref="#1"), False),
        (Filters(ref="deadbeef"), True),
        (Filters(ref="dead"), False),
        (Filters(ref="owner"), True),
        (Filters(since=NOW, until=NOW), True),
        (Filters(since=NOW + timedelta(seconds=1)), False),
        (Filters(until=NOW - timedelta(seconds=1)), False),
    ],
)
def test_a_filter_accepts_what_it_says(filters, accepted):
    assert filters.accept(found()) is accepted


def test_a_round_that_names_no_time_passes_no_filter_of_time():
    undated = found(replace(RECORD, ended_at=None))
    assert Filters().accept(undated)
    assert not Filters(since=datetime(1970, 1, 1, tzinfo=UTC)).accept(undated)
    assert not Filters(until=NOW).accept(undated)


@pytest.mark.parametrize(
    ("verdict", "failing"),
    [
        (Verdict(), []),
        (Verdict(go_test="pass", go_lint="skip"), []),
        (Verdict(go_test="fail", go_lint="3 issues"), ["go_lint", "go_test"]),
        (Verdict(checks=(Check("test", "go test", "fail"), Check("lint", "", "2 issues"))),
         ["go test", "lint"]),
        (Verdict(go_test="fail", checks=(Check("test", "go test", "fail"),)), ["go test"]),
    ],
)  # fmt: skip
def test_failing_checks_are_named_once(verdict, failing):
    assert failed_checks(verdict) == failing
    record = replace(RECORD, verdict=verdict)
    assert Filters(failed=True).accept(found(record)) is bool(failing)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T14:00", datetime(2026, 1, 31, 14, tzinfo=UTC)),
        ("2026-01-31T14:00+02:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("90m", NOW - timedelta(minutes=90)),
        ("12h", NOW - timedelta(hours=12)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
    ],
)
def test_times_are_dates_or_ages(text, moment):
    assert parse_when(text, now=NOW) == moment


def test_a_date_as_an_end_includes_its_day():
    end = parse_when("2026-01-31", now=NOW, end=True)
    assert end == datetime(2026, 1, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert parse_when("2026-01-31T14:00", now=NOW, end=True).hour == 14


@pytest.mark.parametrize("text", ["", "yesterday", "7y", "2026-13-01", "999999w", "-1d"])
def test_other_times_are_refused(text):
    with pytest.raises(InvalidQuery):
        parse_when(text, now=NOW)
