"""`streams repair`: mend a quarantined stream, once a person has looked at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from worker.console import output, words
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.verifying.checks import Finding
    from streams.redis_store import RedisEventStore
    from worker.repairing.repair import Diagnosis
    from worker.settings.load import Settings


@click.command("repair", cls=AresCommand)
@click.argument("stream")
@click.option("--yes", is_flag=True, help="Do it. Without, nothing is changed.")
@click.option(
    "--head",
    type=click.IntRange(min=1),
    metavar="N",
    help="The newest version, where the stream's keys don't tell.",
)
@click.option(
    "--accept-loss", is_flag=True, help="Also where events are in no log and no file any more."
)
@json_option("one object")
@pass_invocation
def repair(
    invocation: Invocation,
    stream: str,
    yes: bool,
    head: int | None,
    accept_loss: bool,
    as_json: bool,
) -> int:
    """Show what is wrong with the quarantined STREAM and, with --yes, mend it.

    First find out who wrote to its keys, or it will happen again. What isn't of the stream goes
    whole to the dead letters. Of what is gone, archived versions become a summary, and each other
    one an event of type event.lost. Workers may run meanwhile and take the stream up again by
    themselves. Exit 1 when there is something to mend and --yes is missing.

    \b
    Examples:
      ares-worker streams repair session-42
      ares-worker streams repair session-42 --yes
    """
    from worker.console.sessions import with_store

    async def mend(store: RedisEventStore, settings: Settings) -> _Result:
        from archive.storage.volume import Volume
        from archive.survey import Survey
        from worker.repairing.repair import Repairer
        from worker.verifying.verifier import Verifier

        survey = Survey(Volume(settings.archive.dir), [store.tenant])
        repairer = Repairer(store, survey, deaths=settings.sequencer.poison_attempts)
        try:
            if not yes:
                return _Result(await repairer.diagnose(stream, head=head))
            done = await repairer.mend(stream, head=head, accept_loss=accept_loss)
        finally:
            await repairer.close()
        left = await Verifier(store, survey).verify_stream(stream) if done.found else []
        return _Result(done, mended=True, left=[each for each in left if not each.is_note])

    result = with_store(invocation, mend)
    if as_json:
        output.write_json(result.document(stream))
    else:
        for line in result.lines(stream):
            output.write(output.visible_line(line))
    return result.exit_code


class _Result:
    """What was found and done; `left` is what `verify` still finds afterwards."""

    def __init__(
        self, diagnosis: Diagnosis, *, mended: bool = False, left: list[Finding] | None = None
    ) -> None:
        self._diagnosis, self._mended, self._left = diagnosis, mended, left or []

    @property
    def exit_code(self) -> ExitCode:
        found = bool(self._diagnosis.found)
        return ExitCode.NO if self._left or (found and not self._mended) else ExitCode.DONE

    def document(self, stream: str) -> dict[str, Any]:
        """The answer for `--json`."""
        planned = self._diagnosis.repair
        return {
            "stream": stream,
            "mended": self._mended and bool(self._diagnosis.found),
            "found": list(self._diagnosis.found),
            "actions": list(self._diagnosis.actions),
            "lost_versions": list(planned.lost),
            "archived_versions_gone": list(planned.folded),
            "foreign": [
                {"id": item.entry.id.decode(), "why": item.why} for item in planned.foreign
            ],
            "left": [{"kind": item.kind, "detail": item.detail} for item in self._left],
        }

    def lines(self, stream: str) -> list[str]:
        """The answer for a person."""
        found = self._diagnosis.found
        if not found:
            return [f"{stream}: nothing to mend."]
        verb = "done" if self._mended else "would"
        lines = [f"{stream}: {words.count(len(found), 'thing')} wrong"]
        lines += [f"  ! {item}" for item in found]
        lines += [f"  {verb}: {action}" for action in self._diagnosis.actions]
        if self._diagnosis.repair.lost and not self._mended:
            lines.append("Events would be lost: bring the log back from a backup if there is one,")
            lines.append("or say --accept-loss.")
        if not self._mended:
            lines.append("Nothing was changed; --yes does it.")
        elif self._left:
            lines += [f"verify still finds: {item.kind}: {item.detail}" for item in self._left]
        else:
            lines.append("verify finds nothing wrong any more.")
        return lines
