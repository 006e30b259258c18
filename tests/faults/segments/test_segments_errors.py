"""What the system refuses, in the middle of an operation."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveStore,
    SegmentBusy,
    SegmentCorrupt,
    SegmentDenied,
    SegmentStoreFull,
    SegmentUnsupported,
    export_in,
    private_dir,
)
from faults.segments.scope import Scope, names, user


class TestErrors:
    @pytest.mark.parametrize(
        ("number", "error"),
        [
            (errno.ENOSPC, SegmentStoreFull),
            (errno.EDQUOT, SegmentStoreFull),
            (errno.EFBIG, SegmentStoreFull),
            (errno.EROFS, SegmentDenied),
            (errno.EACCES, SegmentDenied),
            (errno.EIO, SegmentBusy),
            (errno.ESTALE, SegmentBusy),
            (errno.EMFILE, SegmentBusy),
        ],
    )
    @pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "unlink"])
    def test_an_error_of_the_system_leaves_the_slot_as_it_was(
        self,
        scope: Scope,
        call: str,
        number: int,
        error: type[Exception],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        scope.store.seal([user("before")], "")
        real = getattr(os, call)

        def fail(*args: Any, **kwargs: Any) -> Any:
            if call != "open" or args[0] == "pending.tmp":
                raise OSError(number, os.strerror(number))
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(private_dir.os, call, fail)
            with pytest.raises(error) as caught:
                scope.store.seal([user("x")], "")
        assert "x" not in str(caught.value).split()

        assert scope.store.seal([user("x")], "").message_count == 1
        assert len(scope.store.search("", 32)) == 2
        assert "pending.tmp" not in names(scope.folder)

    def test_short_writes_are_finished(self, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
        real = os.write
        with monkeypatch.context() as patch:
            patch.setattr(private_dir.os, "write", lambda handle, data: real(handle, data[:7]))
            ref = scope.store.seal([user("a longer text than seven bytes")], "")

        assert scope.store.fetch(ref.id, 0, 1) == [user("a longer text than seven bytes")]

    def test_a_failed_directory_sync_is_made_good_by_the_retry(
        self, scope: Scope, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, synced = os.fsync, []

        def fsync(handle: int) -> None:
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                synced.append(handle)
                if len(synced) == 1:
                    raise OSError(errno.EIO, "I/O error")
            real(handle)

        monkeypatch.setattr(private_dir.os, "fsync", fsync)
        with pytest.raises(SegmentBusy):
            scope.store.seal([user("x")], "")
        assert (scope.folder / "000.json").exists(), "published, perhaps not durable"

        ref = scope.store.seal([user("x")], "")

        assert ref.id in (scope.folder / "000.json").read_text()
        assert len(synced) == 2
        assert len(list(scope.folder.glob("*.json"))) == 1

    def test_no_handle_is_left_open(self, scope: Scope) -> None:
        def handles_open() -> int:
            return len(names(Path("/proc/self/fd")))

        scope.store.seal([user("x")], "")
        before = handles_open()
        (scope.folder / "001.json").symlink_to("elsewhere")
        for call in scope.every_call():
            with pytest.raises(SegmentDenied):
                call()
        (scope.folder / "001.json").unlink()
        (scope.folder / "000.json").write_text("damaged")
        for call in scope.every_call():
            with pytest.raises(SegmentCorrupt):
                call()
        ArchiveStore(scope.base, "other", "c").seal([user("x")], "")
        export_in(scope.base / "missing", "k")

        assert handles_open() == before

    def test_without_unix_it_is_unsupported(
        self, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(private_dir, "fcntl", None)

        for call in (lambda: ArchiveStore(base, "k", "c"), lambda: export_in(base, "k")):
            with pytest.raises(SegmentUnsupported):
                call()
        assert not base.exists()
