"""Pure. What workers stand on: Redis, leases, the process."""

from __future__ import annotations

from typing import Final

from .board import cell, row
from .panels import BLUE, CLEAR, GREEN, GREY, RED, YELLOW, Panel, timeline, timeseries
from .query import SEQUENCER, own, quantile, rate

_STATES: Final = {
    "1": ("starting", BLUE),
    "2": ("running", GREEN),
    "3": ("degraded", YELLOW),
    "4": ("draining", GREY),
}


def _state_number() -> str:
    """The state as one number for each pod, a key of `_STATES`."""
    parts = []
    for number, (state, _) in _STATES.items():
        matcher = f'state="{state}"'
        parts.append(f"{number} * sum by (pod) ({own('ares_worker_state', matcher)})")
    return " + ".join(parts)


def _by_pod(title: str, query: str, *, unit: str, about: str) -> Panel:
    return timeseries(title, [(f"sum by (pod) ({query})", "{{pod}}")], unit=unit, about=about)


REDIS: Final = row(
    "Redis and leases",
    cell(
        timeline(
            "Who sequences",
            (f"max by (pod) ({own('ares_lease_held', SEQUENCER)})", "{{pod}}"),
            unit="none",
            about="Sequencer leases each worker holds. One tenant has one holder; a hand-over "
            "takes seconds. Gaps in all lines: AresSequencerUnheld.",
            words={"0": ("", CLEAR)},
        ),
        width=12,
    ),
    cell(
        timeline(
            "Redis reachable",
            (f"max by (pod) ({own('ares_redis_up')})", "{{pod}}"),
            unit="none",
            about="Each worker's own view. One alone that is down: its network; all: Redis.",
            words={"0": ("down", RED), "1": ("up", GREEN)},
        ),
        width=12,
    ),
    cell(
        timeseries(
            "Time of a command, p99",
            [(quantile(0.99, "ares_redis_command_seconds", "command"), "{{command}}")],
            unit="s",
            about="Calls to Redis by kind, blocking waits left out. Normal: single milliseconds.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Errors by kind",
            [(rate("ares_redis_errors_total", "kind"), "{{kind}}")],
            unit="ops",
            about="Failed calls. oom: maxmemory is reached; read_only: a failover; loading: Redis "
            "starts; auth: password or ACL.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Reconnects",
            [(rate("ares_redis_reconnects_total", "pod"), "{{pod}}")],
            unit="ops",
            about="Lost connections opened again.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Lease changes",
            [(rate("ares_lease_changes_total", "change"), "{{change}}")],
            unit="ops",
            about="lost: a worker was too slow to renew, or Redis was away. Normal: on rollouts.",
            colors={"lost": RED, "acquired": GREEN, "released": GREY},
        ),
        width=6,
    ),
)

PROCESS: Final = row(
    "Process",
    cell(
        timeline(
            "State",
            (_state_number(), "{{pod}}"),
            unit="none",
            about="degraded: it runs and can't work, `/readyz` names the reason.",
            words=_STATES,
        ),
        width=12,
    ),
    cell(
        timeseries(
            "Event loop delay, p99",
            [(quantile(0.99, "ares_event_loop_delay_seconds", "pod"), "{{pod}}")],
            unit="s",
            about="How late timers run. Above a second: something blocks, or the CPU is throttled; "
            "above 10 s `/livez` fails.",
        ),
        width=12,
    ),
    cell(
        _by_pod(
            "Events in hand",
            own("ares_inflight_events"),
            unit="none",
            about="Being worked on right now.",
        ),
        width=6,
    ),
    cell(
        _by_pod(
            "CPU",
            f"rate({own('process_cpu_seconds_total')}[$__rate_interval])",
            unit="none",
            about="Cores used. One is the most a worker's event loop can use.",
        ),
        width=6,
    ),
    cell(
        _by_pod(
            "Memory",
            own("process_resident_memory_bytes"),
            unit="bytes",
            about="Resident memory. The limit kills: leave a third free.",
        ),
        width=6,
    ),
    cell(
        _by_pod(
            "Open files",
            own("process_open_fds"),
            unit="none",
            about="Descriptors: connections and files.",
        ),
        width=6,
    ),
)
