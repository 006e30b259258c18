"""Archived rounds become sealed segments of their stream's conversation, where that is on."""

from __future__ import annotations

import pytest

from archive.segments import ArchiveStore
from ops.metrics import Metrics
from ops.repeats import CauseLimiter
from support.workshop import Workshop, drain
from worker.archiving.facts import Archived
from worker.running.reporter import TenantReporter
from worker.sealing.sealer import SealOutcome, SegmentSealer


class FullStore:
    """A segment store that refuses every round."""

    def seal_round(self, events, record) -> SealOutcome:
        """As `SegmentSealer.seal_round`."""
        return SealOutcome("refused", "full", "the scope is full", waiting=1)


@pytest.fixture
async def conversation(workshop: Workshop) -> Workshop:
    """Two finished rounds of a conversation."""
    for number in range(2):
        await workshop.xadd("s", "task.created", {"task": f"task {number}"})
        await workshop.xadd("s", "message.added", {"role": "user", "content": f"word {number}"})
        await workshop.xadd("s", "task.completed", {"result": "done"})
    await workshop.sequence()
    return workshop


async def test_each_archived_round_is_one_segment_with_its_summary_as_note(
    conversation: Workshop, tmp_path
):
    base = tmp_path / "segments"
    base.mkdir(mode=0o700)

    await drain(conversation.archiver(sealer=SegmentSealer(base)))

    store = ArchiveStore(base, f"{conversation.tenant}/s", "s")
    found = store.search("word", 10)
    assert len(found) == 2
    notes = [store.fetch_note(item.id) for item in found]
    assert notes == [record.summary for record in conversation.records("s")]


async def test_a_full_store_never_blocks_archiving(conversation: Workshop):
    [facts, *_] = await drain(conversation.archiver(sealer=FullStore()))

    assert conversation.rounds("s") == [1, 2]
    assert [seal.reason for seal in facts.archived.seals] == ["full", "full"]


async def test_what_stays_unsealed_is_counted_and_logged_with_its_stream_and_reason(
    caplog: pytest.LogCaptureFixture,
):
    metrics = Metrics(version="0")
    seals = [
        SealOutcome("refused", "busy", "somebody works on it", waiting=64, stream="s1"),
        SealOutcome("refused", "busy", "somebody works on it", waiting=64, stream="s1"),
        SealOutcome("refused", "corrupt", "000.json", dropped=2, stream="s2"),
        SealOutcome("sealed", sealed=3, stream="s3"),
    ]
    with caplog.at_level("WARNING"):
        TenantReporter(metrics, "acme", CauseLimiter(lambda: 0.0)).archived(Archived(seals=seals))

    told = [(r.message, r.fields.get("stream"), r.fields.get("reason")) for r in caplog.records]
    assert told == [
        ("a segment was not sealed", "s1", "busy"),
        ("a segment was not sealed", "s2", "corrupt"),
        ("rounds stay unsealed", None, None),
    ]
    assert caplog.records[-1].fields["rounds"] == 2
    text = metrics.exposition().decode()
    assert 'ares_segment_refusals_total{reason="busy"} 2.0' in text
    assert 'ares_segment_refusals_total{reason="corrupt"} 1.0' in text
    assert "ares_segments_sealed_total 3.0" in text


async def test_archiving_again_seals_nothing_twice(conversation: Workshop, tmp_path):
    base = tmp_path / "segments"
    base.mkdir(mode=0o700)
    sealer = SegmentSealer(base)
    await drain(conversation.archiver(sealer=sealer))
    keys = conversation.store().keys
    await conversation.client.delete(keys.state("s"))
    await conversation.client.xgroup_setid(keys.feed, "archivers", "0")

    await drain(conversation.archiver("two", sealer=sealer))

    store = ArchiveStore(base, f"{conversation.tenant}/s", "s")
    assert len(store.search("word", 10)) == 2
