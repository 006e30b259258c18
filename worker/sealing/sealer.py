"""Seals archived rounds as segments of their streams' conversations.

A store that refuses or hangs never holds up archiving: the round's messages wait here, within
bounds, and are tried again before the stream's next round. Call it in a thread: it reads, hashes
and syncs.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from archive.record import RoundRecord
from archive.segments import (
    ArchiveRef,
    ArchiveStore,
    Redactor,
    SegmentBusy,
    SegmentCorrupt,
    SegmentDenied,
    SegmentInvalid,
    SegmentStoreFull,
    SegmentUnsupported,
    scope_folder,
)
from archive.segments.selection import select
from streams.errors import AresError, UsageError
from streams.event import Event

from .erased import IsErased
from .patience import PATIENCE_S, Patience
from .round_messages import note_of, round_messages

Refusal = Literal["busy", "full", "denied", "corrupt", "invalid"]

MAX_WAITING: Final = 64
MAX_WAITING_BYTES: Final = 64 * 1024 * 1024

_REFUSALS: Final[tuple[tuple[type[Exception], Refusal], ...]] = (
    (SegmentBusy, "busy"),
    (SegmentStoreFull, "full"),
    (SegmentDenied, "denied"),
    (SegmentUnsupported, "denied"),
    (SegmentCorrupt, "corrupt"),
    (SegmentInvalid, "invalid"),
)
_WORTH_A_RETRY: Final[frozenset[Refusal]] = frozenset({"busy", "full"})


@dataclass(frozen=True, slots=True)
class SealOutcome:
    """What became of one round.

    `status` is sealed, empty (nothing to keep) or refused for `reason`; `detail` says why and
    holds no content. `sealed` counts the segments of this call, earlier rounds' included; `waiting`
    the rounds of its `stream` still to be sealed, `dropped` those given up for lack of room.
    """

    status: Literal["sealed", "empty", "refused"]
    reason: Refusal | None = None
    detail: str = ""
    ref: ArchiveRef | None = None
    sealed: int = 0
    waiting: int = 0
    dropped: int = 0
    stream: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class _Round:
    """A round to seal: its stream, and what a seal takes."""

    tenant: str
    stream: str
    number: int
    messages: list[dict[str, Any]]
    note: str
    size: int

    @property
    def scope(self) -> str:
        return f"{self.tenant}/{self.stream}"


class SegmentSealer:
    """Seals rounds below `base`; scope `<tenant>/<stream>`, conversation the stream.

    The tenant is the record's, which the worker sets, not the events'. Threads may share one.
    """

    def __init__(
        self,
        base: str | os.PathLike[str],
        redactor: Redactor | None = None,
        *,
        is_erased: IsErased = lambda *_: False,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._base, self._redactor, self._is_erased = base, redactor, is_erased
        self._patience = Patience(patience_s)
        self._lock = threading.Lock()
        # By stream, the stream that waits longest first.
        self._waiting: dict[tuple[str, str], deque[_Round]] = {}

    def seal_round(self, events: Sequence[Event], record: RoundRecord) -> SealOutcome:
        """Seal a round that was archived, after those of its stream that wait. Never raises."""
        try:
            messages = round_messages(events)
            note, size = note_of(record.summary), _text_size(messages)
            place = (record.tenant_id, record.stream_id, record.round)
            return self._seal(_Round(*place, messages, note, size))
        except Exception as exc:  # archiving goes on, whatever a round holds
            detail = f"a defect: {type(exc).__name__}"
            return SealOutcome("refused", "invalid", detail, stream=record.stream_id)

    def _seal(self, due: _Round) -> SealOutcome:
        key = (due.tenant, due.stream)
        with self._lock:
            queue = self._waiting.pop(key, None) or deque()
        queue.append(due)
        sealed = dropped = 0
        outcome = SealOutcome("empty")
        while queue:
            outcome = self._try(queue[0])
            if outcome.reason in _WORTH_A_RETRY:
                break
            tried = queue.popleft()
            sealed += outcome.status == "sealed"
            dropped += outcome.status == "refused" and tried is not due
        if queue:
            dropped += self._wait(key, queue)
        return replace(
            outcome, stream=due.stream, sealed=sealed, waiting=len(queue), dropped=dropped
        )

    def _try(self, due: _Round) -> SealOutcome:
        try:
            if not select(due.messages, redacts=self._redactor is not None):
                return SealOutcome("empty")
            return self._patience.call(lambda: self._try_to_seal(due))
        except SegmentCorrupt as exc:
            folder = scope_folder(self._base, due.scope)
            return SealOutcome("refused", "corrupt", f"{exc}; its folder is {folder}")
        except AresError as exc:
            return SealOutcome("refused", _refusal(exc), str(exc))

    def _try_to_seal(self, due: _Round) -> SealOutcome:
        place = (due.tenant, due.stream, due.number)
        if self._is_erased(*place):
            return SealOutcome("empty")
        store = ArchiveStore(self._base, due.scope, due.stream, self._redactor)
        ref = store.seal(due.messages, due.note)
        if self._is_erased(*place):
            # The erasure made its tombstone first and then forgot what it found sealed: one of
            # the two of us has seen the other. Where it can't be told now the round waits, to be
            # looked at again: sealing it again changes nothing.
            store.forget(ref.id)
            return SealOutcome("empty")
        return SealOutcome("sealed", ref=ref)

    def _wait(self, key: tuple[str, str], queue: deque[_Round]) -> int:
        """Let `queue` wait; return how many rounds, the oldest, were given up for want of room."""
        with self._lock:
            # Another thread may have left a newer round of this stream meanwhile.
            queue.extend(self._waiting.pop(key, ()))
            self._waiting[key] = queue
            rounds = [due for waiting in self._waiting.values() for due in waiting]
            count, size, dropped = len(rounds), sum(due.size for due in rounds), 0
            while count > MAX_WAITING or size > MAX_WAITING_BYTES:
                first = next(iter(self._waiting))
                size -= self._waiting[first].popleft().size
                count, dropped = count - 1, dropped + 1
                if not self._waiting[first]:
                    del self._waiting[first]
            return dropped


def _refusal(error: AresError) -> Refusal:
    for kind, name in _REFUSALS:
        if isinstance(error, kind):
            return name
    return "invalid"


def load_redactor(name: str) -> Redactor:
    """The function that `name` (`package.module:function`) names. Raises `UsageError`."""
    module, _, function = name.partition(":")
    if not (module and function):
        raise UsageError(f"redactor {name} can't be used: write it as package.module:function")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as exc:  # whatever foreign code raises while it is imported
        raise UsageError(f"redactor {name} can't be used: {type(exc).__name__}: {exc}") from exc
    if not callable(found):
        raise UsageError(f"redactor {name} can't be used: it is no function")
    redactor: Redactor = found
    return redactor


def _text_size(value: Any) -> int:
    """Characters of all text in `value`: what keeping it costs, near enough."""
    size, left = 0, [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            left.extend(item.values())
        elif isinstance(item, list | tuple):
            left.extend(item)
    return size
