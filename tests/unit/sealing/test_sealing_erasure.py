"""Rounds erased meanwhile, streams forgotten, stores that hang."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from archive.segments import SegmentBusy, export_in
from unit.segment_events import said
from unit.segment_sealing import hanging_flock, join_sealing_threads, record
from worker.erasing.segments import Segments
from worker.sealing.erased import is_erased_in
from worker.sealing.sealer import SegmentSealer


class TestErasedMeanwhile:
    def test_where_it_cannot_be_told_whether_a_round_was_erased_it_waits(
        self, base: Path, tmp_path: Path
    ) -> None:
        """Sealed all the same, erased words would be there for good."""
        archive = tmp_path / "archive"
        sealer = SegmentSealer(base, is_erased=is_erased_in(archive))

        outcome = sealer.seal_round([said("one")], record())
        archive.mkdir()
        then = sealer.seal_round([said("two")], record())

        assert (outcome.status, outcome.reason, outcome.waiting) == ("refused", "busy", 1)
        assert "can't be told" in outcome.detail
        assert (then.status, then.sealed) == ("sealed", 2)

    def test_what_was_sealed_and_not_looked_at_since_is_looked_at_again(self, base: Path) -> None:
        answers: list[bool | Exception] = [False, SegmentBusy("no archive"), False, True, False]

        def is_erased(*_: object) -> bool:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        sealer = SegmentSealer(base, is_erased=is_erased)
        outcome = sealer.seal_round([said("one")], record())
        assert (outcome.reason, outcome.waiting) == ("busy", 1)

        then = sealer.seal_round([], record())

        assert (then.status, then.sealed, then.waiting) == ("empty", 0, 0)
        assert [row["tombstone"] for row in export_in(base, "acme/s1")] == [True]

    @pytest.mark.parametrize("content", [None, b"", b'{"round": 1, "stream_id": "s1"}'])
    def test_a_round_that_rotated_away_or_is_damaged_was_not_erased(
        self, base: Path, tmp_path: Path, content: bytes | None
    ) -> None:
        folder = tmp_path / "archive/acme/s1"
        folder.mkdir(parents=True)
        if content is not None:
            (folder / "round_1.json").write_bytes(content)
        sealer = SegmentSealer(base, is_erased=is_erased_in(tmp_path / "archive"))

        assert sealer.seal_round([said("one")], record()).status == "sealed"


class TestHangingStore:
    @pytest.fixture
    def hanging(self) -> Iterator[threading.Event]:
        with hanging_flock() as released:
            yield released

    def test_a_lock_that_hangs_holds_up_archiving_once_and_not_for_ever(
        self, base: Path, hanging: threading.Event
    ) -> None:
        sealer = SegmentSealer(base, patience_s=0.05)

        first = sealer.seal_round([said("one")], record("first"))
        before = threading.active_count()
        others = [sealer.seal_round([said("x")], record(stream=f"s{n}")) for n in (2, 3, 4)]

        assert (first.status, first.reason, first.waiting) == ("refused", "busy", 1)
        assert "not answered" in first.detail
        assert [other.reason for other in others] == ["busy"] * 3
        assert threading.active_count() == before

    def test_what_waited_is_sealed_when_the_lock_answers_again(
        self, base: Path, hanging: threading.Event
    ) -> None:
        sealer = SegmentSealer(base, patience_s=2)
        sealer.seal_round([said("one")], record("first"))
        hanging.set()
        join_sealing_threads()

        outcome = sealer.seal_round([said("two")], record("second"))

        assert (outcome.status, outcome.sealed, outcome.waiting) == ("sealed", 2, 0)
        assert [row["note"] for row in export_in(base, "acme/s1")] == ["first", "second"]


class TestErasure:
    async def test_every_segment_of_the_stream_is_forgotten_and_no_other(
        self, sealer: SegmentSealer, base: Path
    ) -> None:
        for text in ("one", "two"):
            sealer.seal_round([said(text)], record())
        sealer.seal_round([said("other")], record(stream="s2"))

        assert await Segments(base, "acme").forget_all("s1") == 2
        assert await Segments(base, "acme").forget_all("s1") == 0
        assert [row["tombstone"] for row in export_in(base, "acme/s1")] == [True, True]
        assert [row["tombstone"] for row in export_in(base, "acme/s2")] == [False]

    async def test_a_stream_without_segments_makes_no_folder(self, base: Path) -> None:
        assert await Segments(base, "acme").forget_all("s1") == 0
        assert not list(base.parent.iterdir())

    async def test_a_store_that_hangs_is_not_waited_for_for_ever(
        self, base: Path, sealer: SegmentSealer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sealer.seal_round([said("one")], record())
        monkeypatch.setattr("worker.erasing.segments._PAUSE_S", 0)
        with hanging_flock(), pytest.raises(SegmentBusy, match="not answered"):
            await Segments(base, "acme", patience_s=0.05).forget_all("s1")
        assert await Segments(base, "acme").forget_all("s1") == 1
