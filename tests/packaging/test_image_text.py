"""Dockerfile and compose file, as far as their text tells: they fit the chart and the settings."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from support.chart import ROOT, needed, objects, pods
from worker.running.revision import revision
from worker.settings.model import Settings
from worker.settings.types import parse_duration

yaml = needed("yaml")

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
WORKERS = {name: each for name, each in COMPOSE["services"].items() if name.startswith("worker")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def instructions(name: str, text: str = DOCKERFILE) -> list[str]:
    """Arguments of every instruction of that name, continuation lines joined."""
    return re.findall(rf"^{name} (.+)$", text.replace("\\\n", " "), re.M)


def environment() -> dict[str, str]:
    """Variables the image sets."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("ENV"))))


def the_settings_file() -> dict[str, Any]:
    """The settings file that the image brings."""
    (written,) = [run for run in instructions("RUN") if "config.toml" in run]
    lines = re.findall(r"'([^']+)'", written)
    return tomllib.loads("\n".join(lines[1:]))


def test_the_image_holds_every_package_of_the_wheel_and_nothing_else() -> None:
    copied = {line.split()[0] for line in instructions("COPY") if "--from" not in line}
    packages = set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    let_through = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.M)

    assert packages | {"pyproject.toml"} == copied
    assert set(let_through) == packages | {"pyproject.toml", "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in let_through)


def test_the_build_leaves_its_revision_where_the_worker_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (install,) = [run for run in instructions("RUN") if "pip install" in run]
    (tmp_path / "worker").mkdir()
    assert revision() == "unknown"

    leave = install.partition("&&")[0]
    subprocess.run(["sh", "-c", leave], cwd=tmp_path, env={"REVISION": "3f2a"}, check=True)
    monkeypatch.setattr(resources, "files", lambda package: tmp_path / package)

    assert revision() == "3f2a"


def test_its_base_can_be_pinned_by_digest_and_has_no_floating_tag() -> None:
    assert set(instructions("FROM")) == {"${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"}
    (base,) = [line for line in instructions("ARG") if line.startswith("PYTHON_IMAGE=")]
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[123]-slim-\w+", base)


def test_it_runs_as_the_user_the_chart_names() -> None:
    context = next(pods(objects())).spec["securityContext"]

    assert instructions("USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]


def test_signals_reach_the_worker_because_no_shell_stands_between() -> None:
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["ares-worker"]
    assert json.loads(instructions("CMD")[-1]) == ["run"]


def test_no_variable_of_the_image_wins_over_a_mounted_settings_file() -> None:
    variables = environment()
    (pod, *_) = pods(objects())
    chart_sets = {each["name"]: each.get("value") for each in pod.main["env"]}

    assert [name for name in variables if name.startswith("ARES_")] == ["ARES_CONFIG"]
    assert variables["ARES_CONFIG"] == chart_sets["ARES_CONFIG"]
    assert variables["PYTHONSAFEPATH"] == "1"


def test_its_settings_file_is_right_and_archives_where_the_user_may_write() -> None:
    (install,) = [run for run in instructions("RUN") if "useradd" in run]
    settings = Settings(**the_settings_file())

    assert str(settings.archive.dir.parent) in install
    assert settings.metrics.host == "0.0.0.0"


def test_health_is_asked_on_the_port_the_worker_serves() -> None:
    port = Settings().metrics.port

    assert instructions("EXPOSE") == [str(port)]
    assert f"http://127.0.0.1:{port}/livez" in DOCKERFILE


def test_image_chart_compose_and_package_agree_on_the_version() -> None:
    version = PROJECT["project"]["version"]

    assert f"VERSION={version}" in instructions("ARG")
    assert {each["image"] for each in WORKERS.values()} == {f"ares-worker:{version}"}


def test_compose_runs_two_workers_on_one_archive_and_lets_them_drain() -> None:
    assert len(WORKERS) == 2
    for worker in WORKERS.values():
        assert worker["volumes"] == ["archive:/var/lib/ares-worker"]
        assert parse_duration(worker["stop_grace_period"]) > Settings().worker.drain_timeout
        assert worker["read_only"] is True
        assert worker["cap_drop"] == ["ALL"]
        assert worker["tmpfs"] == ["/tmp"]


def test_compose_gives_redis_what_ares_worker_needs() -> None:
    command = COMPOSE["services"]["redis"]["command"]

    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"


def test_what_compose_mounts_exists_and_what_it_listens_on_is_local() -> None:
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in volumes()
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
        assert re.search(r":v?\d+\.\d+", service["image"])


def volumes() -> set[str]:
    """Named volumes."""
    return set(COMPOSE["volumes"])


def test_prometheus_scrapes_both_workers_with_the_labels_dashboards_need() -> None:
    config = yaml.safe_load((ROOT / "compose" / "prometheus.yml").read_text("utf-8"))
    (job,) = config["scrape_configs"]
    port = Settings().metrics.port

    assert job["job_name"] == "ares-worker"
    targets = {target for each in job["static_configs"] for target in each["targets"]}
    assert targets == {f"{name}:{port}" for name in WORKERS}
    assert all({"namespace", "pod"} <= each["labels"].keys() for each in job["static_configs"])


def test_grafana_is_provisioned_with_the_dashboards_and_a_data_source() -> None:
    provisioning = ROOT / "compose" / "grafana" / "provisioning"
    (provider,) = loaded(provisioning / "dashboards" / "ares.yaml")["providers"]
    (source,) = loaded(provisioning / "datasources" / "prometheus.yaml")["datasources"]
    mounts = dict(volume.split(":")[:2] for volume in COMPOSE["services"]["grafana"]["volumes"])

    assert mounts["./ops/dashboards"] == provider["options"]["path"]
    assert mounts["./compose/grafana/provisioning"] == "/etc/grafana/provisioning"
    assert source["url"] == "http://prometheus:9090"
    assert source["type"] == "prometheus"


def loaded(path: Path) -> dict[str, Any]:
    """A YAML file."""
    content: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content
