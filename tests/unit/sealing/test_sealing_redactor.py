"""The redactor of a setting; and no credential reaches the disk, with or without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.errors import UsageError
from unit.segment_events import completed, said, started
from unit.segment_sealing import record
from worker.sealing.sealer import SegmentSealer, load_redactor


class TestRedactor:
    def test_a_function_is_found_by_module_and_name(self) -> None:
        assert load_redactor("builtins:str") is str

    @pytest.mark.parametrize("name", ["", "json", "nowhere:f", "json:missing", "json:__name__"])
    def test_a_name_that_is_none_is_a_usage_error(self, name: str) -> None:
        with pytest.raises(UsageError):
            load_redactor(name)


# A copy of a well-known list would do nothing: these are made up, of the kinds people paste.
CREDENTIALS = [
    "password=hunter2hunter2",
    "PASSWD: abc",
    "my secret is 12345",
    "api_key = 'abcdef'",
    "APIKEY=abcdef",
    "x-api-key: abcdef",
    '{"access_token": "abcdef"}',
    "refresh_token=abcdef",
    "Authorization: Basic YWJj",
    "curl -H 'authorization: Bearer abc'",
    "bearer abcdef",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "sk-proj-abcdef123456",
    "sk-ant-api03-abcdef",
    "ghp_abcdefghijklmnop",
    "github_pat_11ABCDEF",
    "xoxb-1234-5678",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.e30.abc",
    "client_secret: abc",
    "aws_secret_access_key = abc",
    "DB_PASSWORD=abc",
    "postgres password is abc",
    "export OPENAI_API_KEY=abc",
    "the private key is in ~/.ssh",
    "set SECRET_TOKEN",
    "token: ghp_zzz",
    "slack xoxb-zzz",
    "jwt eyJhIn0",
]


@pytest.mark.parametrize("redactor", [None, str])
def test_no_seeded_credential_reaches_the_disk(base: Path, redactor: Any) -> None:
    events = []
    for index, text in enumerate(CREDENTIALS):
        call = f"c{index}"
        events += [
            said(text),
            said([{"type": "text", "text": text}], "assistant"),
            started(call, args={"command": text, "path": f"/tmp/{text}"}),
            completed(call, output=text, error=text),
        ]

    outcome = SegmentSealer(base, redactor).seal_round(events, record(CREDENTIALS[0]))

    assert outcome.status == "sealed"
    (path,) = base.glob("context-archives/*/000.json")
    written = path.read_text()
    for text in CREDENTIALS:
        assert text not in written
        assert text.replace('"', '\\"').replace("\n", "\\n") not in written
