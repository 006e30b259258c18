"""A real Prometheus that scrapes real workers every second and evaluates our rules."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from .chart import needed, program
from .redis_server import die_with_parent, free_port
from .waiting import eventually_sync

JOB = "ares-worker"
NAMESPACE = "ns"


class Prometheus:
    """Use as a context manager; targets are pod name → port."""

    def __init__(
        self, folder: Path, targets: Mapping[str, int], groups: Sequence[Mapping[str, Any]]
    ) -> None:
        self._folder = folder
        self._port = free_port()
        yaml = needed("yaml")
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": list(groups)}, width=1000))
        scraped = [
            {
                "targets": [f"127.0.0.1:{port}"],
                "labels": {"namespace": NAMESPACE, "pod": pod},
            }
            for pod, port in targets.items()
        ]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": JOB, "static_configs": scraped}],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    def __enter__(self) -> Self:
        with (self._folder / "prometheus.log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    program("prometheus"),
                    f"--config.file={self._folder}/prometheus.yml",
                    f"--storage.tsdb.path={self._folder}/tsdb",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                    "--log.level=error",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
            )
        eventually_sync(self._ready, 30, hint="Prometheus is ready")
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(20)

    def query(self, query: str) -> list[dict[str, Any]]:
        """Result of an instant query; an error of Prometheus fails the test with its words."""
        try:
            found: list[dict[str, Any]] = self._get("query", query=query)["result"]
        except urllib.error.HTTPError as refusal:
            raise AssertionError(f"{query}: {refusal.read().decode()}") from None
        return found

    def label_values(self, label: str, series: str) -> list[str]:
        """Values of a label of these series."""
        found: list[str] = self._get(f"label/{label}/values", **{"match[]": series})
        return found

    def alert_states(self) -> dict[str, str]:
        """Alert → inactive, pending or firing; a rule that can't be evaluated fails the test."""
        states = {}
        for group in self._get("rules")["groups"]:
            for rule in group["rules"]:
                assert rule["health"] in ("ok", "unknown"), rule
                states[rule["name"]] = rule.get("state", "")
        return states

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=2):
                return True
        except OSError:
            return False

    def _get(self, path: str, **query: str) -> Any:
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}{asked}"
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.load(reply)["data"]
