"""What the pages name is there: settings, variables, chart values, metrics, panels, commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from support.promql import exposition
from worker import cli
from worker.console.classes import GLOBAL_OPTIONS
from worker.settings.load import setting_fields, variable

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in (
        "README.md",
        "docs/*.md",
        "archive/*.md",
        "streams/*.md",
        "helm/*/README.md.tmpl",
    )
    for path in ROOT.glob(pattern)
)
SECTIONS = {key.partition(".")[0] for key in setting_fields() if "." in key}

every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)


def names(page: Path) -> Iterator[str]:
    """The pieces of code in prose: what is named there."""
    for span in re.findall(r"`([^`]+)`", BLOCK.sub("", page.read_text("utf-8"))):
        yield " ".join(span.split())


def said(page: Path) -> Iterator[str]:
    """Each line of code blocks, and each piece of code in prose."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        yield from block.splitlines()
    yield from names(page)


@every_page
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    named = {
        span.removeprefix("config.").partition(" ")[0].partition("=")[0]
        for span in names(page)
        if re.fullmatch(r"(config\.)?[a-z]+\.[a-z_]+( .*|=.*)?", span)
    }
    settings = {name for name in named if name.partition(".")[0] in SECTIONS}

    assert settings <= {*setting_fields(), *chart_values(), *SECTIONS}, page.name


@every_page
def test_every_variable_that_a_page_names_exists(page: Path) -> None:
    known = {variable(key) for key in setting_fields()} | {"ARES_CONFIG"}
    named = set(re.findall(r"\bARES_[A-Z][A-Z_]*[A-Z]\b", page.read_text("utf-8")))

    assert named <= known, page.name


def chart_values() -> set[str]:
    """Every value of the chart by its path."""
    schema = json.loads((ROOT / "helm/ares-worker/values.schema.json").read_text("utf-8"))

    def paths(node: dict[str, Any], before: str) -> Iterator[str]:
        for name, below in node.get("properties", {}).items():
            yield before + name
            yield from paths(below, f"{before}{name}.")

    return set(paths(schema, ""))


@every_page
def test_every_value_of_the_chart_that_a_page_names_exists(page: Path) -> None:
    values = chart_values()
    groups = {path.partition(".")[0] for path in values if "." in path} - {"config", "redis"}
    named = {
        span.partition(":")[0]
        for span in names(page)
        if re.fullmatch(r"[a-z]\w*(\.\w+)+(: .*)?", span) and span.partition(".")[0] in groups
    }

    assert named <= values | set(setting_fields()), page.name


@every_page
def test_every_metric_that_a_page_names_exists(page: Path) -> None:
    exposed = set(re.findall(r"^# TYPE (\w+)", exposition(), re.M))
    named = set(re.findall(r"`(ares_[a-z_]+)", page.read_text("utf-8")))

    assert named <= exposed, page.name


def test_every_panel_that_a_page_sends_people_to_exists() -> None:
    titles = set()
    for board in (ROOT / "ops/dashboards").glob("*.json"):
        titles |= set(re.findall(r'"title": "([^"]+)"', board.read_text("utf-8")))
    named = {
        name
        for page in ("docs/runbook.md", "docs/operations.md")
        for name in re.findall(
            r"(?<![*\w])\*([A-Z][^*]+)\*(?!\*)", " ".join((ROOT / page).read_text("utf-8").split())
        )
    }

    assert len(named) > 10
    assert named <= titles


def commands_named(page: Path) -> Iterator[tuple[str, list[str]]]:
    """`ares-worker …` as pages write it, with the words after it."""
    for line in said(page):
        for command in re.findall(r"(?:^|[\s$(/`\"'])ares-worker ([a-z][^|#>&;)`]*)", line):
            yield command, command.partition(" -- ")[0].split()


@every_page
def test_every_command_and_flag_that_a_page_names_exists(page: Path) -> None:
    for line, words in commands_named(page):
        assert words[0] in cli.cli.known, line
        command = cli.cli.known[words[0]].load()
        if isinstance(command, click.Group) and len(words) > 1 and words[1].isalpha():
            assert words[1] in command.commands, line
            command = command.commands[words[1]]
        known = {option for param in (*command.params, *GLOBAL_OPTIONS) for option in param.opts}
        known |= {option for param in command.params for option in param.secondary_opts}
        flags = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z-]+(=.*)?", word)}
        assert flags <= known | {"--help"}, line


@every_page
def test_every_curl_names_a_host(page: Path) -> None:
    for line in said(page):
        for url in re.findall(r"\bcurl (?:-\S+ )*([^\s|]+)", line):
            assert re.match(r"(https?://)?[a-z0-9]", url), line
