"""Pure. Files that a shell script changes: redirections, sed -i, mv, cp, rm, git and patches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from .commands import Invocation, names_any
from .edit_tools import book
from .ledger import Ledger
from .patches import read_patch, read_unified
from .paths import UNKNOWN, is_scratch, join
from .scripts import script_writes, skill_edits
from .shell import Redirect
from .view import ToolRun

_WRITES: Final = frozenset({">", ">|", "&>", ">>", "&>>"})
_INTERPRETERS: Final = ("python", "node", "ruby", "bun", "deno", "tsx")
_SED_TEXT: Final = re.compile(
    r"^\s*(?:\d+|\$|/[^/]*/)?(?:,(?:\d+|\$))?\s*([aic])\\?\s*(.*)", re.DOTALL
)
_SED_DELETE: Final = re.compile(r"^\s*(\d+)?(?:,(\d+))?\s*d\s*$")
_ESCAPED_BREAK: Final = re.compile(r"\\n")
_HARMLESS_LOOP: Final = re.compile(r"^\$\{?(\w+)\}?$")
_GIT_REMOVED: Final = re.compile(r"^rm '([^'\n]+)'$", re.MULTILINE)


def apply_shell(run: ToolRun, ledger: Ledger, directory: str) -> None:
    """Book what the commands of a shell run did to files."""
    if run.refused or not run.completed:
        return
    if ">" not in run.script and not names_any(run.script, _NAMES):
        return
    if not any(_may_change(call) for call in run.calls):
        return
    _Shell(run, ledger, run.directory if run.directory.startswith("/") else directory).book()


def _may_change(call: Invocation) -> bool:
    return (
        call.name in _HANDLERS
        or bool(call.command.redirects)
        or call.name.startswith(_INTERPRETERS)
    )


class _Shell:
    def __init__(self, run: ToolRun, ledger: Ledger, directory: str) -> None:
        self._run = run
        self._ledger = ledger
        self._here = directory
        self._loops: dict[str, list[str]] = {}

    def book(self) -> None:
        calls = self._run.calls
        for place, call in enumerate(calls):
            words = call.words
            if call.name == "cd" or call.name == "pushd":
                self._change_directory(words)
                continue
            if words[0] == "for" and len(words) > 3 and words[2] == "in":
                self._loops[words[1]] = list(words[3:])
                continue
            if not self._succeeded(call, place, len(calls)):
                continue
            self._redirections(call, calls, place)
            handler = _HANDLERS.get(call.name)
            if handler is not None:
                handler(self, call)
            elif call.name.startswith(_INTERPRETERS):
                self._script(call)

    def _succeeded(self, call: Invocation, place: int, number: int) -> bool:
        """Whether the command did its work, as far as the run's end and output tell."""
        run = self._run
        if f"{call.name}: " in run.output and re.search(
            rf"^(?:/?[\w/.-]*: (?:line )?\d+: )?{re.escape(call.name)}: (?!warning)",
            run.output[:20_000],
            re.MULTILINE,
        ):
            return False
        if not run.failed or place < number - 1:
            return True
        return bool(call.command.redirects) or call.name.startswith(("python", "node"))

    def _change_directory(self, words: Sequence[str]) -> None:
        target = next((w for w in words[1:] if not w.startswith("-")), "~")
        self._here = UNKNOWN if "$" in target or "`" in target else join(self._here, target)

    def paths(self, words: Iterable[str]) -> Iterator[str]:
        """Words as paths from the current directory, loop variables unrolled."""
        for word in words:
            variable = _HARMLESS_LOOP.match(word)
            for name in self._loops.get(variable[1], [word]) if variable else [word]:
                if "*" not in name and "?" not in name:
                    yield join(self._here, name)

    def _redirections(self, call: Invocation, calls: Sequence[Invocation], place: int) -> None:
        for redirect in call.command.redirects:
            if redirect.operator not in _WRITES or redirect.target in ("", "-"):
                continue
            for path in self.paths([redirect.target]):
                content = self._printed(call, calls, place)
                if redirect.operator in (">>", "&>>"):
                    self._ledger.append(path, content, self._run.index)
                else:
                    self._ledger.write(path, content, self._run.index)

    def _printed(self, call: Invocation, calls: Sequence[Invocation], place: int) -> str | None:
        """What a command prints, where the script itself says it."""
        command = call.command
        if call.name == "cat":
            if body := command.here_document:
                return body
            files = [w for w in call.words[1:] if not w.startswith("-")]
            parts = [self._ledger.content(p) for p in self.paths(files)]
            return "".join(p for p in parts if p) if files and all(parts) else None
        if call.name == "echo":
            words = [w for w in call.words[1:] if w not in ("-e", "-n", "-ne", "-en", "-E")]
            text = " ".join(words)
            if "-e" in call.words or "-ne" in call.words or "-en" in call.words:
                text = _ESCAPED_BREAK.sub("\n", text)
            return text + ("" if "-n" in call.words else "\n")
        if call.name == "printf" and len(call.words) > 1:
            return _ESCAPED_BREAK.sub("\n", call.words[1])
        if call.name == "tee" and (body := command.here_document):
            return body
        return None

    def _tee(self, call: Invocation) -> None:
        files = [w for w in call.words[1:] if not w.startswith("-")]
        for path in self.paths(files):
            content = call.command.here_document or None
            if "-a" in call.words:
                self._ledger.append(path, content, self._run.index)
            else:
                self._ledger.write(path, content, self._run.index)

    def _sed(self, call: Invocation) -> None:
        if not any(w.startswith(("-i", "--in-place")) or _short_flag(w, "i") for w in call.words):
            return
        scripts, files = _sed_arguments(call.words)
        added, removed = 0, 0
        for script in scripts:
            plus, minus = _sed_lines(script)
            added, removed = added + plus, removed + minus
        for path in self.paths(files):
            self._ledger.edit(path, added, removed, self._run.index, sure=False)

    def _perl(self, call: Invocation) -> None:
        if call.name == "perl" and not any(_short_flag(w, "i") for w in call.words):
            self._script(call)
            return
        if call.name in ("awk", "gawk") and "inplace" not in call.words:
            return
        files = [w for w in call.words[1:] if not w.startswith("-")][1:]
        for path in self.paths(files):
            self._ledger.edit(path, 1, 1, self._run.index, sure=False)

    def _remove(self, call: Invocation) -> None:
        words = [w for w in call.words[1:] if not w.startswith("-")]
        recursive = any(_short_flag(w, "r") or _short_flag(w, "R") for w in call.words)
        for path in self.paths(words):
            self._ledger.delete(f"{path}/" if recursive else path, self._run.index)

    def _move(self, call: Invocation) -> None:
        words = [w for w in call.words[1:] if not w.startswith("-")]
        self._transfer(words, self._ledger.move)

    def _copy(self, call: Invocation) -> None:
        recursive = any(
            _short_flag(w, "r") or _short_flag(w, "R") or w == "--recursive" or _short_flag(w, "a")
            for w in call.words
        )
        words = [w for w in call.words[1:] if not w.startswith("-")]
        if not recursive:
            self._transfer(words, self._ledger.copy)

    def _transfer(self, words: Sequence[str], act: Callable[[str, str, int], None]) -> None:
        if len(words) < 2:
            return
        paths = list(self.paths(words))
        if len(paths) < 2:
            return
        *sources, target = paths
        folder = words[-1].endswith("/") or len(sources) > 1 or words[-1] in (".", "..")
        for source in sources:
            name = f"{target.rstrip('/')}/{source.rsplit('/', 1)[-1]}" if folder else target
            act(source, name, self._run.index)

    def _touch(self, call: Invocation) -> None:
        for path in self.paths([w for w in call.words[1:] if not w.startswith("-")]):
            if path not in self._ledger.entries:
                self._ledger.write(path, "", self._run.index)

    def _download(self, call: Invocation) -> None:
        for option, target in pairwise(call.words):
            if option in ("-o", "-O", "--output", "--output-document") and target != "-":
                for path in self.paths([target]):
                    self._ledger.write(path, None, self._run.index)

    def _patch(self, call: Invocation) -> None:
        text = call.command.here_document or self._input(call.command.redirects)
        if not text and call.name == "apply_patch" and len(call.words) > 1:
            text = call.words[1]
        if not text:
            files = [w for w in call.words[1:] if not w.startswith("-") and w != "apply"]
            known = (self._ledger.content(p) for p in self.paths(files))
            text = next((k for k in known if k), "")
        if self._run.failed and "uccess" not in self._run.output[:400]:
            return
        if "verification failed" in self._run.output[:400]:
            return
        changes = read_patch(text) if call.name == "apply_patch" else read_unified(text)
        for change in changes:
            if not is_scratch(join(self._here, change.path)):
                book(change, self._ledger, self._here, self._run.index)

    def _input(self, redirects: Sequence[Redirect]) -> str:
        for redirect in redirects:
            if redirect.operator == "<":
                for path in self.paths([redirect.target]):
                    return self._ledger.content(path) or ""
        return ""

    def _script(self, call: Invocation) -> None:
        """Inline code, code on standard input, or a script that the round itself wrote."""
        words = call.words
        code = call.command.here_document
        for option, value in pairwise(words):
            if option in ("-c", "-e", "--eval", "-pe", "-ne"):
                code = value
        if not code:
            name = next(
                (w for w in words[1:] if w.endswith((".py", ".js", ".mjs", ".rb", ".ts"))), ""
            )
            code = self._ledger.content(join(self._here, name)) or "" if name else ""
        apply_code(code, self._ledger, self._here, self._run.index)

    def _git(self, call: Invocation) -> None:
        words, here = list(call.words[1:]), self._here
        while words and words[0].startswith("-"):
            if words[0] == "-C" and len(words) > 1:
                self._here = join(self._here, words[1])
            words = words[2:] if words[0] in ("-C", "-c") else words[1:]
        if words:
            self._git_command(words[0], words[1:], call)
        self._here = here

    def _git_command(self, verb: str, words: list[str], call: Invocation) -> None:
        ledger, index = self._ledger, self._run.index
        plain = [w for w in words if not w.startswith("-")]
        if verb == "rm":
            if "--cached" not in words:
                listed = _GIT_REMOVED.findall(self._run.output[:100_000])
                for path in self.paths(listed or plain):
                    ledger.delete(path, index)
        elif verb == "mv":
            self._transfer(plain, ledger.move)
        elif verb == "apply" and not {"--check", "--stat", "--numstat"} & set(words):
            self._patch(call)
        elif verb in ("checkout", "restore"):
            self._git_restore(verb, words, plain)
        elif verb == "stash":
            if plain[:1] in (["pop"], ["apply"]):
                ledger.unstash()
            elif plain[:1] in ([], ["push"], ["save"]):
                ledger.stash()
        elif verb == "reset" and "--hard" in words:
            ledger.restore_all()
        elif verb == "commit" and not self._run.failed:
            ledger.settle()

    def _git_restore(self, verb: str, words: list[str], plain: list[str]) -> None:
        if "--staged" in words and "--worktree" not in words:
            return
        if not {"-b", "-B", "-t", "--track", "--orphan", "--detach"}.isdisjoint(words):
            return
        sides = {"--theirs", "--ours"} & set(words)
        if "--" in words:
            files = words[words.index("--") + 1 :]
        elif verb == "restore" or sides:
            files = plain
        else:
            # `git checkout NAME`: a branch, unless it looks like a file.
            files = [
                w for w in plain if "." in w.rsplit("/", 1)[-1] and not w.startswith("origin/")
            ]
            files = files if len(files) == len(plain) else []
        for path in self.paths(f for f in files if f not in (".", ":/")):
            self._ledger.restore(path, self._run.index)
        if any(f in (".", ":/") for f in files):
            self._ledger.restore_all()


def apply_code(code: str, ledger: Ledger, directory: str, index: int) -> None:
    """Book the files that a small program writes."""
    for function, name, old, new in skill_edits(code):
        path = join(directory, name)
        if function == "create_file":
            ledger.write(path, "", index, new=True)
        elif function == "edit_file_by_replace":
            ledger.replace(path, old, new, index)
        else:
            ledger.edit(path, new.rstrip("\n").count("\n") + 1, 0, index, sure=False)
    for write in script_writes(code):
        path = join(directory, write.path)
        if is_scratch(path):
            continue
        if write.verb == "delete":
            ledger.delete(path, index)
        elif write.verb in ("move", "copy"):
            act = ledger.move if write.verb == "move" else ledger.copy
            act(path, join(directory, write.target), index)
        elif write.verb == "append":
            ledger.append(path, write.content, index)
        else:
            ledger.write(path, write.content, index)


_HANDLERS: Final[dict[str, Callable[[_Shell, Invocation], None]]] = {
    "tee": _Shell._tee, "sed": _Shell._sed, "gsed": _Shell._sed, "perl": _Shell._perl,
    "awk": _Shell._perl, "gawk": _Shell._perl, "rm": _Shell._remove, "unlink": _Shell._remove,
    "trash": _Shell._remove, "mv": _Shell._move, "cp": _Shell._copy, "install": _Shell._copy,
    "touch": _Shell._touch, "truncate": _Shell._touch, "curl": _Shell._download,
    "wget": _Shell._download, "patch": _Shell._patch, "apply_patch": _Shell._patch,
    "git": _Shell._git,
}  # fmt: skip


_NAMES: Final = frozenset(_HANDLERS) | frozenset(_INTERPRETERS)


def _short_flag(word: str, letter: str) -> bool:
    return len(word) > 1 and word[0] == "-" and word[1] != "-" and letter in word[1:5]


def _sed_arguments(words: Sequence[str]) -> tuple[list[str], list[str]]:
    scripts: list[str] = []
    rest: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("-e", "--expression", "-f", "--file") and at + 1 < len(words):
            scripts.append(words[at + 1])
            at += 1
        elif word == "-i" and at + 1 < len(words) and words[at + 1] == "":
            at += 1  # BSD: an empty suffix
        elif not word.startswith("-"):
            rest.append(word)
        at += 1
    if not scripts and rest:
        scripts, rest = rest[:1], rest[1:]
    return scripts, rest


def _sed_lines(script: str) -> tuple[int, int]:
    """A guess at the lines that one sed script adds and removes."""
    if match := _SED_TEXT.match(script):
        lines = match[2].count("\n") + match[2].count("\\n") + 1
        return lines, int(match[1] == "c")
    if match := _SED_DELETE.match(script):
        first, last = int(match[1] or 0), int(match[2] or 0)
        return 0, max(1, last - first + 1) if last else 1
    commands = [
        c for c in re.split(r"[;\n]", script[:2000]) if re.match(r"^\s*[\d,$/]*.*s[/|#,@!]", c)
    ]
    number = max(1, len(commands)) if len(commands) < 50 else 1
    breaks = script.count("\\n")
    return number + breaks, number
