"""``masthead exec``: a command in a container."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from masthead._cli.completion import complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    import masthead
    from masthead._cli.state import State

__all__ = ["command"]

_PIECE: Final = 65536


@cluster_command("exec")
@click.argument("pod", metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@click.option("-c", "--container", metavar="NAME", help="in this container")
@click.option("-i", "--stdin", is_flag=True, help="pass the standard input on")
@click.option("-t", "--tty", is_flag=True, help="at a terminal, such as a shell; with -i")
@click.pass_obj
def command(
    state: State, pod: str, words: tuple[str, ...], container: str | None, stdin: bool, tty: bool
) -> int:
    """Run a command in a container of a pod, or of a pod of a service or workload, and end with its exit code.

    \b
    masthead exec web -- ls -l /etc
    masthead exec -it deploy/web -- sh
    """
    from masthead._cli.pods import one_pod, refuse_missing
    from masthead.errors import NotFoundError

    if tty and not sys.stdin.isatty():
        raise CommandError("-t needs a terminal", hint="leave -t out", code=ExitCode.USAGE)
    with state.connect() as client:
        target = one_pod(client, state, pod)
        pods = client.core_v1.pods(target.namespace)
        name = target.names[0]
        try:
            if tty:
                return pods.exec_interactive(name, list(words), container=container)
            with pods.open_exec(name, list(words), container=container, stdin=stdin) as process:
                return _relay(process, is_fed=stdin)
        except NotFoundError:
            refuse_missing(client, target)
            raise


def _relay(process: masthead.RemoteProcess, *, is_fed: bool) -> int:
    """Pass on what the process prints, and what is typed, until it ends."""
    errors = threading.Thread(target=_copy, args=(process.stderr, sys.stderr.buffer))
    errors.start()
    if is_fed:
        # It may wait for input when the process has ended already.
        feed = threading.Thread(target=_feed, args=(process,), daemon=True)
        feed.start()
    try:
        _copy(process.stdout, sys.stdout.buffer)
        return process.wait()
    finally:
        process.close()
        errors.join()


def _copy(source: Iterable[bytes], target: BinaryIO) -> None:
    from masthead.errors import MastheadError

    try:
        for piece in source:
            target.write(piece)
            target.flush()
    except MastheadError:
        return  # waiting for its end says what is wrong


def _feed(process: masthead.RemoteProcess) -> None:
    from masthead.errors import MastheadError

    try:
        while piece := os.read(sys.stdin.fileno(), _PIECE):
            process.stdin.write(piece)
        process.stdin.close()
    except MastheadError:
        return  # the process has ended
