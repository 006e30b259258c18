"""Where settings come from, which wins, and what is said about wrong ones."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from worker.settings.load import Settings, SettingsError, load_settings
from worker.settings.model import setting_fields, variable
from worker.settings.shown import show_value


@pytest.fixture
def toml(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "worker.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def problems(*args, **kwargs) -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(*args, **{"environ": {}, **kwargs})
    return {problem.key: str(problem) for problem in caught.value.problems}


def test_without_anything_the_defaults_hold():
    settings = load_settings(environ={})

    assert settings.redis.read_url() == "redis://127.0.0.1:6379/0"
    assert settings.archive.dir == Path(".context/rounds")
    assert settings.tenants == ("default",)
    assert settings.origin("archive.dir") == "default"


def test_a_file_wins_over_defaults_the_environment_over_both_and_a_flag_over_all(toml):
    path = toml("[archive]\ndir = '/file'\nmax_rounds = 1\nbatch = 1\n")

    settings = load_settings(
        path,
        {"archive.dir": "/flag"},
        {"ARES_ARCHIVE_DIR": "/env", "ARES_ARCHIVE_MAX_ROUNDS": "2"},
    )

    assert settings.archive.dir == Path("/flag")
    assert settings.archive.max_rounds == 2
    assert settings.archive.batch == 1
    assert settings.origin("archive.dir") == "flag"
    assert settings.origin("archive.max_rounds") == "environment ARES_ARCHIVE_MAX_ROUNDS"
    assert settings.origin("archive.batch") == f"file {path}"


def test_ares_config_names_the_file_and_the_flag_another(toml, tmp_path):
    named = toml("[log]\nlevel = 'error'\n")
    other = tmp_path / "other.toml"
    other.write_text("[log]\nlevel = 'debug'\n")

    assert load_settings(environ={"ARES_CONFIG": str(named)}).log.level == "error"
    assert load_settings(other, environ={"ARES_CONFIG": str(named)}).log.level == "debug"


@pytest.mark.parametrize("key", list(setting_fields()))
def test_every_setting_has_a_variable(key):
    info = setting_fields()[key]
    samples = {"segments.base": "/x", "redis.tls_cert": "/c.pem", "redis.tls_key": "/k.pem"}
    fallback = show_value(info.default, info) if info.default is not None else "json:dumps"
    environ = {variable(name): text for name, text in samples.items() if "tls" in name}
    environ[variable(key)] = samples.get(key, fallback)

    settings = load_settings(environ=environ)

    assert settings.origin(key) == f"environment {variable(key)}"
    assert settings.value(key) is not None


def test_an_empty_variable_counts_as_absent():
    assert load_settings(environ={"ARES_ARCHIVE_DIR": ""}).archive.dir == Path(".context/rounds")


def test_building_settings_reads_no_environment(monkeypatch):
    monkeypatch.setenv("ARES_ARCHIVE_DIR", "/env")

    assert Settings().archive.dir == Path(".context/rounds")


def test_tenants_are_a_list_in_the_file_and_comma_separated_elsewhere(toml):
    assert load_settings(toml("tenants = ['a', 'b']"), environ={}).tenants == ("a", "b")
    assert load_settings(environ={"ARES_TENANTS": "a, b"}).tenants == ("a", "b")
    assert load_settings(None, {"tenants": ("a", "b")}, {}).tenants == ("a", "b")


@pytest.mark.parametrize("tenants", ["Upper", "a/b", "a,a", ","])
def test_tenants_that_cannot_be_are_refused(tenants):
    assert "tenants" in problems(environ={"ARES_TENANTS": tenants})


def test_an_unknown_key_is_an_error_that_names_the_nearest_one(toml):
    found = problems(toml("[archive]\nmax_ronds = 3\n"))

    assert "did you mean archive.max_rounds?" in found["archive.max_ronds"]


@pytest.mark.parametrize(
    "text",
    ["archive = 3\n", "[archives]\ndir = '/x'\n", "[archive.dir]\nx = 1\n", "unknown = true\n"],
)
def test_a_misplaced_table_or_value_is_an_error(toml, text):
    assert problems(toml(text))


def test_an_unknown_variable_is_an_error_that_names_the_nearest_one():
    found = problems(environ={"ARES_ARCHIVE_MAX_ROUND": "3", "OTHER_THING": "x"})

    assert list(found) == ["ARES_ARCHIVE_MAX_ROUND"]
    assert "did you mean ARES_ARCHIVE_MAX_ROUNDS?" in found["ARES_ARCHIVE_MAX_ROUND"]


def test_variables_of_kubernetes_services_named_ares_are_not_ours():
    settings = load_settings(
        environ={
            "ARES_WORKER_SERVICE_HOST": "10.0.0.7",
            "ARES_WORKER_SERVICE_PORT_METRICS": "9095",
            "ARES_WORKER_PORT": "tcp://10.0.0.7:9095",
            "ARES_WORKER_PORT_9095_TCP_ADDR": "10.0.0.7",
            "ARES_METRICS_PORT": "tcp://10.0.0.8:9095",
        }
    )

    assert settings.metrics.port == 9095


def test_every_problem_is_told_at_once_each_on_a_line_with_its_origin(toml):
    path = toml("[archive]\nmax_rounds = -1\nfile_mode = 640\n[nonsense]\nx = 1\n")

    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={"ARES_LOG_LEVEL": "loud"})

    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert sum(f"(file {path})" in line for line in lines) == 3
    assert (
        "log.level: must be 'debug', 'info', 'warning' or 'error', not 'loud' "
        "(environment ARES_LOG_LEVEL)" in lines
    )


def test_a_number_is_no_truth_value_and_no_fraction(toml):
    assert "archive.batch" in problems(toml("[archive]\nbatch = true\n"))
    assert "archive.batch" in problems(environ={"ARES_ARCHIVE_BATCH": "1.5"})


def test_a_missing_and_a_broken_file_are_told_without_a_traceback(tmp_path, toml):
    missing = problems(tmp_path / "no.toml")
    broken = problems(toml("[archive\n"))

    assert "No such file" in missing["settings file"]
    assert "line 1" in broken["settings file"]


def test_a_file_that_is_not_utf_8_is_told(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes(b"[log]\nlevel = '\xff'\n")

    assert "not UTF-8" in problems(path)["settings file"]


def test_settings_are_frozen():
    settings = load_settings(environ={})

    with pytest.raises(ValueError, match="frozen"):
        settings.archive.max_rounds = 7
    with pytest.raises(ValueError, match="frozen"):
        settings.tenants = ()


def test_durations_are_timedeltas_whatever_the_spelling(toml):
    settings = load_settings(
        toml("[retention]\nstream_ttl = 3600\nforget_after = '2h'\n"), None, {}
    )

    assert settings.retention.stream_ttl == timedelta(hours=1)
    assert settings.retention.forget_after == timedelta(hours=2)


def test_modes_are_octal_text(toml):
    settings = load_settings(toml("[archive]\nfile_mode = '0600'\ndir_mode = '0o700'\n"), None, {})

    assert (settings.archive.file_mode, settings.archive.dir_mode) == (0o600, 0o700)


@pytest.mark.parametrize("name", ["file_mode", "dir_mode"])
def test_a_mode_that_locks_the_owner_out_is_refused(name):
    assert f"archive.{name}" in problems(environ={f"ARES_ARCHIVE_{name.upper()}": "0440"})


@pytest.mark.parametrize("name", ["json", "json:", ":dumps", "json.dumps", "os:system('x')"])
def test_a_plug_in_is_named_as_module_and_function(name):
    assert "compaction.summarizer" in problems(environ={"ARES_COMPACTION_SUMMARIZER": name})


def test_home_is_meant_by_a_tilde(monkeypatch, toml):
    monkeypatch.setenv("HOME", "/home/somebody")

    settings = load_settings(toml("[archive]\ndir = '~/rounds'\n"), environ={})

    assert settings.archive.dir == Path("/home/somebody/rounds")


@pytest.mark.parametrize("value", ["''", "3", '"a\\u0000b"'])
def test_a_path_that_is_none_is_refused(toml, value):
    assert "archive.dir" in problems(toml(f"[archive]\ndir = {value}\n"))


def test_a_wrong_tenant_is_one_problem_and_not_also_a_short_list():
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={"ARES_TENANTS": "Bad X,ok"})

    assert str(caught.value) == (
        "tenants: tenant 'Bad X' is not 1-64 characters of a-z, 0-9, '_' and '-' "
        "(environment ARES_TENANTS)"
    )


def test_no_tenant_at_all_is_said_in_words():
    with pytest.raises(SettingsError, match="tenants: must name at least one"):
        load_settings(environ={"ARES_TENANTS": ","})
