"""No password in anything that is printed, whatever way it came in."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from worker.settings.load import SettingsError, load_settings
from worker.settings.shown import shown_settings

CANARY = "S3CRET-canary"
URLS = [
    f"redis://user:{CANARY}@localhost:6379/0",
    f"rediss://:{CANARY}@localhost",
    f"redis://{CANARY}@localhost",
    f"redis://localhost?password={CANARY}",
    f"redis+sentinel://u:{CANARY}@a,b/master?sentinel_password={CANARY}",
    f"redis://u:p@{CANARY}@localhost",
    f"unix://u:{CANARY}@/run/redis.sock",
]
BROKEN = [
    f"http://u:{CANARY}@h",
    f"redis:/{CANARY}",
    CANARY,
    f"redis//u:{CANARY}@h",
    f"redis://u:p@{CANARY}@/:x@localhost",
    f"redis://u:{CANARY}/x@localhost",
]


def everything_said_about(settings) -> str:
    said = [repr(settings), str(settings), repr(settings.redis), str(settings.model_dump())]
    said += [f"{item.text} {item.value} {item.origin}" for item in shown_settings(settings)]
    return "\n".join(said)


@pytest.mark.parametrize("url", URLS)
def test_a_password_in_a_url_is_masked_everywhere(url):
    settings = load_settings(environ={"ARES_REDIS_URL": url})

    assert CANARY not in everything_said_about(settings)
    assert settings.redis.read_url() == url


@pytest.mark.parametrize("name", ["PASSWORD", "SENTINEL_PASSWORD"])
def test_a_password_of_its_own_is_masked_everywhere(name):
    settings = load_settings(environ={f"ARES_REDIS_{name}": CANARY})

    assert CANARY not in everything_said_about(settings)
    assert CANARY in settings.redis.secrets()


@pytest.mark.parametrize("url", BROKEN)
def test_a_url_that_is_refused_is_not_repeated(url):
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={"ARES_REDIS_URL": url})

    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_file_with_a_password_and_a_mistake_is_not_quoted(tmp_path):
    path = tmp_path / "worker.toml"
    path.write_text(f"[redis]\npassword = '{CANARY}' '\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={})

    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_password_of_the_wrong_type_or_in_the_wrong_place_is_not_repeated(tmp_path):
    path = tmp_path / "worker.toml"
    path.write_text(f"[redis]\npassword = ['{CANARY}']\nport = 'redis://u:{CANARY}@h'\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={"ARES_LOG_LEVEL": f"redis://u:{CANARY}@h"})

    assert len(caught.value.problems) == 3
    assert CANARY not in str(caught.value)


def test_a_secret_file_is_read_again_after_a_rotation(tmp_path):
    secret = tmp_path / "url"
    secret.write_text("redis://u:old@h\n")
    settings = load_settings(environ={"ARES_REDIS_URL_FILE": str(secret)})
    assert settings.redis.read_url() == "redis://u:old@h"

    secret.write_text(f"redis://u:{CANARY}@h")

    assert settings.redis.read_url() == f"redis://u:{CANARY}@h"
    assert CANARY in settings.redis.secrets()
    assert CANARY not in everything_said_about(settings)


@pytest.mark.parametrize("content", [b"", b"\n", b"first\nsecond\n", b"\xff\xfe"])
def test_a_secret_file_without_one_line_of_text_is_told_by_name_only(tmp_path, content):
    path = tmp_path / "password"
    path.write_bytes(content)
    settings = load_settings(environ={"ARES_REDIS_PASSWORD_FILE": str(path)})

    with pytest.raises(SettingsError, match=r"redis\.password_file") as caught:
        settings.redis.read_password()

    assert "first" not in str(caught.value)


def test_a_missing_secret_file_is_told_when_it_is_needed(tmp_path):
    settings = load_settings(environ={"ARES_REDIS_URL_FILE": str(tmp_path / "no")})

    with pytest.raises(SettingsError, match="No such file"):
        settings.redis.read_url()
    assert settings.redis.secrets() == []


def test_a_url_by_flag_wins_over_a_url_file_of_the_environment():
    settings = load_settings(
        None, {"redis.url": "redis://flag"}, {"ARES_REDIS_URL_FILE": "/run/secrets/url"}
    )

    assert settings.redis.read_url() == "redis://flag"
    assert settings.redis.url_file is None


def test_a_url_file_of_the_environment_wins_over_a_url_of_the_file(tmp_path):
    config, secret = tmp_path / "worker.toml", tmp_path / "url"
    config.write_text("[redis]\nurl = 'redis://file'\n")
    secret.write_text("redis://secret")

    settings = load_settings(config, None, {"ARES_REDIS_URL_FILE": str(secret)})

    assert settings.redis.read_url() == "redis://secret"


def test_one_layer_may_not_set_a_secret_and_its_file():
    with pytest.raises(SettingsError, match=r"set this or redis\.password_file, not both"):
        load_settings(environ={"ARES_REDIS_PASSWORD": "x", "ARES_REDIS_PASSWORD_FILE": "/x"})


def test_a_url_with_its_own_password_by_flag_wins_over_a_password_of_the_environment():
    environ = {"ARES_REDIS_USERNAME": "envuser", "ARES_REDIS_PASSWORD": "envpass"}

    own = load_settings(None, {"redis.url": "redis://u:own@h"}, environ)
    none = load_settings(None, {"redis.url": "redis://h"}, environ)

    assert own.redis.connection_options().password is None
    assert none.redis.connection_options().password == "envpass"


def test_connection_options_carry_what_the_url_does_not_say(tmp_path):
    secret = tmp_path / "password"
    secret.write_text(f"{CANARY}\n")
    settings = load_settings(
        environ={
            "ARES_REDIS_PASSWORD_FILE": str(secret),
            "ARES_REDIS_USERNAME": "worker",
            "ARES_REDIS_TLS_CA": "/ca.pem",
            "ARES_REDIS_SOCKET_TIMEOUT_MS": "4000",
            "ARES_REDIS_BLOCK_MS": "1500",
        }
    )

    options = settings.redis.connection_options()

    assert (options.username, options.password) == ("worker", CANARY)
    assert options.tls_ca_file == str(Path("/ca.pem"))
    assert options.timeout_s == 4.0
    assert CANARY not in repr(options)


def test_settings_cross_a_process_boundary_without_losing_their_origins():
    settings = load_settings(environ={"ARES_ARCHIVE_BATCH": "7"})

    assert pickle.loads(pickle.dumps(settings)).origin("archive.batch").endswith("BATCH")


@pytest.mark.parametrize("url", BROKEN)
def test_a_url_in_a_file_is_checked_like_any_other_and_not_repeated(tmp_path, url):
    file = tmp_path / "url"
    file.write_text(url)
    settings = load_settings(environ={"ARES_REDIS_URL_FILE": str(file)})

    with pytest.raises(SettingsError) as caught:
        settings.redis.read_url()

    assert str(caught.value).startswith("redis.url_file: ")
    assert CANARY not in "".join(traceback.format_exception(caught.value))
