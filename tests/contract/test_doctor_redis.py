"""The doctor on real servers: it finds what is wrong, and changes nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from streams.event import Event
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from worker.cli import run
from worker.doctor.findings import Finding, Status
from worker.doctor.redis import redis_findings
from worker.settings.load import load_settings

CANARY = "S3CRET-canary"


async def findings(url: str, *tenants: str) -> dict[str, Finding]:
    settings = load_settings(None, {"redis.url": url, "tenants": tenants or None}, {})
    return {finding.check: finding async for finding in redis_findings(settings)}


def dump(server: RedisServer) -> dict[bytes, bytes]:
    with server.admin() as admin:
        return {key: admin.dump(key) for key in admin.keys("*")}


async def test_a_server_and_an_empty_tenant_are_looked_at_and_left_as_they_were(
    every_server, tenant
):
    before = dump(every_server)

    found = await findings(every_server.url, tenant)

    assert not [item for item in found.values() if item.status is Status.FAIL]
    assert found[f"tenant.{tenant}.rights"].status is Status.OK
    assert found["redis.latency"].status is Status.OK
    assert found["redis.cluster"].found == "a single server"
    assert found["redis.clock"].status is Status.OK
    assert {key for key in dump(every_server) if tenant.encode() in key} == set()
    assert before.keys() <= dump(every_server).keys()


async def test_a_server_that_evicts_fails(start_server, tenant):
    server = start_server(options=("--maxmemory-policy", "allkeys-lru"))

    found = await findings(server.url, tenant)

    assert found["redis.eviction"].status is Status.FAIL


async def test_an_append_only_file_is_recognised(start_server, tenant):
    server = start_server(aof="always")

    found = await findings(server.url, tenant)

    assert found["redis.persistence"].found == "append-only file, fsynced before every answer"


@pytest.mark.parametrize("release", [REDIS_7, REDIS_62])
@pytest.mark.parametrize("lacking", ["eval", "xadd", "watch", "exec", "discard", "memory|usage"])
async def test_every_right_an_acl_withholds_is_named_with_the_command_that_grants_it(
    start_server, tenant, lacking, release
):
    server = start_server(release)
    with server.admin() as admin:
        rules = ("on", ">pw", f"~ares:{{{tenant}}}:*", "+@all", f"-{lacking.split('|')[0]}")
        admin.execute_command("ACL", "SETUSER", "bob", *rules)

    found = await findings(f"redis://bob:pw@127.0.0.1:{server.port}", tenant)

    rights = found[f"tenant.{tenant}.rights"]
    assert rights.status is Status.FAIL
    assert rights.found == f"refused: {lacking}"
    assert rights.todo.endswith(f"~ares:{{{tenant}}}:* +{lacking}")


async def test_a_user_of_another_tenant_has_no_rights_here(start_server, tenant):
    server = start_server()
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "bob", "on", ">pw", "~ares:{other}:*", "+@all")

    found = await findings(f"redis://bob:pw@127.0.0.1:{server.port}", tenant)

    assert found[f"tenant.{tenant}.rights"].status is Status.FAIL


async def test_exactly_the_rights_named_are_enough(start_server, tenant):
    """What the doctor tells a person to grant must end in its own approval."""
    server = start_server()
    url = f"redis://bob:pw@127.0.0.1:{server.port}"
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "bob", "on", ">pw", "+ping", "+multi")
        for _ in range(3):
            rights = (await findings(url, tenant))[f"tenant.{tenant}.rights"]
            if rights.status is Status.OK:
                break
            admin.execute_command("ACL", "SETUSER", "bob", *rights.todo.split()[3:])

    assert rights.status is Status.OK


async def test_a_quarantined_stream_a_dead_letter_and_a_lonely_inbox_are_named(server, tenant):
    keys = Keys(tenant)
    async with await RedisEventStore.connect(server.url, tenant) as store:
        await store.append("good", [Event(type="task.created")])
        await store.append("bad\u202e", [Event(type="task.created")])
    with server.admin() as admin:
        admin.delete(keys.log("bad\u202e"))
        admin.xadd(keys.dead, {"reason": "schema"})
        admin.xadd(keys.inbox, {"stream": "s", "type": "t"})

    found = await findings(server.url, tenant)

    streams = found[f"tenant.{tenant}.streams"]
    assert streams.status is Status.FAIL
    assert "1 quarantined: bad\\u202e" in streams.found
    assert found[f"tenant.{tenant}.dead"].status is Status.WARN
    assert found[f"tenant.{tenant}.inbox"].status is Status.WARN
    assert found[f"tenant.{tenant}.feed"].status is Status.WARN


async def test_a_group_and_a_lease_show_that_somebody_works(server, tenant):
    keys = Keys(tenant)
    with server.admin() as admin:
        admin.xgroup_create(keys.feed, "archivers", "0", mkstream=True)
        admin.xgroup_createconsumer(keys.feed, "archivers", "w1")
        admin.set(keys.lease("sequencer"), "w1", px=60_000)
        admin.xadd(keys.inbox, {"stream": "s", "type": "t"})

    found = await findings(server.url, tenant)

    assert found[f"tenant.{tenant}.inbox"].found == "1 entry waits, a worker sequences it"
    assert found[f"tenant.{tenant}.feed"].found.startswith("1 consumer, 0 pending")


async def test_a_cluster_spoken_to_as_a_cluster_is_healthy_and_otherwise_not(cluster, tenant):
    as_cluster = await findings(f"redis+cluster://127.0.0.1:{cluster.port}", tenant)
    as_single = await findings(cluster.url, tenant)

    assert as_cluster["redis.cluster"].status is Status.OK
    assert as_cluster[f"tenant.{tenant}.rights"].status is Status.OK
    assert as_single["redis.cluster"].status is Status.FAIL


async def test_a_server_that_is_not_there_is_one_finding(start_server, tenant):
    server = start_server()
    server.kill()

    found = await findings(server.url, tenant)

    assert list(found) == ["redis.connection"]
    assert found["redis.connection"].status is Status.FAIL


async def test_a_wrong_password_is_told_as_that(start_server, tenant):
    server = start_server(options=("--requirepass", "right"))

    found = await findings(f"redis://:{CANARY}@127.0.0.1:{server.port}", tenant)

    assert "denies access" in found["redis.connection"].found
    assert CANARY not in found["redis.connection"].found


def test_the_command_has_one_line_a_finding_and_exit_1_where_one_fails(
    start_server, tenant, tmp_path, capsys
):
    server = start_server(options=("--maxmemory-policy", "allkeys-lru"))
    args = ["doctor", "--redis", server.url, "--tenant", tenant, "--archive-dir", str(tmp_path)]

    assert run(args) == 1

    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "redis.eviction" in line]
    assert line.startswith("fail  redis.eviction")
    assert "-> CONFIG SET maxmemory-policy noeviction" in line
    with server.admin() as admin:
        admin.config_set("maxmemory-policy", "noeviction")

    assert run(args) == 0


def test_the_command_as_json_is_one_document_without_secrets(
    start_server, tenant, tmp_path, capsys, monkeypatch
):
    server = start_server(options=("--requirepass", CANARY))
    monkeypatch.setenv("ARES_REDIS_PASSWORD", CANARY)
    args = ["doctor", "--json", "--tenant", tenant, "--archive-dir", str(tmp_path), "--redis"]

    assert run([*args, server.url]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["ok"] is True
    assert run([*args, f"redis://u:{CANARY}@127.0.0.1:{server.port}"]) == 1
    refused = capsys.readouterr()
    assert json.loads(refused.out)["ok"] is False

    assert CANARY not in told.out + told.err + refused.out + refused.err


def test_wrong_settings_are_findings_too(capsys, monkeypatch):
    monkeypatch.setenv("ARES_LOG_LEVEL", "loud")

    assert run(["doctor"]) == 1

    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("fail  settings")


async def test_a_frozen_server_ends_the_examination(start_server, tenant):
    server = start_server()
    impatient = {"redis.socket_timeout_ms": 1_100, "redis.block_ms": 100}
    flags = {"redis.url": server.url, "tenants": (tenant,), **impatient}
    settings = load_settings(None, flags, {})
    server.pause()
    try:
        async with asyncio.timeout(30):
            found = [finding async for finding in redis_findings(settings)]
    finally:
        server.resume()

    assert [(item.check, item.status) for item in found] == [("redis.connection", Status.FAIL)]
