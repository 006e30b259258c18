"""One round's events become its record; a stream is cut into rounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from archive.build import build_round_record, cut_rounds
from archive.digest import events_digest
from archive.errors import InvalidAction, InvalidIdentifier, InvalidRound, NoEvents
from streams.event import Event

SHA1 = "4c1e09b7a2d85f3160e9c7b48a52d3f1069ebc87"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def event(version: int, type: str, **payload: Any) -> Event:
    return Event(
        type=type,
        payload=payload,
        id=f"e-{version}",
        stream_id="s-1",
        version=version,
        timestamp=datetime(2026, 3, 1, 9, 0, version, 250, tzinfo=UTC),
    )


def a_round(**ending: Any) -> list[Event]:
    return [
        event(4, "message.added", role="user", content="Fix the parser, see #31."),
        event(5, "message.added", role="assistant", content="Fixed it."),
        event(6, "task.completed", **{"task": "Fix the parser", "result": "Fixed it.", **ending}),
    ]


def test_a_record_says_which_events_it_covers() -> None:
    events = a_round()
    record = build_round_record(round=2, events=events, tenant_id="acme", epoch=3)
    assert (record.round, record.stream_id, record.tenant_id, record.epoch) == (2, "s-1", "acme", 3)
    assert (record.first_version, record.last_version, record.event_count) == (4, 6, 3)
    assert (record.started_at, record.ended_at) == (events[0].timestamp, events[-1].timestamp)
    assert record.events_digest == events_digest(events)


def test_the_terminal_event_says_the_outcome() -> None:
    failed = [*a_round()[:2], event(6, "task.failed", task="Fix", error="out of time")]
    assert build_round_record(round=1, events=a_round()).outcome == "completed"
    assert build_round_record(round=1, events=failed).outcome == "failed"
    assert build_round_record(round=1, events=failed).error == "out of time"
    assert build_round_record(round=1, events=a_round()[:2]).outcome == "unfinished"


def test_the_caller_may_say_the_outcome_and_the_action() -> None:
    record = build_round_record(round=1, events=a_round()[:2], outcome="completed", action="review")
    assert (record.outcome, record.action) == ("completed", "review")


def test_the_callers_refs_win_over_the_payloads_and_these_over_found_ones() -> None:
    events = a_round(refs={"issue": "#32", "commit": SHA1, "pr": ["#7", "#8"]})
    assert build_round_record(round=1, events=a_round()).refs == {"pr": "#31"}
    assert build_round_record(round=1, events=events, refs={"pr": "#142"}).refs == {
        "pr": "#142",
        "issue": "#32",
        "commit": SHA1,
    }


def test_a_damaged_ref_of_the_caller_is_refused_and_of_a_payload_left_out() -> None:
    with pytest.raises(InvalidIdentifier):
        build_round_record(round=1, events=a_round(), refs={"commit": SHA1[:39]})
    events = a_round(refs={"commit": SHA1[:39], "issue": 7, "pr": "#9"})
    assert build_round_record(round=1, events=events).refs == {"pr": "#9"}


@pytest.mark.parametrize("number", [0, -1, True, "1", 1.0, None])
def test_a_round_has_a_number_from_one(number: Any) -> None:
    with pytest.raises(InvalidRound) as refused:
        build_round_record(round=number, events=a_round())
    assert refused.value.value == number


def test_an_action_is_one_of_four() -> None:
    action: Any = "destroy"
    with pytest.raises(InvalidAction) as refused:
        build_round_record(round=1, events=a_round(), action=action)
    assert refused.value.action == "destroy"


def test_no_events_make_no_round() -> None:
    with pytest.raises(NoEvents):
        build_round_record(round=1, events=[])


def test_no_kept_text_holds_a_credential() -> None:
    events = [
        event(1, "message.added", role="user", content=f"Don't print {SECRET} anywhere."),
        event(
            2,
            "message.added",
            role="assistant",
            content=f"TODO: rotate {SECRET} first.\n\nSee https://acme.dev/?token={SECRET}",
        ),
        event(3, "tool.call.started", tool_name="Write", tool_call_id="1",
              args={"file_path": f"keys/{SECRET}.txt", "content": "x"}),
        event(4, "tool.call.completed", tool_name="Write", tool_call_id="1", output="Created"),
        event(5, "task.failed", task=f"Use {SECRET}", error=f"refused {SECRET}"),
    ]  # fmt: skip
    record = build_round_record(round=1, events=events)
    assert SECRET not in repr(record)
    kept = (
        record.summary, record.error, record.files[0].path, record.decisions[0], record.todos[0],
        record.refs["url"],
    )  # fmt: skip
    assert all("[withheld: " in text for text in kept)
    assert SECRET in repr(build_round_record(round=1, events=events, screen=False))


def test_screening_changes_neither_identity_nor_digest() -> None:
    events = [*a_round()[:2], event(6, "task.failed", task="x", error=SECRET)]
    screened = build_round_record(round=1, events=events)
    plain = build_round_record(round=1, events=events, screen=False)
    assert screened.identity == plain.identity
    assert replace(screened, summary=plain.summary, error=plain.error) == plain


def test_a_stream_is_cut_behind_every_terminal_event() -> None:
    types = ["a", "task.completed", "b", "c", "task.failed", "task.completed", "d"]
    events = [event(n, type) for n, type in enumerate(types, 1)]
    rounds = cut_rounds(events)
    assert [[e.version for e in part] for part in rounds.finished] == [[1, 2], [3, 4, 5], [6]]
    assert [e.version for e in rounds.open] == [7]


def test_a_stream_that_ends_a_round_leaves_none_open() -> None:
    assert cut_rounds([event(1, "task.completed")]).open == ()
    assert cut_rounds([]) == cut_rounds(())


def test_events_that_nobody_knows_make_a_record_too() -> None:
    record = build_round_record(round=1, events=[event(1, "weather.changed", rain=True)])
    assert record.summary
    assert record.action == "review"
