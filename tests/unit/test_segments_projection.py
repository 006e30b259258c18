"""What a segment keeps of a message list, and the digest over it."""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveDescriptor,
    ArchivedMessage,
    ArchiveProjection,
    SegmentInvalid,
    project_archive,
)
from unit.segment_messages import (
    kept,
    same,
    tool_result,
    tool_use,
    user,
)

PAGE = Path(__file__).resolve().parents[3] / "shared" / "SEGMENTS.md"


@pytest.fixture
def vector() -> list[Any]:
    if not PAGE.exists():
        pytest.skip("the page of the format is not beside this checkout")
    text = PAGE.read_text()
    return json.loads(text.split("```json\n", 1)[1].split("```", 1)[0])


class TestVectors:
    def test_the_vector_of_the_format_comes_out(self, vector: list[Any]) -> None:
        projection = project_archive("compat-session", vector, "hidden note")

        expected = "aeb544a71629f741def049575eefb1a765117d65aa914bdcc1657fa677622031"
        assert projection.digest == expected
        assert projection.source_message_count == 6
        assert [one.source_index for one in projection.messages] == [1, 2, 3, 4]

    def test_the_vector_with_a_redactor_comes_out(self, vector: list[Any]) -> None:
        def redact(text: str) -> str:
            return text.replace("classified-value", "[redacted]")

        projection = project_archive("compat-session", vector, "hidden note", redact)

        expected = "d70b321210ca3d2bc531b31a35cc02ee267eeb572e8a6dd88f1fb62725b082ec"
        assert projection.digest == expected

    def test_the_digest_is_the_hash_of_the_parts_written_out_by_hand(self) -> None:
        messages = [user("x"), user(" αβ\n\x01"), tool_use({"b": 1, "a": 1e-7}, id="t.1:a-b_c")]
        by_hand = (
            '[{"source_index":0,"block_indices":[],"message":{"content":"x","role":"user"}},'
            '{"source_index":1,"block_indices":[],'
            '"message":{"content":" αβ\\n\\u0001","role":"user"}},'
            '{"source_index":2,"block_indices":[0],"message":{"content":['
            '{"id":"t.1:a-b_c","input":{"a":1e-7,"b":1},"name":"read","type":"tool_use"}],'
            '"role":"assistant"}}]'
        ).encode()
        logical = hashlib.sha256((1).to_bytes(8, "big") + b"c").hexdigest()
        parts = (logical.encode(), (3).to_bytes(8, "big"), by_hand)
        whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)

        projection = project_archive("c", messages, "any note", same)

        assert projection.logical_id == logical
        assert projection.digest == hashlib.sha256(whole).hexdigest()

    def test_the_digest_leaves_out_the_note_and_everything_omitted(self) -> None:
        first = project_archive("c", [{"role": "system", "content": "a"}, user("x")], "one")
        second = project_archive("c", [{"role": "tool", "content": "b"}, user("x")], "two")

        assert first.digest == second.digest
        assert project_archive("d", [user("y"), user("x")], "").digest != first.digest

    def test_the_digest_covers_the_number_of_source_messages(self) -> None:
        more = project_archive("c", [user("x"), {"role": "system", "content": "a"}], "")

        assert more.digest != project_archive("c", [user("x")], "").digest


class TestMessages:
    @pytest.mark.parametrize("role", ["system", "developer", "tool", "", "User", None, 3, ["user"]])
    def test_only_users_and_assistants_are_kept(self, role: Any) -> None:
        assert kept([{"role": role, "content": "x"}]) == []

    @pytest.mark.parametrize("mark", [{}, None, False, "x"])
    def test_derived_context_is_skipped_whatever_its_mark_says(self, mark: Any) -> None:
        assert kept([user("x", _synaps_context=mark)]) == []

    @pytest.mark.parametrize("message", [None, "text", 7, [], [user("x")], {"role": "user"}])
    def test_what_is_no_message_is_omitted_and_counted(self, message: Any) -> None:
        projection = project_archive("c", [message, user("x")], "")

        assert [one.source_index for one in projection.messages] == [1]
        assert projection.source_message_count == 2

    @pytest.mark.parametrize("content", [None, 7, {"type": "text", "text": "x"}, [], True])
    def test_content_that_is_neither_text_nor_blocks_omits_the_message(self, content: Any) -> None:
        assert kept([user(content)]) == []

    def test_text_stays_exact(self) -> None:
        text = " \t two  spaces\r\n\n αβ\u200b✓😀\x00\x7f "

        assert kept([user(text)]) == [{"role": "user", "content": text}]

    def test_other_keys_of_a_message_are_dropped(self) -> None:
        assert kept([user("x", id="m1", metadata={"a": 1})]) == [{"role": "user", "content": "x"}]

    def test_an_empty_text_is_kept(self) -> None:
        assert kept([user("")]) == [{"role": "user", "content": ""}]

    def test_kept_blocks_stay_in_order_with_the_indices_of_the_source(self) -> None:
        content = [
            {"type": "thinking", "thinking": "a"},
            {"type": "text", "text": "b"},
            {"type": "redacted_thinking", "data": "c"},
            {"type": "image", "source": {"data": "d"}},
            "e",
            {"type": "document", "source": {"data": "f"}},
            {"type": "text", "text": "g", "cache_control": {"type": "ephemeral"}},
            {"type": "text"},
            {"type": "text", "text": 8},
            {"text": "h"},
        ]

        found = project_archive("c", [user("z"), {"role": "assistant", "content": content}], "")

        assert found.messages[1].block_indices == [1, 6]
        assert found.messages[1].message["content"] == [
            {"type": "text", "text": "b"},
            {"type": "text", "text": "g"},
        ]
        assert found.messages[0].block_indices == []

    def test_a_message_without_a_kept_block_is_omitted(self) -> None:
        assert kept([user([{"type": "image", "data": "x"}])]) == []

    def test_a_tuple_is_a_list_to_the_format(self) -> None:
        assert kept([user(({"type": "text", "text": "x"},))])[0]["content"] == [
            {"type": "text", "text": "x"}
        ]

    def test_the_callers_messages_are_left_as_they_were(self) -> None:
        messages = [user("x"), tool_use({"a": [1, {"b": 2}]}), tool_result([{"type": "text"}])]
        before = copy.deepcopy(messages)

        projection = project_archive("c", messages, "", same)
        projection.messages[1].message["content"][0]["input"]["a"].append("changed")

        assert messages == before


class TestNothingLeaks:
    def test_no_repr_shows_content(self) -> None:
        projection = project_archive("c", [user("CONTENT")], "NOTE")
        shown = [projection, projection.messages[0], projection.messages]
        shown.append(ArchiveDescriptor("0" * 32, 1, 1, "CONTENT"))

        for value in shown:
            assert "CONTENT" not in repr(value)
            assert "NOTE" not in f"{value!r} {value}"

    def test_no_repr_on_the_way_shows_content(self) -> None:
        from archive.segments import record, record_shape, selection

        call = tool_use({"a": "CONTENT"})
        chosen = selection.select([user("CONTENT"), call, tool_result("CONTENT")], redacts=True)
        shape = record_shape.Shape(
            1,
            "",
            "",
            "",
            "",
            record_shape.Live(1, [record_shape.Element(0, [], user("CONTENT"))], ""),
        )

        for value in (
            chosen,
            chosen[1].content,
            shape,
            shape.body,
            record.Record("", "", "CONTENT"),
        ):
            assert "CONTENT" not in repr(value)

    def test_the_types_can_be_made_and_compared(self) -> None:
        message = ArchivedMessage(0, [], user("x"))

        assert project_archive("c", [user("x")], "").messages == [message]
        assert isinstance(project_archive("c", [], ""), ArchiveProjection)

    def test_projection_touches_no_file(self, tmp_path: Path) -> None:
        project_archive(str(tmp_path / "not" / "made"), [user("x")], "")

        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", "k" * 4097, "é" * 2049, "\ud800", None, b"c"])
def test_a_logical_id_that_is_no_text_of_1_to_4096_bytes_is_refused(key: Any) -> None:
    with pytest.raises(SegmentInvalid):
        project_archive(key, [], "")


@pytest.mark.parametrize("messages", ["text", b"x", None, {"role": "user"}, iter([])])
def test_messages_that_are_no_list_are_refused(messages: Any) -> None:
    with pytest.raises(SegmentInvalid):
        project_archive("c", messages, "")


@pytest.mark.parametrize("note", [None, 7, "\ud800", b"x"])
def test_a_note_that_is_no_text_is_refused(note: Any) -> None:
    with pytest.raises(SegmentInvalid):
        project_archive("c", [], note)


def test_importing_segments_is_cheap() -> None:
    script = "import sys, archive.segments; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert {"redis", "pydantic", "click", "asyncio"}.isdisjoint(done.stdout.split())
