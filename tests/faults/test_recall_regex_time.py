"""A pattern that needs exponential time ends with an error, not with a hang."""

from __future__ import annotations

import signal
import time

import pytest

from archive import FileArchiveWriter, RoundRecord
from archive.failures import InvalidQuery
from archive.recall.guard import MATCH_SECONDS
from archive.recall.prefilter import prefilter
from archive.recall.query import parse_pattern
from archive.recall.search import Recall


def test_an_exponential_pattern_is_stopped(tmp_path):
    FileArchiveWriter(tmp_path).record(RoundRecord(1, "fix", "a" * 60 + "!", stream_id="s"))
    started = time.monotonic()
    with pytest.raises(InvalidQuery):
        list(Recall(tmp_path).query(parse_pattern("(a+)+$")))
    assert time.monotonic() - started < MATCH_SECONDS + 5


def test_the_alarm_is_gone_afterwards(tmp_path):
    FileArchiveWriter(tmp_path).record(RoundRecord(1, "fix", "aaa", stream_id="s"))
    assert len(list(Recall(tmp_path).query(parse_pattern("a+")))) == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_pattern_passes_every_file_on_to_be_decoded():
    assert prefilter(parse_pattern("x"))(b"{}")
