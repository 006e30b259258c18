"""Random message lists: what is sealed comes back exact, and nothing ineligible is ever written.

`ARES_SOAK=1` runs all 10,000; a plain run a few hundred.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archive.segments import (
    ArchivedMessage,
    ArchiveStore,
    SegmentCorrupt,
    SegmentDenied,
    SegmentInvalid,
    project_archive,
)

EXAMPLES = 10_000 if os.environ.get("ARES_SOAK") else 300
HIDDEN = "HIDDENvalue"
WITHHELD = "[archive: withheld]"

slow = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
hidden_text = text.map(lambda value: HIDDEN + value)
fine_labels = st.fixed_dictionaries(
    {},
    optional={
        "channel": st.just("final"),
        "private": st.just(False),
        "disclosure": st.just("model_visible"),
        "sensitivity": st.sampled_from(["normal", "standard"]),
        "extra": hidden_text,
    },
)
bad_labels = st.one_of(
    st.sampled_from(["local_only", "never_persist", "new", None, 5]).map(
        lambda value: {"disclosure": value}
    ),
    st.sampled_from([True, None, 0, "no"]).map(lambda value: {"private": value}),
    st.sampled_from(["secret", None, 1]).map(lambda value: {"sensitivity": value}),
    st.sampled_from(["analysis", None]).map(lambda value: {"channel": value}),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | hidden_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hidden_text, inner, max_size=3),
    max_leaves=6,
)
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
identifier = st.from_regex(r"\A[A-Za-z0-9_.:-]{1,20}\Z")


def with_labels(block: dict[str, Any], labels: dict[str, Any]) -> dict[str, Any]:
    return {**labels, **block}


def text_block(words: Any) -> Any:
    return st.fixed_dictionaries({"type": st.just("text"), "text": words})


def block(kind: str, labels: st.SearchStrategy[dict[str, Any]], words: Any) -> Any:
    shapes = {
        "text": {"type": st.just("text"), "text": words},
        "tool_use": {
            "type": st.just("tool_use"),
            "id": identifier,
            "name": identifier,
            "input": json_value if words is text else anything,
        },
        "tool_result": {
            "type": st.just("tool_result"),
            "tool_use_id": identifier,
            "is_error": st.booleans() | st.none(),
            "content": words | st.lists(text_block(words)),
        },
    }
    return st.builds(with_labels, st.fixed_dictionaries(shapes[kind]), labels)


fine_block = st.one_of(*(block(kind, fine_labels, text) for kind in ("text", "tool_use")))
result_block = block("tool_result", fine_labels, text)
bad_block = st.one_of(
    *(block(kind, bad_labels, hidden_text) for kind in ("text", "tool_use", "tool_result")),
    st.sampled_from(["thinking", "image", "document", "new"]).map(
        lambda kind: {"type": kind, "text": HIDDEN, "data": HIDDEN}
    ),
    anything,
)
fine_message = st.one_of(
    st.builds(
        lambda role, content, labels: {**labels, "role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        text,
        fine_labels,
    ),
    st.builds(
        lambda blocks: {"role": "assistant", "content": blocks},
        st.lists(fine_block | bad_block, max_size=4),
    ),
    st.builds(
        lambda blocks: {"role": "user", "content": blocks},
        st.lists(result_block | bad_block, max_size=4),
    ),
)
bad_message = st.one_of(
    st.builds(
        lambda labels: {"role": "user", "content": HIDDEN, **labels},
        bad_labels,
    ),
    st.sampled_from(["system", "developer", "tool", None]).map(
        lambda role: {"role": role, "content": HIDDEN}
    ),
    st.just({"role": "user", "content": HIDDEN, "_synaps_context": {}}),
    anything,
)
message_lists = st.lists(fine_message | bad_message, max_size=6)
redactors = st.sampled_from([None, str, str.upper, lambda value: value.replace("a", "b")])


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        yield Path(folder) / "base"


def fresh(base: Path, redactor: Any) -> ArchiveStore:
    """A store on an empty scope."""
    for path in base.glob("context-archives/*/*.json"):
        path.unlink()
    return ArchiveStore(base, "k", "c", redactor)


def spelled(messages: list[ArchivedMessage]) -> str:
    """Tells 1 from 1.0 and True, which are equal."""
    return json.dumps([one.message for one in messages], sort_keys=True)


@slow
@given(message_lists, text, redactors)
def test_what_is_sealed_comes_back_exact_and_nothing_ineligible_is_written(
    base: Path, messages: list[Any], note: str, redactor: Any
) -> None:
    store = fresh(base, redactor)
    before = json.dumps(messages)
    projection = project_archive("c", messages, note, redactor)

    ref = store.seal(messages, note)

    found = store.fetch_with_provenance(ref.id, 0, 128)
    assert found == projection.messages
    assert spelled(found) == spelled(projection.messages)
    assert store.fetch_note(ref.id) == projection.note
    assert ref.message_count == len(projection.messages)
    assert json.dumps(messages) == before, "the caller's messages are untouched"
    written = b"".join(path.read_bytes() for path in base.glob("context-archives/*/*"))
    assert HIDDEN.encode().lower() not in written.lower()
    assert len(store.search("", 32)) == 1
    assert store.seal(messages, "another note") == ref

    store.forget(ref.id)
    with pytest.raises(SegmentDenied):
        store.seal(messages, note)


@slow
@given(st.lists(fine_message, max_size=5))
def test_eligible_text_is_kept_to_the_character(messages: list[Any]) -> None:
    kept = {one.source_index: one for one in project_archive("c", messages, "", str).messages}

    for index, message in enumerate(messages):
        if isinstance(message["content"], str):
            assert kept[index].message["content"] in (message["content"], WITHHELD)
            continue
        for place, block in enumerate(message["content"]):
            if index in kept and place in kept[index].block_indices:
                at = kept[index].block_indices.index(place)
                one = kept[index].message["content"][at]
                assert one["type"] == block["type"]
                if block["type"] == "text":
                    assert one["text"] in (block["text"], WITHHELD)
                if block["type"] == "tool_use":
                    withheld = {"_archive_withheld": True}
                    assert json.dumps(one["input"], sort_keys=True) in (
                        json.dumps(block["input"], sort_keys=True),
                        json.dumps(withheld),
                    )


@slow
@given(st.lists(anything | bad_message | fine_message), st.one_of(text, anything), redactors)
def test_a_projection_succeeds_or_is_refused_and_never_crashes(
    messages: list[Any], note: Any, redactor: Any
) -> None:
    try:
        projection = project_archive("c", messages, note, redactor)
    except SegmentInvalid:
        return
    assert len(projection.messages) <= len(messages)
    assert all(one.message["role"] in ("user", "assistant") for one in projection.messages)


@slow
@given(st.binary(max_size=400), st.integers(0, 500), st.booleans())
def test_any_bytes_in_a_slot_are_a_record_or_corrupt(
    base: Path, data: bytes, place: int, mixed: bool
) -> None:
    store = fresh(base, None)
    store.seal([{"role": "user", "content": "x" * 50}], "")
    path = next(base.glob("context-archives/*/000.json"))
    sound = path.read_bytes()
    path.write_bytes(sound[:place] + data + sound[place + len(data) :] if mixed else data)

    try:
        found = store.search("", 32)
    except SegmentCorrupt:
        return
    assert path.read_bytes() == sound or len(found) == 1
