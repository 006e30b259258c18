"""What is kept of tool calls and their results."""

from __future__ import annotations

import json
from collections import OrderedDict
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from archive.segments import project_archive
from unit.segment_messages import (
    NO_ARGUMENTS,
    WITHHELD,
    block,
    kept,
    same,
    tool_result,
    tool_use,
    user,
)


class Name(str):
    __slots__ = ()


class Number(int):
    pass


class Ratio(float):
    pass


class Level(IntEnum):
    HIGH = 3


class Colour(StrEnum):
    RED = "red"


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

    @pytest.mark.parametrize(
        ("input", "kept"),
        [
            ({"a": Name("x"), Name("k"): Number(4)}, {"a": "x", "k": 4}),
            ({"a": Level.HIGH, "b": Colour.RED}, {"a": 3, "b": "red"}),
            (OrderedDict(b=1, a=[True, Ratio(1.5)]), {"a": [True, 1.5], "b": 1}),
            ({"a": (1, ())}, {"a": [1, []]}),
        ],
    )
    def test_subclasses_of_json_types_are_kept_as_their_values(self, input: Any, kept: Any) -> None:
        found = block(tool_use(input), same)["input"]

        assert json.dumps(found) == json.dumps(kept)

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
