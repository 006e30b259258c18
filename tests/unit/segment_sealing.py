"""A round to seal, and scopes that somebody else holds or whose lock never answers."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from archive.record import RoundRecord
from archive.segments import ArchiveStore


def record(summary: str = "did it", stream: str = "s1", tenant: str = "acme") -> RoundRecord:
    return RoundRecord(1, "implement", summary, stream_id=stream, tenant_id=tenant)


@contextmanager
def busy(base: Path, scope: str = "acme/s1") -> Iterator[None]:
    """Somebody else works on the scope."""
    store = ArchiveStore(base, scope, "other")
    store.search("", 1)
    (lock,) = base.glob("context-archives/*/lock")
    with lock.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        yield


@contextmanager
def hanging_flock() -> Iterator[threading.Event]:
    """A `flock` that comes back when the event is set, and not before."""
    released, flock = threading.Event(), fcntl.flock

    def hang(handle: int, operation: int) -> None:
        assert released.wait(60)
        flock(handle, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("archive.segments.private_dir.fcntl.flock", hang)
        yield released
        released.set()
    join_sealing_threads()


def join_sealing_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "sealing":
            thread.join(60)
