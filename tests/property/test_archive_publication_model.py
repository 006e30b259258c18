"""Clusters that crash, restore and reset on one archive, among damage, erasure and rotation.

Whatever happens: nothing published changes, no round is stored twice, every archived round is
there, and within an epoch versions are contiguous.
"""

from __future__ import annotations

import hashlib
import itertools
import tempfile
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from archive import FileArchiveWriter, PublicationConflict, RoundRecord
from archive.erase import Eraser
from archive.failures import RecordDamaged
from archive.publishing.publication import StoredRound, stored_round
from archive.record_json import record_to_bytes, stored_from_bytes
from archive.verifying.rounds import check_rounds

START = datetime(2026, 1, 1, tzinfo=UTC)
clusters = st.integers(0, 1)
tokens = itertools.count()


def digest(events: list[int]) -> str:
    return hashlib.sha256(repr(events).encode()).hexdigest()


@dataclass
class Cluster:
    """One Redis: its log of one stream, and the stream's state."""

    log: list[int] = field(default_factory=list)
    archived: int = 0
    rounds: int = 0
    epoch: int = 0

    def record(self, recut: int = 0) -> RoundRecord:
        """The next round: its size depends on its first event, unless it is cut otherwise."""
        size = recut or 1 + self.log[self.archived] % 3
        events = self.log[self.archived : self.archived + size]
        return RoundRecord(
            self.rounds + 1,
            "fix",
            f"events {events}",
            stream_id="s",
            tenant_id="default",
            epoch=self.epoch,
            first_version=self.archived + 1,
            last_version=self.archived + len(events),
            event_count=len(events),
            ended_at=START + timedelta(seconds=events[-1]),
            events_digest=digest(events),
        )

    def digest_of(self, first: int, last: int) -> str | None:
        return digest(self.log[first - 1 : last]) if last <= len(self.log) else None


class Volume(RuleBasedStateMachine):
    """One stream's folder, and the clusters that write to it."""

    max_rounds = 0

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.archive = Path(self.directory.name)
        self.clusters = [Cluster(), Cluster()]
        self.backups = [Cluster(), Cluster()]
        self.published: dict[str, bytes] = {}
        self.archived: set[str] = set()
        self.damaged = False

    def teardown(self) -> None:
        self.directory.cleanup()

    @initialize(count=st.integers(6, 20), saved=st.integers(0, 4))
    def begin(self, count: int, saved: int) -> None:
        """Some rounds are there, and a backup from when there were fewer."""
        self.append(0, count)
        for number in range(6):
            if number == saved:
                self.back_up(0)
            self.archive_a_round(0, 0, False)

    @rule(which=clusters, count=st.integers(1, 6))
    def append(self, which: int, count: int) -> None:
        self.clusters[which].log += [next(tokens) for _ in range(count)]

    @rule(which=clusters, recut=st.sampled_from([0, 0, 0, 2]), crash=st.booleans())
    def archive_a_round(self, which: int, recut: int, crash: bool) -> None:
        """`crash`: the worker dies after the answer, before the state advances."""
        cluster = self.clusters[which]
        if cluster.archived >= len(cluster.log):
            return
        record = cluster.record(recut)
        writer = FileArchiveWriter(self.archive, max_rounds=self.max_rounds)
        try:
            published = writer.record(record)
        except PublicationConflict:
            published = writer.record(record, confirmed=True, digest_of=cluster.digest_of)
        assert (published.how == "adopted") or published.last_version == record.last_version
        path = f"round_{published.round}.json"
        if published.how == "written":
            assert path not in self.published
            stored = replace(record, round=published.round, epoch=published.epoch)
            self.published[path] = record_to_bytes(stored)
        self.archived.add(path)
        if not crash:
            cluster.archived, cluster.epoch = published.last_version, published.epoch
            cluster.rounds = published.round

    @rule(which=clusters, count=st.integers(2, 4))
    def archive_a_batch(self, which: int, count: int) -> None:
        """What follows a conflict waits for the next attempt."""
        cluster = self.clusters[which]
        ahead, records = deepcopy(cluster), []
        for _ in range(count):
            if ahead.archived < len(ahead.log):
                records.append(ahead.record())
                ahead.archived, ahead.rounds = records[-1].last_version, ahead.rounds + 1
        writer = FileArchiveWriter(self.archive, max_rounds=self.max_rounds)
        for record, result in zip(records, writer.record_many(records), strict=True):
            if isinstance(result, Exception):
                assert isinstance(result, PublicationConflict)
                return
            path = f"round_{result.round}.json"
            if result.how == "written":
                assert path not in self.published
                self.published[path] = record_to_bytes(record)
            self.archived.add(path)
            cluster.archived, cluster.epoch = result.last_version, result.epoch
            cluster.rounds = result.round
            if (result.round, result.epoch) != (record.round, record.epoch):
                return

    @rule(which=clusters)
    def back_up(self, which: int) -> None:
        self.backups[which] = deepcopy(self.clusters[which])

    @rule(which=clusters)
    def restore(self, which: int) -> None:
        self.clusters[which] = deepcopy(self.backups[which])

    @precondition(lambda self: self.files())
    @rule(which=clusters)
    def reset(self, which: int) -> None:
        self.clusters[which] = Cluster()

    def files(self) -> list[Path]:
        return sorted((self.archive / "default/s").glob("round_*.json"))

    @precondition(lambda self: self.files())
    @rule(pick=st.integers(0, 30))
    def erase(self, pick: int) -> None:
        path = self.files()[pick % len(self.files())]
        Eraser(self.archive).round("default", "s", int(path.stem.removeprefix("round_")))
        self.published[path.name] = path.read_bytes()

    @precondition(lambda self: self.files())
    @rule(pick=st.integers(0, 30))
    def damage(self, pick: int) -> None:
        path = self.files()[pick % len(self.files())]
        path.write_bytes(path.read_bytes()[:-9])
        self.published[path.name] = path.read_bytes()
        self.damaged = True

    def stored(self) -> list[StoredRound]:
        found = []
        for path in self.files():
            number = int(path.stem.removeprefix("round_"))
            try:
                found.append(stored_round(number, stored_from_bytes(path.read_bytes())))
            except RecordDamaged:
                found.append(stored_round(number, None))
        return found

    @invariant()
    def nothing_published_changes_or_vanishes(self) -> None:
        there = {path.name: path.read_bytes() for path in self.files()}
        for name, data in there.items():
            assert self.published[name] == data
        if not self.max_rounds:
            assert there.keys() == self.published.keys() >= self.archived

    @invariant()
    def no_round_is_stored_twice_and_epochs_are_contiguous(self) -> None:
        kinds = {finding.kind for finding in check_rounds("s", self.stored())}
        allowed = {"fork", "gap"} if self.damaged else {"fork"}
        assert kinds <= allowed


class RotatingVolume(Volume):
    """The same with rotation."""

    max_rounds = 3

    @invariant()
    def the_highest_number_stays(self) -> None:
        if self.published:
            highest = max(int(name[6:-5]) for name in self.published)
            assert (self.archive / f"default/s/round_{highest}.json").exists()


LONG = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestVolume = Volume.TestCase
TestVolume.settings = LONG
TestRotatingVolume = RotatingVolume.TestCase
TestRotatingVolume.settings = LONG
