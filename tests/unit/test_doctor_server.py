"""What the doctor makes of what a server says of itself."""

from __future__ import annotations

import pytest

from worker.doctor.findings import Status
from worker.doctor.server import clock, cluster, judge_server, latency

HEALTHY = {
    "redis_version": "7.0.15",
    "role": "master",
    "aof_enabled": "1",
    "aof_last_write_status": "ok",
    "aof_last_bgrewrite_status": "ok",
    "rdb_last_bgsave_status": "ok",
    "maxmemory": str(1 << 30),
    "used_memory": str(100 << 20),
    "maxmemory_policy": "noeviction",
    "connected_clients": "5",
    "maxclients": "10000",
    "cluster_enabled": "0",
}
CONFIG = {"appendfsync": "everysec", "proto-max-bulk-len": str(512 << 20)}


def judged(config: dict[str, str] = CONFIG, **said: str) -> dict[str, tuple[Status, str, str]]:
    findings = judge_server({**HEALTHY, **said}, config, max_payload_bytes=8 << 20)
    return {finding.check: (finding.status, finding.found, finding.todo) for finding in findings}


def test_a_healthy_server_has_nothing_to_do():
    assert all(finding[::2] == (Status.OK, "") for finding in judged().values())


@pytest.mark.parametrize(
    ("said", "check", "status"),
    [
        ({"redis_version": "6.0.16"}, "redis.version", Status.FAIL),
        ({"redis_version": "garbage"}, "redis.version", Status.FAIL),
        ({"role": "slave"}, "redis.role", Status.FAIL),
        ({"aof_enabled": "0"}, "redis.persistence", Status.WARN),
        ({"aof_last_write_status": "err"}, "redis.saving", Status.FAIL),
        ({"rdb_last_bgsave_status": "err"}, "redis.saving", Status.FAIL),
        ({"loading": "1"}, "redis.saving", Status.FAIL),
        ({"maxmemory_policy": "allkeys-lru"}, "redis.eviction", Status.FAIL),
        ({"maxmemory_policy": "volatile-ttl"}, "redis.eviction", Status.FAIL),
        ({"used_memory": str(1000 << 20)}, "redis.memory", Status.WARN),
        ({"connected_clients": "9500"}, "redis.clients", Status.WARN),
    ],
)
def test_each_illness_is_named_alone_with_what_to_do(said, check, status):
    found = judged(**said)

    assert found[check][0] is status
    assert found[check][2]
    assert [name for name, finding in found.items() if finding[0] is not Status.OK] == [check]


@pytest.mark.parametrize("version", ["6.2.0", "6.2.912183", "7.4", "8.0.1", "10.0.0"])
def test_every_version_from_6_2_on_is_good(version):
    assert judged(redis_version=version)["redis.version"][0] is Status.OK


def test_an_append_only_file_that_is_never_synced_is_warned_of():
    assert judged(CONFIG | {"appendfsync": "no"})["redis.persistence"][0] is Status.WARN


def test_a_server_without_maxmemory_is_measured_by_its_machine():
    tight = judged(maxmemory="0", total_system_memory=str(105 << 20))
    wide = judged(maxmemory="0", total_system_memory=str(8 << 30))

    assert tight["redis.memory"][0] is Status.WARN
    assert wide["redis.memory"][0] is Status.OK


def test_a_bulk_limit_below_the_largest_payload_is_warned_of():
    found = judged(CONFIG | {"proto-max-bulk-len": str(1 << 20)})

    assert found["redis.bulk_limit"][0] is Status.WARN


def test_what_the_server_will_not_tell_is_said_to_be_unknown():
    found = judged({})
    assert found["redis.bulk_limit"][0] is Status.SKIP
    assert found["redis.persistence"][0] is Status.OK

    (refused,) = judge_server({}, {}, max_payload_bytes=1)
    assert (refused.status, refused.todo) == (Status.SKIP, "ACL SETUSER <user> +info")


@pytest.mark.parametrize(
    ("enabled", "spoken", "state", "slots", "status"),
    [
        ("0", False, "", "", Status.OK),
        ("0", True, "", "", Status.FAIL),
        ("1", False, "ok", "16384", Status.FAIL),
        ("1", True, "ok", "16384", Status.OK),
        ("1", True, "fail", "16384", Status.FAIL),
        ("1", True, "ok", "10000", Status.FAIL),
    ],
)
def test_cluster_and_url_must_agree_and_every_slot_be_served(enabled, spoken, state, slots, status):
    info = {"cluster_state": state, "cluster_slots_ok": slots}

    assert cluster({"cluster_enabled": enabled}, info, spoken=spoken).status is status


def test_slow_round_trips_and_clocks_apart_are_warned_of():
    assert latency([0.0002] * 19 + [0.5]).status is Status.OK
    assert latency([0.02] * 20).status is Status.WARN
    assert clock(-1.9).status is Status.OK
    assert clock(-3.0).status is Status.WARN
