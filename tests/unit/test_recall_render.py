"""Rounds as a person and as a script see them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from archive.places import ArchivedRound, Place, StreamFolder
from archive.recall.query import parse_pattern, parse_query
from archive.recall.render import render_block, render_timeline, to_json
from archive.recall.views import overviews, render_overviews, render_stats, stats, stats_to_dict
from archive.record import Check, FileChange, RoundRecord, Verdict
from archive.record_json import record_to_dict

RECORD = RoundRecord(
    7,
    "fix",
    "Made the parser robust",
    files=(FileChange("src/parse.py", 4, 1, "escape"), FileChange("new.py", 9)),
    verdict=Verdict(checks=(Check("test", "pytest", "pass"), Check("lint", "ruff", "3 issues"))),
    todos=("TODO: measure it",),
    decisions=("We keep one writer.", "Two lines:\nthe second"),
    refs={"pr": "#142", "commit": "deadbeefcafe"},
    stream_id="session-42",
    tenant_id="default",
    outcome="failed",
    error="boom",
    first_version=61,
    last_version=70,
    event_count=10,
    ended_at=datetime(2026, 3, 10, 12, 30, tzinfo=UTC),
    events_digest="ab" * 32,
)


def found(record: RoundRecord = RECORD, tenant: str = "default", **more: object) -> ArchivedRound:
    folder = StreamFolder(tenant, (tenant, record.stream_id), record.stream_id)
    raw = {**record_to_dict(record), **more}
    return ArchivedRound(Place(folder, record.round), record.stream_id, record, raw)


def brackets(kind: str, text: str) -> str:
    return f"<{text}>" if kind == "match" else text


def test_a_block_holds_what_was_decided_changed_and_verified():
    assert render_block(found()) == (
        "round 7  session-42  fix  failed  2026-03-10 12:30\n"
        "  Made the parser robust\n"
        "  files      src/parse.py +4 -1  escape\n"
        "             new.py +9\n"
        "  checks     pytest: pass\n"
        "             ruff: 3 issues\n"
        "  decisions  We keep one writer.\n"
        "             Two lines:\n"
        "             the second\n"
        "  todos      TODO: measure it\n"
        "  refs       pr #142\n"
        "             commit deadbeefcafe\n"
        "  error      boom\n"
    )


def test_matches_are_marked_in_every_field():
    block = render_block(found(), query=parse_query("PAR writer"), style=brackets)
    assert "Made the <par>ser robust" in block
    assert "src/<par>se.py" in block
    assert "We keep one <writer>." in block


def test_matches_of_a_pattern_are_marked():
    block = render_block(found(), query=parse_pattern(r"one \w+"), style=brackets)
    assert "We keep <one writer>." in block


def test_a_pattern_is_marked_in_whatever_form_its_letters_are_written():
    decomposed = replace(RECORD, summary="a cafe\u0301 au lait")
    block = render_block(found(decomposed), query=parse_pattern("caf. au"), style=brackets)
    assert "a <café au> lait" in block


def test_a_match_in_the_name_of_the_stream_is_marked_in_the_headline():
    def tags(kind: str, text: str) -> str:
        return f"<{kind} {text}>" if kind in ("match", "title") else text

    block = render_block(found(), query=parse_query("ession"), style=tags)
    assert block.startswith("<title round 7>  <title s><match ession><title -42>  fix")


def test_what_matches_far_down_a_list_is_shown():
    many = replace(RECORD, todos=tuple(f"todo {n}" for n in range(99)))
    block = render_block(found(many), query=parse_query('todo 70 "do 97"'), style=brackets)
    assert "<todo> 4\n" in block
    assert "<todo> <70>" in block
    assert "<todo 97>" in block, "two matches that overlap are one"
    assert "<todo> 5\n" not in block
    assert "and 92 more" in block
    pattern = render_block(found(many), query=parse_pattern("todo 7[12]"), style=brackets)
    assert "<todo 71>" in pattern
    assert "and 92 more" in pattern


def test_long_lists_are_cut_unless_all_is_asked_for():
    many = replace(RECORD, todos=tuple(f"todo {n}" for n in range(9)))
    assert "and 4 more" in render_block(found(many))
    assert "todo 8" not in render_block(found(many))
    assert "todo 8" in render_block(found(many), full=True)


def test_in_full_a_block_says_where_the_round_stands_and_shows_unknown_fields():
    block = render_block(found(mood={"level": 4}), full=True)
    assert "file default/session-42/round_7.json" in block
    assert "versions 61-70 (10 events), epoch 0" in block
    assert 'mood: {"level": 4}' in block


def test_stored_text_can_neither_drive_the_terminal_nor_pass_for_a_line_of_ours():
    evil = replace(
        RECORD,
        stream_id="s\nround 1  forged",
        summary="\x1b]52;c;x\x07\x1b[2J",
        error="\u202egnp.exe",
        refs={"pr\x1b": "\x9b1"},
    )
    for text in (
        render_block(found(evil), full=True),
        "".join(render_timeline([found(evil)])),
        "".join(render_overviews(list(overviews([found(evil)])))),
    ):
        assert not set("\x1b\x07\x9b\u202e") & set(text)
        assert not any(line.startswith("round 1") for line in text.splitlines())


def test_a_round_without_anything_is_still_a_block():
    bare = RoundRecord(1, "plan", "", stream_id="s")
    assert render_block(found(bare)) == "round 1  s  plan  completed  time unknown\n"


def test_another_tenant_is_named():
    assert "tenant acme" in render_block(found(tenant="acme"))


def test_json_is_exact_and_keeps_unknown_fields():
    evil = replace(RECORD, summary="\x1b[2J \u202e 日本")
    content = json.loads(to_json(found(evil, mood={"level": 4})))
    assert content == {**record_to_dict(evil), "mood": {"level": 4}}


def test_json_is_one_line_and_cannot_drive_a_terminal():
    evil = replace(RECORD, summary="\x1b[2J \x9b1m \u2028 \x85 \u202e \U000e0041 日本 🙂")
    text = to_json(found(evil))
    assert len(text.splitlines()) == 1
    assert not set("\x1b\x9b\u202e\U000e0041") & set(text)
    assert "日本 🙂" in text
    assert json.loads(text)["summary"] == evil.summary


def test_json_can_be_kept_to_ascii():
    text = to_json(found(replace(RECORD, summary="日本")), ascii_only=True)
    assert text.isascii()
    assert json.loads(text)["summary"] == "日本"


def test_json_says_where_a_round_belongs_where_its_file_does_not():
    bare = replace(RECORD, stream_id="")
    folder = StreamFolder("default", ("Agent_7",), "Agent_7")
    content = json.loads(
        to_json(ArchivedRound(Place(folder, 3), "Agent_7", bare, {"summary": "x"}))
    )
    assert content == {
        "summary": "x",
        "round": 3,
        "stream_id": "Agent_7",
        "tenant_id": "default",
    }


def test_a_timeline_has_two_lines_a_round_and_a_mark_at_a_fork():
    rounds = [found(replace(RECORD, round=8, epoch=1)), found()]
    assert "".join(render_timeline(rounds)) == (
        "x    8  2026-03-10 12:30  fix       Made the parser robust\n"
        "|       failed; 2 files +13 -1; failing: ruff; pr #142, commit deadbeefcafe\n"
        "~ epoch 0\n"
        "x    7  2026-03-10 12:30  fix       Made the parser robust\n"
        "|       failed; 2 files +13 -1; failing: ruff; pr #142, commit deadbeefcafe\n"
    )


def test_an_overview_names_each_stream_once():
    rounds = [found(replace(RECORD, round=n)) for n in (7, 6, 2)]
    (overview,) = overviews(rounds)
    assert (overview.rounds, overview.first, overview.last) == (3, 2, 7)
    assert "session-42" in "".join(render_overviews([overview]))


def days(count: int) -> list[ArchivedRound]:
    return [
        found(replace(RECORD, round=n + 1, ended_at=datetime(2026, 1, 1 + n % 28, tzinfo=UTC)))
        for n in range(count)
    ]


def test_stats_count_outcomes_and_failing_checks():
    counts = stats([*days(3), found(RoundRecord(9, "plan", "", stream_id="other"))])
    content = stats_to_dict(counts)
    assert content["rounds"] == 4
    assert content["streams"] == 2
    assert content["outcomes"] == {"failed": 3, "completed": 1}
    assert content["failing_checks"] == {"ruff": 3}
    assert content["undated"] == 1
    assert content["days"] == [
        {"day": f"2026-01-0{n}", "rounds": 1, "failed": 1} for n in (1, 2, 3)
    ]


def test_the_plot_is_as_wide_as_asked_and_can_be_ascii():
    text = "".join(render_stats(stats(days(28)), width=20, ascii_only=True))
    assert text.isascii()
    assert "highest: 2 in 2 days" in text
    assert max(map(len, text.splitlines())) <= 80


def test_stats_of_nothing_are_empty():
    assert "".join(render_stats(stats([]))) == "0 rounds in 0 streams\n"
