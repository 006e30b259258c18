"""Any file operation may fail: full, read-only, denied, stale, or answered twice."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from archive import FileArchiveReader, FileArchiveWriter, RoundRecord
from archive.disk import FileFacts, OsDisk
from archive.erase import Eraser
from archive.failures import ArchiveFailure, RoundDamaged, UnsafePath, failure_reason
from archive.layout import TEMP_PREFIX
from archive.record_json import record_from_bytes, record_to_bytes
from streams.errors import AresError
from support.simulated_disk import ROOT, FaultyDisk, Hook, SimulatedDisk, failing, os_error

ERRORS = [
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.ESTALE,
    errno.EEXIST,
    errno.ENOENT,
    errno.EINTR,
    errno.EMFILE,
]


def record(number: int, stream: str = "s") -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        "x" * 50,
        stream_id=stream,
        tenant_id="default",
        first_version=number,
        last_version=number,
        events_digest=f"{stream}{number}",
    )


WORK = [record(1), record(2)]


def publish(disk: SimulatedDisk) -> int:
    """Publish in order, stopping at the first error, as the worker does; return how many."""
    writer = FileArchiveWriter(ROOT, disk=disk)
    done = 0
    with contextlib.suppress(AresError):
        for item in WORK:
            assert writer.record(item).round == item.round
            done += 1
    return done


def assert_as_if_nothing_had_happened(disk: SimulatedDisk, *, leftovers: bool = False) -> None:
    tree = disk.tree()
    rounds = {path: data for path, data in tree.items() if "/." not in path}
    assert rounds == {f"default/s/round_{r.round}.json": record_to_bytes(r) for r in WORK}
    assert leftovers or len(tree) == len(rounds)


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
@pytest.mark.parametrize("when", ["before", "after"])
def test_one_failing_operation_anywhere_costs_at_most_a_second_call(number, when):
    """`after`: the operation took effect and its answer was lost, as on a network volume."""
    whole = SimulatedDisk()
    publish(whole)
    for point in range(whole.operations):
        disk = SimulatedDisk()
        left = [point]
        hit: list[str] = []

        def hook(name: str, args: object, left: list[int] = left, hit: list[str] = hit) -> None:
            left[0] -= 1
            if left[0] == -1:
                hit.append(name)
                raise os_error(number)

        setattr(disk, when, hook)
        done = publish(disk)
        if not hit:
            break  # an operation that fails by nature has no answer to lose: all are done
        for item in WORK[:done]:
            assert disk.tree()[f"default/s/round_{item.round}.json"] == record_to_bytes(item)
        for path, data in disk.tree().items():
            if "/." not in path:
                record_from_bytes(data)
        disk.before = disk.after = lambda name, args: None
        assert publish(disk) == len(WORK)
        # What could not be unlinked, or was created without an answer, is swept up later.
        assert_as_if_nothing_had_happened(disk, leftovers=hit[0] in ("unlink", "create"))


REASONS = {
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.EROFS: "read_only",
    errno.EACCES: "permission",
    errno.ESTALE: "stale_handle",
    errno.EIO: "io",
}


def assert_fails_and_recovers(disk: SimulatedDisk, number: int, reason: str) -> None:
    with pytest.raises(ArchiveFailure) as raised:
        FileArchiveWriter(ROOT, disk=disk).record(record(2))
    assert (raised.value.reason, raised.value.errno) == (reason, number)
    assert list(disk.tree()) == ["default/s/round_1.json"]
    disk.before = disk.after = lambda name, args: None
    assert publish(disk) == 2
    assert_as_if_nothing_had_happened(disk)


@pytest.mark.parametrize(("number", "reason"), REASONS.items())
@pytest.mark.parametrize("operation", ["create", "write", "sync", "link", "names"])
def test_a_lasting_failure_names_its_reason_and_leaves_nothing_behind(operation, number, reason):
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record(record(1))
    disk.before = failing(operation, number)
    assert_fails_and_recovers(disk, number, reason)


def test_a_volume_that_says_only_at_close_that_it_is_full_is_believed():
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record(record(1))
    disk.after = failing("close", errno.ENOSPC)
    assert_fails_and_recovers(disk, errno.ENOSPC, "no_space")


def test_a_full_volume_refuses_loudly_and_takes_everything_once_it_has_room():
    disk = SimulatedDisk()
    disk.capacity = 1_500
    rounds = [record(number) for number in range(1, 21)]
    results = FileArchiveWriter(ROOT, disk=disk).record_many(rounds)
    refused = [result for result in results if isinstance(result, ArchiveFailure)]
    assert {result.reason for result in refused} == {"no_space"}
    assert 0 < len(refused) < 20
    assert all("/." not in path for path in disk.tree())
    disk.capacity = None
    results = FileArchiveWriter(ROOT, disk=disk).record_many(rounds)
    assert [result.round for result in results] == list(range(1, 21))
    assert len(disk.tree()) == 20


def test_in_a_batch_a_failing_round_holds_back_those_behind_it_and_no_other_stream():
    disk = SimulatedDisk()
    writer = FileArchiveWriter(ROOT, disk=disk)
    writer.record_many([record(1, "a"), record(1, "b")])
    folder = disk._nodes[disk._nodes[1].entries["default"]].entries["a"]

    def hook(name: str, args: tuple[int, ...]) -> None:
        if name == "create" and disk._handles[args[2]].node.inode == folder:
            raise os_error(errno.EIO)

    disk.before = hook  # type: ignore[assignment]
    results = writer.record_many([record(2, "a"), record(2, "b"), record(3, "a"), record(3, "b")])
    assert [isinstance(result, ArchiveFailure) for result in results] == [True, False, True, False]
    assert sorted(disk.tree()) == [
        "default/a/round_1.json",
        "default/b/round_1.json",
        "default/b/round_2.json",
        "default/b/round_3.json",
    ]


@pytest.mark.parametrize("operation", ["open_folder", "names", "create", "link", "sync"])
def test_a_handle_gone_stale_once_is_walked_to_again_from_the_top(tmp_path, operation):
    FileArchiveWriter(tmp_path).record(record(1))
    disk = FaultyDisk(failing(operation, errno.ESTALE, times=1))
    assert FileArchiveWriter(tmp_path, disk=disk).record(record(2)).round == 2


def test_a_handle_that_stays_stale_is_an_error_after_the_second_try(tmp_path):
    tries: list[str] = []
    fail = failing("names", errno.ESTALE)

    def hook(name: str, args: tuple[object, ...]) -> None:
        if name == "names":
            tries.append(name)
        fail(name, args)

    with pytest.raises(ArchiveFailure) as raised:
        FileArchiveWriter(tmp_path, disk=FaultyDisk(hook)).record(record(1))
    assert raised.value.reason == "stale_handle"
    assert len(tries) == 2


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS])
def test_without_hard_links_a_round_is_renamed_into_place(tmp_path, number):
    disk = FaultyDisk(failing("link", number))
    writer = FileArchiveWriter(tmp_path, disk=disk)
    assert [writer.record(item).how for item in WORK] == ["written", "written"]
    assert writer.record(record(1)).how == "found"
    assert sorted(path.name for path in (tmp_path / "default/s").iterdir()) == [
        "round_1.json",
        "round_2.json",
    ]


def test_without_hard_links_a_round_published_meanwhile_is_not_replaced(tmp_path):
    FileArchiveWriter(tmp_path).record(record(1))
    theirs = (tmp_path / "default/s/round_1.json").read_bytes()
    hidden = failing("link", errno.EPERM)

    class Late(FaultyDisk):
        """Shows the folder as it was before the other writer came."""

        def names(self, handle: int) -> list[str]:
            return []

    other = RoundRecord(1, "fix", "other", stream_id="s", events_digest="other")
    with pytest.raises(AresError):
        FileArchiveWriter(tmp_path, disk=Late(hidden)).record(other)
    assert (tmp_path / "default/s/round_1.json").read_bytes() == theirs
    assert len(list((tmp_path / "default/s").iterdir())) == 1


def test_a_link_answered_twice_is_recognised_as_our_own(tmp_path):
    class Twice(OsDisk):
        def link(self, source: str, target: str, at: int) -> None:
            super().link(source, target, at)
            super().link(source, target, at)

    assert FileArchiveWriter(tmp_path, disk=Twice()).record(record(1)).how == "written"


def test_a_rename_answered_twice_is_recognised_as_our_own(tmp_path):
    class Twice(OsDisk):
        def link(self, source: str, target: str, at: int) -> None:
            raise os_error(errno.EPERM)

        def rename(self, source: str, target: str, at: int) -> None:
            super().rename(source, target, at)
            super().rename(source, target, at)

    assert FileArchiveWriter(tmp_path, disk=Twice()).record(record(1)).how == "written"
    assert FileArchiveReader(tmp_path).list("s") == [1]


def test_a_volume_that_cannot_fsync_folders_still_publishes(tmp_path):
    class NoFolderSync(OsDisk):
        def sync(self, handle: int) -> None:
            if self.handle_facts(handle).kind == "folder":
                raise os_error(errno.EINVAL)
            super().sync(handle)

    assert FileArchiveWriter(tmp_path, disk=NoFolderSync()).record(record(1)).how == "written"


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
        assert writer.record(record(1)).how == "written"
    else:
        with pytest.raises(ArchiveFailure) as raised:
            writer.record(record(1))
        assert raised.value.reason == "permission"


def test_a_rotation_that_fails_leaves_the_round_published_and_is_told(tmp_path):
    FileArchiveWriter(tmp_path).record_many(WORK)
    disk = FaultyDisk(failing("unlink", errno.EIO, match="round_"))
    published = FileArchiveWriter(tmp_path, max_rounds=2, disk=disk).record(record(3))
    assert isinstance(published.rotation_failure, ArchiveFailure)
    assert FileArchiveReader(tmp_path).list("s") == [1, 2, 3]
    FileArchiveWriter(tmp_path, max_rounds=2).record(record(4))
    assert FileArchiveReader(tmp_path).list("s") == [3, 4]


def test_a_file_that_cannot_be_read_is_never_taken_for_a_damaged_one(tmp_path):
    """Taken for damaged, the round in it would be stored a second time."""
    FileArchiveWriter(tmp_path).record(record(1))
    disk = FaultyDisk(failing("read", errno.EIO))
    with pytest.raises(ArchiveFailure):
        FileArchiveWriter(tmp_path, disk=disk).record(record(1), confirmed=True)
    assert FileArchiveReader(tmp_path).list("s") == [1]


def test_a_volume_that_reads_in_small_pieces_reads_whole_rounds(tmp_path):
    class Sparing(OsDisk):
        def read(self, handle: int, size: int) -> bytes:
            return super().read(handle, min(size, 7))

    FileArchiveWriter(tmp_path).record(record(1))
    assert FileArchiveReader(tmp_path, disk=Sparing()).read("s", 1) == record(1)
    assert FileArchiveWriter(tmp_path, disk=Sparing()).record(record(1)).how == "found"


def test_a_file_beyond_every_limit_is_damaged_and_not_read_into_memory(tmp_path):
    FileArchiveWriter(tmp_path).record_many(WORK)
    path = tmp_path / "default/s/round_1.json"
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    reader = FileArchiveReader(tmp_path)
    with pytest.raises(RoundDamaged):
        reader.read("s", 1)
    assert [found.round for found in reader.search("x")] == [2]
    published = FileArchiveWriter(tmp_path).record(record(1), confirmed=True)
    assert published.round == 3
    assert Eraser(tmp_path).stream("default", "s").erased == 3


def test_a_swap_of_the_folder_for_a_link_never_leads_outside(tmp_path):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    FileArchiveWriter(archive).record(record(1))
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
                FileArchiveWriter(archive).record(record(number), confirmed=True)
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


def test_reasons_are_told_from_the_systems_number():
    assert failure_reason(OSError(errno.EFBIG, "")) == "no_space"
    assert failure_reason(OSError("no number")) == "io"


def test_a_temporary_name_never_looks_like_a_round():
    assert not TEMP_PREFIX.startswith("round_")


def test_reading_tells_a_stale_volume_from_an_empty_one(tmp_path):
    FileArchiveWriter(tmp_path).record(record(1))

    def reader(hook: Hook) -> FileArchiveReader:
        return FileArchiveReader(tmp_path, disk=FaultyDisk(hook))

    for operation in ("open_root", "open_folder", "open_file", "read", "kinds"):
        once = reader(failing(operation, errno.ESTALE, times=1))
        assert once.read("s", 1) == record(1)
        with pytest.raises(ArchiveFailure) as raised:
            reader(failing(operation, errno.ESTALE)).read("s", 1)
        assert raised.value.reason == "stale_handle"


def test_a_real_small_volume_fills_up_and_recovers(tmp_path):
    """The kernel's own ENOSPC, late errors and torn writes, on a 64 KiB tmpfs."""
    project = Path(__file__).parents[2]
    script = project / "tests/support/small_volume.py"
    unshare = ["unshare", "--mount", "--map-root-user", "--propagation", "private"]
    probe = subprocess.run([*unshare, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        [*unshare, sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["no_space", "20", "20", "0"]
