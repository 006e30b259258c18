"""The port of `/metrics`, `/livez` and `/readyz`, served by threads of its own.

A busy event loop delays none of them; a slow client delays none of the others.
"""

from __future__ import annotations

import errno
import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from .health import Heartbeat, Readiness
from .logs import fields
from .metrics import CONTENT_TYPE, Metrics
from .redact import Redactor

_MOST_REQUESTS: Final = 32
_CLIENT_TIMEOUT: Final = 5.0

_log = logging.getLogger("ares.ops")


class ListenError(OSError):
    """The port can't be listened on; `host`, `port` and `reason` say which and why."""

    def __init__(self, host: str, port: int, reason: str, code: int) -> None:
        super().__init__(code, f"can't listen on {host}:{port}: {reason}")
        self.host, self.port, self.reason = host, port, reason

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers."""

    status: HTTPStatus
    body: bytes
    content_type: str = "application/json"


def metrics_answer(metrics: Metrics) -> Answer:
    """`/metrics`: every series in the text format."""
    return Answer(HTTPStatus.OK, metrics.exposition(), CONTENT_TYPE)


def liveness_answer(heartbeat: Heartbeat) -> Answer:
    """`/livez`: 200 while the event loop turns."""
    stalled = heartbeat.stalled_for()
    if stalled is None:
        return _json(HTTPStatus.OK, {"alive": True})
    reason = f"the event loop has stood still for {stalled:.0f} s"
    return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"alive": False, "reason": reason})


def readiness_answer(readiness: Readiness, redactor: Redactor) -> Answer:
    """`/readyz`: 200 when nothing stands in the way; the reasons by name."""
    report = readiness.report()
    status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
    reasons = {name: redactor(reason) for name, reason in report.reasons.items()}
    body = {"ready": report.ready, "reasons": reasons, "passing": list(report.passing)}
    return _json(status, body)


def _json(status: HTTPStatus, body: Mapping[str, Any]) -> Answer:
    return Answer(status, json.dumps(body).encode() + b"\n")


class OperationsServer:
    """Serves `routes` (path → answer) until it is closed; a context manager."""

    def __init__(self, host: str, port: int, routes: Mapping[str, Callable[[], Answer]]) -> None:
        """Listen on `host`:`port`, 0 for any free port. Raises `ListenError`."""
        try:
            self._server = _server_class(host)((host, port), _handler_class(routes))
        except (OSError, OverflowError) as exc:
            raise _listen_error(host, port, exc) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="ares-ops"
        )
        self._thread.daemon = True
        self._thread.start()

    @property
    def port(self) -> int:
        """The port listened on, also where 0 was asked for."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening; answers under way are left to their threads."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> OperationsServer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def operations_server(
    host: str,
    port: int,
    *,
    metrics: Metrics,
    heartbeat: Heartbeat,
    readiness: Readiness,
    redactor: Redactor | None = None,
) -> OperationsServer:
    """Listen and serve the three paths. Raises `ListenError`."""
    hide = redactor or Redactor()
    return OperationsServer(
        host,
        port,
        {
            "/metrics": lambda: metrics_answer(metrics),
            "/livez": lambda: liveness_answer(heartbeat),
            "/readyz": lambda: readiness_answer(readiness, hide),
        },
    )


def _listen_error(host: str, port: int, exc: Exception) -> ListenError:
    code = exc.errno if isinstance(exc, OSError) and exc.errno is not None else errno.EINVAL
    if code == errno.EADDRINUSE:
        reason = "another program has that port; choose one with metrics.port, or 0 for a free one"
    else:
        reason = getattr(exc, "strerror", None) or str(exc)
    return ListenError(host, port, reason, code)


def _server_class(host: str) -> type[ThreadingHTTPServer]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return type("_Server", (_BoundedServer,), {"address_family": family})


class _BoundedServer(ThreadingHTTPServer):
    """At most `_MOST_REQUESTS` at once; who comes on top is turned away."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        self._slots = threading.BoundedSemaphore(_MOST_REQUESTS)
        super().__init__(*args)

    def server_bind(self) -> None:
        """Bind without the standard look-up of our own name, which may ask a slow DNS."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread to be had: that request's fault alone
            self._slots.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


def _handler_class(routes: Mapping[str, Callable[[], Answer]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_TIMEOUT
        server_version = "ares-worker"
        sys_version = ""

        def do_GET(self) -> None:
            answer = _answer(routes, self.path)
            with suppress(OSError):
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

        do_HEAD = do_GET  # noqa: N815 - the name the base class calls

        def log_message(self, format: str, *args: Any) -> None:
            """Probes and scrapes aren't logged."""

    return Handler


def _answer(routes: Mapping[str, Callable[[], Answer]], path: str) -> Answer:
    route = routes.get(path.partition("?")[0])
    if route is None:
        return _json(HTTPStatus.NOT_FOUND, {"paths": sorted(routes)})
    try:
        return route()
    except Exception as exc:
        _log.exception("an operations request failed", extra=fields(error=type(exc).__name__))
        return _json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "see the log"})
