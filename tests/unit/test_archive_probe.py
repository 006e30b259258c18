"""Finding out whether a volume can take rounds."""

from __future__ import annotations

import errno
import os

import pytest

from archive.storage.probe import probe
from support.simulated_disk import FaultyDisk, failing


def test_a_healthy_volume_is_usable_and_left_as_it_was(tmp_path):
    facts = probe(tmp_path)
    assert (facts.usable, facts.reason, facts.hard_links) == (True, None, True)
    assert facts.space is not None
    assert 0 < facts.space.free_bytes <= facts.space.size_bytes
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_made(tmp_path):
    assert probe(tmp_path / "a/b").usable
    assert (tmp_path / "a/b").is_dir()


@pytest.mark.parametrize(
    ("operation", "number", "reason"),
    [
        ("create", errno.EROFS, "read_only"),
        ("create", errno.EACCES, "permission"),
        ("write", errno.ENOSPC, "no_space"),
        ("sync", errno.EIO, "io"),
        ("open_root", errno.ESTALE, "stale_handle"),
        ("link", errno.EIO, "io"),
    ],
)
def test_a_volume_that_refuses_says_why_and_keeps_nothing(tmp_path, operation, number, reason):
    facts = probe(tmp_path, disk=FaultyDisk(failing(operation, number)))
    assert (facts.usable, facts.reason) == (False, reason)
    assert os.strerror(number) in facts.detail
    assert list(tmp_path.iterdir()) == []


def test_a_volume_without_hard_links_is_usable_and_says_so(tmp_path):
    facts = probe(tmp_path, disk=FaultyDisk(failing("link", errno.EPERM)))
    assert (facts.usable, facts.hard_links) == (True, False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_directory_is_no_archive(tmp_path):
    (tmp_path / "file").write_text("")
    assert not probe(tmp_path / "file").usable


def test_without_its_sentinel_the_directory_is_an_empty_mount_point(tmp_path):
    (tmp_path / "volume").mkdir()
    assert "mounted" in probe(tmp_path / "volume", sentinel=".ares-volume").detail
    assert "mounted" in probe(tmp_path / "absent", sentinel=".ares-volume").detail
    assert not (tmp_path / "absent").exists()
    (tmp_path / "volume/.ares-volume").write_text("")
    assert probe(tmp_path / "volume", sentinel=".ares-volume").usable
