"""A command's way to Redis: its settings, `embedded` started where asked for, a store opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ops.logs import logging_to
from ops.redact import Redactor
from streams.errors import UsageError

from . import output

if TYPE_CHECKING:
    from streams.redis_store import RedisEventStore
    from worker.settings.load import Settings

    from .invocation import Invocation

T = TypeVar("T")

EMBEDDED: Final = "embedded"

_LEVELS: Final = ("warning", "info", "debug")


@contextmanager
def reachable(invocation: Invocation, **more: Any) -> Iterator[Settings]:
    """The settings, with `embedded` replaced by the address of a server that runs meanwhile.

    `more` are settings from the command's own flags.
    """
    settings = invocation.settings(**more)
    with ExitStack() as stack:
        if settings.redis.read_url() == EMBEDDED:
            from streams.embedded.start import start_embedded

            embedded = stack.enter_context(start_embedded())
            invocation.embedded = True
            output.tell(embedded.notice)
            invocation.redis_url = embedded.url
            settings = invocation.settings(**more)
        yield settings


@contextmanager
def quiet_logs(invocation: Invocation, settings: Settings) -> Iterator[None]:
    """Logs of a short command: warnings in text, more with -v, only errors with -q."""
    level = "error" if invocation.quiet else _LEVELS[min(invocation.verbosity, 2)]
    with logging_to(level=level, format="text", redactor=Redactor(settings.redis.secrets())):
        yield


def one_tenant(settings: Settings) -> str:
    """The tenant of a command that works on one; raises `UsageError` when there are several."""
    if len(settings.tenants) > 1:
        raise UsageError(f"choose one of the tenants {', '.join(settings.tenants)} with --tenant")
    return settings.tenants[0]


def with_store(
    invocation: Invocation, work: Callable[[RedisEventStore, Settings], Awaitable[T]]
) -> T:
    """Run `work` on the store of the one tenant chosen; connections end with it."""
    with reachable(invocation) as settings, quiet_logs(invocation, settings):
        return asyncio.run(_on_store(settings, one_tenant(settings), work))


def with_each_store(
    invocation: Invocation, work: Callable[[RedisEventStore, Settings], Awaitable[T]]
) -> list[T]:
    """Run `work` on the store of each tenant chosen, in order."""
    with reachable(invocation) as settings, quiet_logs(invocation, settings):

        async def all_of_them() -> list[T]:
            return [await _on_store(settings, tenant, work) for tenant in settings.tenants]

        return asyncio.run(all_of_them())


async def _on_store(
    settings: Settings,
    tenant: str,
    work: Callable[[RedisEventStore, Settings], Awaitable[T]],
) -> T:
    from worker.stores import open_store

    async with await open_store(settings, tenant) as store:
        return await work(store, settings)
