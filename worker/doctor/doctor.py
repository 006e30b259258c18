"""The whole examination: settings, process, Redis and tenants, volume."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Final

from ops.facts import in_thread
from ops.redact import Redactor
from worker.settings.check import setting_problems
from worker.settings.model import Settings

from .findings import Finding, fail, ok, warn
from .redis import redis_findings
from .volume import volume_findings

_VOLUME_DEADLINE_S: Final = 30.0
_FEW_FILES: Final = 1_024


async def examine(load: Callable[[], Settings], tell: Callable[[Finding], None]) -> list[Finding]:
    """Every finding, each told as soon as it is there. Raises nothing an illness causes."""
    findings = []
    problems = setting_problems(load)
    redactor = Redactor() if problems else Redactor(load().redis.secrets())
    async for finding in _findings(load, [str(problem) for problem in problems]):
        safe = replace(finding, found=redactor(finding.found))
        tell(safe)
        findings.append(safe)
    return findings


async def _findings(load: Callable[[], Settings], problems: list[str]) -> AsyncIterator[Finding]:
    for problem in problems:
        yield fail("settings", problem, "ares-worker config show; docs/settings.md")
    if problems:
        return
    settings = load()
    yield ok("settings", "right")
    for finding in _process():
        yield finding
    async for finding in redis_findings(settings):
        yield finding
    for finding in await _volume(settings):
        yield finding


def _process() -> Iterator[Finding]:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < _FEW_FILES:
        yield warn("process.files", f"{files} open files allowed", f"ulimit -n {_FEW_FILES}")
    else:
        yield ok("process.files", f"{files if files >= 0 else 'any number of'} open files allowed")


async def _volume(settings: Settings) -> list[Finding]:
    """In a thread that may be left behind: a hung mount can't be interrupted."""
    start = in_thread(lambda: volume_findings(settings.archive))
    try:
        return await asyncio.wait_for(asyncio.wrap_future(start()), _VOLUME_DEADLINE_S)
    except TimeoutError:
        found = f"no answer within {_VOLUME_DEADLINE_S:g} s"
        return [fail("volume.answer", found, "look at the mount: its server may be gone")]
    except OSError as exc:
        found = exc.strerror or type(exc).__name__
        return [fail("volume.answer", found, "look at the volume and its mount")]
