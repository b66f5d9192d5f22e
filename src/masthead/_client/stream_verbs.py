"""The verbs that run commands in containers: exec and attach."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from masthead._client.remotecommand.concurrency import run_all
from masthead._client.remotecommand.containers import asks_for_container, container_named, default_container
from masthead._client.remotecommand.interactive import converse
from masthead._client.remotecommand.process import RemoteProcess
from masthead._client.remotecommand.results import ExecResult, non_zero, with_output
from masthead._client.remotecommand.terminal import Terminal
from masthead._client.subresources import SubresourceBase
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.remotecommand import PROTOCOLS
from masthead.errors import (
    ArgumentError,
    BadRequestError,
    ClosedError,
    ExecError,
    ExecTimeoutError,
    MastheadError,
    ResponseTooLargeError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._client.options import Query
    from masthead._client.remotecommand.stdin import InputSource
    from masthead._client.remotecommand.streams import RemoteOutput
    from masthead._transport.websocket import WebSocket

__all__ = ["AttachVerbs", "ExecVerbs", "RemoteCommandBase"]

MAX_OUTPUT: Final = 2**26
"""How many bytes of stdout, and of stderr, `ExecVerbs.exec` collects by default."""

T = TypeVar("T", bound=Object)


class RemoteCommandBase(SubresourceBase[T], Generic[T]):
    """Starts processes in containers."""

    def _process(self, subresource: str, name: str, query: Query, *, timeout: float | None) -> RemoteProcess:
        async def connect() -> WebSocket:
            return await self._connect(subresource, name, query, timeout)

        where = f"{self._namespace}/{name}" if self._namespace else name
        return RemoteProcess(connect, f"{subresource} pods {where}", has_stdin=("stdin", "true") in query)

    async def _connect(self, subresource: str, name: str, query: Query, timeout: float | None) -> WebSocket:
        """Open the WebSocket; if the server asks which container is meant, decide it as kubectl does."""
        try:
            return await self._upgrade(subresource, name, query, timeout)
        except BadRequestError as error:
            if not asks_for_container(error):
                raise
            asked = error
        # Only now: most pods have one container, and need no second request.
        container = default_container(await self._pod(name, timeout))
        if not container:
            raise asked
        return await self._upgrade(subresource, name, [*query, ("container", container)], timeout)

    async def _upgrade(self, subresource: str, name: str, query: Query, timeout: float | None) -> WebSocket:
        target = await self._target()
        # Errors name the verb that the user called, not the GET that opens it.
        call = self._build_call(
            target, "get", name=name, subresource=subresource, query=query, timeout=timeout, called=subresource
        )
        return await self._context.rest.connect(call, PROTOCOLS)

    async def _pod(self, name: str, timeout: float | None = None) -> dict[str, Any]:
        return (await self._read(name, timeout=timeout)).to_dict()


@set_module("masthead.aio.clientset")
class ExecVerbs(RemoteCommandBase[T], Generic[T]):
    """For resources with an exec subresource: pods."""

    @explain_arguments
    async def exec(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str | None = None,
        stdin: InputSource | None = None,
        tty: bool = False,
        check: bool = True,
        max_output: int = MAX_OUTPUT,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a command in a container, and return what it printed and its exit code.

        ::

            result = await pods.exec("web", ["sh", "-c", "echo $HOSTNAME"])
            print(result.text)

        Once the command has started, each of its errors is a `RemoteCommandError`, with the output until
        then.

        Args:
            name: The pod's name.
            command: The command and its arguments. There is no shell unless it is one.
            container: The container; by default the one of the pod's annotation
                ``kubectl.kubernetes.io/default-container`` names, else its first.
            stdin: Bytes, text, a file or an iterable of bytes to send to stdin.
            tty: Whether the command gets a TTY; all that it prints is then stdout.
            check: Whether an exit code other than 0 is an error.
            max_output: The maximum number of bytes of stdout, and of stderr.
            timeout: Timeout of the whole, in seconds; None for no limit. The command may go on in the container.

        Raises:
            ExecError: If the container runtime could not run the command to its end, or `check` and its exit code is
                not 0.
            ExecTimeoutError: If it does not end in time, or its connection falls silent.
            ExecOutputTooLargeError: If it prints more than `max_output`.
            ExecProtocolError: If the connection is lost before its end, or cannot send the end of `stdin`.
            ExecClosedError: If the client closes during the wait.
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            TransportError: If no connection can be made.
            ClosedError: If the client was closed before.
            ArgumentError: If the command is empty or a plain string, or `stdin` cannot be sent.
            Exception: Whatever reading `stdin` raises.
        """
        process = self.open_exec(name, command, container=container, stdin=stdin is not None, stderr=not tty, tty=tty)
        stdout, stderr = bytearray(), bytearray()
        limit = asyncio.timeout(timeout)
        try:
            async with limit, process:
                code = await _finish(process, stdin, stdout, stderr, max_output)
        except TimeoutError:
            if not limit.expired():  # but a source of stdin, or the connection
                raise
            raise ExecTimeoutError(
                f"{process.about}: the command did not end within {timeout or 0:g} s, and may still be running in the "
                "container; raise the timeout, or let the command limit itself",
                stdout=bytes(stdout),
                stderr=bytes(stderr),
            ) from None
        result = ExecResult(code, bytes(stdout), bytes(stderr))
        # After the block, so that the connection is closed first.
        if check and result.exit_code:
            raise non_zero(process.about, result)
        return result

    @explain_arguments
    def open_exec(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str | None = None,
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool = True,
        tty: bool = False,
        timeout: float | None = None,
    ) -> RemoteProcess:
        """Run a command in a container with its streams, to be used in ``async with``.

        Args:
            name: The pod's name.
            command: The command and its arguments. There is no shell unless it is one.
            container: The container; by default as for `exec`.
            stdin: Whether it gets a stdin; without one, it reads nothing.
            stdout: Whether to receive what it prints to stdout.
            stderr: Whether to receive what it prints to stderr; not with a TTY, where all is stdout.
            tty: Whether it gets a TTY.
            timeout: Timeout of starting it, in seconds; None for the client's default.

        Raises:
            ArgumentError: If the command is empty or a plain string, or no stream is asked for.
        """
        if not isinstance(cast("object", stdin), bool):
            raise ArgumentError(
                f"stdin={stdin!r}: open_exec takes stdin=True, and its process takes the data; so does exec itself",
                value=stdin,
            )
        query = [
            *(("command", word) for word in _check_command(command)),
            *_stream_query(container, stdin=stdin, stdout=stdout, stderr=stderr and not tty, tty=tty),
        ]
        return self._process("exec", name, query, timeout=timeout)

    async def exec_interactive(
        self, name: str, command: Sequence[str] = ("sh",), *, container: str | None = None
    ) -> int:
        """Run a command at the local terminal until it ends, such as a shell, and return its exit code.

        The terminal is in raw mode, so that Ctrl-C reaches the command; changes of its size are passed on. It
        is restored afterwards, whatever happens.

        Args:
            name: The pod's name.
            command: The command and its arguments.
            container: The container; by default as for `exec`.

        Raises:
            ArgumentError: If stdin is not a terminal.
            ExecError: If the command could not be run.
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
        """
        with Terminal() as terminal:
            return await exec_at(self, terminal, name, command, container)


@set_module("masthead.aio.clientset")
class AttachVerbs(RemoteCommandBase[T], Generic[T]):
    """For resources with an attach subresource: pods."""

    def attach(
        self,
        name: str,
        *,
        container: str | None = None,
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool = True,
        tty: bool = False,
        timeout: float | None = None,
    ) -> RemoteProcess:
        """Attach to the main process of a container, to be used in ``async with``.

        What it printed before is not repeated; see `logs`. Detaching does not end it.

        Args:
            name: The pod's name.
            container: The container; by default as for `exec`.
            stdin: Whether to send to its stdin, which it must have been given.
            stdout: Whether to receive what it prints to stdout.
            stderr: Whether to receive what it prints to stderr; not with a TTY, where all is stdout.
            tty: Whether it has a TTY, as its container declares.
            timeout: Timeout of attaching, in seconds; None for the client's default.

        Raises:
            ArgumentError: If no stream is asked for.
        """
        query = _stream_query(container, stdin=stdin, stdout=stdout, stderr=stderr and not tty, tty=tty)
        return self._process("attach", name, query, timeout=timeout)

    async def attach_interactive(self, name: str, *, container: str | None = None) -> int:
        """Attach the local terminal to the main process of a container until it ends, and return its exit code.

        Args:
            name: The pod's name.
            container: The container; by default as for `exec`.

        Raises:
            ArgumentError: If stdin is not a terminal, or the container has no TTY.
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
        """
        with Terminal() as terminal:
            return await attach_at(self, terminal, name, container)


async def exec_at(
    pods: ExecVerbs[T], terminal: Terminal, name: str, command: Sequence[str], container: str | None
) -> int:
    """Run a command at a terminal that is in raw mode."""
    process = pods.open_exec(name, command, container=container, stdin=True, tty=True)
    return await converse(process, terminal)


async def attach_at(pods: AttachVerbs[T], terminal: Terminal, name: str, container: str | None) -> int:
    """Attach a terminal that is in raw mode."""
    pod = await pods._pod(name)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    chosen = container or default_container(pod)
    described = container_named(pod, chosen) or {}
    # Raw mode without a TTY on the other side would swallow Ctrl-C.
    if not described.get("tty"):
        raise ArgumentError(
            f"attach pods {name}: the container {chosen} has no TTY (tty: true in the pod's spec); use attach "
            "without one",
            value=chosen,
        )
    process = pods.attach(name, container=chosen, stdin=bool(described.get("stdin")), tty=True)
    return await converse(process, terminal, redraw=True)


def _stream_query(container: str | None, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> Query:
    wanted = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "tty": tty}
    if not (stdin or stdout or stderr):
        raise ArgumentError("ask for at least one of stdin, stdout and stderr")
    named = [("container", container)] if container else []
    return [*named, *((name, "true") for name, is_wanted in wanted.items() if is_wanted)]


def _check_command(command: Sequence[str]) -> Sequence[str]:
    # A string is a sequence of strings, too: each character would be an argument.
    if isinstance(command, str):
        raise ArgumentError(
            f'a command is a list of strings: ["sh", "-c", {command!r}] for a shell to read it', value=command
        )
    if not command or not all(isinstance(cast("object", word), str) for word in command):
        raise ArgumentError(f"a command is a list of strings, and not empty: not {command!r}", value=command)
    return command


async def _finish(
    process: RemoteProcess, stdin: InputSource | None, stdout: bytearray, stderr: bytearray, max_output: int
) -> int:
    """Collect what a process prints until it ends, and return its exit code.

    Raises:
        RemoteCommandError: If that is not known, or it prints too much.
        Exception: Whatever reading `stdin` raises.
    """
    failed: MastheadError
    try:
        # Both end when the process does; its own error comes after all that it has printed.
        await run_all(
            _collect(process.stdout, stdout, max_output),
            _collect(process.stderr, stderr, max_output),
            aside=[] if stdin is None else [_send(process, stdin)],
        )
        return await process.wait()
    except _SourceError as error:
        failed = error.error
    except ExecError as error:
        # The output often explains the failure.
        error.stdout, error.stderr = bytes(stdout), bytes(stderr)
        raise
    except (TransportError, ClosedError) as error:
        failed = with_output(error, bytes(stdout), bytes(stderr))
    raise failed  # outside the except clause, so that it has no context


class _SourceError(Exception):
    """Tells an error of a source of stdin, which may be another command, from those of the process."""

    def __init__(self, error: MastheadError) -> None:
        super().__init__(error)
        self.error = error


async def _send(process: RemoteProcess, stdin: InputSource) -> None:
    try:
        await process.send_input(stdin)
    except MastheadError as error:
        if process.stdin.can_close:  # otherwise nothing was read
            raise _SourceError(error) from None
        raise


async def _collect(output: RemoteOutput, collected: bytearray, limit: int) -> None:
    async for chunk in output:
        collected += chunk
        if len(collected) > limit:
            # The caller gets the beginning with the error, and no more than it allowed.
            del collected[limit:]
            raise ResponseTooLargeError(
                f"{output.about} has more than {limit:,} bytes; use open_exec to read it as a stream, or raise "
                "max_output"
            )
