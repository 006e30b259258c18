"""Locks that are held, fail, are replaced, or do nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveStore,
    SegmentBusy,
    SegmentUnsupported,
    private_dir,
)
from faults.segments.scope import Scope, names, user


class TestLocks:
    @pytest.mark.parametrize(
        ("number", "error"),
        [
            (errno.EWOULDBLOCK, SegmentBusy),
            (errno.ENOLCK, SegmentBusy),
            (errno.EBADF, SegmentBusy),
            (errno.EIO, SegmentBusy),
            (errno.ENOSYS, SegmentUnsupported),
            (errno.EOPNOTSUPP, SegmentUnsupported),
        ],
    )
    def test_a_lock_that_fails_fails_closed_with_a_reason(
        self,
        scope: Scope,
        number: int,
        error: type[Exception],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def flock(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        scope.store.seal([user("x")], "")
        monkeypatch.setattr(private_dir.fcntl, "flock", flock)

        for call in scope.every_call():
            with pytest.raises(error):
                call()
        assert len(list(scope.folder.glob("*.json"))) == 1

    def test_the_lock_never_waits(self, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []
        real = fcntl.flock

        def flock(handle: int, operation: int) -> None:
            asked.append(operation)
            real(handle, operation)

        monkeypatch.setattr(private_dir.fcntl, "flock", flock)
        scope.store.seal([user("x")], "")
        scope.store.export_records()

        assert asked == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB]

    def test_a_lock_file_replaced_while_it_is_taken_is_not_held(
        self, scope: Scope, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = fcntl.flock

        def flock(handle: int, operation: int) -> None:
            real(handle, operation)
            (scope.folder / "lock").unlink()
            (scope.folder / "lock").touch(0o600)

        monkeypatch.setattr(private_dir.fcntl, "flock", flock)

        with pytest.raises(SegmentBusy):
            scope.store.seal([user("x")], "")

    def test_where_locks_do_nothing_no_seal_is_lost_unnoticed(
        self, scope: Scope, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two writers hold "the" lock: the second one finishes while the first is writing."""
        monkeypatch.setattr(private_dir.fcntl, "flock", lambda *_: None)
        first, second = ArchiveStore(scope.base, "k", "1"), ArchiveStore(scope.base, "k", "2")
        real = os.fsync
        done: list[Any] = []

        def fsync(handle: int) -> None:
            real(handle)
            if not done:
                done.append(None)
                done[0] = second.seal([user("second")], "")

        with monkeypatch.context() as patch:
            patch.setattr(private_dir.os, "fsync", fsync)
            with pytest.raises(SegmentBusy):
                first.seal([user("first")], "")

        assert first.fetch(done[0].id, 0, 1) == [user("second")]
        assert first.seal([user("first")], "").message_count == 1

    @pytest.mark.parametrize("name", ["pending.tmp", "000.json"])
    def test_a_file_another_writer_left_meanwhile_is_not_published_or_replaced(
        self, scope: Scope, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = scope.folder / name
        real = os.fsync

        def fsync(handle: int) -> None:
            real(handle)
            other.unlink(missing_ok=True)
            other.write_text("another writer's")

        with monkeypatch.context() as patch:
            patch.setattr(private_dir.os, "fsync", fsync)
            with pytest.raises(SegmentBusy):
                scope.store.seal([user("x")], "")

        assert other.read_text() == "another writer's"
        assert names(scope.folder) == sorted(["lock", name])

    def test_a_file_replaced_right_after_its_rename_is_no_success(
        self, scope: Scope, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.rename

        def rename(source: str, target: str, **kwargs: Any) -> None:
            real(source, target, **kwargs)
            (scope.folder / target).unlink()
            (scope.folder / target).write_text("another writer's")

        monkeypatch.setattr(private_dir.os, "rename", rename)

        with pytest.raises(SegmentBusy):
            scope.store.seal([user("x")], "")

    def test_three_processes_never_hold_the_lock_together(self, base: Path, tmp_path: Path) -> None:
        script = textwrap.dedent(
            """
            import os, sys
            from archive.segments import SegmentBusy
            from archive.segments.private_dir import PrivateDir
            base, marker = sys.argv[1:]
            held = 0
            while held < 300:
                try:
                    with PrivateDir.open(base, "0" * 64) as directory, directory.lock():
                        handle = os.open(marker, os.O_CREAT | os.O_EXCL)
                        os.close(handle)
                        os.unlink(marker)
                        held += 1
                except SegmentBusy:
                    pass
            """
        )
        command = [sys.executable, "-c", script, str(base), str(tmp_path / "inside")]
        workers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
        for worker in workers:
            _, complaint = worker.communicate(timeout=120)
            assert worker.returncode == 0, complaint.decode()[-400:]
