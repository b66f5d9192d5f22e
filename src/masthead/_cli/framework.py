"""The parts of commands: shared options, and the classes of commands that have them.

A command is a module in ``masthead._cli.commands`` with the name of the command and an object called ``command``: a
function decorated with `cluster_command`, click's arguments and ``click.pass_obj``. Its docstring is the text of
``--help``, and it connects with ``state.connect()``; `masthead._cli.commands.delete` is a short example. It has an
entry in `masthead._cli.catalog`. Such a command has all shared options (``-n``, ``--context``, ``--debug`` ...) before
and after its name. It returns its exit code, None for 0. It prints with `masthead._cli.terminal`, raises
`masthead._cli.failures.CommandError` or lets errors of the library pass; `masthead._cli.failures` chooses message and
exit code. `masthead._cli.references` parses the names of objects. Imports of the library belong into functions:
completion imports every command, and has to be quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.completion import complete_contexts, complete_namespaces
from masthead._cli.shared_options import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "ClusterCommand",
    "OptionWithDefault",
    "cluster_command",
    "format_options",
    "merge_shared",
    "shared_options",
    "spell_as_click",
    "switch_option",
    "take_shared",
    "to_seconds",
]

F = TypeVar("F", bound="Callable[..., Any]")
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""The spellings of Go's flags."""


def shared_options() -> list[click.Parameter]:
    """The options of all commands. None means that an option is not given here."""

    def option(*names: str, **facts: Any) -> click.Option:  # noqa: ANN401 - as click declares them
        # None rather than a flag's False: an option before the command's name must survive its absence after it.
        return click.Option(names, default=None, **facts)

    return [
        option("--kubeconfig", metavar="FILE", type=click.Path(), help="the kubeconfig (found as kubectl does)"),
        option(
            "--context",
            metavar="NAME",
            shell_complete=complete_contexts,
            help="the context of the kubeconfig (its current one)",
        ),
        option(
            "-n",
            "--namespace",
            metavar="NAME",
            shell_complete=complete_namespaces,
            help="the namespace (the context's)",
        ),
        option(
            "--server",
            metavar="URL",
            help="the API server; without the credentials of a kubeconfig, unless one is named",
        ),
        option("--token", metavar="TOKEN", help="a bearer token, instead of the user's credentials"),
        option("--as", "impersonate", metavar="USER", help="the user to impersonate"),
        option(
            "--insecure-skip-tls-verify",
            "insecure",
            is_flag=True,
            help="do not verify the server's certificate",
        ),
        option(
            "--request-timeout",
            metavar="SECONDS",
            callback=to_seconds,
            help="how long one request may take (30)",
        ),
        option("--debug", is_flag=True, help="tracebacks and logs instead of one line"),
        option("--no-color", is_flag=True, help="no colours (as with the variable NO_COLOR)"),
    ]


def _all_namespaces() -> click.Option:
    return click.Option(["-A", "--all-namespaces"], is_flag=True, default=None, help="in all namespaces")


def to_seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The callback of options that are durations: seconds, or as kubectl writes them; below zero for "for ever".

    Raises:
        click.BadParameter: If it is not a duration.
    """
    from masthead._cli.durations import parse_duration

    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


class OptionWithDefault(click.Option):
    """An option with a value behind ``=``, or none: the next word is never its value, as in kubectl.

    Args:
        names: Its names.
        alone: The value of the option without one.
        facts: Those of ``click.Option``.
    """

    def __init__(self, names: Sequence[str], *, alone: str, **facts: Any) -> None:  # noqa: ANN401 - as click declares them
        super().__init__(names, is_flag=False, **facts)
        self.alone = alone


def switch_option(*names: str, help_: str) -> Callable[[F], F]:
    """Add an option as kubectl has them: ``--name``, ``--name=true`` or ``--name=false``; None if it is not given.

    Args:
        names: Its names, as for ``click.option``.
        help_: Its text in the help.
    """
    return click.option(*names, cls=OptionWithDefault, alone="true", type=bool, metavar="[=true|false]", help=help_)


def spell_as_click(params: Iterable[click.Parameter], args: Sequence[str]) -> list[str]:
    """Return arguments in the spelling of click where it differs from that of kubectl.

    ``-o=json`` becomes ``-o json``, and a switch without a value ``--name=true``.
    ``--watch=true`` becomes ``--watch``, and ``--watch=false`` becomes ``--no-watch``, or nothing.

    Args:
        params: The parameters of the command.
        args: The arguments; those behind ``--`` are not options.
    """
    options = [param for param in params if isinstance(param, click.Option)]
    alone = {name: param.alone for param in options if isinstance(param, OptionWithDefault) for name in param.opts}
    valued = {name for param in options if not (param.is_flag or param.count) for name in param.opts}
    flags = {name: param for param in options if param.is_flag for name in param.opts}
    end = args.index("--") if "--" in args else len(args)
    written: list[str] = []
    for arg in args[:end]:
        name, _, value = arg.partition("=")
        if arg in alone:
            written.append(f"{arg}={alone[arg]}")
        # Other values are left to click, whose error names the option.
        elif name in flags and value in _BOOLEANS:
            written += [name] if _BOOLEANS[value] else flags[name].secondary_opts[:1]
        elif arg[:2] in valued and arg[2:3] == "=":
            written += (arg[:2], arg[3:])
        else:
            written.append(arg)
    return [*written, *args[end:]]


class ClusterCommand(click.Command):
    """A command with the shared options. Its function gets the `State` of them by ``click.pass_obj``."""

    takes_all_namespaces = False

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of the help, as that of all other commands."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix="usage: ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, and those of all commands behind them."""
        format_options(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, as kubectl does; see `spell_as_click`."""
        return super().parse_args(ctx, spell_as_click(self.params, args))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the function returns
        """Move the shared options into the state, and call the function without them."""
        state = merge_shared(ctx)
        state.command_path = ctx.command_path
        # Given before the command's name, -A has passed the parser.
        if state.all_namespaces and not self.takes_all_namespaces:
            raise click.UsageError("-A is not for this command", ctx)
        # As in kubectl, -A wins over -n.
        if state.all_namespaces and state.namespace:
            state.namespace = None
        return super().invoke(ctx)


def format_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command, and those of all commands behind them."""
    # By name, since click makes new objects for each command.
    shared = {shared_option.name for shared_option in shared_options()}
    own: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is not None:
            text = "show this help" if "--help" in param.opts else record[1]
            (others if param.name in shared else own).append((record[0], text))
    for title, records in (("options", own), ("options of all commands", others)):
        with formatter.section(title):
            formatter.write_dl(records)


def merge_shared(ctx: click.Context) -> State:
    """Take the shared options out of a context's parameters into the state that all contexts share."""
    state = ctx.ensure_object(State)
    for name in State.__dataclass_fields__:
        value = ctx.params.pop(name, None)
        if value is not None:
            setattr(state, name, value)
    return state


def take_shared(**_: object) -> None:
    """Move the shared options before a command's name into the state: the callback of groups."""
    merge_shared(click.get_current_context())


def cluster_command(
    name: str,
    *,
    all_namespaces: bool = False,
    cls: type[ClusterCommand] = ClusterCommand,
    **settings: Any,  # noqa: ANN401 - as click declares them
) -> Callable[[Callable[..., int | None]], ClusterCommand]:
    """Make a function a command with the shared options.

    Args:
        name: The command's name.
        all_namespaces: Whether it has ``-A``.
        cls: Its class.
        settings: Further arguments of ``click.Command``.
    """

    def decorate(function: Callable[..., int | None]) -> ClusterCommand:
        # Click's default is --help alone; kubectl has -h.
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        made = click.command(name, cls=cls, **settings)(function)
        made.takes_all_namespaces = all_namespaces
        made.params += [*([_all_namespaces()] if all_namespaces else []), *_shared_beside(made.params)]
        return made

    return decorate


def _shared_beside(params: Sequence[click.Parameter]) -> list[click.Parameter]:
    """The shared options, less those a command declares itself: ``config set-cluster`` has its own ``--server``."""
    own = {name for param in params for name in param.opts}
    return [shared_option for shared_option in shared_options() if not own.intersection(shared_option.opts)]
