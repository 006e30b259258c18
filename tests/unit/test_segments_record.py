"""What makes a segment file corrupt, and what doesn't."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from archive.segments import ArchiveStore, SegmentBusy, SegmentCorrupt, SegmentNotFound, export_in
from unit.segment_messages import h, user

Change = Callable[[dict[str, Any]], Any]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def digest(record: dict[str, Any], elements: str | None = None) -> str:
    """The digest of a record's messages, or of `elements` as they are spelled."""
    count = int(record["body"]["source_message_count"]).to_bytes(8, "big")
    if elements is None:
        elements = compact(record["body"]["messages"])
    return h(record["logical"].encode(), count, elements.encode())


class Scope:
    """A scope with two sealed records whose first file can be edited."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.store = ArchiveStore(base, "scope", "talk")
        self.refs = [self.store.seal([user("a"), user(text)], "n") for text in ("one", "two")]
        self.folder = base / "context-archives" / h(b"scope")
        self.file = self.folder / "000.json"
        self.record: dict[str, Any] = json.loads(self.file.read_text())

    def write(self, data: str | bytes) -> None:
        self.file.write_bytes(data.encode() if isinstance(data, str) else data)

    def is_corrupt(self) -> bool:
        """Whether every operation on the scope refuses, on either record."""
        outcomes = set()
        for call in (
            lambda: self.store.seal([user("new")], ""),
            lambda: self.store.seal([user("a"), user("two")], ""),
            lambda: self.store.fetch(self.refs[0].id, 0, 1),
            lambda: self.store.fetch(self.refs[1].id, 0, 1),
            lambda: self.store.fetch_note(self.refs[1].id),
            lambda: self.store.search("two", 1),
            lambda: self.store.search("", 1),
            lambda: self.store.forget(self.refs[1].id),
            self.store.export_records,
            lambda: export_in(self.base, "scope"),
        ):
            try:
                call()
            except SegmentCorrupt:
                outcomes.add(True)
            except SegmentNotFound:
                outcomes.add(False)
            else:
                outcomes.add(False)
        assert len(outcomes) == 1, "some operations see what others don't"
        return outcomes.pop()


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return Scope(tmp_path / "base")


def set_in(path: str, value: Any) -> Change:
    def change(record: dict[str, Any]) -> Any:
        *parents, last = path.split(".")
        target: Any = record
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        target[int(last) if last.isdigit() else last] = value
        return record

    change.__name__ = f"{path}={value!r:.30}"
    return change


def without(path: str) -> Change:
    def change(record: dict[str, Any]) -> Any:
        *parents, last = path.split(".")
        target: Any = record
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        del target[last]
        return record

    change.__name__ = f"no {path}"
    return change


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# Each is corrupt although its digest fits its messages.
CORRUPT: list[Change] = [
    *(set_in("version", value) for value in (0, 2, "1", 1.0, True, None)),
    *(set_in("scope", value) for value in (h(b"other"), h(b"scope").upper(), 1, None)),
    *(set_in("logical", value) for value in ("", "0" * 63, "g" * 64, None, 5)),
    *(set_in("id", value) for value in ("", "A" * 32, "0" * 31, "g" * 32, None)),
    *(without(key) for key in ("version", "scope", "logical", "id", "digest", "body")),
    *(without(f"body.{key}") for key in ("state", "note", "messages", "source_message_count")),
    *(without(f"body.messages.0.{key}") for key in ("source_index", "block_indices", "message")),
    set_in("extra", 1),
    set_in("body.extra", 1),
    set_in("body.messages.0.extra", 1),
    set_in("body.state", "dead"),
    set_in("body.state", "Live"),
    set_in("body.note", None),
    set_in("body.note", "n" * 8193),
    set_in("body.source_message_count", 4097),
    set_in("body.source_message_count", 1),
    set_in("body.source_message_count", 2.0),
    set_in("body.messages", {}),
    set_in("body.messages.0.source_index", 1),
    set_in("body.messages.1.source_index", 0),
    set_in("body.messages.1.source_index", 2),
    set_in("body.messages.0.source_index", -1),
    set_in("body.messages.0.source_index", False),
    set_in("body.messages.0.block_indices", [-1]),
    set_in("body.messages.0.block_indices", [1.0]),
    set_in("body.messages.0.block_indices", None),
    set_in("body.messages.0.block_indices", [2**64]),
    set_in("body.messages.0.message", "text"),
    set_in("body.messages.0.message", None),
    set_in("body.messages.0.message.content", 2**64),
    set_in("body.messages.0.message.content", [-(2**63) - 1]),
    set_in("body.messages.0.message.content", deep(123)),
    set_in("body", None),
    set_in("body", {"state": "tombstone", "note": "n"}),
    set_in("body", {"state": "tombstone", "messages": []}),
    lambda record: [record],
    lambda record: None,
]


@pytest.mark.parametrize("change", CORRUPT, ids=lambda change: change.__name__)
def test_a_record_that_breaks_a_rule_stops_the_whole_scope(scope: Scope, change: Change) -> None:
    record = change(scope.record)
    with suppress(Exception):  # so broken that it has no digest
        if "digest" in record:
            record["digest"] = digest(record)
    scope.write(compact(record))

    assert scope.is_corrupt()


@pytest.mark.parametrize("value", ["", "0" * 63, "0" * 64, "g" * 64, None, 7])
def test_a_digest_that_does_not_match_is_corrupt(scope: Scope, value: Any) -> None:
    scope.write(compact({**scope.record, "digest": value}))

    assert scope.is_corrupt()


@pytest.mark.parametrize(
    "change",
    [
        set_in("body.messages.0.message.content", "A"),
        set_in("body.messages.0.message.role", "assistant"),
        set_in("body.source_message_count", 3),
        set_in("body.messages.0.block_indices", [0]),
        set_in("logical", h(b"another talk")),
        set_in("body.messages", []),
    ],
    ids=lambda change: change.__name__,
)
def test_an_edit_by_hand_is_corrupt(scope: Scope, change: Change) -> None:
    scope.write(compact(change(scope.record)))

    assert scope.is_corrupt()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b'{"version":1,',
        b"\x00" * 500,
        b"\xff\xfe{}",
        b"[" * 100_000,
    ],
    ids=repr,
)
def test_bytes_that_are_no_record_are_corrupt(scope: Scope, data: bytes) -> None:
    scope.write(data)

    assert scope.is_corrupt()


def test_every_torn_end_and_every_flipped_byte_is_noticed(scope: Scope) -> None:
    data = scope.file.read_bytes()
    harmless = 0
    for place in range(0, len(data), 7):
        for damaged in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            scope.write(damaged)
            try:
                scope.store.search("", 1)
                harmless += 1
            except SegmentCorrupt:
                pass
    # Id, logical id of a tombstone and note are not under the digest: an edit there is a value.
    undigested = len(scope.refs[0].id) + len(scope.record["body"]["note"])
    assert harmless <= undigested


@pytest.mark.parametrize("tail", [b" x", b"{}", b"\x00", b"null"])
def test_anything_after_a_record_is_corrupt(scope: Scope, tail: bytes) -> None:
    scope.write(scope.file.read_bytes() + tail)

    assert scope.is_corrupt()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version":1,', '"version":1,"version":1,'),
        ('"note":"n"', '"note":"n","note":"n"'),
        ('"source_index":0,', '"source_index":0,"source_index":0,'),
        ('"state":"live",', '"state":"live","state":"live",'),
        ('"source_index":0,', '"source_index":-0,'),
        ('"note":"n"', '"note":"\\ud800"'),
        ('"note":"n"', '"note":"\x01"'),
        ('"content":"a"', '"content":NaN'),
    ],
)
def test_a_field_twice_or_a_value_that_is_no_json_is_corrupt(
    scope: Scope, old: str, new: str
) -> None:
    text = scope.file.read_text()
    changed = text.replace(old, new, 1)
    assert changed != text
    scope.write(changed)

    assert scope.is_corrupt()


def test_a_key_twice_inside_a_message_counts_once(scope: Scope) -> None:
    text = scope.file.read_text().replace('"content":"a"', '"content":"b","content":"a"', 1)
    scope.write(text)

    assert scope.store.fetch(scope.refs[0].id, 0, 1) == [user("a")]


def test_another_spelling_of_the_same_values_is_the_same_record(scope: Scope) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    before = scope.store.export_records()
    scope.write(" \n" + json.dumps(turned(scope.record), indent=3, ensure_ascii=True) + "\n")

    assert scope.store.export_records() == before
    assert scope.store.seal([user("a"), user("one")], "").id == scope.refs[0].id
    assert scope.store.search('"content":"a","role"', 1)[0].id == scope.refs[0].id


def test_a_digest_over_another_spelling_is_corrupt(scope: Scope) -> None:
    elements = json.dumps(scope.record["body"]["messages"])
    record = {**scope.record, "digest": digest(scope.record, elements)}
    text = compact(record).replace(compact(record["body"]["messages"]), elements)
    scope.write(text)

    assert scope.is_corrupt()


@pytest.mark.parametrize("spelled", ["1e+16", "1e16"])
def test_floats_of_newer_and_older_hosts_are_read(scope: Scope, spelled: str) -> None:
    message = f'{{"content":[{{"input":{spelled}}}],"role":"user"}}'
    elements = f'[{{"source_index":0,"block_indices":[0],"message":{message}}}]'
    record = {**scope.record, "digest": digest(scope.record, elements)}
    old = compact(record["body"]["messages"])
    scope.write(compact(record).replace(old, elements))

    assert scope.store.fetch(scope.refs[0].id, 0, 1) == [user([{"input": 1e16}])]
    assert scope.store.search(spelled, 1)[0].id == scope.refs[0].id


def test_a_record_of_another_scope_is_corrupt(scope: Scope, tmp_path: Path) -> None:
    other = ArchiveStore(tmp_path / "base", "another", "talk")
    other.seal([user("foreign")], "")
    scope.write((scope.folder.parent / h(b"another") / "000.json").read_bytes())

    assert scope.is_corrupt()


def test_a_second_record_of_an_id_or_digest_is_corrupt(scope: Scope) -> None:
    copy = {**scope.record, "id": "0" * 32}
    (scope.folder / "002.json").write_text(compact(copy))
    (scope.folder / "002.json").chmod(0o600)
    assert scope.is_corrupt()

    record = json.loads((scope.folder / "001.json").read_text())
    (scope.folder / "002.json").unlink()
    (scope.folder / "001.json").write_text(compact({**record, "id": scope.refs[0].id}))
    assert scope.is_corrupt()


def test_a_tombstone_and_a_live_record_of_one_digest_are_corrupt(scope: Scope) -> None:
    tombstone = {**scope.record, "id": "0" * 32, "body": {"state": "tombstone"}}
    (scope.folder / "077.json").write_text(compact(tombstone))

    assert scope.is_corrupt()


def test_a_tombstone_may_be_spelled_otherwise(scope: Scope) -> None:
    scope.write(json.dumps({**scope.record, "body": {"state": "tombstone"}}))

    with pytest.raises(SegmentNotFound):
        scope.store.fetch(scope.refs[0].id, 0, 1)
    assert [row["tombstone"] for row in scope.store.export_records()] == [True, False]


def test_a_file_over_16_mib_is_corrupt_unread(scope: Scope) -> None:
    with scope.file.open("r+b") as file:
        file.truncate(16 * 1024 * 1024 + 1)

    assert scope.is_corrupt()


def test_the_error_names_the_file_and_no_content(scope: Scope) -> None:
    scope.write(compact({**scope.record, "digest": "0" * 64}))

    with pytest.raises(SegmentCorrupt, match=r"000\.json") as caught:
        scope.store.search("", 1)
    assert caught.value.slot == 0
    assert "one" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_the_format_does_not_name_is_left_alone(scope: Scope) -> None:
    for name in ("128.json", "1.json", "000.json.bak", "0001.json", "pending.tmp"):
        (scope.folder / name).write_text("rubbish")

    assert not scope.is_corrupt()
    assert (scope.folder / "128.json").read_text() == "rubbish"


def test_swarms_of_foreign_files_are_not_read(scope: Scope) -> None:
    for index in range(1100):
        (scope.folder / f"foreign-{index}").touch()

    assert [one.id for one in scope.store.search("", 32)] == [ref.id for ref in scope.refs]


def test_a_file_that_grows_while_it_is_read_is_corrupt(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat

    def growing(handle: int) -> os.stat_result:
        status = real(handle)
        if Path(f"/proc/self/fd/{handle}").readlink() == scope.file:
            with scope.file.open("ab") as file:
                file.write(b" ")
        return status

    monkeypatch.setattr("archive.segments.handles.os.fstat", growing)
    with pytest.raises((SegmentCorrupt, SegmentBusy)):
        scope.store.search("", 1)
