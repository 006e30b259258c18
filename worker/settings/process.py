"""Pure. Settings of the process: its rhythm, its port, its logs, and sealed segments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .types import Count, Duration, FunctionName, Location, Section, parse_duration


class WorkerSettings(Section):
    """The process itself."""

    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_.:-]{1,128}$",
        description="Name in leases and groups; host name, process id and a random part otherwise.",
    )
    drain_timeout: Duration = Field(
        default=parse_duration("25s"),
        ge=parse_duration(1),
        le=parse_duration("1h"),
        description="Time to finish current work after SIGTERM; not below `redis.block_ms`.",
    )
    backoff_min_ms: Count = Field(
        default=100, ge=1, le=60_000, description="First pause after a failure, ms, jittered."
    )
    backoff_max_ms: Count = Field(
        default=10_000, ge=10, le=600_000, description="Longest pause after repeated failures, ms."
    )
    scan_interval: Duration = Field(
        default=parse_duration("60s"),
        ge=parse_duration(1),
        le=parse_duration("1d"),
        description="Rhythm of the slow scan for streams that nothing announced.",
    )


class MetricsSettings(Section):
    """`/metrics`, `/livez` and `/readyz`, on one port."""

    host: str = Field(
        default="127.0.0.1", min_length=1, description="Address to listen on; `0.0.0.0` for all."
    )
    port: Count = Field(
        default=9095, ge=0, le=65_535, description="Port; 0 takes a free one and logs which."
    )
    stall_after: Duration = Field(
        default=parse_duration("10s"),
        ge=parse_duration(1),
        description="Standstill of the event loop after which `/livez` fails.",
    )
    facts_ttl: Duration = Field(
        default=parse_duration("5s"),
        description="Age up to which shared gauges are served from memory.",
    )
    facts_timeout: Duration = Field(
        default=parse_duration("2s"),
        gt=parse_duration(0),
        le=parse_duration("8s"),
        description="Longest a scrape waits for fresh shared gauges.",
    )


class LogSettings(Section):
    """Logs, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least important level that is written."
    )
    format: Literal["auto", "json", "text"] = Field(
        default="auto", description="`auto`: text on a terminal, JSON lines elsewhere."
    )


class SegmentSettings(Section):
    """Sealed segments of conversations."""

    enabled: bool = Field(default=False, description="Seal a round's messages when it is archived.")
    base: Location | None = Field(default=None, description="Absolute folder of the segments.")
    redactor: FunctionName | None = Field(
        default=None,
        description="Redactor as `module:function`; tool content is withheld without one.",
    )
