"""Pure. A sample as one JSON document, for scripts."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from worker.console import words

from .rates import Rates, rates_between
from .sample import Sample, TenantLook


def report(now: Sample, before: Sample | None) -> dict[str, Any]:
    """Everything of `now`; rates are null where nothing was known before."""
    rates = rates_between(before, now)
    return {
        "at": datetime.fromtimestamp(now.at_ms / 1000, UTC),
        "redis": asdict(now.redis),
        "tenants": [_tenant(tenant, rates.get(tenant.name)) for tenant in now.tenants],
    }


def _tenant(tenant: TenantLook, rates: Rates | None) -> dict[str, Any]:
    of_stream = rates.of_stream if rates else {}
    return {
        "tenant": tenant.name,
        **asdict(tenant.facts),
        "events_per_s": rates and rates.events,
        "archived_per_s": rates and rates.archived,
        "compacted_per_s": rates and rates.compacted,
        "rounds_per_s": rates and rates.rounds,
        "inbox_growth_per_s": rates and rates.inbox,
        "workers": [{**asdict(worker), "silent": worker.is_silent} for worker in tenant.workers],
        "leases": [asdict(lease) for lease in tenant.leases],
        "stream_count": tenant.stream_count,
        "streams": [
            {**words.stream_facts(look), "events_per_s": of_stream.get(look.stream)}
            for look in tenant.streams
        ],
    }
