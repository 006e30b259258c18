"""Erasing rounds: nothing of their content is left, and they never come back."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from archive import FileArchiveReader, FileArchiveWriter, RoundErased, RoundNotFound, RoundRecord
from archive.erase import Eraser
from archive.record_json import record_to_bytes
from archive.storage.layout import TEMP_PREFIX, stream_dir
from support.simulated_disk import FaultyDisk

SECRET = "the secret plan"


def record(number: int, stream: str = "s") -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        f"{SECRET} {number}",
        todos=(f"TODO {SECRET}",),
        refs={"pr": f"#{number} {SECRET}"},
        stream_id=stream,
        tenant_id="default",
        epoch=2,
        error=SECRET,
        first_version=number * 10 - 9,
        last_version=number * 10,
        events_digest=f"{stream}{number}",
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for stream in ("s", "Other/Stream"):
        FileArchiveWriter(tmp_path).record_many([record(n, stream) for n in (1, 2, 3)])
    return tmp_path


def bytes_of(archive: Path) -> bytes:
    return b"".join(path.read_bytes() for path in archive.rglob("*") if path.is_file())


def test_an_erased_round_leaves_its_identity_and_no_content(archive):
    done = Eraser(archive).round("default", "s", 2)
    assert (done.erased, done.already_erased, done.complete) == (1, 0, True)
    assert json.loads((archive / "default/s/round_2.json").read_bytes()) == {
        "round": 2,
        "erased": True,
        "stream_id": "s",
        "tenant_id": "default",
        "epoch": 2,
        "first_version": 11,
        "last_version": 20,
        "events_digest": "s2",
    }


def test_an_erased_round_is_absent_from_every_read_path(archive):
    Eraser(archive).round("default", "s", 2)
    reader = FileArchiveReader(archive)
    assert reader.list("s") == [1, 3]
    assert [found.stream for found in reader.holders(2)] == ["Other/Stream"]
    assert [r.record.round for r in reader.rounds() if r.stream == "s"] == [3, 1]
    with pytest.raises(RoundErased) as raised:
        reader.read("s", 2)
    assert raised.value.identity == record(2).identity


def test_an_erased_round_is_never_published_again(archive):
    Eraser(archive).round("default", "s", 2)
    published = FileArchiveWriter(archive).record(record(2))
    assert (published.how, published.erased, published.round) == ("found", True, 2)
    assert FileArchiveReader(archive).list("s") == [1, 3]


def test_an_erased_stream_is_gone_and_its_neighbours_are_not(archive):
    done = Eraser(archive).stream("default", "Other/Stream")
    assert done.erased == 3
    reader = FileArchiveReader(archive)
    assert reader.list("Other/Stream") == []
    assert reader.streams() == ["s"]
    assert reader.list("s") == [1, 2, 3]


def test_an_erased_tenant_is_gone_and_no_other(archive):
    FileArchiveWriter(archive, tenant="acme").record(replace(record(1), tenant_id="acme"))
    assert Eraser(archive).tenant("default").erased == 6
    assert [(r.place.folder.tenant, r.stream) for r in FileArchiveReader(archive).rounds()] == [
        ("acme", "s")
    ]


def test_nothing_of_the_content_is_left_on_the_volume(archive):
    (archive / f"default/s/{TEMP_PREFIX}dead").write_bytes(record_to_bytes(record(4))[:99])
    (archive / "default/s/round_2.json").write_bytes(record_to_bytes(record(2))[:-40])
    done = Eraser(archive).tenant("default")
    assert done.leftovers_removed == 1
    assert SECRET.encode() not in bytes_of(archive)
    assert not list(archive.rglob(f"{TEMP_PREFIX}*"))


def test_a_stream_of_which_only_damaged_files_are_left_is_erased(archive):
    (folder,) = (archive / "default").glob("other*")
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-30])
    assert Eraser(archive).round("default", "Other/Stream", 1).erased == 1
    assert Eraser(archive).stream("default", "Other/Stream").erased == 2
    assert b"Other/Stream" in (folder / "round_1.json").read_bytes()
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("stream", ["s", "Other/Stream"])
def test_a_round_edited_by_hand_to_name_no_stream_is_erased_with_its_folders(archive, stream):
    path = archive / "default" / stream_dir(stream) / "round_2.json"
    path.write_bytes(
        path.read_bytes().replace(f'"stream_id": "{stream}"'.encode(), b'"stream_id": ""')
    )

    assert Eraser(archive).round("default", stream, 2).erased == 1
    assert Eraser(archive).round("default", stream, 2).already_erased == 1
    assert json.loads(path.read_bytes())["stream_id"] == stream
    assert Eraser(archive).stream("default", stream).erased == 2


def test_doing_it_again_changes_nothing_and_says_so(archive):
    eraser = Eraser(archive)
    eraser.stream("default", "s")
    before = bytes_of(archive)
    again = eraser.stream("default", "s")
    assert (again.erased, again.already_erased) == (0, 3)
    assert bytes_of(archive) == before
    assert eraser.round("default", "s", 1).already_erased == 1


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename"])
def test_a_round_for_whose_tombstone_there_is_no_room_is_pending_and_named(archive, operation):
    full = [True]

    def hook(name: str, args: object) -> None:
        if name == operation and full:
            full.pop()
            raise OSError(errno.ENOSPC, "No space left on device")

    eraser = Eraser(archive, disk=FaultyDisk(hook))
    done = eraser.stream("default", "s")
    assert [(item.path, item.reason) for item in done.pending] == [
        (f"{archive}/default/s/round_1.json", "no_space")
    ]
    assert done.erased == 2
    again = eraser.stream("default", "s")
    assert (again.erased, again.already_erased, again.complete) == (1, 2, True)


def test_a_round_that_never_was_is_not_found(archive):
    with pytest.raises(RoundNotFound):
        Eraser(archive).round("default", "s", 9)
    with pytest.raises(RoundNotFound):
        Eraser(archive).round("default", "nobody", 1)


def test_rounds_go_on_behind_the_tombstones(archive):
    Eraser(archive).stream("default", "s")
    assert FileArchiveWriter(archive).record(record(4)).round == 4
    assert FileArchiveReader(archive).list("s") == [4]


def test_an_erased_stream_that_starts_again_opens_a_new_epoch_behind_its_tombstones(archive):
    Eraser(archive).stream("default", "s")
    fresh = replace(record(1), events_digest="another life", epoch=0)
    published = FileArchiveWriter(archive).record(replace(fresh, epoch=2), confirmed=True)
    assert (published.round, published.epoch, published.forked) == (4, 3, True)


@pytest.mark.parametrize("layout", ["flat", "plain"])
def test_rounds_in_the_layouts_of_ares_are_erased_too(tmp_path, layout):
    folder = tmp_path / "rounds" if layout == "flat" else tmp_path / "rounds/Agent_7"
    folder.mkdir(parents=True)
    (folder / "round_1.json").write_text(json.dumps({"round": 1, "summary": SECRET}))
    stream = "rounds" if layout == "flat" else "Agent_7"
    assert FileArchiveReader(tmp_path / "rounds").list(stream) == [1]
    assert Eraser(tmp_path / "rounds").stream("default", stream).erased == 1
    assert SECRET.encode() not in bytes_of(tmp_path)
    assert FileArchiveReader(tmp_path / "rounds").streams() == []
