"""Renews a lease while work under it takes its time, so that a lease can be short.

Whoever dies frees its leases soon, however long its work may take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .errors import LeaseLost, TransientError
from .lease import Lease

T = TypeVar("T")


def _always() -> bool:
    return True


async def keep_during(
    lease: Lease,
    work: Awaitable[T],
    *,
    keeps: Callable[[], bool] = _always,
    cancels: bool = True,
) -> T:
    """What `work` returns; `lease` is renewed meanwhile, whenever it is due and `keeps` says so.

    Renewals use the lease's wire at any moment: `work` must leave it alone. Once the lease is
    lost, `work` is cancelled and `LeaseLost` raised; with `cancels` false it goes on, and has to
    ask the lease itself. While Redis is away it goes on as well: what the lease guards decides.
    """
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=lease.renewal_s))[0]:
            if lease.held and keeps():
                await _renew(lease, cancels)
        return task.result()
    finally:
        task.cancel()  # nothing to it where it is done
        await asyncio.gather(task, return_exceptions=True)


async def _renew(lease: Lease, cancels: bool) -> None:
    try:
        await lease.renew()
    except TransientError:
        return
    except LeaseLost:
        if cancels:
            raise
