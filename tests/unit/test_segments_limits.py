"""The limits of a seal: each refuses closed, before a redactor runs; what is excluded is free."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from archive.segments import SegmentInvalid, project_archive
from unit.segment_messages import user

MIB = 1024 * 1024
NO_ARGUMENTS = {"_archive_withheld": True}


class Redactor:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> str:
        self.calls += 1
        return text


def call(input: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "r1", "name": "read", "input": input}
    return {"role": "assistant", "content": [block]}


def result(content: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": "r1", "content": content}])


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


def refused(messages: list[Any], note: str = "") -> str:
    """The reason why `messages` are refused, before any redaction."""
    redactor = Redactor()
    with pytest.raises(SegmentInvalid) as caught:
        project_archive("c", messages, note, redactor)
    assert redactor.calls == 0
    return caught.value.reason


def input_of(messages: list[Any]) -> Any:
    projection = project_archive("c", messages, "", Redactor())
    return projection.messages[0].message["content"][0]["input"]


def test_4096_messages_are_the_most() -> None:
    assert project_archive("c", [user("x")] * 4096, "").source_message_count == 4096
    assert "4096 messages" in refused([user("x")] * 4097)
    assert "4096 messages" in refused([None] * 4097)


def test_a_note_of_8_kib_is_the_longest() -> None:
    assert project_archive("c", [], "é" * 4096).note == "é" * 4096
    assert "note" in refused([], "é" * 4096 + "a")


def test_a_note_over_8_kib_after_redaction_is_refused() -> None:
    with pytest.raises(SegmentInvalid, match="note"):
        project_archive("c", [], "n", lambda _: "n" * 8193)


def test_eligible_text_costs_its_bytes_and_its_place() -> None:
    """8 for the message, 4 + 8 + 4 for the role, 7 + 8 for the content."""
    room = 16 * MIB - 39

    with pytest.raises(SegmentInvalid, match="JSON"):  # it passed the input's limit
        project_archive("c", [user("x" * room)], "")
    assert "input" in refused([user("x" * (room + 1))])
    assert "input" in refused([user("é" * (room // 2 + 1))])


def test_eligible_text_is_counted_over_all_messages() -> None:
    half = "x" * (8 * MIB)

    assert "input" in refused([user(half), {"role": "assistant", "content": half}])
    assert "input" in refused([result([{"type": "text", "text": half}] * 2)])


def test_the_kept_json_has_the_limit_of_a_file() -> None:
    with pytest.raises(SegmentInvalid, match="JSON"):
        project_archive("c", [user("\n" * (8 * MIB))], "")


def test_excluded_content_costs_nothing() -> None:
    big = "x" * (17 * MIB)
    messages = [
        {"role": "system", "content": big},
        user(big, _synaps_context={}),
        user(big, sensitivity="secret"),
        user("x", metadata=big),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": big},
                {"type": "text", "text": big, "private": True},
                {"type": "text", "text": "y", "other": big},
                {"type": "image", "source": {"data": big}},
                {"type": "tool_use", "id": "c", "name": "context_checkpoint", "input": big},
            ],
        },
        result([{"type": "image", "data": big}, {"type": "text", "text": "z"}]),
    ]

    for redactor in (None, Redactor()):
        assert len(project_archive("c", messages, "", redactor).messages) == 3


def test_withheld_tool_content_and_text_cost_nothing_without_a_redactor() -> None:
    big = "x" * (17 * MIB)
    after = {"disclosure": "model_visible_after_redaction"}

    assert len(project_archive("c", [call(big), result(big), user(big, **after)], "").messages) == 3
    for message in (call(big), result(big), user(big, **after)):
        assert "input" in refused([message])


@pytest.mark.parametrize("first", ["a", "z"])
def test_an_ineligible_child_withholds_arguments_whole_and_uncharged(first: str) -> None:
    big = "x" * (17 * MIB)
    other = "z" if first == "a" else "a"

    assert (
        input_of([call({first: big, other: {"sensitivity": "secret", "b": big}})]) == NO_ARGUMENTS
    )


def test_binary_looking_arguments_are_arguments() -> None:
    assert input_of([call({"type": "image", "data": "YWJj"})]) == {"type": "image", "data": "YWJj"}


def test_arguments_may_be_29_levels_deep() -> None:
    """The arguments themselves are visited at depth 3 of 32."""
    assert input_of([call(nested(29))]) == nested(29)
    assert "deeper" in refused([call(nested(30))])


def test_a_value_that_contains_itself_is_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)

    assert "deeper" in refused([call(loop)])


def test_excluded_descendants_may_be_as_deep_as_they_like() -> None:
    deep = nested(50_000)

    for redactor in (None, Redactor()):
        assert project_archive("c", [user(deep)], "", redactor).messages == []
    assert project_archive("c", [call(deep)], "").messages
    assert input_of([call({"a": {"private": True, "b": deep}})]) == NO_ARGUMENTS


def test_65536_visits_are_the_most() -> None:
    """A message is 3 visits and each block one more; unknown blocks are visited too."""
    most = 65_536 - 3

    assert project_archive("c", [user([None] * most)], "").messages == []
    assert "visit" in refused([user([None] * (most + 1))])
    assert "visit" in refused([call([None] * 65_536)])
    assert "visit" in refused([result([None] * 65_536)])


def test_visits_of_withheld_arguments_are_charged() -> None:
    withheld = call({"a": [None] * 40_000, "z": {"private": True}})

    assert input_of([withheld]) == NO_ARGUMENTS
    assert "visit" in refused([withheld, withheld])


def test_keys_are_visited_in_their_order_as_stored() -> None:
    """An excluded value ends the visit, so its place decides what is visited before."""
    assert input_of([call({"z": nested(40), "a": {"private": True}})]) == NO_ARGUMENTS
    assert "deeper" in refused([call({"a": nested(40), "z": {"private": True}})])


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        -(2**63) - 1,
        float("nan"),
        float("inf"),
        b"x",
        {1},
        object(),
        {1: "a"},
        "\ud800",
        {"\udfff": 1},
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_that_are_no_json_of_64_bits_are_refused(value: Any) -> None:
    reason = refused([call({"a": [value]})])

    assert reason.startswith("tool arguments")
    assert project_archive("c", [call({"a": [value]})], "").messages, "withheld, so never looked at"


def test_a_refused_seal_leaves_the_callers_messages_as_they_were() -> None:
    messages = [user("x"), call({"b": [1, {"c": "d"}], "a": 2**64})]
    before = copy.deepcopy(messages)

    refused(messages)

    assert messages == before


def test_bad_values_beside_an_ineligible_one_are_nobodys_business() -> None:
    assert input_of([call({"a": float("nan"), "b": b"x", "c": {"private": True}})]) == NO_ARGUMENTS


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 0, 1.5, -0.0, 5e-324])
def test_numbers_within_64_bits_are_kept(value: float) -> None:
    kept = input_of([call({"a": value})])

    assert repr(kept) == repr({"a": value})


@pytest.mark.parametrize("message", [user("a\ud800b"), result("\udc00")])
def test_half_a_surrogate_pair_in_eligible_text_is_refused(message: dict[str, Any]) -> None:
    assert "surrogate" in refused([message])


def test_half_a_surrogate_pair_in_excluded_text_is_nobodys_business() -> None:
    assert project_archive("c", [user("\ud800", private=True)], "").messages == []


def test_escaped_arguments_may_exceed_the_limit_before_redaction() -> None:
    """3 MiB of NUL are 18 MiB of JSON; a redactor may shrink them."""
    message = call({"text": "\0" * (3 * MIB)})

    def shrink(text: str) -> str:
        return '{"text":"gone"}' if len(text) > 16 * MIB else text

    kept = project_archive("c", [message], "", shrink).messages[0].message["content"][0]
    assert kept["input"] == {"text": "gone"}
    with pytest.raises(SegmentInvalid):
        project_archive("c", [message], "", Redactor())
