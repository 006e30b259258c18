"""A Redis that speaks TLS alone and wants a client certificate, as the settings name them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.redis_server import REDIS_7, free_port
from support.worker_process import Installation

NO_OPENSSL = "openssl is not installed"
NO_TLS = "this redis-server is built without TLS"


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A folder with a CA (ca.crt) and what it signed for 127.0.0.1 (both.crt, both.key)."""
    if shutil.which("openssl") is None:
        pytest.fail(NO_OPENSSL) if os.environ.get("CI") else pytest.skip(NO_OPENSSL)
    folder = tmp_path / "certificates"
    folder.mkdir()
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    new = ["req", "-newkey", "rsa:2048", "-nodes"]
    for arguments in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt"],
        [*new, "-subj", "/CN=both", "-keyout", "both.key", "-out", "both.csr"],
        ["x509", "-req", "-in", "both.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
         "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "both.crt"],
    ):  # fmt: skip
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def port(servers, start_server, certificates: Path) -> Iterator[int]:
    """The TLS port of a server that wants a certificate of its clients."""
    linked = subprocess.run(
        [servers.binary(REDIS_7), "--tls-port", "x"], capture_output=True, text=True, check=False
    )
    if "Bad directive" in linked.stdout + linked.stderr:
        pytest.fail(NO_TLS) if os.environ.get("CI") else pytest.skip(NO_TLS)
    listening = free_port()
    start_server(
        REDIS_7,
        options=(
            *("--tls-port", str(listening), "--tls-ca-cert-file", str(certificates / "ca.crt")),
            *("--tls-cert-file", str(certificates / "both.crt")),
            *("--tls-key-file", str(certificates / "both.key")),
        ),
    )
    return listening


def told(here: Installation) -> str:
    """What `doctor` says about the connection."""
    findings = here.json("doctor", code=1)["findings"]
    failed = next(each for each in findings if each["check"] == "redis.connection")
    return f"{failed['found']} -> {failed['todo']}"


def test_ca_and_client_certificate_of_the_settings_open_the_way(port, certificates, install):
    here = install(
        f"rediss://127.0.0.1:{port}",
        ARES_REDIS_TLS_CA=str(certificates / "ca.crt"),
        ARES_REDIS_TLS_CERT=str(certificates / "both.crt"),
        ARES_REDIS_TLS_KEY=str(certificates / "both.key"),
    )

    here.call("emit", "s", "task.completed", "--payload", '{"result": "done"}')
    here.call("run", "--once")

    assert list(here.rounds()) == ["default/s/round_1.json"]


def test_an_unknown_ca_is_told_with_the_setting_that_names_it(port, tmp_path):
    said = told(Installation(f"rediss://127.0.0.1:{port}", tmp_path / "rounds"))

    assert "its certificate is refused: self-signed certificate" in said
    assert "redis.tls_ca" in said


def test_a_missing_client_certificate_is_told(port, certificates, tmp_path):
    ca = {"ARES_REDIS_TLS_CA": str(certificates / "ca.crt")}
    said = told(Installation(f"rediss://127.0.0.1:{port}", tmp_path / "rounds", ca))

    assert "certificate" in said


def test_a_url_without_tls_to_a_port_that_wants_it_is_told(port, tmp_path):
    said = told(Installation(f"redis://:pw@127.0.0.1:{port}", tmp_path / "rounds"))

    assert "it may want TLS (rediss://)" in said
