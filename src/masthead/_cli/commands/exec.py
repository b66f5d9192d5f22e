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
    from collections.abc import Callable, Iterable

    import masthead
    from masthead._cli.shared_options import State

__all__ = ["command"]

_PIECE: Final = 65536


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
                return _relay(process, is_fed=stdin)
        except NotFoundError:
            refuse_missing(client, target)
            raise


def _relay(process: masthead.streams.RemoteProcess, *, is_fed: bool) -> int:
    """Copy the process' output and the user's input until the process ends.

    Raises:
        OSError: If a standard stream cannot be read or written any more.
        MastheadError: If the process could not be run, or the connection was lost.
    """
    from masthead.errors import MastheadError

    beside = _Beside(process)
    errors = beside.start(lambda: _copy(process.stderr, sys.stderr.buffer))
    if is_fed:
        # It may wait for input when the process has ended already.
        beside.start(lambda: _feed(process), daemon=True)
    code = 0
    try:
        # The caller's thread copies stdout, so that Ctrl-C interrupts the copy.
        _copy(process.stdout, sys.stdout.buffer)
        code = process.wait()
    except MastheadError:
        # Closing the process after a failed copy causes this error.
        if beside.failure is None:
            raise
    finally:
        process.close()
        # Not the thread of stdin: a read from a terminal cannot be interrupted.
        errors.join()
    if beside.failure is not None:
        raise beside.failure
    return code


class _Beside:
    """The threads that copy stdin and stderr, while the caller's thread copies stdout.

    A process waits until each of its streams is read: when one thread fails, the others would wait for ever, so the
    process is closed.

    Args:
        process: The process.
    """

    def __init__(self, process: masthead.streams.RemoteProcess) -> None:
        self.failure: OSError | None = None
        self._process = process

    def start(self, work: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
        """Do something in a thread, and keep the OSError that ends it."""
        thread = threading.Thread(target=self._run, args=(work,), daemon=daemon)
        thread.start()
        return thread

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            self.failure = error
            self._process.close()


def _copy(source: Iterable[bytes], target: BinaryIO) -> None:
    from masthead.errors import MastheadError

    try:
        for piece in source:
            target.write(piece)
            # Flushed immediately: output of a running process must not wait for a full buffer.
            target.flush()
    except MastheadError:
        return  # waiting for the end of the process raises the error


def _feed(process: masthead.streams.RemoteProcess) -> None:
    from masthead.errors import MastheadError

    try:
        # os.read returns the available bytes; a buffered read would wait for a whole block.
        while piece := os.read(sys.stdin.fileno(), _PIECE):
            process.stdin.write(piece)
        # Programs such as cat end only when their input does.
        process.stdin.close()
    except MastheadError:
        return  # the process has ended
