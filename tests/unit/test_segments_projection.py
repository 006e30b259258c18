"""What a segment keeps of a message list, and how."""

from __future__ import annotations

import copy
import hashlib
import json
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

WITHHELD = "[archive: withheld]"
NO_ARGUMENTS = {"_archive_withheld": True}
PAGE = Path(__file__).resolve().parents[3] / "shared" / "SEGMENTS.md"


def same(text: str) -> str:
    return text


def kept(messages: list[Any], redactor: Any = None) -> list[dict[str, Any]]:
    return [one.message for one in project_archive("c", messages, "", redactor).messages]


def block(message: dict[str, Any], redactor: Any = None) -> Any:
    """The only kept block of a message, None where none is kept."""
    found = kept([message], redactor)
    return found[0]["content"][0] if found else None


def user(content: Any, **labels: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **labels}


def tool_use(input: Any, *, name: str = "read", id: str = "r1", **labels: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": id, "name": name, "input": input, **labels}
    return {"role": "assistant", "content": [call]}


def tool_result(content: Any, **more: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": "r1", "content": content, **more}
    return user([result])


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


INELIGIBLE: list[dict[str, Any]] = [
    {"channel": "analysis"},
    {"channel": None},
    {"channel": "Final"},
    {"content_class": "private_reasoning"},
    {"content_class": ["user_text"]},
    {"private": True},
    {"private": None},
    {"private": 0},
    {"private": "false"},
    {"sensitivity": "secret"},
    {"sensitivity": None},
    {"retention": "local_only"},
    {"retention_class": "model_visible_after_redaction"},
    {"disclosure": "local_only"},
    {"disclosure": "model_visible_after_consent"},
    {"disclosure": "persist_never_transmit"},
    {"disclosure": "never_persist"},
    {"disclosure": "something new"},
    {"disclosure": "MODEL_VISIBLE"},
    {"disclosure": None},
    {"disclosure_class": "local_only"},
    {"disclosure": "model_visible", "disclosure_class": "local_only"},
    {"disclosure": "local_only", "disclosure_class": "model_visible"},
]
ELIGIBLE: list[dict[str, Any]] = [
    {"channel": "final"},
    {"private": False},
    *({"content_class": name} for name in ("user_text", "assistant_text", "tool_calls")),
    {"content_class": "tool_results"},
    *(
        {key: name}
        for key in ("sensitivity", "retention", "retention_class")
        for name in ("normal", "standard", "model_visible")
    ),
    {"disclosure": "model_visible"},
    {"disclosure_class": "model_visible"},
    {"unknown_label": "local_only"},
]


class TestEligibility:
    @pytest.mark.parametrize("labels", INELIGIBLE, ids=str)
    def test_an_ineligible_value_is_omitted_at_every_level(self, labels: dict[str, Any]) -> None:
        text = {"type": "text", "text": "x", **labels}

        assert kept([user("x", **labels)]) == []
        assert kept([user([text])]) == []
        assert block(tool_use({"a": 1}, **labels), same) is None
        assert block(tool_result("x", **labels), same) is None
        assert block(tool_result([text]), same)["content"] == WITHHELD
        assert block(tool_use({"a": [{"b": labels}]}), same)["input"] == NO_ARGUMENTS
        assert block(tool_use(labels), same)["input"] == NO_ARGUMENTS

    @pytest.mark.parametrize("labels", ELIGIBLE, ids=str)
    def test_an_eligible_value_is_kept_at_every_level(self, labels: dict[str, Any]) -> None:
        text = {"type": "text", "text": "x", **labels}

        assert kept([user("x", **labels)]) == [user("x")]
        assert block(user([text])) == {"type": "text", "text": "x"}
        assert block(tool_result([text]), same)["content"] == [{"type": "text", "text": "x"}]
        assert block(tool_use({"a": [labels]}), same)["input"] == {"a": [labels]}

    def test_labels_in_a_list_of_arguments_are_only_those_of_objects(self) -> None:
        assert block(tool_use(["private", True]), same)["input"] == ["private", True]

    def test_after_redaction_is_withheld_without_a_redactor(self) -> None:
        label = {"disclosure": "model_visible_after_redaction"}

        assert kept([user("x", **label)]) == [user(WITHHELD)]
        assert block(user([{"type": "text", "text": "x", **label}]))["text"] == WITHHELD
        assert kept([user("x", **label)], str.upper) == [user("X")]

    def test_a_message_lends_the_class_after_redaction_to_its_blocks(self) -> None:
        blocks = [{"type": "text", "text": "x", "disclosure": "model_visible"}]

        found = kept([user(blocks, disclosure_class="model_visible_after_redaction")])

        assert found[0]["content"][0]["text"] == WITHHELD

    def test_of_two_disclosure_keys_the_class_decides(self) -> None:
        after = "model_visible_after_redaction"

        assert kept([user("x", disclosure="model_visible", disclosure_class=after)]) == [
            user(WITHHELD)
        ]
        assert kept([user("x", disclosure=after, disclosure_class="model_visible")]) == [user("x")]


class TestTools:
    def test_arguments_and_results_are_withheld_without_a_redactor(self) -> None:
        assert block(tool_use({"path": "a"})) == {
            "type": "tool_use",
            "id": "r1",
            "name": "read",
            "input": NO_ARGUMENTS,
        }
        assert block(tool_result("x", is_error=False)) == {
            "type": "tool_result",
            "tool_use_id": "r1",
            "content": WITHHELD,
            "is_error": False,
        }

    @pytest.mark.parametrize(
        "input", [{"b": 1, "a": [None, True, 1.5, "é"]}, [], "text", 7, None, {"": {}}, -(2**63)]
    )
    def test_a_redactor_keeps_arguments_exact(self, input: Any) -> None:
        assert block(tool_use(input), same)["input"] == input

    def test_a_redactor_sees_arguments_as_canonical_json(self) -> None:
        seen: list[str] = []

        def redact(text: str) -> str:
            seen.append(text)
            return text

        kept([tool_use({"b": "é\n", "a": 1.0})], redact)

        assert seen[0] == '{"a":1.0,"b":"é\\n"}'

    @pytest.mark.parametrize(
        "returned",
        ["no JSON", "", "{", "{} {}", "NaN", '{"a":Infinity}', '"\\ud800"', "1e400", "01", "'a'"],
    )
    def test_redacted_text_that_is_no_json_withholds_the_arguments(self, returned: str) -> None:
        assert block(tool_use({"a": 1}), lambda _: returned)["input"] == NO_ARGUMENTS

    @pytest.mark.parametrize("levels", [121, 128, 5_000, 200_000])
    def test_redacted_json_too_deep_to_be_read_back_is_withheld(self, levels: int) -> None:
        deep = "[" * levels + "]" * levels

        assert block(tool_use({}), lambda t: deep if t else t)["input"] == NO_ARGUMENTS

    def test_redacted_json_is_parsed_as_the_other_program_does(self) -> None:
        text = ' {"b": -0, "a": 1, "a": 2, "c": 1E2} '

        found = project_archive("c", [tool_use({})], "", lambda t: text if t[:1] == "{" else t)

        input = found.messages[0].message["content"][0]["input"]
        assert json.dumps(input) == '{"b": -0.0, "a": 2, "c": 100.0}'

    def test_a_credential_hidden_by_escapes_in_redacted_json_is_withheld(self) -> None:
        escaped = '{"a":"pass\\u0077ord 1"}'

        assert block(tool_use({}), lambda _: escaped)["input"] == NO_ARGUMENTS

    def test_the_checkpoint_tools_arguments_are_always_withheld(self) -> None:
        found = block(tool_use({"note": "x"}, name="context_checkpoint"), same)

        assert found["input"] == NO_ARGUMENTS

    def test_a_call_without_arguments_is_kept_without_them(self) -> None:
        call = {"type": "tool_use", "id": "r1", "name": "read"}

        assert block({"role": "assistant", "content": [call]}, same)["input"] == NO_ARGUMENTS

    def test_calls_are_the_assistants_and_results_the_users(self) -> None:
        call, result = tool_use({})["content"], tool_result("x")["content"]

        assert kept([user(call), {"role": "assistant", "content": result}], same) == []

    @pytest.mark.parametrize(
        "bad", ["", "a" * 129, "a b", "a/b", "é", "a\n", None, 7, "task-1", "my_secret", ["a"]]
    )
    def test_an_invalid_identifier_drops_its_block(self, bad: Any) -> None:
        assert block(tool_use({}, id=bad)) is None
        assert block(tool_use({}, name=bad)) is None
        assert block(tool_result("x", tool_use_id=bad)) is None

    @pytest.mark.parametrize("good", ["a", "A" * 128, "toolu_01.x:y-z", "0"])
    def test_a_valid_identifier_is_kept(self, good: str) -> None:
        assert block(tool_use({}, id=good))["id"] == good

    def test_a_result_keeps_its_eligible_texts(self) -> None:
        content = [
            {"type": "image", "data": "x"},
            {"type": "text", "text": "exact\n", "id": "b"},
            {"type": "text", "text": "y", "private": True},
            {"type": "text", "text": 5},
            "z",
        ]

        assert block(tool_result(content), same)["content"] == [{"type": "text", "text": "exact\n"}]

    @pytest.mark.parametrize("content", [None, [], 5, {"type": "text", "text": "x"}, ["x"]])
    def test_a_result_without_text_is_withheld(self, content: Any) -> None:
        assert block(tool_result(content), same)["content"] == WITHHELD

    @pytest.mark.parametrize("value", [None, 0, 1, "true"])
    def test_an_error_flag_that_is_no_boolean_is_dropped(self, value: Any) -> None:
        assert "is_error" not in block(tool_result("x", is_error=value))
        assert block(tool_result("x", is_error=True))["is_error"] is True


class TestScreen:
    @pytest.mark.parametrize(
        "text",
        [
            "my Password is 1",
            "PASSWD",
            "API_KEY=1",
            "apiKey",
            "x-api-key",
            "access_token",
            "Refresh_Token",
            "a secret",
            "Authorization: x",
            "Bearer x",
            "BEGIN PRIVATE KEY",
            "sk-1",
            "GHP_x",
            "github_pat_x",
            "xoxb-1",
            "AKIA1",
            "eyJhbGci",
            "a" * 5000 + "ghp_" + "b" * 5000,
        ],
    )
    def test_credential_like_text_is_withheld_whole_everywhere(self, text: str) -> None:
        assert kept([user(text)]) == [user(WITHHELD)]
        assert block(user([{"type": "text", "text": text}]))["text"] == WITHHELD
        assert block(tool_result(text), same)["content"] == WITHHELD
        assert block(tool_result([{"type": "text", "text": text}]), same)["content"] == [
            {"type": "text", "text": WITHHELD}
        ]
        assert block(tool_use({"a": text}), same)["input"] == NO_ARGUMENTS
        assert block(tool_use({text: 1}), same)["input"] == NO_ARGUMENTS

    @pytest.mark.parametrize(
        "text", ["passion", "bearer", "private  key", "api key", "a token", "\u212aey a\u212aia"]
    )
    def test_other_text_is_kept(self, text: str) -> None:
        assert kept([user(text)]) == [user(text)]

    def test_the_screen_follows_the_redactor(self) -> None:
        assert kept([user("a")], lambda _: "secret") == [user(WITHHELD)]
        assert kept([user("secret")], lambda _: "a") == [user("a")]

    def test_the_note_is_redacted_and_screened_too(self) -> None:
        assert project_archive("c", [], "a secret").note == WITHHELD
        assert project_archive("c", [], "plain", str.upper).note == "PLAIN"


class TestNothingLeaks:
    def test_no_repr_shows_content(self) -> None:
        projection = project_archive("c", [user("CONTENT")], "NOTE")
        shown = [projection, projection.messages[0], projection.messages]
        shown.append(ArchiveDescriptor("0" * 32, 1, 1, "CONTENT"))

        for value in shown:
            assert "CONTENT" not in repr(value)
            assert "NOTE" not in f"{value!r} {value}"

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
