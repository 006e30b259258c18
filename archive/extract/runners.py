"""Pure. Task runners: what runs under a name (`make test`, `pnpm lint`) and how it prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from archive.prefilter import has_any
from archive.record import CheckKind

from .commands import positional, program_name
from .sessions import SESSION_RUNNERS, named_sessions

# Runner → words that introduce a task's name.
_RUNNERS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "make": "", "gmake": "", "just": "", "task": "", "rake": "", "invoke": "", "inv": "",
        "mise": "run r", "npm": "run run-script", "pnpm": "run", "yarn": "run workspace",
        "bun": "run", "deno": "task", "composer": "run run-script", "turbo": "run", "nx": "run",
        "lerna": "run", "rush": "", "moon": "run", "earthly": "", "hatch": "run", "pdm": "run",
        "poe": "", "nox": "", "tox": "", "pixi": "run", "rye": "run", "uv": "run",
        "poetry": "run", "pipenv": "run",
        "mix": "", "grunt": "", "gulp": "", "mage": "", "bazelisk": "",
        "cargo": "make xtask", "docker-compose": "up", "act": "", "dagger": "call", "ant": "",
        "lefthook": "run", "husky": "", "wireit": "", "lage": "", "devbox": "run", "nix": "run",
    }.items()
}  # fmt: skip
RUNNER_NAMES: Final = frozenset(_RUNNERS)
_VERB_ONLY: Final = frozenset(
    {"hatch", "pdm", "cargo", "nix", "bun", "docker-compose", "pixi", "rye", "uv", "poetry",
     "pipenv"}
)  # fmt: skip
_NO_TASKS: Final = frozenset(
    {
        "install", "i", "ci", "add", "remove", "view", "info", "outdated", "publish", "login",
        "why", "list", "ls", "init", "create", "link", "pack", "config", "version", "audit",
        "dedupe", "store", "cache", "exec", "dlx", "up", "down", "ps", "build-push", "trust",
        "settings", "use", "current", "upgrade", "self-update", "doctor", "activate", "env",
        "which", "where", "show", "require", "dump-autoload", "search", "help", "uninstall",
        "update", "prune", "rebuild", "fund", "start", "dev", "serve", "watch", "preview",
    }
)  # fmt: skip
_TASK_KINDS: Final[tuple[tuple[CheckKind, frozenset[str]], ...]] = (
    ("race", frozenset({"race"})),
    ("examples", frozenset({"example", "examples"})),
    ("vet", frozenset({"vet", "typecheck", "types", "tsc", "mypy", "typing", "pyright"})),
    ("lint", frozenset({"lint", "linter", "linting", "eslint", "ruff", "flake8", "golangci"})),
    ("test", frozenset({"test", "tests", "spec", "specs", "unittest", "unit", "e2e", "t",
                        "integration", "pytest", "jest", "vitest"})),
    ("build", frozenset({"build", "compile"})),
)  # fmt: skip
_MANAGERS: Final = frozenset(
    {"npm", "pnpm", "yarn", "bun", "composer", "mise", "pdm", "docker-compose", "devbox", "deno"}
)
_NOT_CHECKS: Final = frozenset(
    {
        "fix", "fmt", "format", "clean", "deps", "install", "watch", "dev", "docker", "image",
        "setup", "generate", "gen", "serve", "start", "deploy", "release", "publish", "down",
        "up", "logs", "data", "fixtures", "update", "db", "prepare", "migrate", "seed", "server",
    }
)  # fmt: skip
_NO_RUN: Final = frozenset({"--version", "--help", "-h", "--dry-run", "--list"})
_TRIALS: Final = frozenset(
    {"repro", "reproduce", "reproducer", "reproduction", "debug", "demo", "scratch", "tmp", "poc"}
)
"""Words in the names of scripts that try something out once: no verification."""
_TEST_WORDS: Final = frozenset({"test", "tests", "unittest", "unittests", "spec", "specs"})
_SPLIT: Final = re.compile(r"[:/._-]+")
_SCRIPT: Final = re.compile(r"\.(?:sh|bash|zsh|ps1|mjs|cjs|js|ts|rb|py|pl)$")
_SCRIPT_HINTS: Final = ("./", ".sh", ".py", ".mjs", ".js", ".rb", ".php", ".ts", "bin/", "script")
_LABEL: Final = re.compile(r"^\[[\w:.-]{1,40}\] ?", re.MULTILINE)
_PACKAGE: Final = re.compile(
    r"^(?:[@\w./-]{1,60} [\w:-]{1,30}(?:\$ |: )|[@\w./-]{1,60}:[\w-]{1,30}: )", re.MULTILINE
)
_SERVICE: Final = re.compile(r"^[\w.-]{1,40} +\| ", re.MULTILINE)


def tasks_of(words: Sequence[str]) -> list[str] | None:
    """Names of the tasks a runner was asked for; None when `words` is no runner."""
    name = program_name(words[0])
    verbs = _RUNNERS.get(name)
    if verbs is None:
        return _script_task(words)
    if not _NO_RUN.isdisjoint(words) or "-n" in words[:2]:
        return None
    if name in SESSION_RUNNERS:
        return named_sessions(name, words)
    tasks = [w for w in positional(words) if "=" not in w]
    asked = bool(tasks) and tasks[0] in verbs
    if asked:
        tasks = tasks[1:]
        if words[1:2] == ("workspace",):
            tasks = tasks[1:]
    elif name in _VERB_ONLY:
        return None
    if not asked and tasks and tasks[0] in _NO_TASKS and name in _MANAGERS:
        return None
    if name in ("npm", "pnpm", "yarn", "mise", "bun", "deno", "composer", "devbox", "mix"):
        tasks = tasks[:1]
        if name == "mise" and words[1:2] not in (("run",), ("r",)) and not tasks:
            return None
    return tasks


def may_be_script(script: str) -> bool:
    """Whether a command line may call a script of the project."""
    return has_any(script, _SCRIPT_HINTS)


def named_kind(task: str) -> CheckKind | None:
    """The kind of check that a task's name promises, if any."""
    parts = [p for p in _SPLIT.split(task.lower()) if p]
    if not parts or not _NOT_CHECKS.isdisjoint(parts):
        return None
    if "type" in parts and ("check" in parts or "checks" in parts):
        return "vet"
    if parts[:1] == ["check"] and "types" in parts:
        return "vet"
    return next((kind for kind, words in _TASK_KINDS if not words.isdisjoint(parts)), None)


def strip_prefixes(runner: str, output: str) -> str:
    """The output without the label that a runner puts before each line of a task."""
    if runner in ("pnpm", "npm", "yarn", "turbo", "nx", "lerna", "bun", "lage", "moon", "rush"):
        return _PACKAGE.sub("", output)
    if runner == "docker-compose":
        return _SERVICE.sub("", output)
    return _LABEL.sub("", output) if "[" in output else output


def _script_task(words: Sequence[str]) -> list[str] | None:
    """A script of the project is a runner too: `./scripts/test.sh`, `bash ci/lint.sh`."""
    name = program_name(words[0])
    script = words[0]
    if name in ("bash", "sh", "zsh", "python", "python3", "node", "ruby", "perl", "php", "tsx"):
        script = next((w for w in words[1:] if not w.startswith("-")), "")
    elif "/" not in script or script.startswith(("/usr/", "/bin/", "/opt/")):
        return None
    elif "." not in name and not _TEST_WORDS.isdisjoint(_SPLIT.split(name)):
        return []  # a program that the project built of its tests
    if not _SCRIPT.search(script) and not script.startswith(("./", "bin/", "script/", "scripts/")):
        return None
    stem = _SCRIPT.sub("", script.rsplit("/", 1)[-1])
    parts = _SPLIT.split(stem.lower())
    if not _TRIALS.isdisjoint(parts):
        return None
    runs = script.endswith((".sh", ".bash", ".zsh")) or "script" in script or "bin/" in script
    return [stem] if runs and parts[0] not in ("test",) else []
