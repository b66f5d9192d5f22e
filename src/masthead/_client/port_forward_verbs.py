"""The verbs that connect to ports of pods: port_forward, connect and open_socket."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

from masthead._client.portforward.backends import Backend, can_forward
from masthead._client.portforward.connection import PodConnection, open_socket
from masthead._client.portforward.forward import PortForward
from masthead._client.portforward.listeners import listen_on_path, listen_on_port
from masthead._client.portforward.pod_client import PodClient, view_of
from masthead._client.portforward.port_specs import PortSpec, check_port, parse_addresses, parse_port
from masthead._client.portforward.resolver import PodResolver
from masthead._client.read_verbs import ReadVerbs
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    import os
    import socket
    from collections.abc import Callable, Sequence

    from masthead._client.portforward.listeners import Listener
    from masthead._client.portforward.port_specs import ListenAddress
    from masthead._client.portforward.resolver import ForwardTarget

__all__ = ["PortForwardVerbs"]

MAX_CONNECTIONS: Final = 256
"""The default limit of concurrent connections of a port-forward."""

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class PortForwardVerbs(ReadVerbs[T], Generic[T]):
    """For pods, and for the services and workloads that lead to pods."""

    @overload
    def port_forward(
        self,
        name: str,
        port: int | str,
        *,
        local_port: int | None = None,
        address: str | Sequence[str] = "localhost",
        reconnect: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = None,
    ) -> PortForward[int]: ...
    @overload
    def port_forward(
        self,
        name: str,
        port: int | str,
        *,
        unix_path: str | os.PathLike[str],
        reconnect: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = None,
    ) -> PortForward[str]: ...
    @overload
    def port_forward(
        self,
        name: str,
        port: int | str,
        second: int | str,
        /,
        *more: int | str,
        address: str | Sequence[str] = "localhost",
        reconnect: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = None,
    ) -> PortForward[tuple[int, ...]]: ...
    @overload
    def port_forward(
        self,
        name: str,
        port: int | str,
        *more: int | str,
        local_port: int | None = None,
        unix_path: str | os.PathLike[str] | None = None,
        address: str | Sequence[str] = "localhost",
        reconnect: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = None,
    ) -> PortForward[object]: ...
    @explain_arguments
    def port_forward(
        self,
        name: str,
        port: int | str,
        *more: int | str,
        local_port: int | None = None,
        unix_path: str | os.PathLike[str] | None = None,
        address: str | Sequence[str] = "localhost",
        reconnect: bool = False,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = None,
    ) -> PortForward[object]:
        """Listen on local ports, and forward each connection to a port of a pod.

        ::

            async with pods.port_forward("web", 8080) as port:
                print(f"http://127.0.0.1:{port}")

            async with deployments.port_forward("web", 8080, ":5432") as (http, postgres):
                print(f"http://127.0.0.1:{http}, and a database on port {postgres}")

        A number is a port of the pod, with any free local port. A text is what kubectl takes: ``"8080"`` for the same
        local port, ``"8888:8080"`` for another one, ``":8080"`` for any free one; a name instead of the last number is
        a named port. A service's port is translated to the one behind it. A service or a workload leads to one of its
        pods that run, preferably ready.

        Args:
            name: The name of the pod, the service or the workload.
            port: The port.
            more: More ports; the block then gets a tuple of local ports.
            local_port: The local port, if it is only one; any free one by default.
            unix_path: Listen on a Unix socket instead of a port; the block then gets its path.
            address: The IP addresses to listen on. All of them have to be free, but of ``localhost`` either 127.0.0.1
                or
                ::1 may be missing.
            reconnect: Whether to continue with another pod, or with the next one of the same name, when this one is
                deleted. Without, `PortForward.wait` then raises an error.
            max_connections: The maximum number of concurrent connections; others wait until one is closed.
            timeout: Timeout of each call, in seconds; None for the client's default. Connections have none.

        Returns:
            What listens once it is entered by ``async with``.

        Raises:
            ArgumentError: If a port, an address or the number of connections is invalid, or objects of the kind lead
                to no pods.
        """
        if max_connections < 1:
            raise ArgumentError(f"max_connections is {max_connections}; it must be at least 1", value=max_connections)
        specs = [parse_port(spec) for spec in (port, *more)]
        if local_port is not None:
            specs = [_with_local_port(specs, local_port)]
        bind: Callable[[ForwardTarget, str], list[Listener]]
        if unix_path is not None:
            _refuse_several(specs, "unix_path")
            bind = functools.partial(_bind_path, unix_path)
        else:
            bind = functools.partial(_bind_ports, specs, parse_addresses(address))
        return PortForward(
            functools.partial(self._resolver, name, [spec.remote for spec in specs], timeout),
            bind,
            _path_of if unix_path is not None else _port_of if not more else _ports_of,
            reconnect=reconnect,
            max_connections=max_connections,
        )

    def connect(self, name: str, port: int | str, *, timeout: float | None = None) -> PodConnection:
        """Connect to a port of a pod, without a local listener.

        ::

            async with pods.connect("web", 8080) as connection:
                await connection.write(b"hello")
                print(await connection.read(5))

        Args:
            name: The name of the pod, the service or the workload.
            port: The port of the pod or of the service: its number or name.
            timeout: Timeout of each call, in seconds; None for the client's default. The connection has none.

        Returns:
            What connects once it is entered by ``async with``.

        Raises:
            ArgumentError: If the port is invalid, or objects of the kind lead to no pods.
        """
        return PodConnection(functools.partial(self._resolver, name, [_remote_port(port)], timeout))

    async def open_socket(self, name: str, port: int | str, *, timeout: float | None = None) -> socket.socket:
        """Connect to a port of a pod, and return a connected socket, for any library that takes one.

        The event loop of the client carries its bytes; so the socket is for other threads, or for a library that does
        not block. Close the socket to end the connection. A failure of the connection is logged, and closes the socket.

        Args:
            name: The name of the pod, the service or the workload.
            port: The port of the pod or of the service: its number or name.
            timeout: Timeout of each call, in seconds; None for the client's default. The connection has none.

        Raises:
            PortForwardError: If the pod is not running, or has no such port.
            NotFoundError: If there is no such pod, service or workload.
            ArgumentError: If the port is invalid, or objects of the kind lead to no pods.
            TransportError: If the connection fails, or the server does not speak WebSockets.
        """
        return await open_socket(await self._resolver(name, [_remote_port(port)], timeout))

    async def _resolver(self, name: str, ports: Sequence[int | str], timeout: float | None) -> PodResolver:
        target = await self._target()
        # Checks the name and the namespace.
        namespace = self._build_call(target, "get", name=name, called="port-forward").subject.namespace
        pods = PodClient(self._context, namespace, timeout)
        title = f"{target.name} {namespace}/{name}"
        resource, gvk = target.resource, target.gvk or target.item.GVK
        if (resource.group, resource.resource) == ("", "pods"):
            return PodResolver(pods, name, title, ports)
        if not can_forward(gvk):
            raise ArgumentError(f"port-forward {title}: only pods, services and workloads lead to pods", value=gvk.kind)

        async def read() -> Backend:
            return view_of(await self._read(name, timeout=timeout), Backend)

        is_service = gvk.kind == "Service"
        return PodResolver(pods, name, title, ports, read_backend=read, is_service=is_service)


def _remote_port(port: int | str) -> int | str:
    spec = parse_port(port)
    if spec.local not in {0, None, spec.remote} or (isinstance(port, str) and ":" in port):
        raise ArgumentError(f"{port!r} names a local port, too; give that of the pod alone", value=port)
    return spec.remote


def _refuse_several(specs: Sequence[PortSpec], option: str) -> None:
    if len(specs) > 1:
        raise ArgumentError(f"{option} is for one port; {len(specs)} are given", value=option)


def _with_local_port(specs: Sequence[PortSpec], local_port: int) -> PortSpec:
    _refuse_several(specs, "local_port")
    return PortSpec(specs[0].remote, check_port(local_port, least=0))


def _bind_path(path: str | os.PathLike[str], _: ForwardTarget, title: str) -> list[Listener]:
    return [listen_on_path(path, title)]


def _bind_ports(
    specs: Sequence[PortSpec], addresses: Sequence[ListenAddress], target: ForwardTarget, title: str
) -> list[Listener]:
    bound: list[Listener] = []
    try:
        for spec, number in zip(specs, target.ports, strict=True):
            bound.append(listen_on_port(addresses, number if spec.local is None else spec.local, title))
    except BaseException:
        for listener in bound:
            listener.close()
        raise
    return bound


def _port_of(listeners: Sequence[Listener]) -> int:
    return listeners[0].port


def _ports_of(listeners: Sequence[Listener]) -> tuple[int, ...]:
    return tuple(listener.port for listener in listeners)


def _path_of(listeners: Sequence[Listener]) -> str:
    return listeners[0].addresses[0]
