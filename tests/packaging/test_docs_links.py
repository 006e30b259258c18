"""Links between pages lead somewhere, and files a page names are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "archive/*.md", "streams/*.md", "helm/*/*.md")
    for path in ROOT.glob(pattern)
)


def links(page: Path) -> Iterator[str]:
    """Targets of the page's links, those to other hosts left out."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), target


def test_every_page_of_the_documentation_is_linked_from_the_readme_or_its_neighbours() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in links(page)
    }

    assert [page for page in PAGES if page.parent.name == "docs" and page not in linked] == []


def test_the_picture_of_the_architecture_names_what_it_shows() -> None:
    picture = (ROOT / "docs" / "architecture.svg").read_text("utf-8")

    assert "<title" in picture
    assert all(
        f">{part}" in picture for part in ("inbox", "sequencer", "archivers", "round_N.json")
    )
