"""The same verdict in every form that a text can carry a credential in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from archive.screening.screen import screen_text

FORMS: dict[str, Callable[[str], str]] = {
    "raw": lambda text: text,
    "json": lambda text: json.dumps({"note": text, "n": 1}),
    "json in json": lambda text: json.dumps({"body": json.dumps({"note": text})}),
    "json thrice": lambda text: json.dumps([json.dumps([json.dumps({"note": text})])]),
    "escaped lines": lambda text: json.dumps(f"first\n{text}\nlast"),
    "url-encoded": lambda text: "https://acme.dev/?note=" + quote(f"{text} x", safe=""),
    "base64 of json": lambda text: base64.b64encode(json.dumps({"note": text}).encode()).decode(),
    "environment": lambda text: f"export VALUE={text}",
    "quoted": lambda text: f"'{text}'",
    "markdown": lambda text: f"- **`{text}`**, then",
    "yaml": lambda text: f"value: {text}\nother: 1",
    "between others": lambda text: f"a={text}&b=2",
}


@pytest.mark.parametrize("form", FORMS, ids=[name.replace(" ", "-") for name in FORMS])
def test_a_credential_is_found_in_every_form(credential, form: str) -> None:
    _, text = credential
    written = FORMS[form](text)
    screened = screen_text(written)
    assert sum(screened.withheld.values()) >= 1
    assert text not in screened.text
    assert quote(text, safe="") not in screened.text


@pytest.mark.parametrize(
    "text",
    [
        r"{\"password\": \"hunter2!\"}",
        r"{\\\"password\\\":\\\"hunter2!\\\"}",
        "password%3Dhunter2x%21",
        "%7B%22password%22%3A%22hunter2!%22%7D",
        base64.b64encode(b'{"user":"ann","password":"hunter2!x"}').decode(),
    ],
)
def test_an_assignment_is_found_escaped_and_encoded(text: str) -> None:
    screened = screen_text(text)
    assert sum(screened.withheld.values()) == 1
    assert "hunter2" not in screened.text


def test_a_private_key_is_found_with_escaped_line_ends() -> None:
    key = "-----BEGIN PRIVATE " + "KEY-----\nMIIEvQ\nabc=\n-----END PRIVATE KEY-----\n"
    screened = screen_text(json.dumps({"key": key, "next": "kept"}))
    assert "MIIEvQ" not in screened.text
    assert '"next": "kept"' in screened.text


def test_an_ordinary_base64_run_stays() -> None:
    text = base64.b64encode(b"a plain sentence about nothing that is secret at all").decode()
    assert screen_text(text).text == text
