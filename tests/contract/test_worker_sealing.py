"""Archived rounds become sealed segments of their stream's conversation, where that is on."""

from __future__ import annotations

import pytest

from archive.segments import ArchiveStore
from support.workshop import Workshop, drain
from worker.sealing import SealOutcome, SegmentSealer


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
