"""Pure. What a command line really runs, once wrappers around it are taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from string import ascii_letters, digits
from typing import Final, NamedTuple

from .shell import Command, parse_script
from .wrappers import (
    FLAGS,
    NIX,
    NO_FLAGS,
    PAIRED,
    PREFIX_PAIRS,
    PREFIXES,
    PYTHONS,
    SHELLS,
    TASK_MANAGERS,
    TASK_NAMES,
    VALUE_OPTIONS,
)

_WORD_BYTES: Final = bytes(
    byte if chr(byte) in f"{ascii_letters}{digits}_.+-" else ord(" ") for byte in range(256)
)
_MAX_NESTING: Final = 4
_MAX_REMEMBERED: Final = 1_000


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
    flags = FLAGS.get(program_name(words[0]), NO_FLAGS)
    at = start
    while at < len(words):
        word = words[at]
        if word == "--":
            found.extend(words[at + 1 :])
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in VALUE_OPTIONS and word not in flags else 1
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
        second = _first_argument(words) if name in PAIRED else 0
        if name in PREFIXES:
            words = _after(words, 1, PREFIXES[name])
        elif second and (name, words[second]) in PREFIX_PAIRS:
            inner = _after(words, second + 1, PREFIX_PAIRS[name, words[second]])
            if name in TASK_MANAGERS and inner and _is_task(inner[0]):
                return (name, words[second], *inner)
            words = inner
        elif name in NIX and (at := _nix_command(words)):
            words = words[at:]
        elif (name.startswith(PYTHONS) or name == "py") and (module := _python_module(words)):
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
    flags = FLAGS.get(program_name(words[0]), NO_FLAGS)
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            if word == "-m":
                return ("python", *words[at:])
            at += 2 if word in VALUE_OPTIONS and word not in flags else 1
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
        at += 2 if words[at] in VALUE_OPTIONS else 1
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
    return word in TASK_NAMES or (":" in word and "/" not in word)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
