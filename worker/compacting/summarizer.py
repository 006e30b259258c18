"""Loads the summarizer a setting names as `module:function`; it may be sync or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from streams.errors import UsageError
from streams.event import Event

from .window_summary import Summarizer


def load_summarizer(name: str | None) -> Summarizer | None:
    """The summarizer named, or None where none is; raises `UsageError` when it can't be found."""
    if name is None:
        return None
    function = _load(name)

    async def summarize(events: Sequence[Event]) -> str:
        if inspect.iscoroutinefunction(function):
            return str(await function(events))
        # A sync one runs in a thread: it may take its time without stalling leases and probes.
        return str(await asyncio.to_thread(function, events))

    return summarize


def _load(name: str) -> Callable[..., Any]:
    module_name, _, attribute = name.partition(":")
    try:
        function = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as exc:
        raise UsageError(f"the summarizer {name!r} can't be loaded: {exc}") from exc
    if not callable(function):
        raise UsageError(f"the summarizer {name!r} is no function")
    return function  # type: ignore[no-any-return]
