"""The port of metrics and health: own threads, plain answers, no secret."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import pytest

from ops.health import Heartbeat, Readiness, watch_loop
from ops.metrics import CONTENT_TYPE, Metrics
from ops.redact import Redactor
from ops.serve import (
    Answer,
    ListenError,
    OperationsServer,
    liveness_answer,
    operations_server,
)
from support.waiting import eventually_sync

CANARY = "S3CRET-canary"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Worker:
    """What a worker has of metrics and health."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.metrics = Metrics(version="1")
        self.heartbeat = Heartbeat(stall_after=10, clock=self.clock)
        self.readiness = Readiness("redis")

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> OperationsServer:
        return operations_server(
            host,
            port,
            metrics=self.metrics,
            heartbeat=self.heartbeat,
            readiness=self.readiness,
            redactor=Redactor([CANARY]),
        )


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def port(worker: Worker) -> Iterator[int]:
    with worker.serve() as server:
        yield server.port


def get(port: int, path: str, method: str = "GET") -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read()
    finally:
        connection.close()


@contextmanager
def serving(routes: dict[str, Callable[[], Answer]]) -> Iterator[int]:
    with OperationsServer("127.0.0.1", 0, routes) as server:
        yield server.port


def test_metrics_are_served_in_the_text_format(port, worker):
    worker.metrics.redis.reconnected()

    status, content_type, body = get(port, "/metrics")

    assert (status, content_type) == (200, CONTENT_TYPE)
    assert b"\nares_redis_reconnects_total 1.0\n" in body


def test_liveness_is_200_while_the_loop_turns_and_503_when_it_stands_still(port, worker):
    assert get(port, "/livez")[0] == 200

    worker.clock.now += 30

    status, _, body = get(port, "/livez")
    assert status == 503
    assert json.loads(body)["reason"] == "the event loop has stood still for 30 s"


def test_liveness_does_not_care_for_readiness(port, worker):
    worker.readiness.fails("redis", "gone for three minutes")

    assert get(port, "/livez")[0] == 200


def test_readiness_names_its_reasons(port, worker):
    worker.readiness.fails("redis", "no connection")
    status, content_type, body = get(port, "/readyz")
    assert (status, content_type) == (503, "application/json")
    assert json.loads(body) == {
        "ready": False,
        "reasons": {"redis": "no connection"},
        "passing": [],
    }

    worker.readiness.passes("redis")

    status, _, body = get(port, "/readyz")
    assert (status, json.loads(body)["passing"]) == (200, ["redis"])


def test_no_password_reaches_readiness(port, worker):
    worker.readiness.fails("redis", f"redis://u:{CANARY}@h and {CANARY} refused")

    assert CANARY.encode() not in get(port, "/readyz")[2]


def test_a_check_that_raises_is_not_ready_and_shows_nothing(port, worker, caplog):
    def broken() -> str:
        raise RuntimeError(CANARY)

    worker.readiness.check("broken", broken)

    status, _, body = get(port, "/readyz")

    assert status == 500
    assert CANARY.encode() not in body
    assert len(caplog.records) == 1


def test_a_query_is_ignored_and_an_unknown_path_is_told_what_there_is(port):
    assert get(port, "/livez?verbose=1")[0] == 200

    status, _, body = get(port, "/")
    assert status == 404
    assert json.loads(body) == {"paths": ["/livez", "/metrics", "/readyz"]}


def test_head_answers_without_a_body_and_other_methods_are_refused(port):
    assert get(port, "/livez", "HEAD")[::2] == (200, b"")
    assert get(port, "/livez", "POST")[0] == 501


def test_the_server_does_not_tell_which_python_it_is(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/livez")

    assert connection.getresponse().headers["Server"].strip() == "ares-worker"
    connection.close()


def test_a_taken_port_is_told_in_words(worker):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]

        with pytest.raises(ListenError, match=f"127.0.0.1:{taken}: another program") as caught:
            worker.serve(port=taken)

    assert caught.value.errno == errno.EADDRINUSE
    assert caught.value.port == taken


def test_two_workers_on_one_host_take_free_ports_with_0(worker):
    with worker.serve() as first, worker.serve() as second:
        assert first.port != second.port
        assert get(first.port, "/livez")[0] == get(second.port, "/livez")[0] == 200


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"])
def test_an_address_that_is_not_ours_is_told_in_words(worker, host):
    with pytest.raises(ListenError, match=host):
        worker.serve(host=host)


def test_a_closed_server_gives_its_port_back(worker):
    with worker.serve() as server:
        port = server.port

    with worker.serve(port=port) as again:
        assert again.port == port


async def test_an_event_loop_that_hangs_turns_liveness_off_and_on_again_when_it_goes_on():
    heartbeat, stop, hang = Heartbeat(stall_after=0.2), asyncio.Event(), threading.Event()
    answers: list[int] = []

    def look_at(port: int) -> None:
        """In a thread, like the kubelet: sees 503 while the loop hangs, then lets it go on."""
        eventually_sync(lambda: answers.append(get(port, "/livez")[0]) or answers[-1] == 503)
        hang.set()
        eventually_sync(lambda: answers.append(get(port, "/livez")[0]) or answers[-1] == 200)

    with serving({"/livez": lambda: liveness_answer(heartbeat)}) as port:
        watch = asyncio.create_task(watch_loop(heartbeat, lambda _: None, stop=stop, interval=0.01))
        looking = asyncio.get_running_loop().run_in_executor(None, look_at, port)
        await asyncio.sleep(0)
        hang.wait(20)  # the whole loop stands still here
        await looking
        stop.set()
        await watch

    assert answers[-1] == 200
    assert 503 in answers


def test_a_hanging_answer_delays_no_other():
    """A scrape that waits for facts must not make the kubelet kill the pod."""
    hang = threading.Event()

    def slow() -> Answer:
        hang.wait(30)
        return Answer(HTTPStatus.OK, b"late")

    with serving({"/slow": slow, "/fast": lambda: Answer(HTTPStatus.OK, b"fast")}) as port:
        late = threading.Thread(target=get, args=(port, "/slow"))
        late.start()

        assert get(port, "/fast")[2] == b"fast"
        hang.set()
        late.join(10)


def test_too_many_requests_at_once_are_turned_away_and_the_next_ones_served():
    hang = threading.Event()

    def slow() -> Answer:
        hang.wait(30)
        return Answer(HTTPStatus.OK, b"late")

    with serving({"/slow": slow}) as port:
        clients = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(40)]
        for client in clients:
            client.sendall(b"GET /slow HTTP/1.0\r\n\r\n")
        turned_away = sum(_ended(client) for client in clients[32:])
        hang.set()
        served = sum(b"late" in _all(client) for client in clients[:32])

        assert (turned_away, served) == (8, 32)
        assert get(port, "/slow")[2] == b"late"


def test_a_client_that_says_nothing_holds_nobody_up(port):
    with socket.create_connection(("127.0.0.1", port)):
        assert get(port, "/livez")[0] == 200


def test_a_busy_event_loop_thread_delays_probes_by_less_than_half_a_second(port):
    """Pure computation holds the interpreter most of the time; probes must still pass."""
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            sum(number * number for number in range(20_000))

    busy = threading.Thread(target=compute)
    busy.start()
    taken = []
    for _ in range(50):
        started = time.perf_counter()
        assert get(port, "/livez")[0] == 200
        taken.append(time.perf_counter() - started)
    stop.set()
    busy.join()

    assert sorted(taken)[-2] < 0.5


def _ended(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def _all(client: socket.socket) -> bytes:
    with client, client.makefile("rb") as answer:
        return answer.read()
