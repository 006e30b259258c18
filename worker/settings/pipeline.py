"""Pure. Settings of the pipeline: what is taken in, archived, compacted and kept.

Names ending in `_ms` or `_s` are whole numbers of that unit; other times are durations
(`7d`). A value of 0 switches a limit off only where its description says so.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from .files import DEFAULT_ARCHIVE_DIR
from .types import (
    Count,
    Duration,
    FileMode,
    FunctionName,
    Location,
    Section,
    Size,
    parse_duration,
)

MIB: Final = 1 << 20


def _check_owner(bits: int) -> Any:
    def check(mode: int) -> int:
        if mode & bits != bits:
            raise ValueError(f"must leave the owner at least {bits:04o}")
        return mode

    return AfterValidator(check)


class LimitSettings(Section):
    """What an event may be; checked before anything is stored."""

    max_stream_bytes: Size = Field(
        default=512, ge=1, le=4_096, description="Longest stream id, bytes of UTF-8."
    )
    max_type_bytes: Size = Field(
        default=128, ge=1, le=4_096, description="Longest event type, bytes of UTF-8."
    )
    max_payload_bytes: Size = Field(
        default=8 * MIB, ge=1_024, le=256 * MIB, description="Largest payload or metadata, encoded."
    )
    max_depth: Count = Field(default=64, ge=1, le=512, description="Deepest nesting of a payload.")


class SequencerSettings(Section):
    """From the inbox into the logs."""

    page: Count = Field(
        default=500, ge=1, le=10_000, description="Most inbox entries read at once."
    )
    max_page_bytes: Size = Field(
        default=16 * MIB,
        ge=64 << 10,
        le=1 << 30,
        description="Inbox page aimed at; a larger one is halved.",
    )
    lease_ttl_ms: Count = Field(
        default=10_000,
        ge=1_000,
        le=600_000,
        description="Life of the sequencer's lease, ms; another worker takes over after it.",
    )
    seen_window_s: Count = Field(
        default=3_600,
        ge=1,
        le=604_800,
        description="How long a repeated event id counts as the same event, s.",
    )
    poison_attempts: Count = Field(
        default=5, ge=2, le=100, description="Attempts at an entry that kills its worker."
    )
    overdraft: Size = Field(
        default=32 * MIB,
        ge=0,
        le=1 << 40,
        description="How far sequencing may exceed Redis' maxmemory: rounds that wait in the inbox "
        "can be freed only by way of their logs. 0: not at all.",
    )


class CommitSettings(Section):
    """Limits of one transaction; a larger event travels alone."""

    max_events: Count = Field(
        default=500, ge=1, le=10_000, description="Most events of one transaction."
    )
    max_streams: Count = Field(
        default=64, ge=1, le=1_000, description="Most streams of one transaction."
    )
    max_bytes: Size = Field(
        default=4 * MIB, ge=64 << 10, le=256 * MIB, description="Most bytes of one transaction."
    )
    attempts: Count = Field(
        default=100, ge=1, le=10_000, description="Attempts before contention becomes an error."
    )


class ArchiveSettings(Section):
    """The volume that holds the round files."""

    dir: Location = Field(default=DEFAULT_ARCHIVE_DIR, description="Folder of the archive.")
    max_rounds: Count = Field(
        default=200, ge=0, le=10_000_000, description="Newest rounds kept of a stream; 0 keeps all."
    )
    file_mode: Annotated[FileMode, _check_owner(0o600)] = Field(
        default=0o640, description="Mode of round files, quoted octal, whatever the umask."
    )
    dir_mode: Annotated[FileMode, _check_owner(0o700)] = Field(
        default=0o750, description="Mode of the archive's folders, quoted octal."
    )
    screen: bool = Field(
        default=True,
        description="Replace credentials in kept text by a typed marker before writing.",
    )
    threads: Count = Field(default=4, ge=1, le=8, description="Threads that write files.")
    max_round_events: Count = Field(
        default=10_000, ge=2, le=1_000_000, description="Events of an open round before it is cut."
    )
    max_round_bytes: Size = Field(
        default=64 * MIB,
        ge=64 << 10,
        le=1 << 30,
        description="Bytes of an open round before it is cut.",
    )
    sentinel_file: str | None = Field(
        default=None,
        min_length=1,
        description="Name of a file that must be in the folder, or nothing is written: "
        "tells an unmounted volume from an empty one.",
    )
    claim_idle_ms: Count = Field(
        default=60_000,
        ge=1_000,
        le=86_400_000,
        description="Idle time after which a dead worker's feed entries are claimed, ms.",
    )
    batch: Count = Field(
        default=500, ge=1, le=10_000, description="Most feed entries read at once."
    )


class CompactionSettings(Section):
    """Old events become summaries and leave Redis."""

    threshold: Count = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="Uncompacted events of a stream that start a run.",
    )
    keep_recent: Count = Field(
        default=100,
        ge=0,
        le=1_000_000,
        description="Newest events that always stay. Below the threshold.",
    )
    max_summaries_per_stream: Count = Field(
        default=50,
        ge=1,
        le=10_000,
        description="Summaries of a stream; beyond, the two oldest merge.",
    )
    summary_ttl: Duration = Field(
        default=parse_duration("30d"), description="Age at which a summary is forgotten; 0 = never."
    )
    summarizer: FunctionName | None = Field(
        default=None,
        description="Own summarizer as `module:function`; the built-in rules otherwise.",
    )
    summarizer_timeout: Duration = Field(
        default=parse_duration("30s"),
        gt=parse_duration(0),
        description="Longest run of the own summarizer before the built-in rules step in.",
    )


class RetentionSettings(Section):
    """How long what is no longer needed stays in Redis."""

    stream_ttl: Duration = Field(
        default=parse_duration("7d"),
        description="Idle time after which a stream is retired; 0 = never.",
    )
    forget_after: Duration = Field(
        default=parse_duration("90d"),
        description="Idle time after which head and state of a stream go too; 0 = never.",
    )
    feed_keep: Count = Field(
        default=10_000,
        ge=0,
        le=100_000_000,
        description="Newest feed entries kept for new subscribers.",
    )
    feed_max: Count = Field(
        default=1_000_000,
        ge=1_000,
        le=1_000_000_000,
        description="Feed entries a durable subscription may lag before it is dropped.",
    )
    group_ttl: Duration = Field(
        default=parse_duration("7d"),
        gt=parse_duration(0),
        description="Time unseen after which a durable subscription is dropped.",
    )
    dead_max: Count = Field(
        default=100_000, ge=1, le=100_000_000, description="Dead letters kept of a tenant."
    )
