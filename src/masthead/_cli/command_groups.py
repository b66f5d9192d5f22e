"""Commands below a common word, such as ``auth can-i`` and ``auth whoami``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import format_options, shared_options, take_shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._cli.framework import ClusterCommand

__all__ = ["CommandGroup", "command_group"]

_MAX_SUMMARY: Final = 200
"""The maximum length of the line that a group's help has for a command; longer ones would be cut off."""


class CommandGroup(click.Group):
    """A group of commands, with the shared options."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of the help, as that of all other commands."""
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] [ARGUMENTS]", prefix="usage: ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        with formatter.section("commands"):
            formatter.write_dl([(name, made.get_short_help_str(_MAX_SUMMARY)) for name, made in self.commands.items()])
        format_options(self, ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names in the order of their declaration."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, show the help, as kubectl does."""
        # click would take this for an error.
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name.

        Raises:
            CommandError: If the name is unknown.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            import difflib  # only for those who mistype

            near = next(iter(difflib.get_close_matches(name, self.commands, n=1)), "")
            hint = f"did you mean {near}?" if near else f"{ctx.command_path} --help lists them"
            raise CommandError(f"there is no command {name!r}", hint=hint, code=ExitCode.USAGE)
        return super().resolve_command(ctx, args)


def command_group(name: str, commands: Iterable[ClusterCommand], *, help_: str) -> CommandGroup:
    """Make a group of commands.

    Args:
        name: The word that they have in common.
        commands: The commands.
        help_: The text of ``--help``.
    """
    return CommandGroup(
        name,
        commands={str(command.name): command for command in commands},
        params=shared_options(),
        callback=take_shared,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=help_,
    )
