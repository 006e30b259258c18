"""Modes, owners and the base of the private directory."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from archive.segments import (
    ArchiveStore,
    SegmentDenied,
    SegmentInvalid,
    export_in,
    handles,
    project_search,
)
from faults.segments.scope import Scope, mode, user

NOBODY = 65534


class TestModes:
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
    def test_directories_are_0700_and_files_0600_whatever_the_umask(
        self, base: Path, umask: int
    ) -> None:
        before = os.umask(umask)
        try:
            scope = Scope(base)
            scope.store.seal([user("x")], "")
        finally:
            os.umask(before)

        folders = (base, scope.folder.parent, scope.folder)
        assert [mode(path) for path in folders] == [0o700] * 3
        assert [mode(scope.folder / name) for name in ("000.json", "lock")] == [0o600] * 2

    def test_modes_that_were_opened_up_are_closed_again(self, scope: Scope) -> None:
        scope.store.seal([user("x")], "")
        for path in (scope.folder.parent, scope.folder):
            path.chmod(0o755)
        for name in ("000.json", "lock"):
            (scope.folder / name).chmod(0o666)

        scope.store.search("", 1)

        assert [mode(path) for path in (scope.folder.parent, scope.folder)] == [0o700] * 2
        assert [mode(scope.folder / name) for name in ("000.json", "lock")] == [0o600] * 2

    def test_the_mode_of_an_existing_base_is_its_owners_business(self, base: Path) -> None:
        base.mkdir(mode=0o755)
        base.chmod(0o755)

        ArchiveStore(base, "k", "c").seal([user("x")], "")

        assert mode(base) == 0o755

    def test_missing_folders_above_the_base_are_made_private(self, tmp_path: Path) -> None:
        ArchiveStore(tmp_path / "a" / "b", "k", "c")

        assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700

    def test_a_server_that_refuses_chmod_is_fine_while_the_modes_fit(
        self, scope: Scope, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(errno.EPERM, "squashed")

        scope.store.seal([user("x")], "")
        monkeypatch.setattr(handles.os, "fchmod", refuse)
        scope.store.seal([user("y")], "")
        (scope.folder / "000.json").chmod(0o644)

        with pytest.raises(SegmentDenied):
            scope.store.search("", 1)


class TestBase:
    @pytest.mark.parametrize(
        "bad", ["", "relative/path", ".", "/", "//", "/./", "/tmp/../etc", "/tmp/..", "/a\0b"]
    )
    def test_a_base_that_is_not_absolute_or_climbs_is_refused(self, bad: str) -> None:
        with pytest.raises(SegmentInvalid):
            ArchiveStore(bad, "k", "c")
        with pytest.raises(SegmentInvalid):
            export_in(bad, "k")

    @pytest.mark.parametrize("bad", [b"/tmp/x", "/tmp/\udcff", 5])
    def test_a_base_that_is_no_text_is_refused(self, bad: Any) -> None:
        with pytest.raises((SegmentInvalid, TypeError)):
            ArchiveStore(bad, "k", "c")

    def test_doubled_slashes_and_dots_are_one_path(self, base: Path) -> None:
        ref = ArchiveStore(f"{base.parent}//./{base.name}/", "k", "c").seal([user("x")], "")

        assert project_search(base, "k", "", 1)[0].id == ref.id

    @pytest.mark.parametrize("key", ["", "k" * 4097, "\ud800"])
    def test_keys_are_checked_before_anything_is_made(self, base: Path, key: str) -> None:
        for call in (
            lambda: ArchiveStore(base, key, "c"),
            lambda: ArchiveStore(base, "k", key),
            lambda: export_in(base, key),
        ):
            with pytest.raises(SegmentInvalid):
                call()
        assert not base.exists()

    @pytest.mark.parametrize("key", ["../../etc", "a/b", "x\0y", "line\nbreak", "..", "é" * 2048])
    def test_a_scope_key_is_never_a_path(self, base: Path, key: str) -> None:
        ArchiveStore(base, key, key).seal([user("x")], "")

        assert [len(path.name) for path in (base / "context-archives").iterdir()] == [64]


class TestOwners:
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    @pytest.mark.parametrize("name", ["000.json", "lock", ".", "..", "../.."])
    def test_what_belongs_to_another_user_is_denied(self, scope: Scope, name: str) -> None:
        scope.store.seal([user("x")], "")
        os.chown(scope.folder / name, NOBODY, NOBODY)

        if name == "../..":  # the base may be anybody's
            scope.store.search("", 1)
            return
        calls = scope.every_call()
        for call in calls if name != ".." else calls[:-2]:
            with pytest.raises(SegmentDenied):
                call()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
    def test_a_user_without_rights_is_denied_and_changes_nothing(
        self, scope: Scope, tmp_path: Path
    ) -> None:
        scope.store.seal([user("x")], "")
        for parent in [tmp_path, *tmp_path.parents][:-2]:
            parent.chmod(parent.stat().st_mode | 0o055)
        script = textwrap.dedent(
            """
            import os, sys
            from archive.segments import ArchiveStore, SegmentDenied, export_in
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            for call in (lambda: ArchiveStore(sys.argv[1], "k", "c"),
                         lambda: export_in(sys.argv[1], "k")):
                try:
                    call()
                except SegmentDenied as error:
                    assert isinstance(error, PermissionError)
                else:
                    sys.exit("allowed")
            """
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(scope.base)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
