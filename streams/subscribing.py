"""The `subscribe` that every store has."""

from __future__ import annotations

from typing import overload

from .durable.member import DurableSubscription
from .filter import EventFilter
from .live.subscription import Subscription
from .subscription.options import Overflow
from .subscriptions import Subscriptions


class Subscribing:
    """A store of which events can be followed."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    @overload
    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: None = None,
    ) -> Subscription: ...

    @overload
    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: str,
    ) -> DurableSubscription: ...

    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: str | None = None,
    ) -> Subscription | DurableSubscription:
        """Matching events as they are appended; see `EventStore.subscribe`."""
        if group is not None:
            return self._subscriptions.durable(group, filter, name=name, buffer=buffer, start=start)
        return self._subscriptions.live(
            filter, name=name, buffer=buffer, on_overflow=on_overflow, start=start
        )
