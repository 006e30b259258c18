"""The bytes of a round file."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from archive.failures import RecordDamaged
from archive.record import Check, FileChange, RoundIdentity, RoundRecord, Verdict
from archive.record_json import (
    StoredRecord,
    Tombstone,
    check_bytes,
    record_from_bytes,
    record_to_bytes,
    stored_from_bytes,
    tombstone_to_bytes,
)
from streams.errors import UsageError

RECORD = RoundRecord(
    round=7,
    action="fix",
    summary='Grüße, "quoted" and a tab\t',
    files=(FileChange("src/a.py", 3, 1, "why"),),
    verdict=Verdict(go_test="pass", checks=(Check("test", "go test", "pass"),)),
    todos=("TODO: more",),
    decisions=("We keep one writer.",),
    refs={"pr": "#142", "commit": "deadbeef, cafebabe"},
    stream_id="session-42",
    tenant_id="acme",
    epoch=1,
    outcome="failed",
    error="boom",
    first_version=11,
    last_version=20,
    event_count=10,
    started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ended_at=datetime(2026, 1, 2, 4, 4, 5, 70, tzinfo=timezone(timedelta(hours=1))),
    events_digest="ab" * 32,
)

EXPECTED = """{
  "round": 7,
  "action": "fix",
  "summary": "Grüße, \\"quoted\\" and a tab\\t",
  "files": [
    {
      "path": "src/a.py",
      "lines_added": 3,
      "summary": "why",
      "lines_removed": 1
    }
  ],
  "verdict": {
    "go_vet": "",
    "go_lint": "",
    "go_test": "pass",
    "race_detector": "",
    "examples": "",
    "checks": [
      {
        "kind": "test",
        "tool": "go test",
        "result": "pass"
      }
    ]
  },
  "todos": [
    "TODO: more"
  ],
  "decisions": [
    "We keep one writer."
  ],
  "refs": {
    "pr": "#142",
    "commit": "deadbeef, cafebabe"
  },
  "stream_id": "session-42",
  "tenant_id": "acme",
  "epoch": 1,
  "outcome": "failed",
  "error": "boom",
  "first_version": 11,
  "last_version": 20,
  "event_count": 10,
  "started_at": "2026-01-02T03:04:05.000000Z",
  "ended_at": "2026-01-02T03:04:05.000070Z",
  "events_digest": "%s"
}
""" % ("ab" * 32)


def test_a_record_is_written_in_exactly_the_documented_form():
    assert record_to_bytes(RECORD).decode() == EXPECTED


def test_the_bytes_are_what_pythons_own_json_would_write():
    data = record_to_bytes(RECORD)
    assert json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n" == data.decode()


def test_a_record_reads_back_as_it_was():
    assert record_from_bytes(record_to_bytes(RECORD)) == RECORD


def test_a_file_of_ares_reads_with_defaults_and_keeps_its_unknown_fields():
    data = b"""{"round": 3, "action": "plan", "summary": "s", "files": null,
      "verdict": {"go_vet": "pass", "go_lint": "", "go_test": "", "race_detector": "",
                  "examples": ""}, "mood": {"level": 4}}"""
    stored = stored_from_bytes(data)
    assert isinstance(stored, StoredRecord)
    assert stored.record == RoundRecord(3, "plan", "s", verdict=Verdict(go_vet="pass"))
    assert stored.raw["mood"] == {"level": 4}


def test_times_with_nanoseconds_and_offsets_are_read():
    stored = stored_from_bytes(b'{"ended_at": "2026-01-02T05:04:05.123456789+02:00"}')
    assert isinstance(stored, StoredRecord)
    assert stored.record.ended_at == datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["yesterday", "9999-12-31T23:00:00-02:00", "0001-01-01T00:00:00+02:00"]
)
def test_a_time_nobody_can_read_counts_as_unknown(text):
    """Nor one that is in no year of UTC, in which all times are shown."""
    assert record_from_bytes(json.dumps({"ended_at": text}).encode()).ended_at is None


def test_a_tombstone_holds_the_identity_and_nothing_else():
    tombstone = Tombstone(7, RECORD.identity, tenant_id="acme", epoch=1)
    data = tombstone_to_bytes(tombstone)
    assert stored_from_bytes(data) == tombstone
    assert set(json.loads(data)) == {
        "round",
        "erased",
        "stream_id",
        "tenant_id",
        "epoch",
        "first_version",
        "last_version",
        "events_digest",
    }
    assert tombstone.identity == RoundIdentity("session-42", 11, 20, "ab" * 32)


def test_a_tombstone_is_no_record():
    with pytest.raises(RecordDamaged):
        record_from_bytes(tombstone_to_bytes(Tombstone(7, RECORD.identity)))


DAMAGED = {
    "empty": b"",
    "zeroed": b"\0" * 64,
    "cut in half": record_to_bytes(RECORD)[:200],
    "cut after an inner brace": record_to_bytes(RECORD)[: EXPECTED.encode().index(b"}") + 1],
    "with a NUL block in it": EXPECTED.encode()[:40] + b"\0" * 50 + EXPECTED.encode()[90:],
    "not an object": b"[1]",
    "a field of another type": b'{"round": "one"}',
    "bytes that are no UTF-8": b'{"summary": "\xff"}',
    "such bytes in an unknown field": b'{"mood": "\xff"}',
    "a lone surrogate": b'{"summary": "\\ud800"}',
    "not a number": b'{"mood": NaN}',
    "nested without end": b'{"mood": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "followed by something": record_to_bytes(RECORD) + b"x",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_named_by_both_ways_of_reading(data):
    with pytest.raises(RecordDamaged):
        stored_from_bytes(data)
    with pytest.raises(RecordDamaged):
        check_bytes(data)


def test_text_without_a_utf8_form_is_refused_rather_than_bent():
    with pytest.raises(UsageError):
        record_to_bytes(RoundRecord(1, "fix", "\ud800"))
