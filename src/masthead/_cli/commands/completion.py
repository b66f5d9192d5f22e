"""``masthead completion``: the script that makes a shell complete commands, kinds, names and namespaces."""

from __future__ import annotations

from typing import Final

import click

from masthead._cli.terminal import write

__all__ = ["command"]

_SHELLS: Final = ("bash", "zsh", "fish")


class _PlainCommand(click.Command):
    """A command without the shared options, whose usage looks like that of all others."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix="usage: ")


@click.command("completion", cls=_PlainCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  source <(masthead completion bash)      in ~/.bashrc
    zsh:   source <(masthead completion zsh)       in ~/.zshrc, behind compinit
    fish:  masthead completion fish > ~/.config/fish/completions/masthead.fish
    """
    from click.shell_completion import get_completion_class

    from masthead._cli.app import app
    from masthead._cli.completion_scripts import register_shells

    register_shells()
    found = get_completion_class(shell)
    assert found is not None
    write(f"{found(app, {}, 'masthead', '_MASTHEAD_COMPLETE').source()}\n")
