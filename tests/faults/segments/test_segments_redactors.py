"""Redactors that fail, lie, grow or meddle: a seal refuses closed and stores nothing."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from archive.segments import ArchiveStore, SegmentInvalid
from faults.segments.scope import Scope, names, user

MIB = 1024 * 1024
Redactor = Callable[[str], Any]


def messages() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "r1", "name": "read", "input": {"a": "CONTENT"}}
    result = {"type": "tool_result", "tool_use_id": "r1", "content": "CONTENT"}
    return [
        user("CONTENT"),
        {"role": "assistant", "content": [{"type": "text", "text": "CONTENT"}, call]},
        user([result]),
    ]


def raises(text: str) -> str:
    raise RuntimeError(f"can't redact {text}")


def recurses(text: str) -> str:
    return recurses(text)


def exhausts(text: str) -> str:
    raise MemoryError(text)


def half_a_pair(text: str) -> str:
    return text + "\ud800"


def grows(text: str) -> str:
    return "x" * (17 * MIB)


HOSTILE: list[Redactor] = [
    raises,
    recurses,
    exhausts,
    half_a_pair,
    grows,
    lambda text: None,
    lambda text: text.encode(),
    lambda text: 7,
    lambda text: [text],
]


@pytest.mark.parametrize("redactor", HOSTILE, ids=lambda redactor: redactor.__name__)
def test_a_hostile_redactor_refuses_the_seal_and_leaves_no_trace(
    scope: Scope, redactor: Redactor
) -> None:
    store = ArchiveStore(scope.base, "k", "c", redactor)

    with pytest.raises(SegmentInvalid) as caught:
        store.seal(messages(), "note")

    assert set(names(scope.folder)) <= {"lock"}
    shown = "".join(traceback.format_exception(caught.value))
    assert "CONTENT" not in shown


def test_what_grows_a_little_everywhere_stops_early() -> None:
    from archive.segments import project_archive

    calls = 0

    def redactor(text: str) -> str:
        nonlocal calls
        calls += 1
        return "x" * MIB

    with pytest.raises(SegmentInvalid):
        project_archive("c", [user("a")] * 4096, "", redactor)
    assert calls <= 17, "it doesn't fill the memory first"


def test_a_redactor_may_interrupt(scope: Scope) -> None:
    def interrupt(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ArchiveStore(scope.base, "k", "c", interrupt).seal(messages(), "")


def test_a_redactor_that_changes_the_messages_changes_nothing_that_is_kept(scope: Scope) -> None:
    """What is kept was chosen before it ran, labels included."""
    source = messages()

    def meddle(text: str) -> str:
        source[0]["content"] = "SMUGGLED"
        source[1]["content"][1]["input"]["b"] = "SMUGGLED"
        source[2]["content"][0]["content"] = "SMUGGLED"
        source.append(user("SMUGGLED"))
        return text

    ref = ArchiveStore(scope.base, "k", "c", meddle).seal(source, "")

    assert ref.source_message_count == 3
    assert scope.store.fetch(ref.id, 0, 128) == messages()
    assert scope.store.search("smuggled", 1) == []


def test_text_of_another_class_is_kept_as_plain_text(scope: Scope) -> None:
    class Text(str):
        def encode(self, *_: Any, **__: Any) -> bytes:
            return b"innocent"

        def lower(self) -> str:
            return "innocent"

        def __contains__(self, _: object) -> bool:
            return False

    store = ArchiveStore(scope.base, "k", "c", lambda _: Text("my secret"))

    ref = store.seal([user("x"), user(Text("another secret"))], "")

    assert store.fetch(ref.id, 0, 2) == [user("[archive: withheld]")] * 2
    plain = scope.store.seal([user(Text("a third secret"))], "")
    assert scope.store.fetch(plain.id, 0, 1) == [user("[archive: withheld]")]


def test_a_different_answer_each_time_seals_what_was_screened(scope: Scope) -> None:
    answers = iter(["first", "second", "third"])
    store = ArchiveStore(scope.base, "k", "c", lambda _: next(answers))

    ref = store.seal([user("a"), user("b")], "n")

    assert store.fetch(ref.id, 0, 2) == [user("first"), user("second")]
    assert store.fetch_note(ref.id) == "third"
