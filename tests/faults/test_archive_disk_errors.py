"""Any file operation may fail: what was published stays, and doing it again leaves each once."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from archive import FileArchiveReader, FileArchiveWriter
from archive.failures import ArchiveFailure, failure_reason
from archive.record_json import record_from_bytes, record_to_bytes
from archive.storage.layout import TAKEN_PREFIX
from streams.errors import AresError
from support.rounds import a_round
from support.simulated_disk import ROOT, FaultyDisk, SimulatedDisk, failing, os_error

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

WORK = [a_round(1), a_round(2)]


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
    assert point > 20


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
        FileArchiveWriter(ROOT, disk=disk).record(a_round(2))
    assert (raised.value.reason, raised.value.errno) == (reason, number)
    assert list(disk.tree()) == ["default/s/round_1.json"]
    disk.before = disk.after = lambda name, args: None
    assert publish(disk) == 2
    assert_as_if_nothing_had_happened(disk)


@pytest.mark.parametrize(("number", "reason"), REASONS.items())
@pytest.mark.parametrize("operation", ["create", "write", "sync", "link", "names"])
def test_a_lasting_failure_names_its_reason_and_leaves_nothing_behind(operation, number, reason):
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record(a_round(1))
    disk.before = failing(operation, number)
    assert_fails_and_recovers(disk, number, reason)


def test_reasons_are_told_from_the_systems_number():
    assert failure_reason(OSError(errno.EFBIG, "")) == "no_space"
    assert failure_reason(OSError("no number")) == "io"


def test_a_volume_that_says_only_at_close_that_it_is_full_is_believed():
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record(a_round(1))
    disk.after = failing("close", errno.ENOSPC)
    assert_fails_and_recovers(disk, errno.ENOSPC, "no_space")


def test_a_full_volume_refuses_loudly_and_takes_everything_once_it_has_room():
    disk = SimulatedDisk()
    disk.capacity = 1_500
    rounds = [a_round(number) for number in range(1, 21)]
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
    writer.record_many([a_round(1, "a"), a_round(1, "b")])
    folder = disk._nodes[disk._nodes[1].entries["default"]].entries["a"]

    def hook(name: str, args: tuple[int, ...]) -> None:
        if name == "create" and disk._handles[args[2]].node.inode == folder:
            raise os_error(errno.EIO)

    disk.before = hook  # type: ignore[assignment]
    results = writer.record_many([a_round(n, stream) for n in (2, 3) for stream in ("a", "b")])
    assert [isinstance(result, ArchiveFailure) for result in results] == [True, False, True, False]
    assert sorted(disk.tree()) == [
        "default/a/round_1.json",
        "default/b/round_1.json",
        "default/b/round_2.json",
        "default/b/round_3.json",
    ]


@pytest.mark.parametrize(
    ("operation", "match", "left"),
    [
        ("unlink", TAKEN_PREFIX, [2, 3]),
        ("rename", "round_", [1, 2, 3]),
        ("facts", "round_1", [1, 2, 3]),
    ],
)
def test_a_rotation_that_fails_leaves_the_round_published_and_is_told(
    tmp_path, operation, match, left
):
    FileArchiveWriter(tmp_path).record_many(WORK)
    disk = FaultyDisk(failing(operation, errno.EIO, match=match))
    published = FileArchiveWriter(tmp_path, max_rounds=2, disk=disk).record(a_round(3))
    assert isinstance(published.rotation_failure, ArchiveFailure)
    assert FileArchiveReader(tmp_path).list("s") == left
    FileArchiveWriter(tmp_path, max_rounds=2).record(a_round(4))
    assert FileArchiveReader(tmp_path).list("s") == [3, 4]


def test_a_file_that_cannot_be_read_is_never_taken_for_a_damaged_one(tmp_path):
    """Taken for damaged, the round in it would be stored a second time."""
    FileArchiveWriter(tmp_path).record(a_round(1))
    disk = FaultyDisk(failing("read", errno.EIO))
    with pytest.raises(ArchiveFailure):
        FileArchiveWriter(tmp_path, disk=disk).record(a_round(1), confirmed=True)
    assert FileArchiveReader(tmp_path).list("s") == [1]


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
