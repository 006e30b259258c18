"""`completion`: the script that makes a shell complete `ares-worker`."""

from __future__ import annotations

import click

from worker.console.classes import AresCommand


@click.command("completion", cls=AresCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of SHELL.

    \b
    Examples:
      bash: echo 'eval "$(ares-worker completion bash)"' >> ~/.bashrc
      zsh:  echo 'eval "$(ares-worker completion zsh)"' >> ~/.zshrc
      fish: ares-worker completion fish > ~/.config/fish/completions/ares-worker.fish
    """
    from worker.cli import complete

    return complete(f"{shell}_source")
