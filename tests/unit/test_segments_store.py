"""What a segment store promises: seal once, fetch, search, forget, export."""

from __future__ import annotations

import fcntl
import hashlib
import json
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveRef,
    ArchiveStore,
    SegmentBusy,
    SegmentCorrupt,
    SegmentDenied,
    SegmentInvalid,
    SegmentNotFound,
    SegmentStoreFull,
    export_in,
    project_archive,
    project_fetch,
    project_search,
)

MIB = 1024 * 1024
UNKNOWN = "0" * 32


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def h(*parts: bytes) -> str:
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.sha256(whole).hexdigest()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base"


@pytest.fixture
def folder(base: Path) -> Path:
    return base / "context-archives" / h(b"acme/s")


@pytest.fixture
def store(base: Path) -> ArchiveStore:
    return ArchiveStore(base, "acme/s", "s")


Fill = Callable[[int], list[ArchiveRef]]


@pytest.fixture
def fill(store: ArchiveStore, folder: Path) -> Fill:
    """Seals many segments without scanning and syncing each time."""

    def seal(count: int) -> list[ArchiveRef]:
        refs = []
        for index in range(count):
            other = ArchiveStore(folder.parents[1], "acme/other", "s")
            ref = other.seal([user(f"{index} é{'é' * 150}")], f"note {index}")
            text = (folder.parent / h(b"acme/other") / "000.json").read_text()
            text = text.replace(h(b"acme/other"), h(b"acme/s"))
            (folder / f"{index:03}.json").write_text(text)
            (folder.parent / h(b"acme/other") / "000.json").unlink()
            refs.append(ref)
        return refs

    return seal


class TestSeal:
    def test_a_sealed_segment_is_the_file_the_format_states(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        messages = [{"role": "system", "content": "x"}, user(" αβ\n"), user([{"type": "image"}])]

        ref = store.seal(messages, "a note\n")

        digest = project_archive("s", messages, "").digest
        assert ref.message_count == 1
        assert ref.source_message_count == 3
        assert (folder / "000.json").read_bytes().decode() == (
            f'{{"version":1,"scope":"{h(b"acme/s")}","logical":"{h(b"s")}","id":"{ref.id}",'
            f'"digest":"{digest}","body":{{"state":"live","source_message_count":3,"messages":['
            '{"source_index":1,"block_indices":[],"message":{"content":" αβ\\n","role":"user"}}'
            '],"note":"a note\\n"}}'
        )
        assert sorted(path.name for path in folder.iterdir()) == ["000.json", "lock"]

    def test_an_id_is_a_random_uuid(self, store: ArchiveStore) -> None:
        ref = store.seal([user("a")], "")

        assert uuid.UUID(hex=ref.id).version == 4
        assert ref.id == uuid.UUID(hex=ref.id).hex
        assert store.seal([user("b")], "").id != ref.id

    def test_the_same_projection_seals_once_and_keeps_the_first_note(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        first = store.seal([user("x"), {"role": "system", "content": "a"}], "first")

        assert store.seal([user("x"), {"role": "system", "content": "b"}], "second") == first
        assert store.fetch_note(first.id) == "first"
        assert len(list(folder.glob("*.json"))) == 1

    def test_another_conversation_seals_the_same_messages_again(
        self, store: ArchiveStore, base: Path
    ) -> None:
        first = store.seal([user("x")], "")
        other = ArchiveStore(base, "acme/s", "other")
        second = other.seal([user("x")], "")

        assert second.id != first.id
        store.forget(first.id)
        assert other.seal([user("x")], "") == second

    def test_slots_are_filled_in_order_gaps_first(self, store: ArchiveStore, folder: Path) -> None:
        for index in range(3):
            store.seal([user(str(index))], "")
        (folder / "001.json").unlink()

        ref = store.seal([user("again")], "")

        assert ref.id in (folder / "001.json").read_text()

    def test_nothing_eligible_seals_an_empty_segment(self, store: ArchiveStore) -> None:
        ref = store.seal([{"role": "system", "content": "x"}], "")

        assert ref.message_count == 0
        assert store.fetch(ref.id, 0, 128) == []

    def test_a_segment_survives_reopening(self, store: ArchiveStore, base: Path) -> None:
        ref = store.seal([user("x")], "")

        assert ArchiveStore(str(base), "acme/s", "s").fetch(ref.id, 0, 1) == [user("x")]

    def test_several_mebibytes_stay_exact(self, store: ArchiveStore) -> None:
        messages = [user("eligible exact évidence\n" * 300_000)]

        ref = store.seal(messages, "")

        assert store.fetch(ref.id, 0, 1) == messages
        assert store.seal(messages, "") == ref

    def test_a_file_over_16_mib_is_refused_even_where_the_messages_fit(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        with pytest.raises(SegmentInvalid, match="file"):
            store.seal([user("x" * (16 * MIB - 100))], "n" * 8000)

        assert list(folder.glob("*.json")) == []

    def test_floats_and_every_kind_of_value_survive(self, base: Path) -> None:
        input = {"f": [1e-7, 1.0, 1e16, -0.0, 1e-5, 1.5e300], "n": [0, 2**64 - 1, -(2**63), None]}
        call = {"type": "tool_use", "id": "a", "name": "b", "input": input}
        store = ArchiveStore(base, "acme/s", "s", lambda text: text)

        ref = store.seal([{"role": "assistant", "content": [call]}], "")

        kept = store.fetch(ref.id, 0, 1)[0]["content"][0]["input"]
        assert json.dumps(kept) == json.dumps(input)
        assert store.search("1e-7,1.0,1e+16,-0.0,0.00001,1.5e+300", 1)[0].id == ref.id


class TestLimits:
    def test_128_segments_are_the_most_and_tombstones_count(
        self, store: ArchiveStore, fill: Fill
    ) -> None:
        refs = fill(128)

        with pytest.raises(SegmentStoreFull) as caught:
            store.seal([user("one more")], "")
        assert caught.value.limit == "segments"
        store.forget(refs[0].id)
        with pytest.raises(SegmentStoreFull):
            store.seal([user("one more")], "")

    def test_a_full_scope_still_knows_what_it_sealed(
        self, store: ArchiveStore, fill: Fill, base: Path
    ) -> None:
        refs = fill(128)

        again = ArchiveStore(base, "acme/s", "s").seal([user(f"5 é{'é' * 150}")], "")

        assert again == refs[5]

    def test_256_mib_are_the_most(
        self, store: ArchiveStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("archive.segments.store.MAX_SCOPE_BYTES", 3000)
        store.seal([user("x" * 1000)], "")

        with pytest.raises(SegmentStoreFull) as caught:
            store.seal([user("y" * 2000)], "")

        assert caught.value.limit == "bytes"
        store.seal([user("z" * 100)], "")

    def test_a_scope_beyond_256_mib_is_corrupt(
        self, store: ArchiveStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.seal([user("x" * 1000)], "")
        store.seal([user("y" * 1000)], "")
        monkeypatch.setattr("archive.segments.scan.MAX_SCOPE_BYTES", 2000)

        with pytest.raises(SegmentCorrupt):
            store.search("", 1)


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


class TestExport:
    def test_a_record_is_exported_whole(self, store: ArchiveStore, base: Path) -> None:
        blocks = [{"type": "image"}, {"type": "text", "text": "x"}]
        ref = store.seal([user("a"), user(blocks)], "a note")
        gone = store.seal([user("y")], "another")
        store.forget(gone.id)

        rows = store.export_records()

        assert rows == [
            {
                "id": ref.id,
                "digest": project_archive("s", [user("a"), user(blocks)], "").digest,
                "logical_id": h(b"s"),
                "source_message_count": 2,
                "messages": [
                    {"source_index": 0, "block_indices": [], "message": user("a")},
                    {"source_index": 1, "block_indices": [1], "message": user(blocks[1:])},
                ],
                "note": "a note",
                "tombstone": False,
            },
            {
                "id": gone.id,
                "digest": project_archive("s", [user("y")], "").digest,
                "logical_id": h(b"s"),
                "source_message_count": 0,
                "messages": [],
                "note": "",
                "tombstone": True,
            },
        ]
        assert list(rows[0]) == [
            "id",
            "digest",
            "logical_id",
            "source_message_count",
            "messages",
            "note",
            "tombstone",
        ]
        assert export_in(base, "acme/s") == rows
        assert "a note" not in repr(rows)

    @pytest.mark.parametrize("made", ["", "base", "base/context-archives", "whole"])
    def test_a_missing_archive_is_empty_and_stays_missing(self, base: Path, made: str) -> None:
        if made == "whole":
            ArchiveStore(base, "acme/s", "s")
        elif made:
            (base.parent / made).mkdir(parents=True)
        before = sorted(base.parent.rglob("*"))

        assert export_in(base, "acme/s") == []
        assert sorted(base.parent.rglob("*")) == before

    def test_exporting_changes_nothing(self, store: ArchiveStore, base: Path, folder: Path) -> None:
        store.seal([user("x")], "")
        paths = [base, folder.parent, folder, *folder.iterdir()]
        for path in paths:
            path.chmod(0o750 if path.is_dir() else 0o640)

        def state() -> list[Any]:
            stats = [(path.stat(), path) for path in paths]
            return [
                (s.st_mode, s.st_mtime_ns, path.is_file() and path.read_bytes())
                for s, path in stats
            ]

        before = state()
        assert len(export_in(base, "acme/s")) == 1
        assert len(store.export_records()) == 1
        assert state() == before

    def test_records_without_a_lock_file_are_refused(
        self, store: ArchiveStore, base: Path, folder: Path
    ) -> None:
        ref = store.seal([user("x")], "")
        (folder / "lock").unlink()

        for call in (store.export_records, lambda: export_in(base, "acme/s")):
            with pytest.raises(SegmentCorrupt):
                call()
        assert not (folder / "lock").exists()
        assert store.fetch(ref.id, 0, 1), "the other calls make their lock again"

    def test_two_exports_share_the_lock_but_a_writer_excludes_them(
        self, store: ArchiveStore, base: Path, folder: Path
    ) -> None:
        store.seal([user("x")], "")
        with (folder / "lock").open("rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_SH)
            assert len(export_in(base, "acme/s")) == 1
            with pytest.raises(SegmentBusy):
                store.seal([user("y")], "")
        with (folder / "lock").open("rb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            with pytest.raises(SegmentBusy):
                export_in(base, "acme/s")


class TestLock:
    def test_every_operation_is_busy_while_another_holds_the_scope(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        ref = store.seal([user("x")], "")
        calls: list[Callable[[], Any]] = [
            lambda: store.seal([user("y")], ""),
            lambda: store.fetch(ref.id, 0, 1),
            lambda: store.fetch_note(ref.id),
            lambda: store.search("", 1),
            lambda: store.forget(ref.id),
            store.export_records,
        ]
        with (folder / "lock").open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            for call in calls:
                with pytest.raises(SegmentBusy, match="retain the source and retry"):
                    call()
        assert store.fetch(ref.id, 0, 1) == [user("x")]

    def test_threads_exclude_each_other_and_lose_nothing(self, base: Path) -> None:
        store = ArchiveStore(base, "acme/s", "s")

        def work(name: int) -> None:
            for index in range(10):
                while True:
                    try:
                        store.seal([user(f"{name}/{index}")], "")
                        break
                    except SegmentBusy:
                        continue

        threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert len(export_in(base, "acme/s")) == 30

    def test_the_lock_file_stays(self, store: ArchiveStore, folder: Path) -> None:
        inode = None
        for index in range(3):
            ref = store.seal([user(str(index))], "")
            store.forget(ref.id)
            assert inode in (None, (folder / "lock").stat().st_ino)
            inode = (folder / "lock").stat().st_ino
