"""Keeps an embedded redis-server no longer than the process that started it.

Run as a script: `watchdog.py ADDRESS_FILE COMMAND…`. Its standard input is a pipe whose
other end the starting process holds and never writes to: the pipe ends when that process does,
however it does. A pipe works on every POSIX system and, unlike a parent-death signal, doesn't
depend on which thread started the server.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time

_PATIENCE_S = 10


def _end_with_parent(child: int, address_file: str) -> None:
    while os.read(0, 4096):
        pass
    # Newcomers must not take the address of a server that is about to go.
    with contextlib.suppress(OSError):
        os.unlink(address_file)  # noqa: PTH108  # pathlib would double the start-up time
    os.kill(child, signal.SIGTERM)
    time.sleep(_PATIENCE_S)
    os.kill(child, signal.SIGKILL)


def main(address_file: str, command: list[str]) -> None:
    """Run `command` until it ends or standard input does; exit with its status."""
    no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[no_input])
    threading.Thread(target=_end_with_parent, args=(child, address_file), daemon=True).start()
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
