"""Pure. Which verification tools a command line runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from archive.record import Check, CheckKind

from .checks import TOOLS, CheckTool
from .commands import program_name
from .runners import tasks_of

CheckKey = tuple[CheckKind, str]
"""Kind and tool: of all its runs in a round the last one counts."""

MAKES: Final = frozenset({"make", "gmake", "just"})
_GRADLES: Final = frozenset({"gradle", "gradlew"})
_MANY: Final = frozenset({"mvn", "mvnw", "gradle", "gradlew", "sbt"})
"""Tools that run several kinds of checks in one call."""
_ANYWHERE: Final = frozenset(
    {"test", "verify", "install", "package", "check", "build", "compile", "lint", "assemble"}
)
_MAX_REMEMBERED: Final = 20
_NONE: Final[list[tuple[str, CheckTool]]] = []


def key_of(check: Check) -> CheckKey:
    """What `check` is a result of."""
    return check.kind, check.tool


def _by_program() -> dict[str, list[tuple[str, CheckTool]]]:
    table: dict[str, list[tuple[str, CheckTool]]] = {}
    for tool in TOOLS:
        for start in tool.starts:
            name, _, rest = start.partition(" ")
            table.setdefault(name, []).append((rest, tool))
    return table


PROGRAMS: Final = _by_program()


def match_tools(words: tuple[str, ...]) -> tuple[CheckTool, ...]:
    """The tools that a command line runs: usually one, `mvn package` tests and builds.

    Short command lines are remembered, like their parsing.
    """
    return _match_remembered(words) if len(words) <= _MAX_REMEMBERED else _match_tools(words)


def checked_by(words: tuple[str, ...]) -> tuple[CheckKey, ...] | None:
    """All that a command line can check by itself; None where its tasks are somebody else's."""
    return _checked_remembered(words) if len(words) <= _MAX_REMEMBERED else _checked_by(words)


def _match_tools(words: tuple[str, ...]) -> tuple[CheckTool, ...]:
    return tuple(_matching(words))


def _checked_by(words: tuple[str, ...]) -> tuple[CheckKey, ...] | None:
    tools = match_tools(words)
    if not tools and tasks_of(words) is not None:
        return None
    besides = [check for tool in tools for check in also_ran(tool, words, "")]
    return tuple((each.kind, each.name) for each in tools) + tuple(map(key_of, besides))


_match_remembered: Final = lru_cache(maxsize=2_000)(_match_tools)
_checked_remembered: Final = lru_cache(maxsize=2_000)(_checked_by)


def _matching(words: Sequence[str]) -> Iterator[CheckTool]:
    name = program_name(words[0])
    name = "python" if name.startswith("python") else name
    if "--version" in words or "--help" in words:
        return
    if "--dry-run" in words and name != "php-cs-fixer":
        return
    if name in MAKES and (any(w.startswith("-n") for w in words) or tasks_of(words)):
        return
    if name in _GRADLES:
        arguments = _gradle_tasks(words)
    elif name == "sbt":
        arguments = " ".join(words[1:]).replace(";", " ").split()
    elif name == "python":
        script = next((at for at, w in enumerate(words) if w.endswith(".py")), len(words))
        arguments = list(words[script + 1 : script + 2])  # the script's own command
    elif name == "go" and words[1:2] == ("install",) and any("@" in w for w in words):
        return  # another project's program
    else:
        arguments = [w for w in words[1:] if not w.startswith(("+", "-C"))]
    seen: set[CheckKind] = set()
    for rest, tool in PROGRAMS.get(name, _NONE) if name != "python" else _python_tools(words):
        if tool.kind in seen or not _matches(rest, arguments):
            continue
        if not tool.unless.isdisjoint(words) or (tool.needs and tool.needs.isdisjoint(words)):
            continue
        seen.add(tool.kind)
        yield tool
        if name not in _MANY:
            return


def _gradle_tasks(words: Sequence[str]) -> list[str]:
    """The tasks by what they do: `:app:testDebugUnitTest` is a test, `-x test` leaves it out."""
    excluded = {after.rsplit(":", 1)[-1] for option, after in pairwise(words) if option == "-x"}
    found: list[str] = []
    for before, word in pairwise(words):
        task = word.rsplit(":", 1)[-1]
        if word.startswith("-") or before in ("-x", "--tests", "-p", "-I", "-b"):
            continue
        if task.endswith(("Test", "Tests")) or task.startswith("test"):
            task = "test"
        elif task.startswith(("lint", "ktlint", "spotlessCheck", "detekt", "checkstyle")):
            task = "lint"
        elif task.startswith(("compile", "assemble", "bundle")) or task in ("jar", "classes"):
            task = "assemble"
        elif "test" in excluded:
            task = {"build": "assemble", "check": ""}.get(task, task)
        found.append(task)
    return found


def _python_tools(words: Sequence[str]) -> list[tuple[str, CheckTool]]:
    script = next((program_name(w) for w in words[1:] if w.endswith(".py")), "")
    return [(rest, tool) for rest, tool in PROGRAMS.get(script, _NONE)] if script else _NONE


def _matches(rest: str, arguments: Sequence[str]) -> bool:
    if not rest:
        return True
    parts = rest.split(" ")
    if parts[0].startswith("-"):
        return any(
            a == parts[0] or (a.startswith(parts[0]) and len(parts[0]) == 2) for a in arguments
        )
    plain = [a for a in arguments if not a.startswith("-")]
    if plain[: len(parts)] == parts:
        return True
    # Goals, tasks and scripts may stand anywhere: `mvn clean verify`, `python manage.py test`.
    return len(parts) == 1 and parts[0] in plain and parts[0] in _ANYWHERE


def also_ran(tool: CheckTool, words: Sequence[str], result: str) -> Iterator[Check]:
    """What a run of `tool` checked besides: races, examples."""
    if tool.name == "go test" and any(w in ("-race", "--race") for w in words):
        yield Check("race", "go test -race", result)
    if tool.kind in ("test", "build") and _runs_examples(words):
        yield Check("examples", f"{tool.name} examples", result)


def _runs_examples(words: Sequence[str]) -> bool:
    for before, word in pairwise(words):
        if before in ("-run", "--run") and word.lstrip("^").startswith("Example"):
            return True
    return any(
        w in ("--examples", "--example")
        or w.lstrip("./").startswith("examples/")
        or w.lstrip("^").startswith("-run=Example")
        for w in words[1:]
    )
