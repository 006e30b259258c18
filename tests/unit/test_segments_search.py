"""Search is a case-insensitive literal over the canonical JSON of each kept message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archive.segments import ArchiveStore, SegmentInvalid, project_search
from unit.segment_messages import user


@pytest.fixture
def store(tmp_path: Path) -> ArchiveStore:
    return ArchiveStore(tmp_path / "base", "k", "c")


def found(store: ArchiveStore, query: str) -> bool:
    return bool(store.search(query, 1))


def test_results_come_in_slot_order_and_stop_at_the_limit(store: ArchiveStore) -> None:
    refs = [store.seal([user(f"word {index}")], "") for index in range(5)]
    store.forget(refs[1].id)

    assert [one.id for one in store.search("WORD", 3)] == [refs[i].id for i in (0, 2, 3)]
    assert store.search("word", 0) == []


def test_a_result_tells_the_counts_and_the_start_of_the_matching_message(
    store: ArchiveStore,
) -> None:
    ref = store.seal([{"role": "system", "content": "x"}, user("a"), user("needle b")], "")

    one = store.search("needle", 1)[0]

    assert (one.id, one.message_count, one.source_message_count) == (ref.id, 2, 3)
    assert one.snippet == '{"content":"needle b","role":"user"}'


def test_a_snippet_is_cut_at_a_character_within_256_bytes(store: ArchiveStore) -> None:
    store.seal([user("é" * 500)], "")

    snippet = store.search("", 1)[0].snippet

    assert snippet == '{"content":"' + "é" * 122
    assert len(snippet.encode()) == 256
    store.seal([user("x" + "é" * 500)], "")
    assert len(store.search("xé", 1)[0].snippet.encode()) == 255


def test_an_empty_query_lists_what_lives_even_without_messages(store: ArchiveStore) -> None:
    store.seal([user("x")], "")
    empty = store.seal([{"role": "system", "content": "x"}], "")

    assert [one.snippet for one in store.search("", 32)] == ['{"content":"x","role":"user"}', ""]
    assert empty.id not in [one.id for one in store.search("x", 32)]


@pytest.mark.parametrize(
    ("text", "query", "matches"),
    [
        ("Rate Limit", "rATE lIMIT", True),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("(", "(", True),
        ("ΑΒΓ", "αβγ", True),
        ("αβγ", "ΑΒΓ", True),
        ("ΟΔΟΣ", "οδος", True),
        ("Straße", "STRASSE", False),
        ("x", '"role":"USER"', True),
        ("a\nb", "a\\nb", True),
        ("a\nb", "a\nb", False),
        ('say "hi"', 'say \\"hi', True),
        ("273 \u212a", "273 k", True),
        ("273 \u212a", "273 j", False),
        ("\u0130stanbul", "i\u0307stanbul", True),
        ("\u0130", '"i', True),
        ("plain", "é", False),
        ("caf\u00e9", "CAF\u00c9", True),
        ("cafe\u0301", "caf\u00e9", False),
    ],
)
def test_the_query_is_a_literal_whatever_its_case(
    store: ArchiveStore, text: str, query: str, matches: bool
) -> None:
    store.seal([user(text)], "")

    assert found(store, query) is matches


def test_a_query_does_not_match_across_messages_or_their_places(store: ArchiveStore) -> None:
    store.seal([user("one"), user("two")], "")

    assert not found(store, "source_index")
    assert not found(store, "block_indices")
    assert not found(store, '"user"},{')


def test_notes_are_never_searched_or_shown(store: ArchiveStore) -> None:
    ref = store.seal([user("x")], "HIDDEN note")

    assert store.search("hidden", 32) == []
    assert store.search('"note"', 32) == []
    assert "HIDDEN" not in store.search("", 32)[0].snippet
    assert "HIDDEN" not in str(store.fetch(ref.id, 0, 128))
    assert store.fetch_note(ref.id) == "HIDDEN note"


@pytest.mark.parametrize(
    ("query", "limit"),
    [("q" * 513, 1), ("é" * 257, 1), ("\ud800", 1), ("", 33), ("", -1), (None, 1), ("", "1")],
)
def test_a_query_or_limit_too_large_is_refused(
    store: ArchiveStore, tmp_path: Path, query: Any, limit: Any
) -> None:
    with pytest.raises(SegmentInvalid):
        store.search(query, limit)
    with pytest.raises(SegmentInvalid):
        project_search(tmp_path / "base", "k", query, limit)


def test_the_largest_query_and_limit_are_taken(store: ArchiveStore) -> None:
    text = "é" * 256
    store.seal([user(text)], "")

    assert len(store.search(text, 32)) == 1


def test_all_conversations_of_a_scope_are_searched(tmp_path: Path, store: ArchiveStore) -> None:
    store.seal([user("one")], "")
    ArchiveStore(tmp_path / "base", "k", "other").seal([user("two")], "")
    ArchiveStore(tmp_path / "base", "another scope", "c").seal([user("three")], "")

    assert len(project_search(tmp_path / "base", "k", "", 32)) == 2
