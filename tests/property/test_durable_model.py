"""Whatever happens to members, logs and feed: nothing is lost, repeated once done, or reordered."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from streams import Event, Gap, MemoryEventStore, Reset, SubscriptionOptions
from streams.durable.plan import partition_of
from streams.event import SUMMARY_TYPE
from support.subscribers import die, lapse

STREAMS = ("a", "b", "d", "e")
assert len({partition_of(stream) for stream in STREAMS}) == len(STREAMS)  # none waits for another
OPTIONS = SubscriptionOptions(block_ms=10, lease_ttl_ms=60, max_attempts=1_000)

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "compact", "trim", "handle", "take", "leave", "die"]),
        st.sampled_from(STREAMS),
        st.integers(0, 9),
    ),
    max_size=30,
)


class Account:
    """`met` is how far each stream has been handed over, `done` how far it need not come again."""

    def __init__(self) -> None:
        self.met: dict[str, int] = defaultdict(int)
        self.done: dict[str, int] = defaultdict(int)
        self._finished: set[tuple[str, int]] = set()

    def restart(self) -> None:
        """What was acknowledged out of turn was only remembered by the member that is gone."""
        self._finished.clear()

    def meet(self, stream: str, first: int, last: int) -> None:
        assert first <= self.met[stream] + 1, f"{stream}: {first} after {self.met[stream]}"
        self.met[stream] = max(self.met[stream], last)

    def hand_over(self, stream: str, version: int) -> None:
        assert version > self.done[stream], f"{stream}: {version} was done"
        self.meet(stream, version, version)

    def finish(self, stream: str, version: int) -> None:
        self._finished.add((stream, version))
        while (stream, self.done[stream] + 1) in self._finished:
            self.done[stream] += 1


async def next_item(member):
    try:
        async with asyncio.timeout(0.05):
            return await anext(member)
    except TimeoutError:
        return None


async def take(member, account: Account, *, finish: bool) -> bool:
    """One item; whether there was one."""
    item = await next_item(member)
    if item is None or isinstance(item, Reset):
        return item is not None
    if isinstance(item, Gap):
        account.meet(item.stream, item.from_version, item.to_version)
        assert item.count == item.to_version - item.from_version + 1
        return True
    event = item.event
    if event.type == SUMMARY_TYPE:
        account.meet(event.stream_id, event.payload["first_version"], event.version)
    else:
        account.hand_over(event.stream_id, event.version)
    if finish and await item.ack():
        account.finish(event.stream_id, event.version)
    return True


async def play(steps, start: str, buffer: int) -> None:
    heads: dict[str, int] = defaultdict(int)
    account = Account()
    async with MemoryEventStore(subscriptions=OPTIONS) as store:

        async def join():
            account.restart()
            return await store.subscribe(group="g", start=start, buffer=buffer).__aenter__()

        member = await join()
        for what, stream, amount in steps:
            if what == "append":
                heads[stream] = await store.append(stream, [Event("x")] * (amount + 1))
            elif what == "compact" and stream in heads:
                await store.compact(stream, heads[stream] * amount // 9)
            elif what == "trim":
                store.trim_feed(amount + 1)
            elif what in ("handle", "take"):
                for _ in range(amount):
                    if not await take(member, account, finish=what == "handle"):
                        break
            elif what == "leave":
                await member.close()
                member = await join()
            elif what == "die":
                await die(member)
                await lapse(member)
                member = await join()
        await member.close()
        account.restart()
        async with store.subscribe(group="g", buffer=buffer) as member:
            misses = 0
            while misses < 5:
                misses = 0 if await take(member, account, finish=True) else misses + 1
        assert account.met == heads


@settings(max_examples=15, report_multiple_bugs=False)
@given(steps=STEPS, start=st.sampled_from(["beginning", "now"]), buffer=st.integers(1, 6))
def test_members_come_and_go_and_every_event_is_handled_or_told_of(steps, start, buffer):
    """On an empty store `now` is the beginning too."""
    asyncio.run(play(steps, start, buffer))
