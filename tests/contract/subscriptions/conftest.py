"""A store whose subscriptions look again soon, so that they end soon."""

from __future__ import annotations

import pytest

from streams import SubscriptionOptions
from streams.store import EventStore
from support.stores import Backend


@pytest.fixture
async def store(backend: Backend) -> EventStore:
    """One store, of each kind."""
    return await backend.open(subscriptions=SubscriptionOptions(block_ms=20))
