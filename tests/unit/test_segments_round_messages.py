"""What of a round's events is offered to a segment."""

from __future__ import annotations

from typing import Any

import pytest

from archive.segments import project_archive
from streams.event import Event
from unit.segment_events import completed, event, said, started
from worker.sealing.round_messages import note_of, round_messages

WITHHELD = "[archive: withheld]"


def blocks(events: list[Event]) -> list[dict[str, Any]]:
    """The kept tool blocks of `events`, screened by a redactor that changes nothing."""
    kept = project_archive("c", round_messages(events), "", str).messages
    return [block for one in kept for block in one.message["content"]]


def fields(one: Event) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("type", "payload", "id", "metadata")}


class TestMessages:
    def test_messages_are_offered_as_they_were_sent(self) -> None:
        content = [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "y"}]
        events = [said("a"), event("task.created", task="t"), said(content, "assistant", id="m")]

        assert round_messages(events) == [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": content, "id": "m"},
        ]

    def test_text_stands_in_for_missing_content(self) -> None:
        events = [event("message.added", role="user", text="a")]

        assert project_archive("c", round_messages(events), "").messages[0].message == {
            "role": "user",
            "content": "a",
        }

    def test_a_call_becomes_a_block_where_it_started_and_one_where_it_completed(self) -> None:
        events = [started(), said("meanwhile", "assistant"), completed(is_error=True)]

        kept = project_archive("c", round_messages(events), "", str).messages

        assert [one.message for one in kept] == [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"a": 1}}],
            },
            {"role": "assistant", "content": "meanwhile"},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": "ok",
                        "is_error": True,
                    }
                ],
            },
        ]

    def test_tool_content_is_withheld_without_a_redactor(self) -> None:
        kept = project_archive("c", round_messages([started(), completed()]), "").messages

        assert kept[0].message["content"][0]["input"] == {"_archive_withheld": True}
        assert kept[1].message["content"][0]["content"] == WITHHELD

    def test_a_call_without_its_other_half_is_left_out(self) -> None:
        assert round_messages([started("a"), completed("b"), started("c")]) == []

    def test_parallel_calls_are_paired_by_id(self) -> None:
        events = [started("a"), started("b"), completed("b", output="2"), completed("a")]

        found = blocks(events)

        assert [block.get("id") or block["tool_use_id"] for block in found] == ["a", "b", "b", "a"]
        assert found[2]["content"] == "2"

    def test_calls_without_an_id_are_paired_in_order_by_tool(self) -> None:
        events = [
            started(None),
            started(None, tool_name="read"),
            completed(None, tool_name="read", output="r"),
            completed(None, output="b"),
        ]
        events = [Event(**{**fields(one), "version": n}) for n, one in enumerate(events, 5)]

        found = blocks(events)

        assert [block.get("id") or block["tool_use_id"] for block in found] == [
            "call-5",
            "call-6",
            "call-6",
            "call-5",
        ]

    def test_a_completion_with_its_own_arguments_is_a_pair_by_itself(self) -> None:
        found = blocks([completed(args={"command": "ls"})])

        assert found[0]["input"] == {"command": "ls"}
        assert found[1]["content"] == "ok"

    @pytest.mark.parametrize(
        ("payload", "content"),
        [
            ({"output": [{"type": "text", "text": "x"}]}, [{"type": "text", "text": "x"}]),
            ({"output": None, "result": "y"}, "y"),
            ({"output": "", "stdout": "z"}, ""),
            ({"output": {"stdout": "a", "stderr": "b"}}, "a\nb"),
            ({"output": ["l1", "l2"]}, "l1\nl2"),
        ],
    )
    def test_a_result_is_text_or_blocks(self, payload: dict[str, Any], content: Any) -> None:
        assert blocks([started(), completed(**payload)])[1]["content"] == content

    @pytest.mark.parametrize(
        "labels", [{"private": True}, {"disclosure": "local_only"}, {"channel": "analysis"}]
    )
    def test_labels_on_payload_or_metadata_keep_events_out(self, labels: dict[str, Any]) -> None:
        for one in (
            [said("x", **labels)],
            [event("message.added", metadata=labels, role="user", content="x")],
            [said("x", metadata=labels)],
            [started(**labels), completed(**labels)],
            [started(metadata=labels), completed(metadata=labels)],
        ):
            assert project_archive("c", round_messages(one), "", str).messages == []

    def test_metadata_never_makes_a_message_more_visible(self) -> None:
        after = {"disclosure": "model_visible_after_redaction"}
        visible = {"disclosure": "model_visible"}

        hidden = said("x", metadata=after, disclosure="local_only")
        assert project_archive("c", round_messages([hidden]), "", str).messages == []
        for one in (said("x", metadata=visible, **after), said("x", metadata=after, **visible)):
            kept = project_archive("c", round_messages([one]), "").messages
            assert kept[0].message["content"] == WITHHELD

    def test_ten_thousand_calls_are_paired_in_linear_time(self) -> None:
        events = [started(str(n)) for n in range(5000)] + [completed(str(n)) for n in range(5000)]

        assert len(round_messages(events)) == 10_000

    @pytest.mark.parametrize(
        "summary", ["short", "é" * 4096, "é" * 5000, "x" * 8191 + "é", "\ud800"]
    )
    def test_a_note_is_the_summary_cut_within_8_kib(self, summary: str) -> None:
        note = note_of(summary)

        whole = summary.encode(errors="replace").decode()
        assert whole.startswith(note)
        assert len(note.encode()) <= 8192
        assert note == whole or len(note.encode()) > 8192 - 4
