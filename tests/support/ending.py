"""Ends other processes in order."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from .waiting import eventually_sync


class Process(Protocol):
    """What is asked of `subprocess.Popen` and of forks."""

    pid: int

    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...
    def wait(self, timeout: float | None = ...) -> int: ...


def end_in_order(processes: Sequence[Process], deadline_s: float = 20.0) -> list[int]:
    """Send each a SIGTERM; their exit codes."""
    for process in processes:
        wait_until_it_listens(process, deadline_s)
        process.send_signal(signal.SIGTERM)
    return [process.wait(deadline_s) for process in processes]


def wait_until_it_listens(process: Process, deadline_s: float = 20.0) -> None:
    """Wait for a handler of SIGTERM: who has only just begun would die of it. Or for its end."""
    eventually_sync(lambda: _listens(process), deadline_s, hint="a handler of SIGTERM")


def _listens(process: Process) -> bool:
    if process.poll() is not None:
        return True
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:  # ended this moment, or not Linux
        return True
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)
