"""The Redis password shows up nowhere, whatever goes wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.redis_server import RedisServer
from worker import cli

WAYS = (
    "redis://user:S3CRET@127.0.0.1:{port}/0",
    "redis://user:S3CRET@127.0.0.1:1/0",
    "redis://127.0.0.1:{port}/0?password=S3CRET",
    "redis://127.0.0.1:1/0?password=S3CRET",
    "rediss://user:S3CRET@127.0.0.1:1/0",
    "redis+cluster://user:S3CRET@127.0.0.1:1",
    "redis+sentinel://user:S3CRET@127.0.0.1:1/master",
    "redis://user:S3CRET@127.0.0.1:notaport/0",
    "redis://user:S3CRET@[::bad/0",
    "http://user:S3CRET@127.0.0.1/",
    "user:S3CRET@127.0.0.1",
)
COMMANDS = (
    ("streams", "list", "-vv"),
    ("streams", "list", "-vv", "--json"),
    ("config", "show"),
    ("config", "check", "--json"),
    ("doctor",),
)


@pytest.mark.parametrize("url", WAYS)
@pytest.mark.parametrize("place", ["flag", "environment", "file"])
def test_no_command_shows_the_password(
    url: str,
    place: str,
    server: RedisServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    secret = url.format(port=server.port)
    (tmp_path / "url").write_text(secret)
    monkeypatch.chdir(tmp_path)
    if place == "environment":
        monkeypatch.setenv("ARES_REDIS_URL", secret)
    if place == "file":
        monkeypatch.setenv("ARES_REDIS_URL_FILE", str(tmp_path / "url"))
    for command in COMMANDS:
        cli.run([*command, "--redis", secret] if place == "flag" else command)

    said = capfd.readouterr()
    assert said.out
    assert "S3CRET" not in said.out + said.err
