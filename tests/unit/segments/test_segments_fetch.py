"""What fetching and forgetting promise: a range, exact and in its scope; and nothing afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveRef,
    ArchiveStore,
    SegmentDenied,
    SegmentInvalid,
    SegmentNotFound,
    export_in,
    project_archive,
    project_fetch,
    project_search,
)
from unit.segment_messages import h, user

UNKNOWN = "0" * 32


class TestFetch:
    @pytest.fixture
    def ref(self, store: ArchiveStore) -> ArchiveRef:
        system = {"role": "system", "content": "x"}
        return store.seal([system, *(user(str(index)) for index in range(5))], "")

    def test_a_range_counts_kept_messages(self, store: ArchiveStore, ref: ArchiveRef) -> None:
        assert store.fetch(ref.id, 1, 2) == [user("1"), user("2")]
        assert store.fetch(ref.id, 3, 128) == [user("3"), user("4")]
        assert store.fetch(ref.id, 0, 0) == []

    @pytest.mark.parametrize("start", [5, 6, 2**64])
    def test_a_start_past_the_end_is_empty(
        self, store: ArchiveStore, ref: ArchiveRef, start: int
    ) -> None:
        assert store.fetch(ref.id, start, 1) == []

    def test_provenance_names_the_place_in_the_sealed_list(
        self, store: ArchiveStore, ref: ArchiveRef
    ) -> None:
        found = store.fetch_with_provenance(ref.id, 1, 1)[0]

        assert (found.source_index, found.block_indices, found.message) == (2, [], user("1"))

    @pytest.mark.parametrize(("start", "limit"), [(0, 129), (-1, 1), (0, -1), ("0", 1), (0, None)])
    def test_a_larger_limit_is_refused_not_clamped(
        self, store: ArchiveStore, ref: ArchiveRef, start: Any, limit: Any
    ) -> None:
        with pytest.raises(SegmentInvalid):
            store.fetch(ref.id, start, limit)

    def test_any_conversation_of_the_scope_can_be_fetched(
        self, store: ArchiveStore, base: Path, ref: ArchiveRef
    ) -> None:
        assert ArchiveStore(base, "acme/s", "other").fetch(ref.id, 0, 1) == [user("0")]
        assert project_fetch(base, "acme/s", ref.id, 0, 1) == [user("0")]

    def test_another_scope_has_not_heard_of_it(self, base: Path, ref: ArchiveRef) -> None:
        with pytest.raises(SegmentNotFound):
            project_fetch(base, "acme/t", ref.id, 0, 1)

    @pytest.mark.parametrize(
        "bad", ["", "../000.json", "/tmp/x", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n", None, 0]
    )
    def test_an_id_is_checked_before_it_is_used(self, store: ArchiveStore, bad: Any) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: store.fetch(bad, 0, 1),
            lambda: store.fetch_note(bad),
            lambda: store.forget(bad),
        ]
        for call in calls:
            with pytest.raises(SegmentInvalid):
                call()

    def test_an_unknown_id_is_not_found(self, store: ArchiveStore) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: store.fetch(UNKNOWN, 0, 1),
            lambda: store.fetch_note(UNKNOWN),
            lambda: store.forget(UNKNOWN),
        ]
        for call in calls:
            with pytest.raises(SegmentNotFound):
                call()


class TestForget:
    def test_a_tombstone_takes_the_records_place_without_content(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        store.seal([user("first")], "")
        ref = store.seal([user("CONTENT")], "NOTE")
        digest = project_archive("s", [user("CONTENT")], "").digest

        store.forget(ref.id)

        assert (folder / "001.json").read_text() == (
            f'{{"version":1,"scope":"{h(b"acme/s")}","logical":"{h(b"s")}","id":"{ref.id}",'
            f'"digest":"{digest}","body":{{"state":"tombstone"}}}}'
        )

    def test_what_was_forgotten_is_absent_from_every_read(
        self, store: ArchiveStore, base: Path
    ) -> None:
        ref = store.seal([user("CONTENT")], "NOTE")
        store.forget(ref.id)

        for call in (
            lambda: store.fetch(ref.id, 0, 1),
            lambda: store.fetch_with_provenance(ref.id, 0, 1),
            lambda: store.fetch_note(ref.id),
            lambda: project_fetch(base, "acme/s", ref.id, 0, 1),
        ):
            with pytest.raises(SegmentNotFound):
                call()
        assert store.search("", 32) == []
        assert store.search("content", 32) == []
        assert project_search(base, "acme/s", "", 32) == []
        rows = export_in(base, "acme/s")
        assert [row["tombstone"] for row in rows] == [True]
        assert "CONTENT" not in json.dumps(rows)

    def test_forgetting_twice_is_fine(self, store: ArchiveStore, folder: Path) -> None:
        ref = store.seal([user("x")], "")
        store.forget(ref.id)
        before = (folder / "000.json").read_bytes()

        store.forget(ref.id)

        assert (folder / "000.json").read_bytes() == before

    def test_a_forgotten_projection_is_denied_for_good(
        self, store: ArchiveStore, base: Path
    ) -> None:
        store.forget(store.seal([user("x")], "").id)

        for again in (store, ArchiveStore(base, "acme/s", "s")):
            with pytest.raises(PermissionError) as caught:
                again.seal([user("x")], "another note")
            assert isinstance(caught.value, SegmentDenied)

    def test_a_slot_is_never_used_again(self, store: ArchiveStore, folder: Path) -> None:
        store.forget(store.seal([user("x")], "").id)

        ref = store.seal([user("y")], "")

        assert ref.id in (folder / "001.json").read_text()
