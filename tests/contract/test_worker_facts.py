"""What the worker's components tell for metrics: commits, races, direct appends, calls to Redis."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Sequence

from archive.failures import ArchiveFailure
from archive.publishing.published import Result
from archive.record import RoundRecord
from streams.committing.commit import Committer
from streams.errors import StoreUnavailable
from streams.event import Event
from streams.lease import owner_of
from streams.redis_store import RedisEventStore
from streams.wire import Command, Wires
from support.workshop import Workshop, drain
from worker.running.wire_metrics import kind_of


class FullVolume:
    """A writer that has no room."""

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        full = OSError(errno.ENOSPC, "No space left on device")
        return [ArchiveFailure("write", "round", full) for _ in records]


class Listener:
    """Keeps the kinds of all calls, and counts reconnections."""

    def __init__(self) -> None:
        self.kinds: list[str | None] = []
        self.reconnections = 0

    def exchanged(self, commands: Sequence[Command], seconds: float) -> None:
        assert seconds >= 0
        self.kinds.append(kind_of(commands))

    def reconnected(self) -> None:
        self.reconnections += 1


async def test_a_page_tells_of_its_commit_and_how_long_that_took(workshop: Workshop):
    await workshop.xadd_rounds("s", 2)

    facts = await workshop.sequencer().run_once()

    assert [commit.events for commit in facts.commits] == [6]
    assert facts.commits[0].seconds > 0
    assert facts.lost_races == 0


async def test_a_commit_that_another_writer_overtook_is_told_and_repeated(
    workshop: Workshop, monkeypatch
):
    await workshop.xadd("s", "llm.call")
    store, rivals, execute = workshop.store(), [Event("message.added")], Committer._execute

    async def overtaken(committer: Committer, *args):
        if rivals:
            await store.append("s", [rivals.pop()])
        return await execute(committer, *args)

    monkeypatch.setattr(Committer, "_execute", overtaken)

    facts = await workshop.sequencer().run_once()

    assert (facts.lost_races, facts.events, len(facts.commits)) == (1, 1, 1)
    assert [event.type for event in await store.read("s")] == ["message.added", "llm.call"]


async def test_events_that_producers_appended_are_told_once_and_those_of_the_inbox_not(
    workshop: Workshop,
):
    await workshop.xadd("s", "llm.call")
    await workshop.sequence()
    await workshop.store().append("s", [Event("llm.call"), Event("llm.call")])
    await workshop.store().append("t", [Event("task.completed")])
    blocked = workshop.archiver("one", writer=FullVolume())

    first, again = await blocked.run_once(), await blocked.run_once()
    claimed = await drain(workshop.archiver("two", claim_idle_ms=0))

    assert (first.direct_events, again.direct_events) == (3, 0)
    assert [facts.direct_events for facts in claimed] == [0, 0]


async def test_a_batch_the_volume_refuses_stays_in_hand(workshop: Workshop):
    await workshop.xadd_rounds("s", 2)
    await workshop.sequence()
    archiver = workshop.archiver(writer=FullVolume())
    assert archiver.in_hand == 0

    await archiver.run_once()

    assert archiver.in_hand == 6


async def test_a_page_is_in_hand_until_it_is_committed(workshop: Workshop, monkeypatch):
    await workshop.xadd_rounds("s", 1)
    sequencer, commit = workshop.sequencer(), Committer.commit
    in_hand: list[int] = []

    async def watched(committer: Committer, *args, **guard):
        in_hand.append(sequencer.in_hand)
        return await commit(committer, *args, **guard)

    monkeypatch.setattr(Committer, "commit", watched)

    await sequencer.run_once()

    assert (in_hand, sequencer.in_hand) == ([3], 0)


async def test_every_call_of_a_pipeline_is_told_by_what_it_is_for(workshop: Workshop, monkeypatch):
    listener, make = Listener(), Wires.__init__

    def observed(wires: Wires, *args, **given):
        make(wires, *args, **given | {"observer": listener})

    monkeypatch.setattr(Wires, "__init__", observed)
    await workshop.xadd_rounds("s", 1)
    sequencer, archiver = workshop.sequencer(), workshop.archiver()

    await sequencer.run_once()
    sequenced, listener.kinds = listener.kinds, []
    await drain(archiver)

    assert [kind for kind in sequenced if kind != "other"] == ["read_inbox", "commit", "commit"]
    assert listener.kinds.count("read_feed") >= 2
    assert {"read_log", "ack", "other"} < set(listener.kinds)


def test_waiting_for_events_is_no_call_that_took_long():
    assert kind_of([("XREAD", "COUNT", 1, "BLOCK", 1000, "STREAMS", b"k", "$")]) is None
    assert kind_of([("XREADGROUP", "GROUP", "g", "c", "BLOCK", 9, "STREAMS", b"k", ">")]) is None


async def test_a_connection_that_broke_and_was_opened_again_is_told(server, tenant):
    listener = Listener()
    async with server.client() as client:
        wire = RedisEventStore(client, tenant, observer=listener).wires.dedicated()
        [connection] = await wire.exchange([("CLIENT", "ID")])
        assert listener.reconnections == 0

        await client.client_kill_filter(_id=connection)
        with contextlib.suppress(StoreUnavailable):
            await wire.exchange([("PING",)])
        await wire.exchange([("PING",)])

        assert listener.reconnections == 1
        await wire.close()


async def test_a_lease_says_which_worker_holds_it(workshop: Workshop):
    sequencer = workshop.sequencer(owner="pod-1")
    key = workshop.store().keys.lease("sequencer")
    assert owner_of(await workshop.client.get(key)) is None

    await sequencer.run_once()
    assert owner_of(await workshop.client.get(key)) == "pod-1"

    await sequencer.release()
    await workshop.sequencer().run_once()
    assert owner_of(await workshop.client.get(key)) == ""
