"""The options that narrow down which rounds a `recall` command is about."""

from __future__ import annotations

from collections.abc import Callable

import click

from archive.record import ACTIONS, OUTCOMES


def filter_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give `command` the filters as keywords; `worker.recalling.search.Search` takes them."""
    for option in reversed(
        (
            click.option(
                "--stream",
                "streams",
                metavar="S",
                multiple=True,
                help="Only this stream; may be repeated.",
            ),
            click.option("--action", type=click.Choice(ACTIONS), help="What the round was for."),
            click.option("--outcome", type=click.Choice(OUTCOMES), help="How it ended."),
            click.option("--failed", is_flag=True, help="Failed rounds, or with a failed check."),
            click.option("--file", metavar="PATH", help="Changed this file: a part, or * and ?."),
            click.option("--ref", metavar="REF", help="Names this commit, issue, URL…"),
            click.option("--since", metavar="TIME", help="Ended at or after: 7d, 2026-01-31."),
            click.option("--until", metavar="TIME", help="Ended at or before."),
            click.option(
                "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N."
            ),
            click.option("--no-index", is_flag=True, help="Read every file; same answer, slower."),
        )
    ):
        command = option(command)
    return command
