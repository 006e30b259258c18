"""A cause that comes again with every run is told once, then ever more rarely."""

from __future__ import annotations

import errno
import logging

import pytest

from archive.failures import ArchiveFailure
from ops.metrics import Metrics
from ops.repeats import CauseLimiter
from worker.archiving.facts import Archived
from worker.compacting.compactor import Compacted
from worker.running.reporter import TenantReporter


def test_a_summarizer_that_fails_at_every_stream_is_one_line(caplog: pytest.LogCaptureFixture):
    reporter = TenantReporter(Metrics(version="0"), "acme", CauseLimiter(lambda: 0.0))

    with caplog.at_level(logging.WARNING, "ares"):
        for _ in range(1_000):
            reporter.compacted(Compacted("compacted", None, "ValueError in own.py"), seconds=0.1)

    [line] = caplog.records
    assert "the summarizer failed" in line.getMessage()


def test_rounds_that_cannot_be_removed_are_one_line_a_reason(caplog: pytest.LogCaptureFixture):
    reporter = TenantReporter(Metrics(version="0"), "acme", CauseLimiter(lambda: 0.0))
    refused = ArchiveFailure("remove", "round_1.json", PermissionError(errno.EACCES, "no"))

    with caplog.at_level(logging.WARNING, "ares"):
        for stream in ("a", "b"):
            reporter.archived(Archived(unrotated={stream: refused}))

    [line] = caplog.records
    assert line.getMessage() == "rounds beyond archive.max_rounds can't be removed"
