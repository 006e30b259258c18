"""Makes the subscriptions of one store, live and durable, and ends them with it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from .clock import Clock
from .durable.group import GroupState, check_group
from .durable.member import DurableSubscription
from .filter import EventFilter
from .live.shared_hub import SharedHub
from .live.subscription import Subscription
from .subscription.options import (
    Overflow,
    SubscriptionOptions,
    check_buffer,
    check_overflow,
    check_start,
    name_of,
)
from .subscription.roster import Reports, Roster
from .subscription.source import Source
from .subscription.wanted import Wanted

Groups = Callable[[str, str], GroupState]
"""The state of a group, by its name, for a member of the given id."""


class Subscriptions:
    """What a store's `subscribe` leads to.

    `connections` is how many the client may have beside the store's own; None where nothing
    waits on a connection.
    """

    def __init__(
        self,
        source: Source,
        options: SubscriptionOptions,
        clock: Clock,
        groups: Groups,
        *,
        reports: Reports | None = None,
        connections: int | None = None,
    ) -> None:
        self.options = options
        self._source, self._clock, self._groups = source, clock, groups
        self._roster = Roster(options, reports=reports, connections=connections)
        self._hubs = SharedHub(source, options, self._roster)

    def live(
        self,
        filter: EventFilter | None,
        *,
        name: str | None,
        buffer: int,
        on_overflow: Overflow,
        start: str,
    ) -> Subscription:
        """A live subscription, not begun yet; raises `UsageError` for a bad argument."""
        check_buffer(buffer)
        check_overflow(on_overflow)
        check_start(start, durable=False)
        return Subscription(
            self._source,
            Wanted(filter or EventFilter()),
            self._roster,
            self._hubs,
            name=name_of(name),
            buffer=buffer,
            on_overflow=on_overflow,
            start=start,
            options=self.options,
            clock=self._clock,
        )

    def durable(
        self, group: str, filter: EventFilter | None, *, name: str | None, buffer: int, start: str
    ) -> DurableSubscription:
        """A member of a group, not begun yet; raises `UsageError` for a bad argument."""
        check_group(group)
        check_buffer(buffer)
        check_start(start, durable=True)
        return DurableSubscription(
            self._source,
            Wanted(filter or EventFilter()),
            self._roster,
            self._groups(group, uuid.uuid4().hex),
            name=group if name is None else name_of(name),
            buffer=buffer,
            start=start,
            options=self.options,
        )

    async def close(self) -> None:
        """End all subscriptions and wait for what they left running."""
        await self._roster.close()
