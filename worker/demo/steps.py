"""`ares-worker demo`: the whole way of an agent's events once, each step said and then done."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from streams.embedded.start import EmbeddedRedis, start_embedded
from streams.event import DEFAULT_TENANT_ID
from streams.keys import Keys
from worker.console import output, words

from .session import SEARCHED, SESSION, STREAM

_SHOWN_XADDS: Final = 3
_SHOWN_ARGUMENT: Final = 60

Program = Callable[[Sequence[str]], int]
"""Runs one command line of `ares-worker` and returns its exit code."""


class DemoFailed(Exception):
    """A command of the demo did not exit 0."""

    def __init__(self, args: Sequence[str], code: int) -> None:
        super().__init__(f"`ares-worker {shlex.join(args)}` ended with code {code}")
        self.args_run, self.code = tuple(args), code


class Demo:
    """Shows everything in `folder`, which holds the archive and Redis' data afterwards."""

    def __init__(self, folder: Path, program: Program) -> None:
        self._folder, self._program = folder, program
        self._archive = folder / "rounds"
        self._step = 0

    def run(self) -> None:
        """Run it; raises `DemoFailed`, or what stands in the way."""
        began = time.monotonic()
        self._heading("A Redis of its own")
        with start_embedded(self._folder / "redis") as redis:
            output.write(f"   {redis.notice}")
            self._emit(redis)
            self._work(redis)
        self._look_at_files()
        self._recall()
        took = time.monotonic() - began
        output.write(f"\n{output.paint('Done', fg='green', bold=True)} in {took:.1f} s.")

    def _emit(self, redis: EmbeddedRedis) -> None:
        from redis import Redis

        inbox = Keys(DEFAULT_TENANT_ID).inbox.decode()
        self._heading(f"An agent works: {words.count(len(SESSION), 'event')}, each one XADD")
        with Redis.from_url(redis.url) as client, client.pipeline(transaction=False) as packet:
            for number, (kind, payload) in enumerate(SESSION):
                fields = {"stream": STREAM, "type": kind, "payload": json.dumps(payload)}
                packet.xadd(inbox, fields)
                if number < _SHOWN_XADDS:
                    self._say_xadd(inbox, fields)
            packet.execute()
        output.write(f"   … and {len(SESSION) - _SHOWN_XADDS} more, two of which end a round")

    def _say_xadd(self, inbox: str, fields: dict[str, str]) -> None:
        parts = [part for field in fields.items() for part in field]
        shown = " ".join(shlex.quote(output.clip(part, _SHOWN_ARGUMENT)) for part in parts)
        self._command(f"redis-cli XADD {inbox} '*' {shown}")

    def _work(self, redis: EmbeddedRedis) -> None:
        self._heading("The worker puts them in order, archives finished rounds, keeps Redis small")
        place = ("--redis", redis.url, "--archive-dir", str(self._archive))
        self._ares(("run", "--once", *place, "--quiet"), shown="run --once")
        self._ares(("streams", "list", *place), shown="streams list")

    def _look_at_files(self) -> None:
        files = sorted(self._archive.rglob("round_*.json"))
        self._heading(f"What is left for ever: {words.count(len(files), 'file')}, one a round")
        for file in files:
            output.write(f"   {file} ({words.size(file.stat().st_size)})")
        if files:
            self._command(f"cat {files[0].name}")
            output.write(output.visible(files[0].read_text(encoding="utf-8")).rstrip())

    def _recall(self) -> None:
        self._heading("Later, another agent asks what was decided")
        query = ("recall", "query", SEARCHED)
        self._ares((*query, "--archive-dir", str(self._archive)), shown=shlex.join(query))

    def _ares(self, args: Sequence[str], *, shown: str) -> None:
        self._command(f"ares-worker {shown}")
        output.flush_streams()
        if code := self._program(args):
            raise DemoFailed(args, code)

    def _heading(self, text: str) -> None:
        self._step += 1
        output.write(f"\n{output.paint(f'{self._step}. {text}', bold=True)}")

    def _command(self, text: str) -> None:
        output.write(f"   {output.paint('$', fg='cyan')} {text}")
