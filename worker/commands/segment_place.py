"""The options that say where segments are, for the commands of `segment`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.segments import ArchiveStore


@dataclass(frozen=True, slots=True)
class Place:
    """Where segments are: the base folder, the scope and the conversation."""

    invocation: Invocation
    base: Path
    scope: str
    conversation: str | None

    def open(self, segment_id: str) -> ArchiveStore:
        """The store, to read that segment or forget it.

        Raises `SegmentNotFound` where the scope has no folder: a slip of the pen makes none.
        """
        from archive.segments import SegmentNotFound
        from archive.segments.store import check_id

        check_id(segment_id)
        store = self.open_to_search()
        if store is None:
            raise SegmentNotFound(segment_id)
        return store

    def open_to_search(self) -> ArchiveStore | None:
        """The store, None where it has no folder."""
        from archive.segments import ArchiveStore, scope_exists

        if not scope_exists(self.base, self.scope):
            return None
        return ArchiveStore(self.base, self.scope, self.conversation or self.scope)

    def open_to_seal(self, redactor: str | None) -> ArchiveStore:
        """The conversation, screened by `redactor` or the one of the settings."""
        from archive.segments import ArchiveStore
        from worker.sealing.sealer import load_redactor

        if self.conversation is None:
            raise click.UsageError("say --conversation ID: a segment belongs to one")
        name = redactor or self.invocation.settings().segments.redactor
        function = load_redactor(name) if name else None
        return ArchiveStore(self.base, self.scope, self.conversation, function)


def with_place(command: Callable[..., int]) -> Callable[..., int]:
    """Give `command` the options of a place, and the place they and the settings name."""

    def call(
        invocation: Invocation,
        base: Path | None,
        scope: str | None,
        conversation: str | None,
        **rest: Any,
    ) -> int:
        from archive.segments import SegmentCorrupt, scope_folder

        place = _place(invocation, base, scope, conversation)
        try:
            return command(place=place, **rest)
        except SegmentCorrupt as exc:
            exc.hint = f"{exc.hint}\n  Its folder: {scope_folder(place.base, place.scope)}"
            raise

    decorated: Callable[..., int] = update_wrapper(call, command)
    decorated = pass_invocation(decorated)
    for option in (_conversation_option, _scope_option, _base_option):
        decorated = option(decorated)
    return decorated


def _place(
    invocation: Invocation, base: Path | None, scope: str | None, conversation: str | None
) -> Place:
    """The place; settings are read only where a flag is missing."""
    if scope is None and conversation is None:
        raise click.UsageError("say --scope KEY, or --conversation ID for the worker's own scope")
    if base is None:
        base = invocation.settings().segments.base
    if base is None:
        raise click.UsageError("say --base DIR, or set segments.base (ARES_SEGMENTS_BASE)")
    if scope is None:
        scope = f"{invocation.light_settings().tenants[0]}/{conversation}"
    return Place(invocation, base, scope, conversation)


_base_option = click.option(
    "--base",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Absolute folder of the segments.  [default: segments.base]",
)
_scope_option = click.option(
    "--scope",
    metavar="KEY",
    help="The scope, whose 128 slots are shared.  [default: TENANT/CONVERSATION]",
)
_conversation_option = click.option(
    "--conversation", metavar="ID", help="The conversation (logical id): for the worker, a stream."
)
