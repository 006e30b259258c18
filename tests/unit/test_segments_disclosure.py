"""Which messages, blocks and values may be kept, and which text is withheld."""

from __future__ import annotations

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

    @pytest.mark.parametrize("text", ["\bearer x", "\refresh_token", "a\ngh\np_"])
    def test_text_whose_json_alone_looks_like_a_credential_is_kept(self, text: str) -> None:
        assert kept([user(text)]) == [user(text)]
        assert kept([user(text)], same) == [user(text)]

    def test_one_field_is_withheld_and_all_others_stand(self) -> None:
        texts = [{"type": "text", "text": text} for text in ("a", "a Secret", "b")]
        sound = user("x" * 600_000)

        assert kept([sound, user(texts), user("c")]) == [
            sound,
            user([texts[0], {"type": "text", "text": WITHHELD}, texts[2]]),
            user("c"),
        ]

    def test_the_screen_follows_the_redactor(self) -> None:
        assert kept([user("a")], lambda _: "secret") == [user(WITHHELD)]
        assert kept([user("secret")], lambda _: "a") == [user("a")]

    def test_the_note_is_redacted_and_screened_too(self) -> None:
        assert project_archive("c", [], "a secret").note == WITHHELD
        assert project_archive("c", [], "plain", str.upper).note == "PLAIN"
