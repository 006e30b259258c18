"""What the doctor finds on a volume, and that it leaves nothing behind."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

import pytest

from worker.doctor.findings import Status
from worker.doctor.volume import file_system, volume_findings
from worker.settings.pipeline import ArchiveSettings


def found(directory: Path, **settings: object) -> dict[str, tuple[Status, str, str]]:
    archive = ArchiveSettings(dir=directory, **settings)
    return {item.check: (item.status, item.found, item.todo) for item in volume_findings(archive)}


def refusing(code: int):
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def test_a_good_volume_passes_every_check_and_keeps_no_file(tmp_path):
    findings = found(tmp_path)

    for check in ("dir", "fsync", "modes", "links", "flock", "clock"):
        assert findings[f"volume.{check}"][0] is Status.OK, check
    assert {"volume.space", "volume.kind"} <= findings.keys()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_yet_is_made_by_the_worker(tmp_path):
    status, _, todo = found(tmp_path / "a" / "b")["volume.dir"]

    assert (status, todo) == (Status.WARN, "ares-worker run makes it")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_fails(tmp_path):
    (tmp_path / "file").touch()

    assert found(tmp_path / "file" / "rounds")["volume.dir"][0] is Status.FAIL
    assert found(tmp_path / "file")["volume.dir"][0] is Status.FAIL


def test_a_volume_without_its_sentinel_file_is_not_mounted(tmp_path):
    assert found(tmp_path, sentinel_file=".volume")["volume.dir"][0] is Status.FAIL

    (tmp_path / ".volume").touch()

    assert found(tmp_path, sentinel_file=".volume")["volume.dir"][0] is Status.OK


@pytest.mark.parametrize(
    ("code", "word"),
    [(errno.EACCES, "chown"), (errno.EROFS, "mount it for writing"), (errno.ENOSPC, "grow")],
)
def test_a_volume_that_refuses_writes_fails_with_its_reason(tmp_path, monkeypatch, code, word):
    monkeypatch.setattr(os, "mkdir", refusing(code))

    status, _, todo = found(tmp_path)["volume.write"]

    assert status is Status.FAIL
    assert word in todo


def test_a_full_volume_is_not_blamed_on_its_fsync(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", refusing(errno.ENOSPC))

    assert found(tmp_path)["volume.fsync"][2].startswith("grow the volume")


def test_a_failing_fsync_fails_and_the_other_checks_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", refusing(errno.EIO))

    findings = found(tmp_path)

    assert findings["volume.fsync"][:2] == (Status.FAIL, "Input/output error")
    assert findings["volume.links"][0] is Status.OK


def test_a_slow_fsync_is_warned_of(tmp_path, monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))

    assert found(tmp_path)["volume.fsync"][0] is Status.WARN


def test_missing_hard_links_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refusing(errno.EPERM))

    assert found(tmp_path)["volume.links"][0] is Status.WARN


def test_links_that_replace_files_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda source, target, **_: Path(target).touch())

    assert found(tmp_path)["volume.links"][0] is Status.FAIL


def test_locks_that_exclude_nobody_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)

    assert found(tmp_path)["volume.flock"][0] is Status.WARN


@pytest.mark.parametrize(("kind", "status"), [("fuse.sshfs", Status.WARN), ("ext4", Status.OK)])
def test_locks_of_a_fuse_file_system_may_be_this_machines_alone(
    tmp_path, monkeypatch, kind, status
):
    monkeypatch.setattr("worker.doctor.volume.file_system", lambda *_: kind)

    assert found(tmp_path)["volume.flock"][0] is status


def test_a_mount_that_gives_other_modes_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "chmod", refusing(errno.EPERM))

    assert found(tmp_path, file_mode="0666")["volume.modes"][0] is Status.WARN


def test_a_server_clock_far_away_is_warned_of(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 60)

    assert found(tmp_path)["volume.clock"][0] is Status.WARN


@pytest.mark.parametrize(
    ("free", "files_left", "status"),
    [(50, 50, Status.OK), (5, 50, Status.WARN), (0, 50, Status.FAIL), (50, 0, Status.FAIL)],
)
def test_little_space_and_few_inodes_are_told(tmp_path, monkeypatch, free, files_left, status):
    gib, frsize = 100 << 30, 4096
    blocks = gib // frsize
    # f_bsize f_frsize f_blocks f_bfree f_bavail f_files f_ffree f_favail f_flag f_namemax
    available = blocks * free // 100
    volume = os.statvfs_result(
        (frsize, frsize, blocks, available, available, 1_000, files_left, files_left, 0, 255)
    )
    monkeypatch.setattr(os, "statvfs", lambda _: volume)

    assert found(tmp_path)["volume.space"][0] is status


def test_the_file_system_is_that_of_the_longest_mount(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 0:9 / /data rw shared:1 - nfs4 server:/x rw\n"
        "3 1 0:9 / /data/with\\040blank rw - tmpfs none rw\n"
    )

    assert file_system(Path("/data/rounds"), mounts) == "nfs4"
    assert file_system(Path("/data/with blank/x"), mounts) == "tmpfs"
    assert file_system(Path("/database"), mounts) == "ext4"
    assert file_system(Path("/x"), tmp_path / "missing") == ""
