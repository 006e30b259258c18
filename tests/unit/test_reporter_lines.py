"""A cause that comes again with every run is told once, then ever more rarely."""

from __future__ import annotations

import logging

import pytest

from ops.metrics import Metrics
from ops.repeats import CauseLimiter
from worker.compacting.compactor import Compacted
from worker.running.reporter import TenantReporter


def test_a_summarizer_that_fails_at_every_stream_is_one_line(caplog: pytest.LogCaptureFixture):
    reporter = TenantReporter(Metrics(version="0"), "acme", CauseLimiter(lambda: 0.0))

    with caplog.at_level(logging.WARNING, "ares"):
        for _ in range(1_000):
            reporter.compacted(Compacted("compacted", None, "ValueError in own.py"), seconds=0.1)

    [line] = caplog.records
    assert "the summarizer failed" in line.getMessage()
