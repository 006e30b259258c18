"""Somebody else's hands in the archive: a monstrous file, a folder swapped for a link."""

from __future__ import annotations

import contextlib
import itertools
import threading

import pytest

from archive import FileArchiveReader, FileArchiveWriter
from archive.erase import Eraser
from archive.failures import RoundDamaged, UnsafePath
from streams.errors import AresError
from support.rounds import a_round


def test_a_file_beyond_every_limit_is_damaged_and_not_read_into_memory(tmp_path):
    FileArchiveWriter(tmp_path).record_many([a_round(1), a_round(2)])
    path = tmp_path / "default/s/round_1.json"
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    reader = FileArchiveReader(tmp_path)
    with pytest.raises(RoundDamaged):
        reader.read("s", 1)
    assert [found.round for found in reader.search("round")] == [2]
    published = FileArchiveWriter(tmp_path).record(a_round(1), confirmed=True)
    assert published.round == 3
    assert Eraser(tmp_path).stream("default", "s").erased == 3


def test_a_swap_of_the_folder_for_a_link_never_leads_outside(tmp_path):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    FileArchiveWriter(archive).record(a_round(1))
    folder = archive / "default/s"
    stop = threading.Event()

    def swap() -> None:
        for turn in itertools.count():
            if stop.is_set():
                return
            for step in (
                lambda turn=turn: folder.rename(archive / f"default/aside-{turn}"),
                lambda: folder.symlink_to(outside),
                folder.unlink,
            ):
                with contextlib.suppress(OSError):
                    step()

    swapper = threading.Thread(target=swap)
    swapper.start()
    refused = 0
    try:
        for number in range(2, 3_000):
            try:
                FileArchiveWriter(archive).record(a_round(number), confirmed=True)
            except UnsafePath:
                refused += 1
            except AresError:
                pass
            if refused >= 5:
                break
    finally:
        stop.set()
        swapper.join()
    assert refused
    assert list(outside.iterdir()) == []
