"""The frame of the command line: what is imported, understood and answered, with which code."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from streams import errors
from worker import cli
from worker.console import exit_codes
from worker.console.classes import AresCommand, LazyCommand
from worker.console.exit_codes import ExitCode, exit_code_of, hint_for

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.run(args)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Lets the command `fail` raise what a test wants."""

    def install(error: BaseException) -> None:
        @click.command("fail", cls=AresCommand)
        @click.option("--json", "as_json", is_flag=True)
        def fail(as_json: bool) -> None:
            raise error

        monkeypatch.setattr(LazyCommand, "load", lambda _: fail)
        monkeypatch.setitem(cli.cli.known, "fail", LazyCommand("", "fails"))

    return install


def _loaded_by(args: list[str]) -> set[str]:
    script = (
        "import sys; from worker.cli import run; code = run(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, check=False
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], ["recall", "--help"], ["recall", "query", "x"]]
)
def test_help_version_and_recall_load_neither_redis_nor_pydantic(
    args: list[str], tmp_path: Path
) -> None:
    loaded = _loaded_by(["--archive-dir", str(tmp_path / "none"), *args])
    assert "worker.cli" in loaded
    assert not loaded & {"redis", "pydantic", "msgpack", "prometheus_client", "asyncio"}


def test_every_command_loads_and_has_the_help_the_list_shows() -> None:
    for name, lazy in cli.cli.known.items():
        command = lazy.load()
        assert command.name == name
        assert command.help, name
        assert "Example" in command.help, f"{name} has no examples"


def test_every_command_of_a_group_has_help() -> None:
    for lazy in cli.cli.known.values():
        command = lazy.load()
        for sub in command.commands.values() if isinstance(command, click.Group) else ():
            assert sub.help, f"{command.name} {sub.name}"


@pytest.mark.parametrize("group", ["config", "dead", "recall", "segment", "streams", "subscribers"])
def test_the_help_of_a_group_cuts_no_sentence_off(run: Run, group: str) -> None:
    _, out, _ = run(group, "--help")

    assert "..." not in out.partition("Commands:")[2]


def test_version_names_the_program_and_its_version(run: Run) -> None:
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out.startswith("ares-worker 0.")


def test_help_documents_every_exit_code(run: Run) -> None:
    _, out, _ = run("--help")
    for code, meaning in exit_codes.MEANINGS.items():
        assert f"{code:>3}  {meaning}" in out
    assert set(exit_codes.MEANINGS) == set(ExitCode)


def test_an_unknown_command_is_answered_with_the_nearest(run: Run) -> None:
    code, out, err = run("straems")
    assert (code, out) == (2, "")
    assert "No such command 'straems'. Did you mean 'streams'?" in err


def test_a_usage_error_shows_the_usage_of_its_command(run: Run) -> None:
    code, _, err = run("dead", "requeue")
    assert code == 2
    assert "Usage: ares-worker dead requeue" in err
    assert "Name dead letters by id, or say --all." in err


def test_without_a_command_the_help_is_shown_and_the_code_is_usage(run: Run) -> None:
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: ares-worker [OPTIONS] COMMAND")
    assert err.count("Start here:") == 1


def test_an_argument_that_is_no_text_is_a_usage_error(failing, run: Run) -> None:
    """Bytes that are no UTF-8 reach a command as halves of surrogate pairs."""
    failing(UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"))
    assert run("fail")[0] == ExitCode.BUG

    code, _, err = run("fail", "--tenant", "x\udcff")

    assert code == ExitCode.USAGE
    assert "x\\udcff is no UTF-8 text" in err


def test_a_usage_error_under_json_is_a_document_too(run: Run) -> None:
    code, out, _ = run("streams", "list", "--json", "--nonsense")
    error = json.loads(out)["error"]
    assert (code, error["exit_code"]) == (2, 2)
    assert "--nonsense" in error["message"]


def test_global_options_work_before_and_after_the_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = json.loads(run("--archive-dir", "/a", "config", "show", "--json")[1])
    between = json.loads(run("config", "--archive-dir", "/a", "show", "--json")[1])
    after = json.loads(run("config", "show", "--json", "--archive-dir", "/a")[1])
    assert before == between == after
    assert before["archive.dir"] == {"value": "/a", "origin": "flag"}


def test_the_option_nearest_to_the_command_wins(run: Run) -> None:
    _, out, _ = run("--tenant", "a", "--tenant", "b", "config", "show", "--json", "--tenant", "c")
    assert json.loads(out)["tenants"]["value"] == ["c"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.StreamNotFound("s"), 1),
        (errors.UsageError("x"), 2),
        (errors.InvalidEvent("payload", "x"), 2),
        (errors.StreamCorrupted("s", "x"), 65),
        (errors.StreamIntegrityError(1, 2, 3), 65),
        (errors.StoreUnavailable("x"), 69),
        (ValueError("x"), 70),
        (KeyError("x"), 70),
        (errors.StoreFull("x"), 73),
        (OSError(errno.ENOSPC, "no space"), 73),
        (OSError(errno.EDQUOT, "quota"), 73),
        (errors.VersionConflict("s", 1, 2), 75),
        (errors.TooMuchContention("s", 9), 75),
        (errors.LeaseLost("l"), 75),
        (errors.OutcomeUnknown("s"), 75),
        (errors.TransientError("x"), 75),
        (errors.StoreAccessDenied("x"), 77),
        (PermissionError(errno.EACCES, "no"), 77),
        (OSError(errno.EROFS, "read-only"), 77),
        (OSError(errno.EIO, "broken"), 69),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (BrokenPipeError(errno.EPIPE, "gone"), 141),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_family_of_errors_has_its_exit_code(
    error: BaseException, code: int, failing: Callable[[BaseException], None], run: Run
) -> None:
    failing(error)
    assert run("fail")[0] == code


def test_archive_failures_take_the_code_of_their_reason() -> None:
    from archive.failures import ArchiveFailure, ArchiveMissing

    def failure(number: int) -> ArchiveFailure:
        return ArchiveFailure("write", "/a/round_1.json", OSError(number, "x"))

    assert exit_code_of(failure(errno.ENOSPC)) == ExitCode.FULL
    assert exit_code_of(failure(errno.EROFS)) == ExitCode.DENIED
    assert exit_code_of(failure(errno.EACCES)) == ExitCode.DENIED
    assert exit_code_of(failure(errno.EIO)) == ExitCode.UNAVAILABLE
    assert exit_code_of(ArchiveMissing("/a")) == ExitCode.NO


def test_an_error_under_json_is_one_document_with_kind_message_hint_and_code(
    failing: Callable[[BaseException], None], run: Run
) -> None:
    failing(errors.VersionConflict("s", 3, 5))
    code, out, err = run("fail", "--json")
    assert code == 75
    assert json.loads(out) == {
        "error": {
            "kind": "VersionConflict",
            "message": "stream 's' is at version 5, expected 3",
            "hint": "Read the stream again, decide again, then append.",
            "exit_code": 75,
        }
    }
    assert "stream 's' is at version 5, expected 3" in err


def test_without_json_an_error_leaves_stdout_empty(
    failing: Callable[[BaseException], None], run: Run
) -> None:
    failing(errors.StoreUnavailable("Error 111 connecting to 127.0.0.1:6379."))
    _, out, err = run("fail")
    assert out == ""
    assert err == (
        "ares-worker: Error 111 connecting to 127.0.0.1:6379.\n"
        "  Start Redis, name another one with --redis URL, or try --redis embedded.\n"
    )


def test_a_bug_is_called_one_and_shows_its_trace_on_request(
    failing: Callable[[BaseException], None], run: Run
) -> None:
    failing(RuntimeError("unexpected"))
    code, _, err = run("fail")
    assert code == 70
    assert "ares-worker: RuntimeError: unexpected\n  This is a bug of ares-worker." in err
    assert "Traceback" not in err
    assert "Traceback" in run("fail", "-v")[2]


def test_no_error_shows_a_password(failing: Callable[[BaseException], None], run: Run) -> None:
    for error in (RuntimeError, errors.StoreUnavailable, errors.UsageError):
        failing(error("can't use redis://user:S3CRET@host:1/0?password=S3CRET"))
        for args in (("fail",), ("fail", "--json"), ("fail", "-vv")):
            assert "S3CRET" not in "".join(map(str, run(*args)))


def test_a_hostile_message_cannot_drive_the_terminal(
    failing: Callable[[BaseException], None], run: Run
) -> None:
    failing(errors.UsageError("stream \x1b]52;c;x\x07\u202e"))
    assert "stream \\x1b]52;c;x\\x07\\u202e" in run("fail")[2]


def test_an_error_may_bring_its_own_hint() -> None:
    class Own(errors.CorruptionError):
        hint = "Look there."

    assert hint_for(Own("x")) == "Look there."
    assert hint_for(ValueError("x")) == ""


def test_completion_scripts_are_printed_for_each_shell(run: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = run("completion", shell)
        assert code == 0
        assert "_ARES_WORKER_COMPLETE" in out


def _completed(words: str) -> tuple[list[str], list[str]]:
    """What the shell is offered for the last of `words`, and which modules that took."""
    script = "import sys; from worker.cli import run; run([]); print(*sys.modules, file=sys.stderr)"
    environ = {
        "_ARES_WORKER_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environ
    )
    return done.stdout.split(), done.stderr.split()


def test_the_shell_completes_commands_without_importing_them() -> None:
    offered, loaded = _completed("ares-worker de")
    assert offered == ["plain,demo", "plain,dead"]
    assert "worker.commands.dead" not in loaded


def test_the_shell_completes_subcommands_and_global_options() -> None:
    assert _completed("ares-worker dead re")[0] == ["plain,requeue"]
    assert "plain,--archive-dir" in _completed("ares-worker recall list --a")[0]


def test_completion_of_nonsense_is_silent() -> None:
    offered, said = _completed("ares-worker nonsense x")
    assert offered == []
    assert "Usage:" not in said
