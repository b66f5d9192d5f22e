"""``pods/exec`` and ``pods/attach``: commands that a client talks to."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.attach import attach
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.environment import available_environment
from masthead_server.kubelet.handlers import describe, invoke
from masthead_server.kubelet.pod_host import host_of
from masthead_server.kubelet.pods import (
    check_assigned,
    choose_container,
    container_of,
    is_running,
)
from masthead_server.kubelet.process import CommandLine, ExecProcess
from masthead_server.kubelet.shell.builtin import ExecutableNotFoundError, run_builtin
from masthead_server.kubelet.shell.signals import ShellProcess
from masthead_server.kubelet.spdy_command import SpdyCommand
from masthead_server.kubelet.spdy_upgrade import is_spdy
from masthead_server.kubelet.streams import (
    RemoteCommandOptions,
    exit_status,
    internal_error,
    run_session,
)
from masthead_server.kubelet.websocket import V5, WebSocketStreams, choose_protocol, open_websocket
from masthead_server.kubelet.working_dir import WorkingDirError, check_working_dir, working_dir_of
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.response import Response
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.plain import metadata, text
from masthead_server.wire.request import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.cluster import ClusterState
    from masthead_server.kubelet.connect import ConnectHandler
    from masthead_server.kubelet.containers import ContainerInstance
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.kubelet.streams import RemoteCommandStreams
    from masthead_server.process_activity import ProcessObserver
    from masthead_server.web.request import Request
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["RemoteCommand", "RemoteCommandConnecter"]

_log: Final = logging.getLogger("masthead.server.kubelet")
_RUNTIME_ERROR: Final = (
    "error executing command in container: failed to exec in container: OCI runtime exec failed: "
    "exec failed: unable to start container process"
)


@dataclass(frozen=True, slots=True)
class RemoteCommand:
    """An exec or attach whose request is valid, whatever carries its streams.

    Attributes:
        runtime: The handlers.
        line: What to run; without a command, the client is attached to the container's main process.
        container: The container.
        options: The streams that the client asks for.
        is_exec: Whether it is an exec rather than an attach.
        problem: Why the kubelet cannot run it; empty if it can.
    """

    runtime: PodRuntime
    line: CommandLine
    container: ContainerInstance
    options: RemoteCommandOptions
    is_exec: bool
    problem: str = ""

    async def run(self, streams: RemoteCommandStreams) -> None:
        """Run the command until it ends, its container ends, or the client disconnects."""
        if self.problem:
            await streams.finish(internal_error(f"unable to upgrade connection: {self.problem}"))
            return
        # An attach ends with the log of the container, when the client has been sent all of it.
        ended = self.container.ended if self.is_exec else asyncio.Event()
        await run_session(streams, lambda: self._status(streams), ended)

    async def _status(self, streams: RemoteCommandStreams) -> Plain:
        """Run the command to its end; return the Status."""
        process = ExecProcess(self.line, streams.stdin.reader, streams.stdout, streams.stderr, streams.sizes)
        try:
            return exit_status(await self._execute(process))
        except (ExecutableNotFoundError, WorkingDirError) as error:
            return internal_error(f"{_RUNTIME_ERROR}: {error}: unknown")
        # The client has left, and there is no one to report to.
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is reported, and the server continues
            verb = "executing command in" if self.is_exec else "attaching to"
            _log.exception("%r failed: an error in its handler", process)
            return internal_error(f"error {verb} container: {describe(error)}")

    async def _execute(self, process: ExecProcess) -> int:
        runtime = self.runtime
        handlers = runtime.exec_handlers if self.is_exec else runtime.attach_handlers
        handler = handlers.find(self.line)
        observer = self._make_observer()
        if handler is not None:
            return await observer.observe(invoke(handler, process, runtime.threads))
        if self.is_exec:
            container = self.container
            check_working_dir(container.files, self.line.working_dir)
            shell = ShellProcess(container.processes)
            running = run_builtin(process, container.files, runtime.cluster.clock, shell, observer)
            return await observer.observe(running)
        return await attach(process, self.container)

    def _make_observer(self) -> ProcessObserver:
        ref = ContainerRef(self.line.namespace, self.line.pod, self.line.container)
        return self.runtime.observer("an exec" if self.is_exec else "an attach", ref)


class RemoteCommandConnecter:
    """Serves exec or attach.

    Args:
        runtime: The pods and their containers.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime

    def connect(self, request: ApiRequest, info: RequestInfo) -> ConnectHandler | ApiResponse:
        """Check a request.

        Raises:
            StatusFailure: If there is no such pod or container, if the pod has no node, or if it is no upgrade.
        """
        command = self.command(request, info)
        if is_spdy(request):
            return SpdyCommand(command, self._runtime.cluster.clock)
        protocol = _protocol_of(request)
        if protocol is None:
            # Go's library responds like that, without a body.
            return ApiResponse(403, b"", content_type="")
        if command.problem and protocol != V5:
            # Only version 5 is translated by the API server, which has upgraded by then.
            return ApiResponse(500, command.problem.encode(), content_type="text/plain; charset=utf-8")
        return WebSocketCommand(command, protocol)

    def command(self, request: ApiRequest, info: RequestInfo) -> RemoteCommand:
        """Return the command that a request asks for, whatever its upgrade.

        Raises:
            StatusFailure: If there is no such pod or container, if the pod has no node, or if no stream is asked for.
        """
        options = RemoteCommandOptions.of(request)
        runtime, is_exec = self._runtime, info.subresource == "exec"
        pod = runtime.find(info.namespace, info.name)
        name = choose_container(pod, options.container)
        check_assigned(pod)
        # After pod and container: kube-apiserver reports errors in this order.
        options.check_streams()
        if is_exec and not options.command:
            raise bad_request("you must specify at least one command for the container")
        line = _build_command_line(runtime.cluster, pod, name, options, is_exec=is_exec)
        problem = "" if is_running(pod, name) else f'container not found ("{name}")'
        return RemoteCommand(runtime, line, runtime.container(pod, name), options, is_exec, problem)


class WebSocketCommand:
    """Runs a command over a WebSocket.

    Args:
        command: The command.
        protocol: The subprotocol.
    """

    def __init__(self, command: RemoteCommand, protocol: str) -> None:
        self._command = command
        self._protocol = protocol

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Upgrade the connection, and run the command over it.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        try:
            socket = await open_websocket(incoming, self._protocol)
        except BadRequestError as error:
            on_response(error.code)
            await incoming.send(Response.of_text(error.code, error.text))
            return
        on_response(101)
        streams = WebSocketStreams(socket, self._command.options)
        await streams.greet()
        await self._command.run(streams)


def _build_command_line(
    cluster: ClusterState, pod: Plain, container: str, options: RemoteCommandOptions, *, is_exec: bool
) -> CommandLine:
    spec, meta = container_of(pod, container) or {}, metadata(pod)
    argv = options.command if is_exec else (*spec.get("command", ()), *spec.get("args", ()))
    # Whether a container has a terminal is decided at its start, not by an attach.
    is_tty = options.tty if is_exec else spec.get("tty") is True
    return CommandLine(
        text(meta, "namespace"),
        text(meta, "name"),
        container,
        argv,
        available_environment(cluster, pod, container),
        is_tty,
        host_of(pod),
        working_dir_of(spec),
    )


def _protocol_of(request: ApiRequest) -> str | None:
    """The subprotocol of an upgrade; None if there is no common one.

    Raises:
        StatusFailure: If it is no upgrade to a WebSocket.
    """
    headers = request.headers
    upgrade, connection = headers.get("upgrade", ""), headers.get("connection", "")
    if "upgrade" not in connection.lower() or not upgrade:
        raise bad_request("Upgrade request required")
    if upgrade.strip().lower() != "websocket":
        raise StatusFailure(400, "BadRequest", f"unable to upgrade: {upgrade} is not served, only websocket")
    if request.method != "GET":
        raise StatusFailure(405, "MethodNotAllowed", "a WebSocket is opened with GET")
    return choose_protocol(headers.get("sec-websocket-protocol", ""))
