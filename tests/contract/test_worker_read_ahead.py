"""A page read ahead while the one before it is committed: as good as one read in its turn."""

from __future__ import annotations

from streams.inbox import parse_entry
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.sequencing.reader import PagePolicy
from worker.sequencing.sequencer import Sequencer

PAIRS = PagePolicy(entries=2)


async def numbers(workshop: Workshop) -> list[int]:
    return [event.payload["n"] for event in await workshop.store().read("s")]


async def backlog(workshop: Workshop, count: int) -> None:
    for n in range(count):
        await workshop.xadd("s", "llm.call", {"n": n})


async def halfway(workshop: Workshop) -> Sequencer:
    """A sequencer that has committed the first of four pages and read the second ahead."""
    await backlog(workshop, 8)
    sequencer = workshop.sequencer(page=PAIRS)
    assert (await sequencer.run_once()).events == 2
    return sequencer


async def test_a_backlog_of_many_pages_comes_in_once_and_in_order(workshop: Workshop):
    await backlog(workshop, 9)
    facts = await drain(workshop.sequencer(page=PAIRS))

    assert [fact.events for fact in facts] == [2, 2, 2, 2, 1, 0]
    assert await numbers(workshop) == list(range(9))


async def test_entries_are_parsed_while_the_page_before_them_is_committed(
    workshop: Workshop, monkeypatch
):
    parsed: list[bytes] = []
    monkeypatch.setattr(
        "worker.sequencing.page.parse_entry",
        lambda name, *rest: parsed.append(name) or parse_entry(name, *rest),
    )
    await halfway(workshop)
    await eventually(lambda: len(parsed) == 4)


async def test_what_was_read_ahead_under_a_lost_lease_is_not_sequenced_again(workshop: Workshop):
    first = await halfway(workshop)
    await workshop.client.delete(workshop.store().keys.lease("sequencer"))
    second = workshop.sequencer(page=PAIRS)
    await drain(second)
    await second.release()

    assert (await first.run_once()).lease == "lost"
    await drain(first)
    assert await numbers(workshop) == list(range(8))


async def test_an_id_on_either_side_of_a_page_is_recorded_once(workshop: Workshop):
    for event_id in ("a", "b", "b", "c"):
        await workshop.xadd("s", "llm.call", {"n": 0}, id=event_id)
    await drain(workshop.sequencer(page=PAIRS))

    assert [event.id for event in await workshop.store().read("s")] == ["a", "b", "c"]


async def test_what_is_sent_behind_a_page_read_ahead_is_not_forgotten(workshop: Workshop):
    sequencer = await halfway(workshop)
    await workshop.xadd("s", "llm.call", {"n": 8})
    await drain(sequencer)

    assert await numbers(workshop) == list(range(9))


async def test_a_page_that_could_not_be_read_ahead_is_read_in_its_turn(workshop: Workshop):
    sequencer = await halfway(workshop)
    sequencer._inbox.restart()  # as after a broken connection
    await drain(sequencer)

    assert await numbers(workshop) == list(range(8))
