"""The framework's entry: the group of all commands, imported when they are named, and the end of each of them."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, cast

import click

from masthead._cli.catalog import CATALOG, explain_unknown, usage
from masthead._cli.failures import CommandError, ExitCode, ExplainedFailure, explain
from masthead._cli.framework import shared_options, take_shared
from masthead._cli.main import COMPLETION, run_program
from masthead._cli.shared_options import State
from masthead._cli.terminal import report, unguarded_streams
from masthead._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "run"]


class _Commands(click.Group):
    """The commands of the catalog."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(CATALOG)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        entry = CATALOG.get(args[0])
        if entry is not None and entry.program and not entry.is_program(args[1:]):
            return args[0], _framework_command(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        entry = CATALOG.get(cmd_name)
        if entry is None:
            raise _unknown_command(cmd_name)
        if entry.program:
            return _program(cmd_name, entry.program, entry.summary)
        return _framework_command(cmd_name)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write(usage())


def _framework_command(name: str) -> click.Command:
    module = import_module(f"masthead._cli.commands.{name.replace('-', '_')}")
    return cast("click.Command", module.command)


def _unknown_command(name: str) -> CommandError:
    from masthead._cli.plugins import find_plugin

    # Its options are its own: none of them can be handed on.
    if find_plugin([name]) is not None:
        hint = f"options stand behind the name of a plugin: masthead {name} ..."
        return CommandError(f"options stand before the plugin {name}", hint=hint, code=ExitCode.USAGE)
    message, hint = explain_unknown(name)
    return CommandError(message, hint=hint, code=ExitCode.USAGE)


def _program(name: str, module: str, summary: str) -> click.Command:
    """A command that reads its own arguments, behind options that all commands share."""

    def call(arguments: tuple[str, ...]) -> int:
        state = click.get_current_context().ensure_object(State)
        # Programs have no such option; the variable reaches their child processes, too.
        if state.no_color:
            os.environ["NO_COLOR"] = "1"
        # The output of `run` and `serve` is that of a user's program.
        with unguarded_streams():
            return run_program(module, [*_handed_on(state), *arguments], name)

    return click.Command(
        name,
        callback=call,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        add_help_option=False,
        short_help=summary,
        context_settings={"ignore_unknown_options": True},
    )


def _handed_on(state: State) -> list[str]:
    """The shared options before a program's name, for the program to understand or to refuse."""
    given = {
        "--kubeconfig": state.kubeconfig,
        "--context": state.context,
        "--namespace": state.namespace,
        "--server": state.server,
        "--token": state.token,
        "--as": state.impersonate,
        "--request-timeout": state.request_timeout,
    }
    flags = {"--all-namespaces": state.all_namespaces, "--insecure-skip-tls-verify": state.insecure}
    return [
        *(word for name, value in given.items() if value for word in (name, str(value))),
        *(name for name, value in flags.items() if value),
    ]


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"masthead {__version__}")
        ctx.exit()


app = _Commands(
    "masthead",
    callback=take_shared,
    params=[
        *shared_options(),
        click.Option(["-A", "--all-namespaces"], is_flag=True, default=None),
        click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version),
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


def run(arguments: Sequence[str]) -> int:
    """Run a command; return the exit code.

    Args:
        arguments: The arguments after ``masthead``.

    Raises:
        KeyboardInterrupt: If the process is interrupted.
        BrokenPipeError: If the reader of the output has closed it.
    """
    state = State()
    try:
        code = _invoke(arguments, state)
        sys.stdout.flush()
    except BrokenPipeError:  # not an error of the command
        raise
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        # An option without its value is found before there is a context.
        command = ctx.command_path if ctx is not None else _command_in(arguments)
        report(command, _explain_usage(error, command))
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - everything becomes a line and a code
        if state.debug and not isinstance(error, CommandError):
            traceback.print_exception(error)
        failure = explain(error)
        report(state.command_path or _command_in(arguments), failure)
        return failure.code
    return code if isinstance(code, int) else ExitCode.OK


def _invoke(arguments: Sequence[str], state: State) -> object:
    # Click completes within main(), and reads the words from the environment.
    if COMPLETION in os.environ:
        from masthead._cli.completion_scripts import register_shells

        register_shells()
        return app.main([], prog_name="masthead", complete_var=COMPLETION)
    # Not app.main(), which handles interrupts and broken pipes differently.
    try:
        with app.make_context("masthead", list(arguments), obj=state) as context:
            return app.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code


def _explain_usage(error: click.ClickException, command: str) -> ExplainedFailure:
    help_ = f"{command} --help lists its options"
    if isinstance(error, click.NoSuchOption):
        near = ", ".join(error.possibilities or ())
        line = f"there is no option {error.option_name!r}"
        return ExplainedFailure(line, f"did you mean {near}?" if near else help_, ExitCode.USAGE)
    line = " ".join(error.format_message().rstrip(".").split())
    return ExplainedFailure(line, help_, ExitCode.USAGE)


def _command_in(arguments: Sequence[str]) -> str:
    named = next((argument for argument in arguments if argument in CATALOG), "")
    return f"masthead {named}".strip()
