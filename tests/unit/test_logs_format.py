"""Logs: one record a line, fields, nothing secret, nothing that drives a terminal."""

from __future__ import annotations

import io
import json
import logging
import math

import pytest

from ops.logs import fields, logging_to
from ops.redact import Redactor

CANARY = "S3CRET-canary"
NASTY = "a\x1b]52;c;eA==\x07b\x1b[2Jc\x9bd\u202ee\nlevel=error fake"

log = logging.getLogger("ares.part")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def as_json(write, **options) -> list[dict]:
    stream = io.StringIO()
    with logging_to(stream, **{"format": "json", **options}):
        write()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def as_text(write, stream: io.StringIO | None = None, **options) -> str:
    stream = stream or io.StringIO()
    with logging_to(stream, **{"format": "text", **options}):
        write()
    return stream.getvalue()


def test_a_line_has_time_level_logger_message_and_fields():
    (line,) = as_json(
        lambda: log.info(
            "round archived", extra=fields(tenant="acme", stream="s", round=3, name="n", took=0.5)
        )
    )

    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "ares.part",
        "msg": "round archived",
        "tenant": "acme",
        "stream": "s",
        "round": 3,
        "name": "n",
        "took": 0.5,
    }


def test_text_is_one_readable_line():
    said = as_text(
        lambda: log.warning("lease lost", extra=fields(tenant="acme", cause='it "lapsed" now'))
    )

    assert said.endswith(' WARNING ares.part: lease lost tenant=acme cause="it \\"lapsed\\" now"\n')


def test_json_where_nobody_looks_and_text_on_a_terminal():
    assert as_text(lambda: log.info("hello"), format="auto").startswith("{")
    assert "hello" in as_text(lambda: log.info("hello"), Terminal(), format="auto")
    assert not as_text(lambda: log.info("hello"), Terminal(), format="auto").startswith("{")


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in as_text(lambda: log.error("x"), Terminal())
    assert "\x1b" not in as_text(lambda: log.error("x"))

    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in as_text(lambda: log.error("x"), Terminal())


def test_the_level_decides_what_is_written():
    def write() -> None:
        log.debug("debug")
        log.info("info")
        log.error("error")

    assert [line["msg"] for line in as_json(write, level="debug")] == ["debug", "info", "error"]
    assert [line["msg"] for line in as_json(write, level="error")] == ["error"]


def test_other_libraries_come_the_same_way_from_a_warning_up():
    def write() -> None:
        logging.getLogger("redis").debug("AUTH %s", CANARY)
        logging.getLogger("asyncio").warning("slow callback")

    assert [line["logger"] for line in as_json(write, level="debug")] == ["asyncio"]


def test_what_was_configured_before_is_there_again_afterwards():
    root, ours = logging.getLogger(), logging.getLogger("ares")
    before = (root.handlers[:], root.level, ours.level)

    as_json(lambda: None, level="debug")

    assert (root.handlers, root.level, ours.level) == before


@pytest.mark.parametrize("format", ["json", "text"])
def test_a_record_is_one_line_without_controls_whatever_it_says(format):
    said = as_text(
        lambda: log.warning(NASTY, extra=fields(stream=NASTY, **{NASTY: NASTY})), format=format
    )

    assert said.count("\n") == 1
    assert said.endswith("\n")
    assert said[:-1].isprintable()


def test_json_keeps_values_exact():
    (line,) = as_json(lambda: log.warning("x", extra=fields(stream="a\x1b\u202e\udce9\n")))

    assert line["stream"] == "a\x1b\u202e\udce9\n"


@pytest.mark.parametrize("format", ["json", "text"])
@pytest.mark.parametrize(
    "leak",
    [
        lambda: log.error("can't connect to redis://u:%s@h:1/0", CANARY),
        lambda: log.error("can't connect", extra=fields(url=f"rediss://:{CANARY}@h")),
        lambda: log.error("bad", extra=fields(error=ValueError(f"?password={CANARY}&x=1"))),
        lambda: log.error("bad", extra=fields(raw=f'{{"password": "{CANARY}"}}'.encode())),
        lambda: log.error("bad", extra=fields(payload={"key": CANARY}, metadata=CANARY)),
        lambda: _with_traceback(f"AUTH failed for redis://u:{CANARY}@h"),
    ],
)
def test_no_password_is_written(format, leak):
    said = as_text(leak, format=format)

    assert said
    assert CANARY not in said


@pytest.mark.parametrize("format", ["json", "text"])
@pytest.mark.parametrize("secret", [CANARY, "pa ss", "ü/@:%", "quo'te\"d"])
def test_a_secret_that_is_known_is_masked_wherever_it_stands(format, secret):
    said = as_text(
        lambda: log.error("failed %s", secret, extra=fields(a=f"x{secret}y", b=repr(secret))),
        format=format,
        redactor=Redactor([secret]),
    )

    assert secret not in said
    assert said.count("***") == 3


def test_an_error_is_told_by_type_and_text_with_its_traceback():
    (line,) = as_json(lambda: _with_traceback("it broke"))

    assert line["error"] == "ValueError: it broke"
    assert "test_logs_format.py" in line["trace"]


def test_a_traceback_in_text_stays_below_its_line():
    said = as_text(lambda: _with_traceback("it\nbroke"))

    first, *rest = said.splitlines()
    assert first.endswith('failed error="ValueError: it\\\\nbroke"')
    assert all(line.startswith("    ") for line in rest)


def test_nothing_is_endless():
    (line,) = as_json(
        lambda: log.error("m" * 10_000_000, extra=fields(value="v" * 10_000_000, n=10**30))
    )

    assert len(line["msg"]) < 2_100
    assert len(line["value"]) < 600


def test_numbers_json_does_not_know_are_text():
    (line,) = as_json(lambda: log.info("x", extra=fields(a=math.nan, b=math.inf, c=None, d=True)))

    assert (line["a"], line["b"], line["c"], line["d"]) == ("nan", "inf", None, True)


def test_a_field_never_hides_the_time_or_the_level():
    (line,) = as_json(lambda: log.info("x", extra=fields(level="mine", ts="mine")))

    assert (line["level"], line["level_"], line["ts_"]) == ("info", "mine", "mine")


def test_a_reader_of_the_log_that_has_gone_stops_nobody():
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    as_text(lambda: log.error("x"), Broken())


def _with_traceback(text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("failed")
