"""The chart's `config` is the worker's settings, one to one, and secrets go another way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.chart import (
    CASES,
    CHART,
    ROOT,
    needed,
    objects,
    of_kind,
    pods,
    refusal,
    the,
    values_of,
)
from worker.settings.load import load_settings
from worker.settings.model import Settings, setting_fields

yaml = needed("yaml")

by_name = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
CONFIG = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))["config"]

GIVEN_BY_REDIS_VALUES = {
    "redis.url",
    "redis.url_file",
    "redis.username",
    "redis.password",
    "redis.password_file",
    "redis.sentinel_username",
    "redis.sentinel_password",
    "redis.sentinel_password_file",
    "redis.tls_ca",
    "redis.tls_cert",
    "redis.tls_key",
}
ANOTHER_DEFAULT_IN_A_POD = {"archive.dir", "metrics.host", "log.format"}
CANARY = "s3cret-c4nary"


def dotted(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key → value of all leaves."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= dotted(value, f"{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def loaded(values: dict[str, Any] | None, tmp_path: Path) -> Settings:
    """The settings a worker reads from the mounted file."""
    file = tmp_path / "config.toml"
    file.write_text(the_config_map(values), "utf-8")
    return load_settings(file, environ={})


def the_config_map(values: dict[str, Any] | None) -> str:
    """Text of the settings file."""
    maps = [each for each in of_kind("ConfigMap", values) if "config.toml" in each["data"]]
    return str(maps[0]["data"]["config.toml"])


def test_every_setting_is_a_value_and_every_value_a_setting() -> None:
    assert dotted(CONFIG).keys() == setting_fields().keys() - GIVEN_BY_REDIS_VALUES


def test_an_untouched_value_means_the_workers_default(tmp_path: Path) -> None:
    settings, defaults = loaded(None, tmp_path), Settings()

    differing = {key for key in dotted(CONFIG) if settings.value(key) != defaults.value(key)}

    assert differing == ANOTHER_DEFAULT_IN_A_POD


@by_name
def test_the_worker_accepts_the_settings_of_each_case(case: Path, tmp_path: Path) -> None:
    settings = loaded(values_of(case), tmp_path)

    given = dotted(values_of(case).get("config", {}))
    assert all(settings.origin(key).startswith("file ") for key in given)


def test_large_numbers_sizes_and_lists_arrive_unharmed(tmp_path: Path) -> None:
    values = {
        "config": {
            "tenants": ["acme", "b-2"],
            "limits": {"max_payload_bytes": 67108864},
            "retention": {"feed_max": 1000000000, "forget_after": "10.5d"},
            "archive": {"sentinel_file": 'quote " back \\ slash'},
        }
    }

    settings = loaded(values, tmp_path)

    assert settings.tenants == ("acme", "b-2")
    assert settings.limits.max_payload_bytes == 67108864
    assert settings.retention.feed_max == 1000000000
    assert settings.retention.forget_after.total_seconds() == 907200
    assert settings.archive.sentinel_file == 'quote " back \\ slash'


def test_segments_lie_on_the_volume_unless_told_otherwise(tmp_path: Path) -> None:
    settings = loaded({"config": {"segments": {"enabled": True}}}, tmp_path)

    assert str(settings.segments.base) == "/var/lib/ares-worker/segments"


def test_forgetting_may_be_off() -> None:
    assert objects({"config": {"retention": {"forget_after": 0}}})


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"archive": {"threads": 0}}, "minimum"),
        ({"archive": {"file_mode": 640}}, "string"),
        ({"worker": {"drain_timeout": "soon"}}, "drain_timeout"),
        ({"log": {"level": "verbose"}}, "level"),
        ({"tenants": ["Acme"]}, "tenants"),
        ({"sequencer": {"pages": 5}}, "pages"),
        ({"archive": None}, "archive"),
    ],
)
def test_a_setting_the_worker_would_refuse_is_refused_by_the_schema(
    config: dict[str, Any], words: str
) -> None:
    assert words in refusal({"config": config})


def test_a_changed_setting_or_password_restarts_the_workers() -> None:
    def checksums(values: dict[str, Any]) -> dict[str, str]:
        annotations = the("Deployment", values)["spec"]["template"]["metadata"]["annotations"]
        return {name: text for name, text in annotations.items() if name.startswith("checksum/")}

    plain = checksums({})

    assert checksums({"config": {"log": {"level": "debug"}}}) != plain
    assert checksums({"redis": {"password": "one"}}) != checksums({"redis": {"password": "two"}})
    assert checksums({"podLabels": {"tier": "b"}}) == plain


@pytest.mark.parametrize(
    "redis",
    [
        {"url": f"redis://ares:{CANARY}@redis:6379/0"},
        {"url": "redis://redis:6379/0", "password": CANARY},
        {"url": "redis+sentinel://s:26379/m", "sentinelPassword": CANARY},
    ],
    ids=["url", "password", "sentinel password"],
)
def test_a_password_is_in_a_secret_and_nowhere_else(redis: dict[str, Any]) -> None:
    made = objects({"redis": redis, "prometheusRule": {"enabled": True}})

    assert {each["kind"] for each in made if CANARY in str(each)} == {"Secret"}


@by_name
def test_the_worker_finds_its_files_where_they_are_mounted(case: Path) -> None:
    for pod in pods(objects(values_of(case))):
        mounts = {mount["name"]: mount["mountPath"] for mount in pod.main["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
        sources = volumes["redis"]["projected"]["sources"]
        files = {
            f"{mounts['redis']}/{item['path']}"
            for source in sources
            for item in source["secret"].get("items", [])
        } | {f"{mounts['redis']}/{name}" for name in own_secret(case)}
        asked = {
            variable["value"]
            for variable in pod.main["env"]
            if variable["name"].startswith("ARES_REDIS_") and variable["name"].endswith("_FILE")
        }
        assert asked == files


def own_secret(case: Path) -> set[str]:
    """Keys of the Secret that the chart makes."""
    return {key for secret in of_kind("Secret", values_of(case)) for key in secret["stringData"]}


def test_mounted_secrets_follow_their_source() -> None:
    """Files mounted by subPath never change, so a restarted container would read old ones."""
    (deployment,) = [pod for pod in pods(objects()) if pod.owner.startswith("Deployment")]

    (mount,) = [each for each in deployment.main["volumeMounts"] if each["name"] == "redis"]

    assert "subPath" not in mount


def test_tls_files_are_given_to_the_worker() -> None:
    tls = {"existingSecret": "redis-tls", "certKey": "tls.crt", "keyKey": "tls.key"}
    values = {"redis": {"url": "rediss://redis:6380", "tls": tls}}
    (pod, *_) = [pod for pod in pods(objects(values)) if pod.owner.startswith("Deployment")]

    env = {each["name"]: each.get("value") for each in pod.main["env"]}

    assert env["ARES_REDIS_TLS_CA"] == "/etc/ares-worker/tls/ca.crt"
    assert env["ARES_REDIS_TLS_CERT"] == "/etc/ares-worker/tls/tls.crt"
    assert env["ARES_REDIS_TLS_KEY"] == "/etc/ares-worker/tls/tls.key"


def test_the_container_is_killed_after_the_worker_has_drained() -> None:
    spec = the("Deployment")["spec"]["template"]["spec"]

    assert spec["terminationGracePeriodSeconds"] > Settings().worker.drain_timeout.total_seconds()


def test_what_is_derived_is_up_to_date() -> None:
    """Run `python -m ops.dashboards && python helm/generate` after a change."""
    for command in (["-m", "ops.dashboards", "--check"], ["helm/generate", "--check"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_chart_and_package_have_one_version() -> None:
    import tomllib

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert chart["appVersion"] == project["version"]


def test_nothing_links_to_a_made_up_host_of_ours() -> None:
    texts = [*CHART.rglob("*"), *(ROOT / "ops").rglob("*"), *(ROOT / "docs").rglob("*")]
    made_up = "ares-worker.example"

    assert [p for p in texts if p.is_file() and made_up in p.read_text("utf-8", "replace")] == []
