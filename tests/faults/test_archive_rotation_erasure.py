"""Rotation and erasure meet in one folder: content goes, a tombstone stays, at whatever step."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archive import FileArchiveWriter, RoundNotFound, RoundRecord
from archive.erase import Eraser
from archive.failures import ArchiveFailure
from support.simulated_disk import FaultyDisk, SimulatedCrash

SECRET = "the secret plan"
FIRST = RoundRecord(
    1,
    "fix",
    SECRET,
    stream_id="s",
    tenant_id="default",
    first_version=1,
    last_version=1,
    events_digest="01" * 32,
)


def numbered(number: int) -> RoundRecord:
    return replace(
        FIRST,
        round=number,
        summary=SECRET if number == 1 else "of no concern",
        first_version=number,
        last_version=number,
        events_digest=f"{number:02d}" * 32,
    )


class Steps:
    """Runs `meanwhile` before step `at` of whoever works on this disk, and counts the steps."""

    def __init__(self, at: int, meanwhile: Callable[[], object]) -> None:
        self.disk = FaultyDisk(self._hook)
        self.met = False
        self._left, self._meanwhile = at, meanwhile

    def _hook(self, name: str, args: object) -> None:
        self._left -= 1
        if self._left == 0 and not self.met:
            self.met = True
            self._meanwhile()


def archive(root: Path) -> None:
    """Two rounds, of which the next publication lets the first rotate away."""
    FileArchiveWriter(root).record_many([numbered(1), numbered(2)])


def publish_third(root: Path, disk: FaultyDisk | None = None) -> None:
    """As the archiver does: again, where an erasure took its temporary file away."""
    writer = FileArchiveWriter(root, 2, disk=disk)
    try:
        writer.record(numbered(3))
    except ArchiveFailure:
        writer.record(numbered(3))


def erase_first(root: Path, disk: FaultyDisk | None = None) -> bool:
    """Whether it was there, and its tombstone is now or was."""
    try:
        done = Eraser(root, disk=disk).round("default", "s", 1)
    except RoundNotFound:
        return False
    assert done.complete, done.pending
    return done.erased == 1


def tombstone_is_there(root: Path) -> bool:
    path = root / "default/s/round_1.json"
    return path.exists() and json.loads(path.read_bytes())["erased"]


def content_of(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (root / "default/s").iterdir())


def names(root: Path) -> set[str]:
    return {path.name for path in (root / "default/s").iterdir()}


def sweep(tmp_path: Path, act: Callable[[Path, int], bool]) -> int:
    """Do `act` in a folder of its own for each step, until it says that there is none left."""
    step = 0
    while True:
        step += 1
        root = tmp_path / str(step)
        archive(root)
        if not act(root, step):
            return step


def test_a_round_erased_at_any_step_of_a_rotation_keeps_its_tombstone(tmp_path):
    erased = 0

    def act(root: Path, step: int) -> bool:
        nonlocal erased
        outcome: list[bool] = []
        steps = Steps(step, lambda: outcome.append(erase_first(root)))
        publish_third(root, steps.disk)
        if steps.met:
            erased += outcome[0]
            assert outcome[0] == tombstone_is_there(root), f"at step {step}"
            assert SECRET.encode() not in content_of(root), f"at step {step}"
            assert names(root) <= {f"round_{n}.json" for n in (1, 2, 3)}, f"at step {step}"
        return steps.met

    assert sweep(tmp_path, act) > erased > 10


def test_a_rotation_at_any_step_of_an_erasure_leaves_the_tombstone_or_nothing(tmp_path):
    def act(root: Path, step: int) -> bool:
        steps = Steps(step, lambda: publish_third(root))
        if erase_first(root, steps.disk):
            assert tombstone_is_there(root), f"at step {step}"
        if steps.met:
            assert SECRET.encode() not in content_of(root), f"at step {step}"
            assert names(root) <= {f"round_{n}.json" for n in (1, 2, 3)}, f"at step {step}"
        return steps.met

    assert sweep(tmp_path, act) > 10


def test_an_erasure_ends_what_a_worker_began_that_died_at_any_step_of_its_rotation(tmp_path):
    def act(root: Path, step: int) -> bool:
        def die() -> None:
            raise SimulatedCrash

        steps = Steps(step, die)
        try:
            publish_third(root, steps.disk)
        except SimulatedCrash:
            erase_first(root)
            assert SECRET.encode() not in content_of(root), f"at step {step}"
        return steps.met

    assert sweep(tmp_path, act) > 10


def test_a_tombstone_that_a_dying_worker_had_taken_is_put_back_by_the_next_erasure(tmp_path):
    archive(tmp_path)
    assert erase_first(tmp_path)
    folder = tmp_path / "default/s"
    (folder / "round_1.json").rename(folder / ".tmp-old-0123456789abcdef01234567")

    erase_first(tmp_path)

    assert tombstone_is_there(tmp_path)
    assert names(tmp_path) == {"round_1.json", "round_2.json"}


@pytest.mark.parametrize("erased", [True, False])
def test_what_is_gone_by_then_disturbs_no_rotation(tmp_path, erased):
    archive(tmp_path)
    gone = tmp_path / "default/s/round_1.json"

    def vanish() -> None:
        if erased:
            erase_first(tmp_path)
        gone.unlink(missing_ok=True)

    def hook(name: str, args: tuple) -> None:
        if name == "rename" and pending:
            pending.pop()()

    pending = [vanish]
    published = FileArchiveWriter(tmp_path, 2, disk=FaultyDisk(hook)).record(numbered(3))

    assert (published.rotated, published.rotation_failure) == (0, None)
    assert names(tmp_path) == {"round_2.json", "round_3.json"}
