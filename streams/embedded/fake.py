"""fakeredis on a loopback port: `embedded` where no redis-server is installed. Forgets at exit."""

from __future__ import annotations

import logging
import select
import socket
import threading
from typing import Any, Final

from fakeredis import TcpFakeServer

_LOG: Final = logging.getLogger("ares.embedded")
_SEND_TIMEOUT_S: Final = 60.0
_STOP_POLL_S: Final = 0.05
_VERSION: Final = (7, 0)


class _PatientSocket(socket.socket):
    """Waits for a slow reader: fakeredis makes its sockets non-blocking and then sends all."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of `data`; raises `TimeoutError` when the reader takes nothing for a minute."""
        rest = memoryview(data).cast("B")
        while rest:
            try:
                rest = rest[self.send(rest, flags) :]
            except BlockingIOError:
                if not select.select([], [self], [], _SEND_TIMEOUT_S)[1]:
                    raise TimeoutError("the client does not read its reply") from None


class FakeRedisServer(TcpFakeServer):
    """Serves one fake Redis to any client of this machine, from threads of this process."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), server_version=_VERSION)
        self.daemon_threads = True
        self.block_on_close = False
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_STOP_POLL_S,), name="fakeredis", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The loopback port it listens on."""
        return int(self.server_address[1])

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection."""
        accepted, address = super().get_request()
        return _PatientSocket(fileno=accepted.detach()), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle of a reply is no news."""
        _LOG.debug("connection of %s failed", client_address, exc_info=True)

    def stop(self) -> None:
        """Close the port; everything stored is gone."""
        self.shutdown()
        self.server_close()
        self._thread.join()
