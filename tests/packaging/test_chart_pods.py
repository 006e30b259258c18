"""The pods the chart makes, as a strict cluster and a scheduler look at them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.chart import CASES, Pod, objects, of_kind, pods, selects, the, values_of

by_name = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
ONE_NODE = {"replicas": 1, "persistence": {"accessModes": ["ReadWriteOnce"]}}


def worker(values: dict[str, Any] | None = None) -> Pod:
    """The pod of the Deployment."""
    (found,) = [pod for pod in pods(objects(values)) if pod.owner.startswith("Deployment")]
    return found


@by_name
def test_every_pod_fits_pod_security_restricted(case: Path) -> None:
    for pod in pods(objects(values_of(case))):
        assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys()
        for container in pod.containers:
            context = container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


@by_name
def test_no_pod_can_speak_to_the_api_server_or_sees_other_services(case: Path) -> None:
    """A Service called ares-… would become an ARES_… variable, which the worker refuses."""
    made = objects(values_of(case))

    for pod in pods(made):
        assert pod.spec["automountServiceAccountToken"] is False
        assert pod.spec["enableServiceLinks"] is False
    assert not [each for each in made if "Role" in each["kind"]]


@by_name
def test_every_container_has_requests_and_a_memory_limit_and_no_cpu_limit(case: Path) -> None:
    for pod in pods(objects(values_of(case))):
        for container in pod.containers:
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert container["resources"]["limits"].keys() == {"memory"}


@by_name
def test_what_is_mounted_exists_and_what_exists_is_mounted(case: Path) -> None:
    for pod in pods(objects(values_of(case))):
        volumes = [volume["name"] for volume in pod.spec["volumes"]]
        mounts = [mount for each in pod.containers for mount in each.get("volumeMounts", [])]
        assert len(set(volumes)) == len(volumes)
        assert {mount["name"] for mount in mounts} == set(volumes)
        paths = [mount["mountPath"] for mount in pod.main["volumeMounts"]]
        assert len(set(paths)) == len(paths)
        assert "/tmp" in paths


@by_name
def test_the_worker_is_selected_by_labels_no_upgrade_changes(case: Path) -> None:
    made = objects(values_of(case))
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    selector = deployment["spec"]["selector"]["matchLabels"]

    assert selector == {
        "app.kubernetes.io/name": "ares-worker",
        "app.kubernetes.io/instance": "rel",
        "app.kubernetes.io/component": "worker",
    }
    taken = [pod.owner for pod in pods(made) if selects(selector, pod.labels)]
    assert taken == [f"Deployment {deployment['metadata']['name']}"]


def test_overrides_and_labels_change_neither_selectors_nor_the_claim() -> None:
    plain = objects()
    named = objects(
        {"nameOverride": "x", "commonLabels": {"team": "a"}, "podLabels": {"tier": "b"}}
    )

    for kind in ("Deployment", "PodDisruptionBudget"):
        (before,) = [each["spec"]["selector"] for each in plain if each["kind"] == kind]
        (after,) = [each["spec"]["selector"] for each in named if each["kind"] == kind]
        assert before == after
    claims = {each["metadata"]["name"] for each in [*plain, *named] if "Claim" in each["kind"]}
    assert claims == {"rel-ares-worker-archive"}


def test_a_new_chart_version_alone_restarts_no_worker() -> None:
    assert "helm.sh/chart" not in worker().labels


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ({}, 2),
        ({"replicas": 0}, 0),
        ({"autoscaling": {"enabled": True}}, None),
        ({"keda": {"enabled": True, "prometheus": {"serverAddress": "http://p:9090"}}}, None),
    ],
)
def test_replicas_are_left_to_an_autoscaler(values: dict[str, Any], replicas: int | None) -> None:
    """Two owners of one field: each upgrade would reset the scale."""
    assert the("Deployment", values)["spec"].get("replicas") == replicas


def test_keda_asks_for_the_largest_lag_and_not_for_a_sum_over_workers() -> None:
    values = {"keda": {"enabled": True, "prometheus": {"serverAddress": "http://p:9090"}}}

    (trigger,) = the("ScaledObject", values)["spec"]["triggers"]

    assert trigger["metadata"] == {
        "serverAddress": "http://p:9090",
        "query": 'max(max_over_time(ares_feed_lag_entries{job="ares-worker",namespace="ns"}[2m]))',
        "threshold": "5000",
    }


def test_a_rollout_never_takes_a_worker_away_first() -> None:
    strategy = the("Deployment")["spec"]["strategy"]

    assert strategy == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }


def test_a_volume_of_one_node_means_recreate_and_neighbours() -> None:
    made = objects(ONE_NODE)
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    beside = [pod for pod in pods(made) if not pod.owner.startswith("Deployment")]

    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert len(beside) == 2
    for pod in beside:
        rules = pod.spec["affinity"]["podAffinity"]
        (rule,) = rules["requiredDuringSchedulingIgnoredDuringExecution"]
        assert rule["topologyKey"] == "kubernetes.io/hostname"
        assert rule["labelSelector"] == deployment["spec"]["selector"]


def test_the_claim_survives_uninstall_unless_told_otherwise() -> None:
    kept = the("PersistentVolumeClaim")
    loose = the("PersistentVolumeClaim", {"persistence": {"keep": False}})

    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert "annotations" not in loose["metadata"]
    assert kept["spec"]["accessModes"] == ["ReadWriteMany"]


@pytest.mark.parametrize(
    ("written", "rendered"), [("", None), ("-", ""), ("nfs", "nfs")], ids=["default", "none", "nfs"]
)
def test_the_storage_class_can_be_the_default_none_or_named(
    written: str, rendered: str | None
) -> None:
    claim = the("PersistentVolumeClaim", {"persistence": {"storageClass": written}})

    assert claim["spec"].get("storageClassName") == rendered


def test_a_start_does_not_chown_the_whole_archive() -> None:
    assert worker().spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"


def test_liveness_asks_for_less_than_readiness_and_waits_long_enough() -> None:
    """Liveness that asks Redis restarts every worker in an outage."""
    main = worker().main

    assert main["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert main["startupProbe"]["httpGet"]["path"] == "/livez"
    assert main["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert all(main[probe]["timeoutSeconds"] >= 3 for probe in ("livenessProbe", "readinessProbe"))
    ports = {port["name"] for port in main["ports"]}
    assert main["livenessProbe"]["httpGet"]["port"] in ports


def test_spread_constraints_select_the_workers() -> None:
    pod = worker()
    constraints = pod.spec["topologySpreadConstraints"]

    assert {each["topologyKey"] for each in constraints} == {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    }
    assert all(selects(each["labelSelector"]["matchLabels"], pod.labels) for each in constraints)


def test_a_drain_takes_one_worker_and_no_sick_one_blocks_it() -> None:
    budget = the("PodDisruptionBudget")["spec"]

    assert budget["maxUnavailable"] == 1
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert selects(budget["selector"]["matchLabels"], worker().labels)


@by_name
def test_images_are_pinned_by_tag_or_digest(case: Path) -> None:
    for pod in pods(objects(values_of(case))):
        for container in pod.containers:
            name = container["image"].rpartition("/")[2]
            assert re.search(r"[:@]", name)
            assert not name.endswith(":latest")


def test_verify_runs_one_at_a_time_reads_only_and_does_not_repeat_a_finding() -> None:
    job = the("CronJob")["spec"]
    spec = job["jobTemplate"]["spec"]
    container = spec["template"]["spec"]["containers"][0]

    assert job["concurrencyPolicy"] == "Forbid"
    assert spec["activeDeadlineSeconds"] > 0
    assert container["args"] == ["verify"]
    (archive,) = [mount for mount in container["volumeMounts"] if mount["name"] == "archive"]
    assert archive["readOnly"] is True
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert 1 in rule["onExitCodes"]["values"]
    assert rule["onExitCodes"]["containerName"] == container["name"]


def test_the_test_pod_runs_the_doctor_on_the_workers_volume_and_redis() -> None:
    (pod,) = [pod for pod in pods(objects()) if pod.owner.startswith("Pod")]
    (hook,) = of_kind("Pod")

    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert pod.main["args"] == ["doctor"]
    assert pod.main["env"] == worker().main["env"]
    assert pod.spec["volumes"] == worker().spec["volumes"]
