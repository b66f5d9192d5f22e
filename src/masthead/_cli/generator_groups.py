"""Commands with commands of their own: ``masthead create secret tls``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import click

from masthead._cli.command_groups import CommandGroup
from masthead._cli.failures import CommandError
from masthead._cli.framework import ClusterCommand, shared_options, take_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["GeneratorGroup", "WordsCommand", "container_words", "generator_group"]

_WORDS: Final = "masthead.words"


class GeneratorGroup(CommandGroup):
    """A group whose commands have short names, and whose options may stand before their names."""

    aliases: Mapping[str, str] = {}
    hint = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give the options before the name of a command to that command, as kubectl does."""
        at = self._position_of_name(ctx, args)
        if at is not None:
            args = [args[at], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def _position_of_name(self, ctx: click.Context, args: list[str]) -> int | None:
        # Options of its commands, too: nested groups have none of their own.
        commands = (self, *self.commands.values())
        takes_value = {
            name: not (param.is_flag or param.count)
            for param in (param for command in commands for param in command.get_params(ctx))
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        words = iter(enumerate(args))
        for at, word in words:
            # What follows are words of a container.
            if word == "--":
                return None
            # The first word that is no option; another one than a command is a mistake that is reported later.
            if not word.startswith("-") or word == "-":
                return at if self.get_command(ctx, word) is not None else None
            if takes_value.get(word, False):
                next(words, None)
        return None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name or a short form of it."""
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name.

        Raises:
            CommandError: If there is none.
        """
        try:
            return super().resolve_command(ctx, args)
        except CommandError as error:
            # A mistyped name is likelier than a kind without a command.
            if self.hint and not error.hint.startswith("did you mean"):
                raise CommandError(error.line, hint=self.hint, code=error.code) from None
            raise


def generator_group(
    name: str,
    commands: Iterable[click.Command],
    *,
    help_: str,
    aliases: Mapping[str, str] | None = None,
    hint: str = "",
    callback: Callable[..., int | None] = take_shared,
    **settings: Any,  # noqa: ANN401 - as click declares them
) -> GeneratorGroup:
    """Make a group of commands that generate objects.

    Args:
        name: Its name.
        commands: Its commands.
        help_: The text of ``--help``.
        aliases: The short forms of names of its commands.
        hint: The advice for an unknown command.
        callback: What runs before each of its commands.
        settings: Further arguments of ``click.Group``.
    """
    made = GeneratorGroup(
        name,
        commands={str(command.name): command for command in commands},
        context_settings={"help_option_names": ["-h", "--help"]},
        help=help_,
        callback=callback,
        **settings,
    )
    made.aliases = aliases or {}
    made.hint = hint
    # Here, so that the options of the group come first in its help.
    made.params += shared_options()
    return made


class WordsCommand(ClusterCommand):
    """A command that takes the words behind ``--`` as the command of a container; see `container_words`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words behind ``--``; those before it are names."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_WORDS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What the usage line has after the command."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND [ARGUMENT]...]"]


def container_words() -> list[str]:
    """The words behind ``--`` of the command that runs."""
    return cast("list[str]", click.get_current_context().meta.get(_WORDS, []))
