"""Links and other things planted under the path at any time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from archive.segments import (
    ArchiveStore,
    SegmentDenied,
    export_in,
    private_dir,
)
from faults.segments.scope import Scope, names, user

Plant = Callable[[Path, Path], None]


def as_link(target: Path, path: Path) -> None:
    path.symlink_to(target)


def as_dangling_link(target: Path, path: Path) -> None:
    path.symlink_to(target.parent / "not there")


def as_hard_link(target: Path, path: Path) -> None:
    path.hardlink_to(target)


def as_pipe(target: Path, path: Path) -> None:
    os.mkfifo(path, 0o600)


def as_folder(target: Path, path: Path) -> None:
    path.mkdir()


def as_socket(target: Path, path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have 107 bytes only
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


PLANTS: list[Plant] = [as_link, as_dangling_link, as_hard_link, as_pipe, as_folder, as_socket]


class TestPlants:
    @pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
    def test_anything_but_a_file_of_ours_in_a_slot_stops_the_scope(
        self, scope: Scope, outside: Path, plant: Plant
    ) -> None:
        scope.store.seal([user("x")], "")
        (scope.folder / "000.json").unlink()
        plant(outside / "victim", scope.folder / "000.json")

        for call in scope.every_call():
            with pytest.raises(SegmentDenied, match=r"segment file 000\.json"):
                call()

    @pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
    def test_anything_but_a_file_of_ours_as_the_lock_stops_the_scope(
        self, scope: Scope, outside: Path, plant: Plant
    ) -> None:
        scope.store.seal([user("x")], "")
        (scope.folder / "lock").unlink()
        plant(outside / "victim", scope.folder / "lock")

        for call in scope.every_call():
            with pytest.raises(SegmentDenied, match="the lock"):
                call()

    @pytest.mark.parametrize("plant", [as_link, as_dangling_link, as_hard_link, as_pipe, as_socket])
    def test_a_planted_temporary_file_is_removed_never_written(
        self, scope: Scope, outside: Path, plant: Plant
    ) -> None:
        plant(outside / "victim", scope.folder / "pending.tmp")

        ref = scope.store.seal([user("x")], "")

        assert scope.store.fetch(ref.id, 0, 1) == [user("x")]
        assert "pending.tmp" not in names(scope.folder)

    def test_a_folder_in_the_place_of_the_temporary_file_is_denied(self, scope: Scope) -> None:
        (scope.folder / "pending.tmp").mkdir()

        with pytest.raises(SegmentDenied):
            scope.store.seal([user("x")], "")

    @pytest.mark.parametrize("plant", [as_link, as_hard_link, as_pipe])
    def test_what_appears_in_the_slot_while_it_is_published_is_refused(
        self,
        scope: Scope,
        outside: Path,
        plant: Plant,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        real = os.fsync

        def fsync(handle: int) -> None:
            real(handle)
            if not os.path.lexists(scope.folder / "000.json"):
                plant(outside / "victim", scope.folder / "000.json")

        with monkeypatch.context() as patch:
            patch.setattr(private_dir.os, "fsync", fsync)
            with pytest.raises(SegmentDenied):
                scope.store.seal([user("x")], "")

        assert "pending.tmp" not in names(scope.folder)

    @pytest.mark.parametrize("level", ["base", "context-archives", "scope", "above"])
    @pytest.mark.parametrize("filled", [False, True])
    def test_a_linked_folder_is_never_followed(
        self, tmp_path: Path, outside: Path, level: str, filled: bool
    ) -> None:
        base = tmp_path / "above" / "base"
        scope = Scope(base)
        place = {"above": base.parent, "base": base, "context-archives": scope.folder.parent}
        target = place.get(level, scope.folder)
        if filled:
            scope.store.seal([user("x")], "")
        target.rename(tmp_path / "moved")
        target.symlink_to(tmp_path / "moved" if filled else outside)

        for call in [*scope.every_call(), lambda: Scope(base)]:
            with pytest.raises(SegmentDenied):
                call()

    def test_a_file_in_the_place_of_a_folder_is_denied(self, base: Path) -> None:
        base.mkdir()
        (base / "context-archives").write_text("x")

        with pytest.raises(SegmentDenied):
            ArchiveStore(base, "k", "c")
        with pytest.raises(SegmentDenied):
            export_in(base, "k")

    def test_a_folder_swapped_for_a_link_again_and_again_leaks_and_loses_nothing(
        self, scope: Scope, outside: Path
    ) -> None:
        """Another process exchanges the two atomically all the time."""
        link = scope.folder.with_name("link")
        link.symlink_to(outside)
        script = textwrap.dedent(
            """
            import ctypes, os, sys
            libc = ctypes.CDLL(None, use_errno=True)
            one, two, stop = (os.fsencode(path) for path in sys.argv[1:])
            while not os.path.exists(stop):
                for _ in range(50):
                    if libc.renameat2(-100, one, -100, two, 2):
                        sys.exit(os.strerror(ctypes.get_errno()))
                print(flush=True)
            """
        )
        stop = scope.folder.with_name("stop")
        swapper = subprocess.Popen(
            [sys.executable, "-c", script, str(scope.folder), str(link), str(stop)],
            stdout=subprocess.PIPE,
        )
        assert swapper.stdout is not None
        sealed, denied = [], 0
        while len(sealed) < 40 or not denied:
            try:
                sealed.append(scope.store.seal([user(str(len(sealed)))], "").id)
            except SegmentDenied:
                denied += 1
            assert len(sealed) < 128, "the swaps never met a seal"
        stop.touch()
        swapper.communicate(timeout=60)
        assert swapper.returncode == 0

        real = scope.folder if not scope.folder.is_symlink() else link
        found = [path.read_text() for path in sorted(real.glob("*.json"))]
        assert [text.split('"id":"')[1][:32] for text in found] == sealed
