"""Volumes unlike a local disk: without links, with stale handles, answers that come twice."""

from __future__ import annotations

import ctypes
import errno
import stat

import pytest

from archive import FileArchiveReader, FileArchiveWriter
from archive.failures import ArchiveFailure
from archive.storage.disk import FileFacts
from archive.storage.os_disk import OsDisk
from streams.errors import AresError
from support.rounds import a_round
from support.simulated_disk import FaultyDisk, Hook, failing, os_error


@pytest.mark.parametrize("operation", ["open_folder", "names", "create", "link", "sync"])
def test_a_handle_gone_stale_once_is_walked_to_again_from_the_top(tmp_path, operation):
    FileArchiveWriter(tmp_path).record(a_round(1))
    disk = FaultyDisk(failing(operation, errno.ESTALE, times=1))
    assert FileArchiveWriter(tmp_path, disk=disk).record(a_round(2)).round == 2


def test_a_handle_that_stays_stale_is_an_error_after_the_second_try(tmp_path):
    tries: list[str] = []
    fail = failing("names", errno.ESTALE)

    def hook(name: str, args: tuple[object, ...]) -> None:
        if name == "names":
            tries.append(name)
        fail(name, args)

    with pytest.raises(ArchiveFailure) as raised:
        FileArchiveWriter(tmp_path, disk=FaultyDisk(hook)).record(a_round(1))
    assert raised.value.reason == "stale_handle"
    assert len(tries) == 2


def test_reading_tells_a_stale_volume_from_an_empty_one(tmp_path):
    FileArchiveWriter(tmp_path).record(a_round(1))

    def reader(hook: Hook) -> FileArchiveReader:
        return FileArchiveReader(tmp_path, disk=FaultyDisk(hook))

    for operation in ("open_root", "open_folder", "open_file", "read", "kinds"):
        once = reader(failing(operation, errno.ESTALE, times=1))
        assert once.read("s", 1) == a_round(1)
        with pytest.raises(ArchiveFailure) as raised:
            reader(failing(operation, errno.ESTALE)).read("s", 1)
        assert raised.value.reason == "stale_handle"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS])
def test_without_hard_links_a_round_is_renamed_into_place(tmp_path, number):
    disk = FaultyDisk(failing("link", number))
    writer = FileArchiveWriter(tmp_path, disk=disk)
    assert [writer.record(a_round(n)).how for n in (1, 2)] == ["written", "written"]
    assert writer.record(a_round(1)).how == "found"
    assert sorted(path.name for path in (tmp_path / "default/s").iterdir()) == [
        "round_1.json",
        "round_2.json",
    ]


def test_without_hard_links_a_round_published_meanwhile_is_not_replaced(tmp_path):
    FileArchiveWriter(tmp_path).record(a_round(1))
    theirs = (tmp_path / "default/s/round_1.json").read_bytes()
    hidden = failing("link", errno.EPERM)

    class Late(FaultyDisk):
        """Shows the folder as it was before the other writer came."""

        def names(self, handle: int) -> list[str]:
            return []

    other = a_round(1, summary="other", events_digest="other")
    with pytest.raises(AresError):
        FileArchiveWriter(tmp_path, disk=Late(hidden)).record(other)
    assert (tmp_path / "default/s/round_1.json").read_bytes() == theirs
    assert len(list((tmp_path / "default/s").iterdir())) == 1


def test_a_link_answered_twice_is_recognised_as_our_own(tmp_path):
    class Twice(OsDisk):
        def link(self, source: str, target: str, at: int) -> None:
            super().link(source, target, at)
            super().link(source, target, at)

    assert FileArchiveWriter(tmp_path, disk=Twice()).record(a_round(1)).how == "written"


def test_a_rename_answered_twice_is_recognised_as_our_own(tmp_path):
    class Twice(OsDisk):
        def link(self, source: str, target: str, at: int) -> None:
            raise os_error(errno.EPERM)

        def rename(self, source: str, target: str, at: int) -> None:
            super().rename(source, target, at)
            super().rename(source, target, at)

    assert FileArchiveWriter(tmp_path, disk=Twice()).record(a_round(1)).how == "written"
    assert FileArchiveReader(tmp_path).list("s") == [1]


def test_a_volume_that_cannot_fsync_folders_still_publishes(tmp_path):
    class NoFolderSync(OsDisk):
        def sync(self, handle: int) -> None:
            if self.handle_facts(handle).kind == "folder":
                raise os_error(errno.EINVAL)
            super().sync(handle)

    assert FileArchiveWriter(tmp_path, disk=NoFolderSync()).record(a_round(1)).how == "written"


@pytest.mark.parametrize(("found", "fits"), [(0o640, True), (0o777, True), (0o600, False)])
def test_a_refused_mode_is_tolerated_where_it_already_grants_what_was_asked(tmp_path, found, fits):
    class FixedModes(OsDisk):
        """A volume whose mount options decide the modes, whoever asks."""

        def set_mode(self, handle: int, mode: int) -> None:
            raise os_error(errno.EPERM)

        def handle_facts(self, handle: int) -> FileFacts:
            real = super().handle_facts(handle)
            mode = stat.S_IFREG | found if real.kind == "file" else real.mode
            return real._replace(mode=mode)

    writer = FileArchiveWriter(tmp_path, disk=FixedModes())
    if fits:
        assert writer.record(a_round(1)).how == "written"
    else:
        with pytest.raises(ArchiveFailure) as raised:
            writer.record(a_round(1))
        assert raised.value.reason == "permission"


def test_a_volume_that_reads_in_small_pieces_reads_whole_rounds(tmp_path):
    class Sparing(OsDisk):
        def read(self, handle: int, size: int) -> bytes:
            return super().read(handle, min(size, 7))

    FileArchiveWriter(tmp_path).record(a_round(1))
    assert FileArchiveReader(tmp_path, disk=Sparing()).read("s", 1) == a_round(1)
    assert FileArchiveWriter(tmp_path, disk=Sparing()).record(a_round(1)).how == "found"


class OneWay(OsDisk):
    """A volume on which a handle reads its folder once and can't go back, as on sshfs."""

    def names(self, handle: int) -> list[str]:
        found = super().names(handle)
        self._to_the_end(handle)
        return found

    def kinds(self, handle: int) -> dict[str, str]:
        found = super().kinds(handle)
        self._to_the_end(handle)
        return found

    def _to_the_end(self, handle: int) -> None:
        page = ctypes.create_string_buffer(1 << 16)
        while ctypes.CDLL(None).getdents64(handle, page, len(page)) > 0:
            pass


def test_a_folder_that_reads_one_way_shows_what_came_since_it_was_listed(tmp_path):
    disk = OneWay()
    (tmp_path / "early").touch()
    folder = disk.open_root(str(tmp_path))
    try:
        assert disk.names(folder) == ["early"]
        (tmp_path / "late").touch()
        assert sorted(disk.names(folder)) == ["early", "late"]
        assert disk.kinds(folder) == {"early": "file", "late": "file"}
    finally:
        disk.close(folder)


def test_a_folder_that_reads_one_way_keeps_its_newest_rounds_and_no_others(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2, disk=OneWay())
    assert [writer.record(a_round(number)).rotated for number in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert FileArchiveReader(tmp_path).list("s") == [3, 4]


@pytest.mark.parametrize("folder", ["", "rounds"])
def test_nothing_is_written_to_a_mount_point_without_its_volume(tmp_path, folder):
    """It would be lost behind the volume when that comes back, and its events leave Redis."""
    writer = FileArchiveWriter(tmp_path / folder, sentinel=".volume")
    with pytest.raises(ArchiveFailure, match=r"\.volume: it is missing: is the volume mounted"):
        writer.record(a_round(1))
    assert not list(tmp_path.iterdir())

    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / ".volume").touch()
    assert writer.record(a_round(1)).how == "written"
