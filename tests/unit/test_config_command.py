"""`config show` and `config check`, as a shell sees them."""

from __future__ import annotations

import json
import os
import stat

import pytest

from worker.cli import run

CANARY = "S3CRET-canary"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("ARES_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_show_has_a_line_a_setting_with_its_origin(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ARES_ARCHIVE_MAX_ROUNDS", "7")
    config = tmp_path / "worker.toml"
    config.write_text("[archive]\nfile_mode = '0600'\n")

    assert run(["config", "show", "--config", str(config), "--archive-dir", "/x"]) == 0

    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["archive.dir"] == ["/x", "flag"]
    assert lines["archive.max_rounds"] == ["7", "environment", "ARES_ARCHIVE_MAX_ROUNDS"]
    assert lines["archive.file_mode"] == ["0600", "file", str(config)]
    assert lines["retention.stream_ttl"] == ["7d", "default"]
    assert lines["limits.max_payload_bytes"] == ["8MiB", "default"]


def test_show_as_json_is_one_document_of_typed_values(capsys, monkeypatch):
    monkeypatch.setenv("ARES_TENANTS", "a,b")

    assert run(["config", "show", "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown["tenants"] == {"value": ["a", "b"], "origin": "environment ARES_TENANTS"}
    assert shown["limits.max_payload_bytes"]["value"] == 8 << 20
    assert shown["archive.file_mode"]["value"] == "0640"
    assert shown["retention.stream_ttl"]["value"] == "7d"
    assert shown["redis.password"]["value"] is None
    assert shown["archive.screen"]["value"] is True


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_no_password_is_shown_wherever_it_came_from(capsys, monkeypatch, tmp_path, as_json):
    secret = tmp_path / "secret"
    secret.write_text(f"redis://u:{CANARY}@h")
    monkeypatch.setenv("ARES_REDIS_SENTINEL_PASSWORD", CANARY)
    monkeypatch.setenv("ARES_REDIS_PASSWORD", CANARY)
    config = tmp_path / "worker.toml"
    config.write_text(f"[redis]\nurl = 'redis://:{CANARY}@h?password={CANARY}'\n")

    assert run(["config", "show", "--config", str(config), *as_json]) == 0
    monkeypatch.setenv("ARES_REDIS_URL_FILE", str(secret))
    assert run(["config", "show", *as_json]) == 0
    assert run(["config", "check", *as_json]) == 0
    assert run(["config", "show", "--redis", f"rediss://{CANARY}@h", *as_json]) == 0
    assert run(["config", "show", "--redis", f"http://{CANARY}@h", *as_json]) == 2

    said = capsys.readouterr()
    assert "***" in said.out
    assert CANARY not in said.out + said.err


def test_show_says_which_values_are_wrong_and_exits_2(capsys, monkeypatch):
    monkeypatch.setenv("ARES_ARCHIVE_MAX_ROUNDS", "many")
    monkeypatch.setenv("ARES_ARCHIV_DIR", "/x")

    assert run(["config", "show"]) == 2

    said = capsys.readouterr().err
    assert "archive.max_rounds: must be a valid integer, not 'many'" in said
    assert "did you mean ARES_ARCHIVE_DIR?" in said


def test_check_of_right_settings_exits_0(capsys):
    assert run(["config", "check"]) == 0
    assert capsys.readouterr().out == "The settings are right.\n"


def test_check_has_a_line_a_problem_and_exits_1(capsys, monkeypatch):
    monkeypatch.setenv("ARES_REDIS_BLOCK_MS", "9500")
    monkeypatch.setenv("ARES_SEQUENCER_LEASE_TTL_MS", "60000")

    assert run(["config", "check"]) == 1

    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("redis.block_ms: 9500 must be at least 1000 below")
    assert line.endswith("(environment ARES_REDIS_BLOCK_MS)")


def test_check_as_json_is_one_document_with_the_problems(capsys, monkeypatch):
    monkeypatch.setenv("ARES_LOG_LEVEL", "loud")

    assert run(["config", "check", "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert told["problems"][0]["setting"] == "log.level"
    assert told["problems"][0]["origin"] == "environment ARES_LOG_LEVEL"


def test_check_reads_secret_files_and_certificates(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ARES_REDIS_PASSWORD_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("ARES_REDIS_TLS_CA", str(tmp_path))

    assert run(["config", "check"]) == 1

    said = capsys.readouterr().out
    assert "redis.password_file: can't read" in said
    assert "redis.tls_ca: can't read" in said


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module:f", "ModuleNotFoundError"),
        ("json:no_such_function", "AttributeError"),
        ("json:__name__", "it is no function"),
    ],
)
def test_check_imports_plug_ins(capsys, monkeypatch, name, reason):
    monkeypatch.setenv("ARES_COMPACTION_SUMMARIZER", name)

    assert run(["config", "check"]) == 1
    assert reason in capsys.readouterr().out


def test_check_finds_a_plug_in_that_is_there(monkeypatch):
    monkeypatch.setenv("ARES_SEGMENTS_REDACTOR", "json:dumps")

    assert run(["config", "check"]) == 0


def test_check_and_show_touch_neither_redis_nor_the_archive(tmp_path):
    before = set(tmp_path.iterdir())

    assert run(["config", "check", "--redis", "redis://203.0.113.1:1"]) == 0
    assert run(["config", "show", "--redis", "redis://203.0.113.1:1"]) == 0

    assert set(tmp_path.iterdir()) == before
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
