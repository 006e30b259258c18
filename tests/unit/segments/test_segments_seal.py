"""What a seal promises: the file of the format, once, in a slot of its own, within limits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from archive.segments import (
    ArchiveRef,
    ArchiveStore,
    SegmentCorrupt,
    SegmentInvalid,
    SegmentStoreFull,
    project_archive,
)
from unit.segment_messages import h, user

MIB = 1024 * 1024
Fill = Callable[[int], list[ArchiveRef]]


class TestSeal:
    def test_a_sealed_segment_is_the_file_the_format_states(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        messages = [{"role": "system", "content": "x"}, user(" αβ\n"), user([{"type": "image"}])]

        ref = store.seal(messages, "a note\n")

        digest = project_archive("s", messages, "").digest
        assert ref.message_count == 1
        assert ref.source_message_count == 3
        assert (folder / "000.json").read_bytes().decode() == (
            f'{{"version":1,"scope":"{h(b"acme/s")}","logical":"{h(b"s")}","id":"{ref.id}",'
            f'"digest":"{digest}","body":{{"state":"live","source_message_count":3,"messages":['
            '{"source_index":1,"block_indices":[],"message":{"content":" αβ\\n","role":"user"}}'
            '],"note":"a note\\n"}}'
        )
        assert sorted(path.name for path in folder.iterdir()) == ["000.json", "lock"]

    def test_an_id_is_a_random_uuid(self, store: ArchiveStore) -> None:
        ref = store.seal([user("a")], "")

        assert uuid.UUID(hex=ref.id).version == 4
        assert ref.id == uuid.UUID(hex=ref.id).hex
        assert store.seal([user("b")], "").id != ref.id

    def test_the_same_projection_seals_once_and_keeps_the_first_note(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        first = store.seal([user("x"), {"role": "system", "content": "a"}], "first")

        assert store.seal([user("x"), {"role": "system", "content": "b"}], "second") == first
        assert store.fetch_note(first.id) == "first"
        assert len(list(folder.glob("*.json"))) == 1

    def test_another_conversation_seals_the_same_messages_again(
        self, store: ArchiveStore, base: Path
    ) -> None:
        first = store.seal([user("x")], "")
        other = ArchiveStore(base, "acme/s", "other")
        second = other.seal([user("x")], "")

        assert second.id != first.id
        store.forget(first.id)
        assert other.seal([user("x")], "") == second

    def test_slots_are_filled_in_order_gaps_first(self, store: ArchiveStore, folder: Path) -> None:
        for index in range(3):
            store.seal([user(str(index))], "")
        (folder / "001.json").unlink()

        ref = store.seal([user("again")], "")

        assert ref.id in (folder / "001.json").read_text()

    def test_nothing_eligible_seals_an_empty_segment(self, store: ArchiveStore) -> None:
        ref = store.seal([{"role": "system", "content": "x"}], "")

        assert ref.message_count == 0
        assert store.fetch(ref.id, 0, 128) == []

    def test_a_segment_survives_reopening(self, store: ArchiveStore, base: Path) -> None:
        ref = store.seal([user("x")], "")

        assert ArchiveStore(str(base), "acme/s", "s").fetch(ref.id, 0, 1) == [user("x")]

    def test_several_mebibytes_stay_exact(self, store: ArchiveStore) -> None:
        messages = [user("eligible exact évidence\n" * 300_000)]

        ref = store.seal(messages, "")

        assert store.fetch(ref.id, 0, 1) == messages
        assert store.seal(messages, "") == ref

    def test_a_file_over_16_mib_is_refused_even_where_the_messages_fit(
        self, store: ArchiveStore, folder: Path
    ) -> None:
        with pytest.raises(SegmentInvalid, match="file"):
            store.seal([user("x" * (16 * MIB - 100))], "n" * 8000)

        assert list(folder.glob("*.json")) == []

    def test_floats_and_every_kind_of_value_survive(self, base: Path) -> None:
        input = {"f": [1e-7, 1.0, 1e16, -0.0, 1e-5, 1.5e300], "n": [0, 2**64 - 1, -(2**63), None]}
        call = {"type": "tool_use", "id": "a", "name": "b", "input": input}
        store = ArchiveStore(base, "acme/s", "s", lambda text: text)

        ref = store.seal([{"role": "assistant", "content": [call]}], "")

        kept = store.fetch(ref.id, 0, 1)[0]["content"][0]["input"]
        assert json.dumps(kept) == json.dumps(input)
        assert store.search("1e-7,1.0,1e+16,-0.0,0.00001,1.5e+300", 1)[0].id == ref.id


class TestLimits:
    def test_128_segments_are_the_most_and_tombstones_count(
        self, store: ArchiveStore, fill: Fill
    ) -> None:
        refs = fill(128)

        with pytest.raises(SegmentStoreFull) as caught:
            store.seal([user("one more")], "")
        assert caught.value.limit == "segments"
        store.forget(refs[0].id)
        with pytest.raises(SegmentStoreFull):
            store.seal([user("one more")], "")

    def test_a_full_scope_still_knows_what_it_sealed(
        self, store: ArchiveStore, fill: Fill, base: Path
    ) -> None:
        refs = fill(128)

        again = ArchiveStore(base, "acme/s", "s").seal([user(f"5 é{'é' * 150}")], "")

        assert again == refs[5]

    def test_256_mib_are_the_most(
        self, store: ArchiveStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("archive.segments.store.MAX_SCOPE_BYTES", 3000)
        store.seal([user("x" * 1000)], "")

        with pytest.raises(SegmentStoreFull) as caught:
            store.seal([user("y" * 2000)], "")

        assert caught.value.limit == "bytes"
        store.seal([user("z" * 100)], "")

    def test_a_scope_beyond_256_mib_is_corrupt(
        self, store: ArchiveStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.seal([user("x" * 1000)], "")
        store.seal([user("y" * 1000)], "")
        monkeypatch.setattr("archive.segments.scan.MAX_SCOPE_BYTES", 2000)

        with pytest.raises(SegmentCorrupt):
            store.search("", 1)
