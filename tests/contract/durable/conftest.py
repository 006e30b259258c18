"""A store whose subscriptions look again soon, and whose members' leases lapse soon."""

from __future__ import annotations

import pytest

from streams import SubscriptionOptions
from streams.store import EventStore
from support.stores import Backend


@pytest.fixture
async def store(backend: Backend) -> EventStore:
    """One store, of each kind."""
    options = SubscriptionOptions(block_ms=20, lease_ttl_ms=600)
    return await backend.open(subscriptions=options)
