"""Pure. Programs that run other programs: which, and what of the words behind them is their own."""

from __future__ import annotations

from typing import Final

SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
NIX: Final = frozenset({"nix", "flox", "guix"})
PYTHONS: Final = ("python", "pypy")

# Wrapper → how many words of its own follow it, options apart.
PREFIXES: Final = {
    "sudo": 0, "doas": 0, "env": 0, "time": 0, "nice": 0, "nohup": 0, "stdbuf": 0, "setsid": 0,
    "ionice": 0, "command": 0, "exec": 0, "builtin": 0, "unbuffer": 0, "xvfb-run": 0,
    "caffeinate": 0, "cross-env": 0, "dotenv": 0, "npx": 0, "bunx": 0, "pnpx": 0, "uvx": 0,
    "timeout": 1, "gtimeout": 1, "script": 1, "xargs": 0, "watch": 0, "chronic": 0,
}  # fmt: skip
PREFIX_PAIRS: Final = {
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
PAIRED: Final = frozenset(name for name, _ in PREFIX_PAIRS)
# Managers whose `run` takes a program or a task of the project, and names that tasks have.
TASK_MANAGERS: Final = frozenset({"hatch", "pdm", "pixi", "rye", "uv", "poetry", "pipenv"})
TASK_NAMES: Final = frozenset(
    {
        "test", "tests", "lint", "check", "checks", "typecheck", "type-check", "types", "build",
        "fmt", "format", "style", "cov", "coverage", "ci", "all", "unit", "integration", "verify",
    }
)  # fmt: skip
VALUE_OPTIONS: Final = frozenset(
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
FLAGS: Final = {
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
NO_FLAGS: Final[frozenset[str]] = frozenset()
