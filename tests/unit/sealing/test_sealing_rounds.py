"""Sealing a round: where it goes, and what a store that refuses does."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from archive.segments import ArchiveStore, export_in
from streams.event import Event
from unit.segment_events import event, said, started
from unit.segment_sealing import busy, record
from worker.sealing import sealer as sealing
from worker.sealing.sealer import SealOutcome, SegmentSealer


class TestSealer:
    def test_a_round_is_sealed_in_its_streams_own_scope(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        outcome = sealer.seal_round([said("x")], record("the summary"))

        assert outcome.status == "sealed"
        assert outcome.sealed == 1
        assert outcome.ref is not None
        store = ArchiveStore(base, "acme/s1", "s1")
        assert store.fetch(outcome.ref.id, 0, 1) == [{"role": "user", "content": "x"}]
        assert store.fetch_note(outcome.ref.id) == "the summary"
        assert store.seal([{"role": "user", "content": "x"}], "") == outcome.ref
        assert export_in(base, "acme/s2") == []

    def test_the_tenant_is_the_records_not_the_events(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        sealer.seal_round([said("x", tenant_id="victim")], record())

        assert export_in(base, "victim/s1") == []
        assert len(export_in(base, "acme/s1")) == 1

    @pytest.mark.parametrize(
        "events", [[], [event("task.created", task="t")], [said("x", private=True)], [started()]]
    )
    def test_a_round_without_anything_to_keep_takes_no_slot(
        self, sealer: SegmentSealer, base: Path, events: list[Event]
    ) -> None:
        assert sealer.seal_round(events, record()) == SealOutcome("empty", stream="s1")
        assert export_in(base, "acme/s1") == []

    def test_the_same_round_again_is_the_same_segment(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        first = sealer.seal_round([said("x")], record())

        assert sealer.seal_round([said("x")], record()).ref == first.ref
        assert len(export_in(base, "acme/s1")) == 1

    def test_a_busy_store_is_tried_again_before_the_streams_next_round(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        with busy(base):
            first = sealer.seal_round([said("one")], record("first"))
            second = sealer.seal_round([said("two")], record("second"))
        third = sealer.seal_round([said("three")], record("third"))

        assert (first.status, first.reason, first.waiting) == ("refused", "busy", 1)
        assert (second.reason, second.waiting) == ("busy", 2)
        assert (third.status, third.sealed, third.waiting) == ("sealed", 3, 0)
        notes = [row["note"] for row in export_in(base, "acme/s1")]
        assert notes == ["first", "second", "third"]

    def test_an_empty_round_seals_those_that_wait(self, sealer: SegmentSealer, base: Path) -> None:
        with busy(base):
            sealer.seal_round([said("one")], record())

        outcome = sealer.seal_round([], record())

        assert (outcome.status, outcome.sealed, outcome.waiting) == ("empty", 1, 0)

    def test_one_streams_full_scope_never_blocks_another(
        self, sealer: SegmentSealer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("archive.segments.store.MAX_SEGMENTS", 1)
        sealer.seal_round([said("x")], record())

        full = sealer.seal_round([said("y")], record())
        other = sealer.seal_round([said("y")], record(stream="s2"))

        assert (full.status, full.reason) == ("refused", "full")
        assert other.status == "sealed"

    def test_a_full_disk_is_full(
        self, sealer: SegmentSealer, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_space(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("archive.segments.private_dir.os.write", no_space)
            outcome = sealer.seal_round([said("x")], record())

        assert (outcome.reason, outcome.waiting) == ("full", 1)
        assert sealer.seal_round([said("y")], record()).sealed == 2

    def test_a_forgotten_round_is_denied_and_not_tried_again(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        ref = sealer.seal_round([said("x")], record()).ref
        assert ref is not None
        ArchiveStore(base, "acme/s1", "s1").forget(ref.id)

        outcome = sealer.seal_round([said("x")], record())

        assert (outcome.status, outcome.reason, outcome.waiting) == ("refused", "denied", 0)

    def test_a_corrupt_scope_is_reported_without_content(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        sealer.seal_round([said("CONTENT")], record())
        (path,) = base.glob("context-archives/*/000.json")
        path.write_text(path.read_text().replace("CONTENT", "CHANGED"))

        outcome = sealer.seal_round([said("next")], record())

        assert (outcome.status, outcome.reason) == ("refused", "corrupt")
        assert "000.json" in outcome.detail
        assert str(path.parent) in outcome.detail
        assert "CHANGED" not in outcome.detail

    def test_an_unsafe_base_is_denied(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path)

        outcome = SegmentSealer(tmp_path / "link").seal_round([said("x")], record())

        assert (outcome.status, outcome.reason) == ("refused", "denied")

    def test_a_round_over_a_limit_is_invalid_and_given_up(self, sealer: SegmentSealer) -> None:
        outcome = sealer.seal_round([said("x")] * 4097, record())

        assert (outcome.status, outcome.reason, outcome.waiting) == ("refused", "invalid", 0)

    def test_a_hostile_redactor_is_invalid(self, base: Path) -> None:
        def redactor(text: str) -> str:
            raise RuntimeError(text)

        outcome = SegmentSealer(base, redactor).seal_round([said("CONTENT")], record())

        assert (outcome.reason, "CONTENT" in outcome.detail) == ("invalid", False)

    def test_a_defect_never_leaves_the_sealer(
        self, sealer: SegmentSealer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError("CONTENT")

        monkeypatch.setattr(sealing, "round_messages", broken)

        outcome = sealer.seal_round([said("x")], record())

        detail = "a defect: ZeroDivisionError"
        assert outcome == SealOutcome("refused", "invalid", detail, stream="s1")

    def test_what_waits_has_a_limit_in_rounds(
        self, sealer: SegmentSealer, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sealing, "MAX_WAITING", 2)
        with busy(base):
            outcomes = [sealer.seal_round([said(str(n))], record(str(n))) for n in range(4)]
        sealer.seal_round([said("last")], record("last"))

        assert [(one.waiting, one.dropped) for one in outcomes] == [(1, 0), (2, 0), (2, 1), (2, 1)]
        assert [row["note"] for row in export_in(base, "acme/s1")] == ["2", "3", "last"]

    def test_what_waits_has_a_limit_in_bytes(
        self, sealer: SegmentSealer, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sealing, "MAX_WAITING_BYTES", 1500)
        with busy(base):
            first = sealer.seal_round([said("a" * 1000)], record())
            second = sealer.seal_round([said("b" * 1000)], record())

        assert (first.waiting, first.dropped) == (1, 0)
        assert (second.waiting, second.dropped) == (1, 1)

    def test_no_outcome_shows_content(self, sealer: SegmentSealer) -> None:
        assert "CONTENT" not in repr(sealer.seal_round([said("CONTENT")], record("CONTENT")))
