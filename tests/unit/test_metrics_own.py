"""What one process counts: every series at 0 from the start, none born of data."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from ops.metrics import Metrics
from ops.metrics_shared import SharedGauges

CLOSED = {
    "ares_events_appended_total": ("door", {"sdk", "inbox"}),
    "ares_append_rejections_total": (
        "reason",
        {"invalid", "too_large", "corrupt_stream", "unknown_outcome"},
    ),
    "ares_events_dead_lettered_total": (
        "reason",
        {"schema", "encoding", "too_large", "limits", "poison"},
    ),
    "ares_events_lost_total": ("reason", {"trimmed_unread", "foreign_delete", "failover"}),
    "ares_rounds_archived_total": ("outcome", {"completed", "failed", "unfinished"}),
    "ares_archive_errors_total": (
        "reason",
        {"no_space", "permission", "read_only", "stale_handle", "conflict", "io"},
    ),
    "ares_compaction_runs_total": ("result", {"compacted", "relief", "conflict", "error"}),
    "ares_segment_refusals_total": ("reason", {"busy", "full", "denied", "corrupt", "invalid"}),
    "ares_redis_errors_total": (
        "kind",
        {"connection", "timeout", "loading", "read_only", "oom", "auth", "cluster", "other"},
    ),
    "ares_redis_command_seconds_count": (
        "command",
        {"commit", "read_inbox", "read_feed", "read_log", "ack", "other"},
    ),
    "ares_lease_changes_total": ("change", {"acquired", "lost", "released"}),
    "ares_lease_held": ("lease", {"sequencer"}),
    "ares_worker_state": ("state", {"starting", "running", "degraded", "draining"}),
}
PLAIN = {
    "ares_append_commits_total",
    "ares_append_conflicts_total",
    "ares_append_seconds_count",
    "ares_events_sequenced_total",
    "ares_events_deduplicated_total",
    "ares_sequence_delay_seconds_count",
    "ares_feed_claimed_total",
    "ares_events_archived_total",
    "ares_archive_written_bytes_total",
    "ares_archive_write_seconds_count",
    "ares_round_archive_delay_seconds_count",
    "ares_compaction_seconds_count",
    "ares_events_compacted_total",
    "ares_summarizer_failures_total",
    "ares_segments_sealed_total",
    "ares_redis_up",
    "ares_redis_reconnects_total",
    "ares_event_loop_delay_seconds_count",
    "ares_inflight_events",
}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="1.2.3", revision="abc1234")


def samples(metrics: Metrics) -> dict[tuple[str, str], float]:
    """(name, labels as they stand in the text) → value."""
    lines = [line for line in metrics.exposition().decode().splitlines() if line[0] != "#"]
    found = [re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line) for line in lines]
    return {(match[1], match[2] or ""): float(match[3]) for match in found if match}


def test_every_known_label_value_is_there_at_zero_before_anything_happened(metrics):
    found = samples(metrics)

    for name, (label, values) in CLOSED.items():
        of_name = {labels: value for (metric, labels), value in found.items() if metric == name}
        told = {re.search(rf'{label}="(\w+)"', labels)[1] for labels in of_name}
        assert told == values, name
        if name != "ares_worker_state":
            assert set(of_name.values()) == {0.0}, name


def test_every_metric_without_labels_is_there_at_zero_before_anything_happened(metrics):
    found = samples(metrics)

    assert {name: found[name, ""] for name in PLAIN} == dict.fromkeys(PLAIN, 0.0)


def test_no_other_metric_of_ours_exists(metrics):
    ours = {name for name, _ in samples(metrics) if name.startswith("ares_")}
    ours = {name for name in ours if not name.endswith(("_bucket", "_sum"))}

    assert ours == PLAIN | CLOSED.keys() | {"ares_build_info"}


def test_no_series_of_creation_times_is_exported_and_no_global_switch_is_turned(metrics):
    metrics.appends.committed(1, seconds=0.001)

    assert b"_created" not in metrics.exposition()
    from prometheus_client import metrics as library

    assert library._use_created


def test_build_info_says_version_revision_and_python(metrics):
    version = ".".join(map(str, sys.version_info[:3]))

    labels = f'python_version="{version}",revision="abc1234",version="1.2.3"'

    assert samples(metrics)["ares_build_info", labels] == 1.0


def test_every_method_moves_the_series_it_names(metrics):
    metrics.appends.committed(3, seconds=0.002)
    metrics.appends.announced(8)
    metrics.appends.overtaken(2)
    metrics.appends.rejected("too_large")
    metrics.sequencer.sequenced(5, deduplicated=2)
    metrics.sequencer.dead_lettered("schema", 4)
    metrics.sequencer.lost("failover", 6)
    metrics.sequencer.delayed(0.2)
    metrics.archive.claimed(7)
    metrics.archive.archived("failed", events=20, written_bytes=1500, write_seconds=0.003)
    metrics.archive.delayed(0.5)
    metrics.archive.failed("no_space")
    metrics.compaction.ran("relief", events=400, seconds=0.1)
    metrics.compaction.summarizer_failed()
    metrics.segments.sealed()
    metrics.segments.refused("busy")
    metrics.redis.up(True)
    metrics.redis.failed("oom")
    metrics.redis.reconnected()
    metrics.redis.took("commit", 0.004)
    metrics.leases.acquired("sequencer", "default")
    metrics.process.state("running")
    metrics.process.loop_delayed(0.01)
    metrics.process.inflight(lambda: 12)

    moved = {
        (name, labels): value
        for (name, labels), value in samples(metrics).items()
        if value and name.startswith("ares_") and not name.endswith(("_bucket", "_sum"))
    }
    del moved[next(key for key in moved if key[0] == "ares_build_info")]
    assert moved == {
        ("ares_events_appended_total", 'door="inbox"'): 3,
        ("ares_events_appended_total", 'door="sdk"'): 8,
        ("ares_append_commits_total", ""): 1,
        ("ares_append_seconds_count", ""): 1,
        ("ares_append_conflicts_total", ""): 2,
        ("ares_append_rejections_total", 'reason="too_large"'): 1,
        ("ares_events_sequenced_total", ""): 5,
        ("ares_events_deduplicated_total", ""): 2,
        ("ares_events_dead_lettered_total", 'reason="schema"'): 4,
        ("ares_events_lost_total", 'reason="failover"'): 6,
        ("ares_sequence_delay_seconds_count", ""): 1,
        ("ares_feed_claimed_total", ""): 7,
        ("ares_rounds_archived_total", 'outcome="failed"'): 1,
        ("ares_events_archived_total", ""): 20,
        ("ares_archive_written_bytes_total", ""): 1500,
        ("ares_archive_write_seconds_count", ""): 1,
        ("ares_round_archive_delay_seconds_count", ""): 1,
        ("ares_archive_errors_total", 'reason="no_space"'): 1,
        ("ares_compaction_runs_total", 'result="relief"'): 1,
        ("ares_compaction_seconds_count", ""): 1,
        ("ares_events_compacted_total", ""): 400,
        ("ares_summarizer_failures_total", ""): 1,
        ("ares_segments_sealed_total", ""): 1,
        ("ares_segment_refusals_total", 'reason="busy"'): 1,
        ("ares_redis_up", ""): 1,
        ("ares_redis_errors_total", 'kind="oom"'): 1,
        ("ares_redis_reconnects_total", ""): 1,
        ("ares_redis_command_seconds_count", 'command="commit"'): 1,
        ("ares_lease_held", 'lease="sequencer"'): 1,
        ("ares_lease_changes_total", 'change="acquired",lease="sequencer"'): 1,
        ("ares_worker_state", 'state="running"'): 1,
        ("ares_event_loop_delay_seconds_count", ""): 1,
        ("ares_inflight_events", ""): 12,
    }


def test_a_thousand_unknown_reasons_make_one_series(metrics):
    """A bug elsewhere must not grow the memory of every Prometheus."""
    for number in range(1_000):
        metrics.sequencer.dead_lettered(f"reason {number}")
        metrics.redis.took(f"command {number}", 0.1)

    found = samples(metrics)
    assert found["ares_events_dead_lettered_total", 'reason="other"'] == 1_000
    assert len([key for key in found if key[0] == "ares_events_dead_lettered_total"]) == 6
    assert len([key for key in found if key[0] == "ares_redis_command_seconds_count"]) == 6


def test_clocks_that_disagree_make_no_negative_times(metrics):
    metrics.sequencer.delayed(-5.0)
    metrics.archive.delayed(-1.0)

    assert samples(metrics)["ares_sequence_delay_seconds_sum", ""] == 0.0
    assert samples(metrics)["ares_round_archive_delay_seconds_sum", ""] == 0.0


def test_leases_are_counted_over_tenants_and_told_once(metrics):
    metrics.leases.acquired("sequencer", "a")
    metrics.leases.acquired("sequencer", "a")
    metrics.leases.acquired("sequencer", "b")
    metrics.leases.lost("sequencer", "a")
    metrics.leases.released("sequencer", "never held")

    found = samples(metrics)
    assert found["ares_lease_held", 'lease="sequencer"'] == 1
    assert found["ares_lease_changes_total", 'change="acquired",lease="sequencer"'] == 2
    assert found["ares_lease_changes_total", 'change="lost",lease="sequencer"'] == 1
    assert found["ares_lease_changes_total", 'change="released",lease="sequencer"'] == 0


def test_a_worker_is_in_one_state_at_a_time(metrics):
    for state in ("starting", "running", "degraded", "draining"):
        metrics.process.state(state)

        found = samples(metrics)
        states = {labels: found[name, labels] for name, labels in found if name.endswith("_state")}
        assert states.pop(f'state="{state}"') == 1.0
        assert set(states.values()) == {0.0}


def test_two_workers_in_one_process_share_no_number():
    first, second = Metrics(version="1"), Metrics(version="1")

    first.redis.reconnected()

    assert samples(second)["ares_redis_reconnects_total", ""] == 0.0


def test_a_worker_exports_at_most_400_series(metrics):
    metrics.share(SharedGauges())

    assert len(samples(metrics)) <= 400


def test_importing_registers_nothing_with_the_library():
    code = (
        "import prometheus_client as p; before = set(p.REGISTRY._names_to_collectors);"
        "import ops.metrics, ops.metrics_shared, ops.serve;"
        "print(set(p.REGISTRY._names_to_collectors) - before)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "set()\n"


def test_promtool_has_no_remark(metrics):
    if not (promtool := shutil.which("promtool")):
        if os.environ.get("CI"):
            pytest.fail("promtool is not installed, and CI must not skip it")
        pytest.skip("promtool is not installed")

    said = subprocess.run(
        [promtool, "check", "metrics"], input=metrics.exposition(), capture_output=True, check=False
    )

    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")
