"""``masthead exec``: a command in a container."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("exec")
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
