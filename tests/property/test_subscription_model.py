"""Whatever happens to logs and feed, a subscription accounts for every event, in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams import Event, Gap, MemoryEventStore, Reset, SubscriptionOptions
from streams.event import SUMMARY_TYPE

STREAMS = ("a", "b", "c")

# What may happen, each with a number that chooses how much of it.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "compact", "trim", "take", "pause"]),
        st.sampled_from(STREAMS),
        st.integers(0, 9),
    ),
    max_size=40,
)


class Account:
    """What has been handed over: every item must go on where its stream was left."""

    def __init__(self) -> None:
        self.upto: dict[str, int] = defaultdict(int)
        self.resets = 0

    def add(self, item: Event | Gap | Reset) -> None:
        if isinstance(item, Reset):
            self.resets += 1
            return
        stream = item.stream if isinstance(item, Gap) else item.stream_id
        if isinstance(item, Gap):
            first, last = item.from_version, item.to_version
            assert item.count == last - first + 1
        else:
            first = last = item.version
            if item.type == SUMMARY_TYPE:
                # It may reach back to what was handed over as events before.
                first = min(item.payload["first_version"], self.upto[stream] + 1)
                first = self.upto[stream] + 1 if first <= self.upto[stream] else first
        assert first == self.upto[stream] + 1, (item, dict(self.upto))
        self.upto[stream] = last


async def play(steps, start: str, mode: str, buffer: int, window: int) -> None:
    options = SubscriptionOptions(block_ms=20, window_events=window)
    account = Account()
    heads: dict[str, int] = defaultdict(int)
    async with MemoryEventStore(subscriptions=options) as store:

        async def take(subscription) -> bool:
            try:
                async with asyncio.timeout(0.03):
                    account.add(await anext(subscription))
            except TimeoutError:
                return False
            return True

        async with store.subscribe(start=start, on_overflow=mode, buffer=buffer) as subscription:
            for what, stream, amount in steps:
                if what == "append":
                    events = [Event("x") for _ in range(amount + 1)]
                    heads[stream] = await store.append(stream, events)
                elif what == "compact" and stream in heads:
                    await store.compact(stream, heads[stream] * amount // 9)
                elif what == "trim":
                    store.trim_feed(amount + 1)  # the newest entry always stays
                elif what == "take":
                    for _ in range(amount):
                        if not await take(subscription):
                            break
                else:
                    await asyncio.sleep(0)
            misses = 0
            while account.upto != heads and misses < 10:
                misses = 0 if await take(subscription) else misses + 1
            assert account.upto == heads
            assert not await take(subscription)


@pytest.mark.parametrize("mode", ["block", "drop"])
@settings(max_examples=40, report_multiple_bugs=False)
@given(
    steps=STEPS,
    start=st.sampled_from(["beginning", "now"]),
    buffer=st.integers(1, 6),
    window=st.sampled_from([1, 4, 1_000]),
)
def test_every_event_is_handed_over_or_counted_exactly_once(mode, steps, start, buffer, window):
    """On an empty store `now` is the beginning too, so both account for everything."""
    asyncio.run(play(steps, start, mode, buffer, window))
