"""Names, modes and links: a round lands in its folder, as readable as set, never elsewhere."""

from __future__ import annotations

import os
import stat

import pytest

from archive import (
    FileArchiveReader,
    FileArchiveWriter,
    Published,
)
from archive.failures import UnsafePath
from archive.record_json import record_to_bytes
from archive.storage.disk import Modes
from archive.storage.layout import TEMP_PREFIX, stream_dir
from support.rounds import a_round, files


@pytest.mark.parametrize(
    "stream", ["../../x", "/etc/x", "..", "a/b", "a\0b", "", "é" * 130, "x\ny"]
)
def test_no_id_leads_out_of_the_archive_and_each_is_found_again(tmp_path, stream):
    archive = tmp_path / "archive"
    FileArchiveWriter(archive).record(a_round(1, stream))
    assert files(tmp_path) == [f"archive/default/{stream_dir(stream)}/round_1.json"]
    assert FileArchiveReader(archive).read(stream, 1).stream_id == stream


@pytest.mark.parametrize("umask", [0, 0o077, 0o177, 0o377])
def test_modes_are_as_set_whatever_the_umask(tmp_path, umask):
    """Also those of the archive's directory, and of what was missing above it."""
    before = os.umask(umask)
    try:
        FileArchiveWriter(tmp_path / "above/a").record(a_round(1))
        FileArchiveWriter(tmp_path / "b", modes=Modes(0o644, 0o755)).record(a_round(1))
    finally:
        os.umask(before)

    def mode(path: str) -> int:
        return stat.S_IMODE((tmp_path / path).stat().st_mode)

    folders = ("above", "above/a", "above/a/default", "above/a/default/s")
    assert [mode(folder) for folder in folders] == [0o750] * 4
    assert mode("above/a/default/s/round_1.json") == 0o640
    assert [mode(folder) for folder in ("b", "b/default", "b/default/s")] == [0o755] * 3
    assert mode("b/default/s/round_1.json") == 0o644


def test_a_shared_folder_hands_its_group_on(tmp_path):
    tenant = tmp_path / "default"
    tenant.mkdir()
    tenant.chmod(0o2750)
    FileArchiveWriter(tmp_path).record(a_round(1))
    assert (tenant / "s").stat().st_mode & stat.S_ISGID


@pytest.mark.parametrize("level", ["default", "default/s"])
def test_a_link_in_place_of_a_folder_is_refused_and_never_written_through(tmp_path, level):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    (archive / level).parent.mkdir(parents=True)
    (archive / level).symlink_to(outside)
    with pytest.raises(UnsafePath):
        FileArchiveWriter(archive).record(a_round(1))
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_one_streams_folder_harms_no_other_stream(tmp_path):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    (archive / "default").mkdir(parents=True)
    (archive / "default/s").symlink_to(outside)
    results = FileArchiveWriter(archive).record_many([a_round(1), a_round(1, "t")])
    assert isinstance(results[0], UnsafePath)
    assert isinstance(results[1], Published)


def test_a_link_in_place_of_a_round_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(record_to_bytes(a_round(1)))
    folder = tmp_path / "archive/default/s"
    folder.mkdir(parents=True)
    (folder / "round_1.json").symlink_to(secret)
    published = FileArchiveWriter(tmp_path / "archive").record(a_round(1), confirmed=True)
    assert published.round == 2
    assert secret.read_bytes() == record_to_bytes(a_round(1))


def test_leftovers_of_a_dead_worker_are_swept_and_those_of_a_living_one_are_not(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1))
    old, young = (tmp_path / f"default/s/{TEMP_PREFIX}{name}" for name in ("old", "young"))
    for leftover in (old, young):
        leftover.write_bytes(record_to_bytes(a_round(9)))
    two_hours_ago = old.stat().st_mtime - 7_200
    os.utime(old, (two_hours_ago, two_hours_ago))
    writer.record(a_round(2))
    assert (old.exists(), young.exists()) == (False, True)
    assert FileArchiveReader(tmp_path).list("s") == [1, 2]
