"""Exports: exact, and safe in whatever shows them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from archive.places import ArchivedRound, Place, StreamFolder
from archive.recall.export import FORMATS, export_html, export_jsonl, export_markdown
from archive.record import Check, FileChange, RoundRecord, Verdict
from archive.record_json import record_to_dict

EVIL = "</script><script>alert(1)</script><!-- \u2028 \x1b[2J `*_[x](y)"


def found(number: int, text: str = EVIL) -> ArchivedRound:
    record = RoundRecord(
        number,
        "fix",
        text,
        files=(FileChange(text, 1, 2, text),),
        verdict=Verdict(checks=(Check("test", "pytest", "fail"),)),
        todos=(text,),
        decisions=(f"- {text}\n1. second line",),
        refs={"pr": text},
        stream_id="s",
        error=text,
    )
    raw = {**record_to_dict(record), "mood": text}
    place = Place(StreamFolder("default", ("default", "s"), "s"), number)
    return ArchivedRound(place, "s", record, raw)


class Page(HTMLParser):
    """What a browser would make of the scripts in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._open: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._open = dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.scripts.append((self._open, data))
            self._open = None


def test_each_line_of_jsonl_is_one_round_with_every_field():
    lines = "".join(export_jsonl([found(2), found(1)])).splitlines()
    contents = [json.loads(line) for line in lines]
    assert [content["round"] for content in contents] == [2, 1]
    assert contents[0]["mood"] == contents[0]["summary"] == EVIL


def test_no_text_of_a_round_becomes_part_of_the_page():
    page = Page("".join(export_html(found(n) for n in range(1, 1_203))))
    kinds = [attributes.get("type") for attributes, _ in page.scripts]
    assert kinds == ["application/json"] * 3 + [None]
    rounds = [r for attributes, data in page.scripts[:3] for r in json.loads(data)]
    assert len(rounds) == 1_202
    assert rounds[0]["summary"] == EVIL


def test_the_page_loads_nothing_from_elsewhere():
    page = "".join(export_html([]))
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:|//)""", page)


def test_markdown_shows_text_as_it_is():
    text = "".join(export_markdown([found(1)]))
    assert "\x1b" not in text
    assert "\n1. second" not in text
    outside_code = re.sub(r"(`+).*?\1(?!`)", "", text)
    assert "<" not in outside_code.replace("\\<", "")
    assert r"\<script\>" in text
    assert "pytest: **fail**" in text


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_takes_its_rounds_one_by_one(name):
    taken = []

    def rounds():
        for number in range(1, 2_000):
            taken.append(number)
            yield found(number, "x")

    pieces = FORMATS[name](rounds())
    for _ in range(4):
        next(pieces)
    assert len(taken) <= 500


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_of_nothing_is_whole(name):
    assert isinstance("".join(FORMATS[name]([])), str)
