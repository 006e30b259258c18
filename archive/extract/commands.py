"""Pure. What a command line really runs, once wrappers around it are taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from string import ascii_letters, digits
from typing import Final, NamedTuple

from .shell import Command, parse_script

_WORD_BYTES: Final = bytes(
    byte if chr(byte) in f"{ascii_letters}{digits}_.+-" else ord(" ") for byte in range(256)
)
_MAX_NESTING: Final = 4
_MAX_REMEMBERED: Final = 1_000
SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_NIX: Final = frozenset({"nix", "flox", "guix"})
_PYTHONS: Final = ("python", "pypy")

# Wrapper → how many words of its own follow it, options apart.
_PREFIXES: Final = {
    "sudo": 0, "doas": 0, "env": 0, "time": 0, "nice": 0, "nohup": 0, "stdbuf": 0, "setsid": 0,
    "ionice": 0, "command": 0, "exec": 0, "builtin": 0, "unbuffer": 0, "xvfb-run": 0,
    "caffeinate": 0, "cross-env": 0, "dotenv": 0, "npx": 0, "bunx": 0, "pnpx": 0, "uvx": 0,
    "timeout": 1, "gtimeout": 1, "script": 1, "xargs": 0, "watch": 0, "chronic": 0,
}  # fmt: skip
_PREFIX_PAIRS: Final = {
    ("pnpm", "exec"): 0, ("pnpm", "dlx"): 0, ("npm", "exec"): 0, ("npm", "x"): 0,
    ("yarn", "exec"): 0, ("yarn", "dlx"): 0, ("bun", "x"): 0, ("uv", "run"): 0,
    ("poetry", "run"): 0, ("pipenv", "run"): 0, ("pdm", "run"): 0, ("hatch", "run"): 0,
    ("rye", "run"): 0, ("pixi", "run"): 0, ("conda", "run"): 0, ("mamba", "run"): 0,
    ("pipx", "run"): 0, ("bundle", "exec"): 0, ("mise", "exec"): 0, ("mise", "x"): 0,
    ("asdf", "exec"): 0, ("rustup", "run"): 1, ("direnv", "exec"): 1, ("coverage", "run"): 0,
    ("docker", "exec"): 1, ("docker", "run"): 1, ("podman", "exec"): 1, ("podman", "run"): 1,
    ("docker-compose", "exec"): 1, ("docker-compose", "run"): 1, ("doppler", "run"): 0,
    ("op", "run"): 0, ("dotenvx", "run"): 0, ("uv", "tool"): 1,
}  # fmt: skip
_PAIRED: Final = frozenset(name for name, _ in _PREFIX_PAIRS)
# Managers whose `run` takes a program or a task of the project, and names that tasks have.
_TASK_MANAGERS: Final = frozenset({"hatch", "pdm", "pixi", "rye", "uv", "poetry", "pipenv"})
_TASK_NAMES: Final = frozenset(
    {
        "test", "tests", "lint", "check", "checks", "typecheck", "type-check", "types", "build",
        "fmt", "format", "style", "cov", "coverage", "ci", "all", "unit", "integration", "verify",
    }
)  # fmt: skip
_VALUE_OPTIONS: Final = frozenset(
    {
        "-u", "-n", "-e", "-w", "-p", "-C", "-k", "-s", "-g", "-I", "-L", "-P", "-d", "-W",
        "-X", "--env", "--workdir", "--group", "--extra", "--with", "--python", "--package",
        "--directory", "--project", "--filter", "--user", "--signal", "--name", "--env-file",
        "--only-group", "--cwd", "--prefix", "--network", "--volume", "-v", "--manifest-path",
        "--max-procs", "-f", "--file", "--entrypoint", "--timeout", "--kill-after", "-F",
        "--python-version", "--format",
    }
)  # fmt: skip
# Options of these programs that take no value, though others' take one.
_FLAGS: Final = {
    name: frozenset(flags.split())
    for name, flags in {
        "make": "-s -k -n -w -e -d -p -L -B -i -r -R -q",
        "gmake": "-s -k -n -w -e -d -p -L -B -i -r -R -q",
        "just": "-n -u -e -l -v", "task": "-n -s -w -p -f -v -g",
        "rake": "-n -s -P -W -p -v -X", "npm": "-s -d -g -f -P", "pnpm": "-w -s -P -D -g",
        "yarn": "-s -W -v", "time": "-p -v", "sudo": "-n -E -k -s", "watch": "-d -e -g",
        "xargs": "-p",
    }.items()
}  # fmt: skip
_NO_FLAGS: Final[frozenset[str]] = frozenset()


class Invocation(NamedTuple):
    """A program and its arguments as run; `name` is the program without folder and extension."""

    name: str
    words: tuple[str, ...]
    command: Command


def program_name(word: str) -> str:
    """`word` as a program's name: last path part, lower case, no Windows extension."""
    name = word.lower()
    if "/" in name or "\\" in name:
        name = name.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    if "." not in name:
        return name
    return name.removesuffix(".exe").removesuffix(".cmd")


def calls_of(script: str) -> tuple[Invocation, ...]:
    """Every program that `script` runs, in order, including those of `sh -c` scripts.

    Agents run the same commands again and again, so that short ones are remembered.
    """
    return _remembered(script) if len(script) <= _MAX_REMEMBERED else _calls_of(script)


def _calls_of(script: str) -> tuple[Invocation, ...]:
    return tuple(_invocations(parse_script(script)))


_remembered: Final = lru_cache(maxsize=2_000)(_calls_of)


def _invocations(commands: Sequence[Command], nesting: int = 0) -> Iterator[Invocation]:
    for place, command in enumerate(commands, 1):
        words = _unwrap(command.words)
        if not words:
            continue
        script = _inner_script(words)
        if script is not None and nesting < _MAX_NESTING:
            for inner in _invocations(parse_script(script), nesting + 1):
                piped = inner.command.piped or command.piped
                origin = Command(
                    inner.command.words,
                    inner.command.redirects,
                    inner.command.joiner or command.joiner,
                    piped,
                    (*command.group, -place, *inner.command.group),
                )
                yield Invocation(inner.name, inner.words, origin)
        else:
            yield Invocation(program_name(words[0]), words, command)


def names_any(script: str, names: frozenset[str]) -> bool:
    """Whether one of `names` is a word of `script`: a cheap look before it is parsed."""
    words = script.encode("utf-8", "replace").translate(_WORD_BYTES).decode("ascii").split()
    return not names.isdisjoint(words) or ("python" in names and "python" in script)


def positional(words: Sequence[str], start: int = 1) -> list[str]:
    """The words after the program that are no options nor values of known options."""
    found: list[str] = []
    flags = _FLAGS.get(program_name(words[0]), _NO_FLAGS)
    at = start
    while at < len(words):
        word = words[at]
        if word == "--":
            found.extend(words[at + 1 :])
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in _VALUE_OPTIONS and word not in flags else 1
        else:
            found.append(word)
            at += 1
    return found


def _unwrap(words: tuple[str, ...]) -> tuple[str, ...]:
    for _ in range(12):
        while words and _is_assignment(words[0]):
            words = words[1:]
        if not words:
            return ()
        name = program_name(words[0])
        if name in ("docker", "podman") and len(words) > 2 and words[1] == "compose":
            words = (f"{name}-compose", *words[2:])
            name = words[0]
        second = _first_argument(words) if name in _PAIRED else 0
        if name in _PREFIXES:
            words = _after(words, 1, _PREFIXES[name])
        elif second and (name, words[second]) in _PREFIX_PAIRS:
            inner = _after(words, second + 1, _PREFIX_PAIRS[name, words[second]])
            if name in _TASK_MANAGERS and inner and _is_task(inner[0]):
                return (name, words[second], *inner)
            words = inner
        elif name in _NIX and (at := _nix_command(words)):
            words = words[at:]
        elif (name.startswith(_PYTHONS) or name == "py") and (module := _python_module(words)):
            words = module
        elif name == "find" and "-exec" in words:
            words = tuple(
                w for w in words[words.index("-exec") + 1 :] if w not in ("{}", "+", ";", "\\;")
            )
        else:
            return words
    return words


def _after(words: tuple[str, ...], at: int, own: int) -> tuple[str, ...]:
    """What follows a wrapper's options and its `own` words."""
    flags = _FLAGS.get(program_name(words[0]), _NO_FLAGS)
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            if word == "-m":
                return ("python", *words[at:])
            at += 2 if word in _VALUE_OPTIONS and word not in flags else 1
        elif _is_assignment(word):
            at += 1
        elif own:
            own -= 1
            at += 1
        else:
            break
    return words[at:]


def _first_argument(words: Sequence[str]) -> int:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUE_OPTIONS else 1
    return at if at < len(words) else 0


def _python_module(words: tuple[str, ...]) -> tuple[str, ...]:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m":
            return words[at + 1 :]
        if words[at] == "-c":
            return ()
        at += 2 if words[at] in ("-W", "-X") else 1
    return ()


def _nix_command(words: Sequence[str]) -> int:
    """Where the command of a `nix develop -c COMMAND` begins, 0 where there is none."""
    for at, word in enumerate(words[1:], 1):
        if word in ("-c", "--command") and at + 1 < len(words):
            return at + 1
    return 0


def _inner_script(words: Sequence[str]) -> str | None:
    name = program_name(words[0])
    if name == "nix-shell" and "--run" in words[:-1]:
        return words[words.index("--run") + 1]
    if name not in SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[at + 1] if at + 1 < len(words) else None
        if not word.startswith("-"):
            return None
    return None


def _is_task(word: str) -> bool:
    """Whether a word is a project's task, not a program: `lint`, `test:unit`."""
    return word in _TASK_NAMES or (":" in word and "/" not in word)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
