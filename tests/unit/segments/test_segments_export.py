"""What an export promises, and the lock that every operation takes."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveStore,
    SegmentBusy,
    SegmentCorrupt,
    export_in,
    project_archive,
)
from unit.segment_messages import h, user


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
