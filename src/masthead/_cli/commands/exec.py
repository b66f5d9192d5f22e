"""``masthead exec``: a command in a container."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import ClusterCommand, cluster_command

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["command"]


_DASHES: Final = "put -- before the command, as in: masthead exec web -- ls -l"


class _ExecCommand(ClusterCommand):
    """A command whose words follow ``--``: without it, the options of ``sh -c`` would be those of ``exec``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: If there is a command without ``--``.
        """
        has_dashes = "--" in args
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise (error if has_dashes else click.UsageError(_DASHES, ctx)) from None
        # Completion parses lines that are not finished.
        if ctx.params.get("words") and not has_dashes and not ctx.resilient_parsing:
            raise click.UsageError(_DASHES, ctx)
        return rest


@cluster_command("exec", cls=_ExecCommand)
@click.argument("pod", metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@click.option("-c", "--container", metavar="NAME", help="in this container")
@click.option("-i", "--stdin", is_flag=True, help="pass the standard input on")
@click.option("-t", "--tty", is_flag=True, help="at a terminal, such as a shell; with -i")
@click.pass_obj
def command(state: State, pod: str, words: tuple[str, ...], container: str | None, stdin: bool, tty: bool) -> int:
    """Run a command in a container of a pod, or of a pod of a service or workload, and end with its exit code.

    \b
    masthead exec web -- ls -l /etc
    masthead exec -it deploy/web -- sh
    """
    from masthead._cli.pods import one_pod, refuse_missing
    from masthead._cli.relaying import relay
    from masthead.errors import NotFoundError

    if tty and not sys.stdin.isatty():
        raise CommandError("-t needs a terminal", hint="leave -t out", code=ExitCode.USAGE)
    with state.connect() as client:
        target = one_pod(client, state, pod)
        pods = client.core_v1.pods(target.namespace)
        name = target.names[0]
        # A terminal is one stream in raw mode; without it, stdout and stderr stay separate.
        try:
            if tty:
                return pods.exec_interactive(name, list(words), container=container)
            with pods.open_exec(name, list(words), container=container, stdin=stdin) as process:
                return relay(process, is_fed=stdin)
        except NotFoundError:
            refuse_missing(client, target)
            raise
