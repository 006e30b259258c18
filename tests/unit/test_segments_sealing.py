"""Sealing a round: where it goes, and what a store that refuses does."""

from __future__ import annotations

import errno
import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from archive.record import RoundRecord
from archive.segments import ArchiveStore, SegmentBusy, export_in
from streams.errors import UsageError
from streams.event import Event
from unit.segment_events import completed, event, said, started
from worker.erasing.segments import Segments
from worker.sealing import sealer as sealing
from worker.sealing.erased import is_erased_in
from worker.sealing.sealer import SealOutcome, SegmentSealer, load_redactor


def record(summary: str = "did it", stream: str = "s1", tenant: str = "acme") -> RoundRecord:
    return RoundRecord(1, "implement", summary, stream_id=stream, tenant_id=tenant)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base"


@pytest.fixture
def sealer(base: Path) -> SegmentSealer:
    return SegmentSealer(base)


@contextmanager
def busy(base: Path, scope: str = "acme/s1") -> Iterator[None]:
    """Somebody else works on the scope."""
    store = ArchiveStore(base, scope, "other")
    store.search("", 1)
    (lock,) = base.glob("context-archives/*/lock")
    with lock.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        yield


@contextmanager
def hanging_flock() -> Iterator[threading.Event]:
    """A `flock` that comes back when the event is set, and not before."""
    released, flock = threading.Event(), fcntl.flock

    def hang(handle: int, operation: int) -> None:
        assert released.wait(60)
        flock(handle, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("archive.segments.private_dir.fcntl.flock", hang)
        yield released
        released.set()
    join_sealing_threads()


def join_sealing_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "sealing":
            thread.join(60)


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


class TestRedactor:
    def test_a_function_is_found_by_module_and_name(self) -> None:
        assert load_redactor("builtins:str") is str

    @pytest.mark.parametrize("name", ["", "json", "nowhere:f", "json:missing", "json:__name__"])
    def test_a_name_that_is_none_is_a_usage_error(self, name: str) -> None:
        with pytest.raises(UsageError):
            load_redactor(name)


# A copy of a well-known list would do nothing: these are made up, of the kinds people paste.
CREDENTIALS = [
    "password=hunter2hunter2",
    "PASSWD: abc",
    "my secret is 12345",
    "api_key = 'abcdef'",
    "APIKEY=abcdef",
    "x-api-key: abcdef",
    '{"access_token": "abcdef"}',
    "refresh_token=abcdef",
    "Authorization: Basic YWJj",
    "curl -H 'authorization: Bearer abc'",
    "bearer abcdef",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "sk-proj-abcdef123456",
    "sk-ant-api03-abcdef",
    "ghp_abcdefghijklmnop",
    "github_pat_11ABCDEF",
    "xoxb-1234-5678",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.e30.abc",
    "client_secret: abc",
    "aws_secret_access_key = abc",
    "DB_PASSWORD=abc",
    "postgres password is abc",
    "export OPENAI_API_KEY=abc",
    "the private key is in ~/.ssh",
    "set SECRET_TOKEN",
    "token: ghp_zzz",
    "slack xoxb-zzz",
    "jwt eyJhIn0",
]


@pytest.mark.parametrize("redactor", [None, str])
def test_no_seeded_credential_reaches_the_disk(base: Path, redactor: Any) -> None:
    events = []
    for index, text in enumerate(CREDENTIALS):
        call = f"c{index}"
        events += [
            said(text),
            said([{"type": "text", "text": text}], "assistant"),
            started(call, args={"command": text, "path": f"/tmp/{text}"}),
            completed(call, output=text, error=text),
        ]

    outcome = SegmentSealer(base, redactor).seal_round(events, record(CREDENTIALS[0]))

    assert outcome.status == "sealed"
    (path,) = base.glob("context-archives/*/000.json")
    written = path.read_text()
    for text in CREDENTIALS:
        assert text not in written
        assert text.replace('"', '\\"').replace("\n", "\\n") not in written
