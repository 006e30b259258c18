"""Services, monitors and policies of the chart: they find the pods they mean."""

from __future__ import annotations

from typing import Any

import pytest

from support.chart import CASES, objects, pods, selects, the, values_of

MONITORED = {"metrics": {"serviceMonitor": {"enabled": True}}}


def worker_labels(values: dict[str, Any] | None = None) -> dict[str, str]:
    """Labels of the workers' pods."""
    return dict(the("Deployment", values)["spec"]["template"]["metadata"]["labels"])


def test_the_metrics_service_takes_workers_only_ready_or_not() -> None:
    made = objects()
    (service,) = [each["spec"] for each in made if each["kind"] == "Service"]

    taken = [pod.owner for pod in pods(made) if selects(service["selector"], pod.labels)]

    assert taken == ["Deployment rel-ares-worker"]
    assert service["publishNotReadyAddresses"] is True
    assert service["clusterIP"] == "None"
    assert service["ports"][0]["targetPort"] == "metrics"


def test_the_service_monitor_takes_the_service_and_calls_the_job_by_the_charts_name() -> None:
    """Rules and dashboards look for that job."""
    made = objects(MONITORED)
    (monitor,) = [each["spec"] for each in made if each["kind"] == "ServiceMonitor"]
    (service,) = [each for each in made if each["kind"] == "Service"]

    labels = service["metadata"]["labels"]
    assert selects(monitor["selector"]["matchLabels"], labels)
    assert labels[monitor["jobLabel"]] == "ares-worker"
    assert monitor["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    assert monitor["namespaceSelector"] == {"matchNames": ["ns"]}


def test_the_pod_monitor_takes_the_workers() -> None:
    values = {"metrics": {"podMonitor": {"enabled": True}}}
    monitor = the("PodMonitor", values)["spec"]
    labels = worker_labels(values)

    assert selects(monitor["selector"]["matchLabels"], labels)
    assert labels[monitor["jobLabel"]] == "ares-worker"
    assert monitor["podMetricsEndpoints"][0]["port"] == "metrics"


def test_a_changed_port_is_changed_everywhere() -> None:
    values = {"config": {"metrics": {"port": 8080}}}
    made = objects(values)
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    (service,) = [each for each in made if each["kind"] == "Service"]
    (policy,) = [each for each in made if each["kind"] == "NetworkPolicy"]

    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["ports"][0]["containerPort"] == 8080
    assert service["spec"]["ports"][0]["port"] == 8080
    assert policy["spec"]["ingress"][0]["ports"][0]["port"] == 8080


def test_the_policy_covers_every_pod_of_the_release() -> None:
    made = objects()
    (policy,) = [each["spec"] for each in made if each["kind"] == "NetworkPolicy"]

    left_out = [
        pod.owner
        for pod in pods(made)
        if not selects(policy["podSelector"]["matchLabels"], pod.labels)
    ]

    assert left_out == []
    assert policy["policyTypes"] == ["Ingress", "Egress"]


@pytest.mark.parametrize(
    ("url", "ports"),
    [
        ("redis://redis", [6379]),
        ("rediss://redis.example.com:6380/0", [6380]),
        ("redis://user:p%40ss:w@redis:7000/0?x=1", [7000]),
        ("redis+cluster://a:7001,b:7002,c:7001", [7001, 7002]),
        ("redis+sentinel://s1,s2:26380/mymaster", [26379, 26380, 6379]),
        ("redis://[fd00::1]:6381/0", [6381]),
    ],
)
def test_the_policy_lets_redis_ports_out(url: str, ports: list[int]) -> None:
    policy = the("NetworkPolicy", {"redis": {"url": url}})["spec"]

    dns, redis = policy["egress"]

    assert {(port["port"], port["protocol"]) for port in dns["ports"]} == {(53, "UDP"), (53, "TCP")}
    assert [port["port"] for port in redis["ports"]] == ports


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_every_object_says_where_it_lives_and_what_it_belongs_to(case: Any) -> None:
    for each in objects(values_of(case)):
        assert each["metadata"]["namespace"] == "ns"
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == "rel"
