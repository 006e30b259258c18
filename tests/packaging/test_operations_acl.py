"""The ACL lines of docs/operations.md: enough for a tenant's work, and a wall around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import redis

from support.loaded_program import LoadedProgram
from support.redis_server import RedisServer
from support.worker_process import Installation

GUIDE = Path(__file__).parents[2] / "docs" / "operations.md"
PASSWORD = "not-telling"


@pytest.fixture
def users(every_server: RedisServer) -> RedisServer:
    """A server with the users of the guide."""
    lines = re.findall(r"^ACL SETUSER (.+)$", GUIDE.read_text("utf-8"), re.M)
    assert len(lines) == 2
    with every_server.admin() as admin:
        for line in lines:
            admin.execute_command("ACL SETUSER", *line.replace(">…", f">{PASSWORD}").split())
    return every_server


def as_user(server: RedisServer, name: str) -> redis.Redis:
    """A client of that user."""
    return redis.Redis(port=server.port, username=name, password=PASSWORD)


def event() -> dict[str, Any]:
    """The fields of a whole round."""
    return {"stream": "s", "type": "task.completed", "payload": '{"task": "t"}'}


def test_a_producer_adds_events_of_its_tenant_and_can_do_nothing_else(users: RedisServer) -> None:
    with as_user(users, "acme-producer") as producer:
        assert producer.xadd("ares:{acme}:inbox", event())
        for refused in (
            ("XADD", "ares:{other}:inbox", "*", "a", "b"),
            ("XADD", "ares:{acme}:log:s", "*", "a", "b"),
            ("XRANGE", "ares:{acme}:inbox", "-", "+"),
            ("DEL", "ares:{acme}:inbox"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                producer.execute_command(*refused)


def test_a_worker_does_all_its_work_and_the_doctor_finds_no_right_missing(
    users: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    with as_user(users, "acme-producer") as producer:
        producer.xadd("ares:{acme}:inbox", event())
    url = f"redis://acme-worker:{PASSWORD}@127.0.0.1:{users.port}/0"
    installation = Installation(url, tmp_path / "rounds", {"ARES_TENANTS": "acme"}, loaded)

    installation.call("run", "--once")

    assert len(installation.rounds()) >= 1
    installation.call("verify")
    found = installation.json("doctor")["findings"]
    statuses = {each["check"]: each["status"] for each in found}
    assert "fail" not in statuses.values()
    assert statuses["tenant.acme.rights"] == "ok"
    with installation.worker() as worker:
        worker.wait_ready()
        assert 'ares_redis_errors_total{kind="auth"} 0.0' in worker.get("/metrics")[1]


def test_a_worker_of_one_tenant_cannot_touch_another(users: RedisServer) -> None:
    with as_user(users, "acme-worker") as worker:
        for refused in (
            ("XRANGE", "ares:{other}:inbox", "-", "+"),
            ("HGETALL", "ares:tenants"),
            ("FLUSHDB",),
            ("CONFIG", "SET", "maxmemory", "1"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                worker.execute_command(*refused)
