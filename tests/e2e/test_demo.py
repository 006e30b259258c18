"""The demo: everything once, on either kind of Redis, in seconds, leaving nothing behind."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import pytest

import streams.embedded.start
from streams.embedded.server import find_server
from worker import cli


@pytest.fixture(params=["redis-server", "fakeredis"])
def redis_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "fakeredis":
        monkeypatch.setattr(streams.embedded.start, "find_server", lambda: None)
    elif find_server() is None:
        pytest.skip("no redis-server")
    return str(request.param)


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the demo writes is below the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_demo_tells_each_step_and_ends_with_a_recall(
    redis_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    began = time.monotonic()
    assert cli.run(["demo"]) == 0
    took = time.monotonic() - began

    told = capsys.readouterr().out
    steps = [line for line in told.splitlines() if line[:1].isdigit()]
    assert [step.partition(".")[0] for step in steps] == ["1", "2", "3", "4", "5"]
    assert redis_kind in told
    assert "$ redis-cli XADD ares:{default}:inbox" in told
    assert "$ ares-worker run --once" in told
    assert '"decisions": [\n    "Decision: the rate limit is a token bucket' in told
    assert "$ ares-worker recall query 'rate limit'" in told
    recalled = told.partition("$ ares-worker recall query")[2]
    assert "Decision: the rate limit is a token bucket" in recalled
    assert took < 10, "the promise is ten seconds"
    assert not list(tmp_path.glob("ares-demo-*")), "it must leave nothing behind"


def test_keep_leaves_the_round_files_where_it_says(
    redis_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.run(["demo", "--keep", "kept"]) == 0
    rounds = tmp_path / "kept/rounds/default/demo-session"
    records = [json.loads(file.read_text()) for file in sorted(rounds.glob("round_*.json"))]
    assert [record["outcome"] for record in records] == ["completed", "failed"]
    assert [file["path"] for file in records[0]["files"]] == ["app/login.py"]
    assert records[0]["refs"] == {"issue": "#142"}
    assert records[0]["todos"] == ["TODO: move the limit of 5 a minute into the settings."]
    assert records[1]["error"] == "staging at 10.0.3.17:8443 doesn't answer"

    capsys.readouterr()
    assert cli.run(["recall", "list", "--archive-dir", "kept/rounds", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_kept_twice_it_goes_on_where_it_was(
    redis_kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session of the same name is the same stream: two rounds more."""
    assert cli.run(["demo", "--keep", "kept"]) == 0
    assert cli.run(["demo", "--keep", "kept"]) == 0
    assert "4 files, one a round" in capsys.readouterr().out
