"""The exported page in a real browser: it shows every round, finds, marks, and runs no text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from archive.places import ArchivedRound, Place, StreamFolder
from archive.recall.export import export_html
from archive.record import FileChange, RoundRecord
from archive.record_json import record_to_dict

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
EVIL = "<img src=x onerror=document.title='run'></script><script>document.title='run'</script>"

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine"),
]


def found(number: int, summary: str, stream: str = "s") -> ArchivedRound:
    record = RoundRecord(
        number,
        "fix",
        summary,
        files=(FileChange("src/a.py", 3, 1),),
        stream_id=stream,
        outcome="failed" if number % 2 else "completed",
    )
    place = Place(StreamFolder("default", ("default", stream), stream), number)
    return ArchivedRound(place, stream, record, record_to_dict(record))


def browse(folder: Path, rounds: list[ArchivedRound], query: str = "") -> str:
    """The page as the browser has it once its script has run."""
    page = folder / "page.html"
    page.write_text("".join(export_html(rounds)), "utf-8")
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            f"{page.as_uri()}#{query}",
        ],
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.decode()


def shown_rounds(dom: str) -> list[str]:
    return re.findall(r"<article[^>]*><h2><span>round (\d+)</span>", dom)


def test_every_round_is_shown_page_by_page(tmp_path):
    dom = browse(tmp_path, [found(n, f"summary {n}") for n in range(120, 0, -1)])
    assert shown_rounds(dom) == [str(n) for n in range(120, 70, -1)]
    assert "120 in 1 stream, newest first" in dom
    assert '<button id="more" type="button">Show more</button>' in dom


def test_a_search_finds_and_marks(tmp_path):
    rounds = [found(3, "The FOX and the Straße"), found(2, "a fox"), found(1, "a badger")]
    dom = browse(tmp_path, rounds, "fox%20strasse")
    assert shown_rounds(dom) == ["3"]
    assert "1 round matches" in dom
    dom = browse(tmp_path, rounds, "%22a%20fox%22")
    assert "<mark>a fox</mark>" in dom


def test_no_text_of_a_round_is_run_or_shown_as_anything_but_text(tmp_path):
    dom = browse(tmp_path, [found(1, EVIL, stream="\u202eevil\x1b[2J")], "")
    assert "<title>Archived rounds</title>" in dom
    assert "&lt;img src=x onerror=" in dom
    body = dom[dom.index("<main>") : dom.index('<script type="application/json">')]
    assert not set("\u202e\x1b") & set(body)
    assert "<img" not in body
