"""The alert rules: promtool's verdict, what they look at, and what the values change."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from support.chart import CHART, ROOT, merged, needed, program, the, values_of
from support.promql import exposition, metrics_of, parsed, series_types, summed_shared
from worker.cli import cli

yaml = needed("yaml")
needed("promql_parser")

PLAIN = ROOT / "ops" / "alerts" / "ares-worker.yaml"
RUNBOOK = ROOT / "docs" / "runbook.md"
OPERATIONS = ROOT / "docs" / "operations.md"
UNIT_TESTS = sorted((CHART / "rules" / "tests").glob("*.yaml"))
SEVERITIES = {
    "critical": {
        "AresWorkersDown",
        "AresRedisUnreachable",
        "AresSequencerUnheld",
        "AresSequencingStalled",
        "AresArchiveFailing",
        "AresArchiveConflict",
    },
    "warning": {
        "AresFeedLagGrowing",
        "AresFeedPendingStuck",
        "AresCompactionLagHigh",
        "AresArchiveVolumeFilling",
        "AresDeadLetters",
        "AresSubscribersDropping",
        "AresEventsLost",
        "AresVerifyStale",
        "AresVerifyFindings",
    },
    "info": {"AresAppendConflictsHigh"},
}
ON = {"prometheusRule": {"enabled": True}}

Rule = dict[str, Any]


def groups(**settings: Any) -> list[dict[str, Any]]:
    """Groups of the PrometheusRule with these values under prometheusRule."""
    made = the("PrometheusRule", merged(ON, {"prometheusRule": settings}))
    found: list[dict[str, Any]] = made["spec"]["groups"]
    return found


def alerts(**settings: Any) -> dict[str, Rule]:
    """Alert → rule."""
    rules = [rule for group in groups(**settings) for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


RULES = alerts()
by_alert = pytest.mark.parametrize("name", sorted(RULES))


def promtool(*arguments: str, cwd: Path) -> None:
    """Run promtool; its complaint fails the test."""
    done = subprocess.run(
        [program("promtool"), *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """A folder with rules.yaml as Prometheus would load it."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}, width=1000))
    return tmp_path


def test_promtool_finds_no_fault(rendered: Path) -> None:
    shutil.copy(PLAIN, rendered / "plain.yaml")

    promtool(
        "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", "plain.yaml", cwd=rendered
    )


@pytest.mark.parametrize("unit_test", UNIT_TESTS, ids=lambda path: path.stem)
def test_alerts_fire_and_stay_silent_as_they_should(unit_test: Path, rendered: Path) -> None:
    shutil.copy(unit_test, rendered)

    promtool("test", "rules", unit_test.name, cwd=rendered)


def test_the_alerts_and_their_severities_are_these() -> None:
    found: dict[str, set[str]] = {}
    for name, rule in RULES.items():
        found.setdefault(rule["labels"]["severity"], set()).add(name)

    assert found == SEVERITIES


@by_alert
def test_each_alert_has_a_case_that_fires_it_and_one_that_does_not(name: str) -> None:
    cases = [case for path in UNIT_TESTS for case in yaml.safe_load(path.read_text())["tests"]]
    fired = [each for case in cases for each in case.get("alert_rule_test", [])]
    asked = [each for case in cases for each in case.get("promql_expr_test", [])]

    assert any(each["alertname"] == name and each["exp_alerts"] for each in fired)
    about = [each for each in asked if f'"{name}"' in each["expr"]]
    assert any(each["exp_samples"] == [] for each in about)


@by_alert
def test_each_alert_reads_only_what_workers_export(name: str) -> None:
    known = series_types(exposition()).keys() | {"up"}

    assert metrics_of(RULES[name]["expr"]) <= known


@by_alert
def test_each_alert_keeps_namespace_and_job_and_looks_at_this_release_only(name: str) -> None:
    expression = RULES[name]["expr"]

    selectors = re.findall(r"\{([^{}]*)\}", expression)
    assert selectors
    assert all('job="ares-worker",namespace="ns"' in selector for selector in selectors)
    assert all("namespace, job" in each for each in re.findall(r"by \(([^)]*)\)", expression))


@by_alert
def test_no_alert_adds_up_what_every_worker_exports(name: str) -> None:
    assert summed_shared(RULES[name]["expr"]) == set()


@by_alert
def test_each_alert_tells_what_it_is_and_where_to_look(name: str) -> None:
    notes = RULES[name]["annotations"]

    assert "$" not in notes["summary"], "alerts are grouped by it"
    assert "Look first at" in notes["description"]
    assert notes["runbook_url"].endswith(f"#{name.lower()}")


@by_alert
def test_each_alert_has_a_section_of_the_runbook(name: str) -> None:
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", RUNBOOK.read_text("utf-8"), re.M | re.S)

    assert section, f"no section {name}"
    for part in ("Meaning", "Effect", "Look", "Do"):
        assert f"**{part}.**" in section[1], part


@pytest.mark.parametrize("page", [RUNBOOK, OPERATIONS, CHART / "rules" / "alerts.yaml"])
def test_every_command_a_person_is_told_to_run_exists(page: Path) -> None:
    told = re.findall(
        r"`ares-worker ([a-z]+)(?: ([a-z]+)\b)?", " ".join(page.read_text("utf-8").split())
    )
    assert told
    for command, inner in told:
        found = cli.get_command(click.Context(cli), command)
        assert found, command
        if isinstance(found, click.Group):
            assert found.get_command(click.Context(found), inner), f"{command} {inner}"


def test_the_runbook_has_no_section_of_a_gone_alert() -> None:
    sections = re.findall(r"^## (Ares\w+)$", RUNBOOK.read_text("utf-8"), re.M)

    assert set(sections) == RULES.keys()


def test_the_plain_rules_are_the_charts_but_for_the_selector() -> None:
    plain = yaml.safe_load(PLAIN.read_text("utf-8"))["groups"]

    assert plain == groups(selector='job="ares-worker"')


def test_every_threshold_moves_a_rule() -> None:
    thresholds = yaml.safe_load((CHART / "values.yaml").read_text())["prometheusRule"]["thresholds"]
    before = {name: rule["expr"] for name, rule in RULES.items()}

    for name, value in thresholds.items():
        moved = alerts(thresholds={name: 0.375 if isinstance(value, float) else 7654321})
        changed = [rule["expr"] for each, rule in moved.items() if rule["expr"] != before[each]]
        assert len(changed) == 1, name
        assert "0.375" in changed[0] or "7654321" in changed[0]
        parsed(changed[0])


def test_no_placeholder_is_left() -> None:
    assert "${" not in str(groups())


def test_an_alert_can_be_changed_and_switched_off() -> None:
    changed = alerts(
        overrides={
            "AresWorkersDown": {"severity": "warning", "for": "10m", "labels": {"page": "no"}},
            "AresDeadLetters": {"enabled": False},
            "AresEventsLost": {"annotations": {"summary": "Other words."}},
        }
    )

    assert changed["AresWorkersDown"]["for"] == "10m"
    assert changed["AresWorkersDown"]["labels"] == {"severity": "warning", "page": "no"}
    assert "AresDeadLetters" not in changed
    assert changed["AresEventsLost"]["annotations"]["summary"] == "Other words."
    assert changed["AresEventsLost"]["annotations"]["runbook_url"]


def test_labels_of_ones_own_are_on_every_alert() -> None:
    rules = alerts(alertLabels={"team": "agents"})

    assert {rule["labels"]["team"] for rule in rules.values()} == {"agents"}


def test_groups_of_ones_own_are_added_and_templated() -> None:
    own = values_of(CHART / "ci" / "full-values.yaml")["prometheusRule"]["additionalGroups"]

    last = groups(additionalGroups=own)[-1]

    assert last["rules"][0]["expr"].endswith('{namespace="ns"})')
