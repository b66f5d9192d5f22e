"""Local listeners whose connections are forwarded to a pod."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._client.portforward.listeners import accept
from masthead._client.portforward.pod_dialer import PodDialer
from masthead._client.portforward.port_specs import ForwardedPort
from masthead._client.portforward.splice import forward_socket
from masthead._module import set_module
from masthead.errors import ClosedError, MastheadError

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Sequence

    from masthead._client.portforward.listeners import Listener
    from masthead._client.portforward.resolver import ForwardTarget, PodResolver
    from masthead._client.portforward.tunnel import PodTunnel

__all__ = ["PortForward"]

_log: Final = logging.getLogger("masthead.portforward")
_connection_log: Final = logging.getLogger("masthead.portforward.connections")
"""The error of a single connection; the others continue."""

_ACCEPT_PAUSE: Final = 1.0
"""Seconds until a connection is accepted again, if that has failed."""

LocalT_co = TypeVar("LocalT_co", covariant=True)


@set_module("masthead.aio.streams")
class PortForward(Generic[LocalT_co]):
    """Local ports that lead to the ports of a pod, to be used in ``async with``.

    ::

        async with pods.port_forward("web", 8080) as port:
            print(f"http://127.0.0.1:{port}")

    Guarantees:
        Opening it raises what would make all connections fail: no such pod, not permitted, not running, a local port in
        use. Each connection has its own WebSocket, so that a slow one holds up no other; the failure of one is
        logged and closes it alone. When it is closed, nothing of it is left: no listener, connection or task.

    Threads:
        The local ports may be used by any thread and process.
    """

    def __init__(
        self,
        resolver: Callable[[], Awaitable[PodResolver]],
        bind: Callable[[ForwardTarget, str], list[Listener]],
        local: Callable[[Sequence[Listener]], LocalT_co],
        *,
        reconnect: bool,
        max_connections: int,
    ) -> None:
        self._make_resolver = resolver
        self._bind = bind
        self._local = local
        self._reconnect = reconnect
        self._limit = asyncio.Semaphore(max_connections)
        self._title = ""
        self._listeners: list[Listener] = []
        self._dialer: PodDialer | None = None
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        # For `_release`: a task that is cancelled before its first step closes nothing.
        self._accepted: set[socket.socket] = set()

    @property
    def ports(self) -> tuple[ForwardedPort, ...]:
        """The forwarded ports, in the order in which they were asked for; empty until it is open."""
        numbers = self._dialer.target.ports if self._dialer is not None else ()
        return tuple(
            ForwardedPort(listener.port, number) for listener, number in zip(self._listeners, numbers, strict=False)
        )

    @property
    def addresses(self) -> tuple[str, ...]:
        """The local addresses that it listens on: IP addresses, or the path of a Unix socket."""
        return tuple(self._listeners[0].addresses) if self._listeners else ()

    @property
    def pod(self) -> str:
        """The pod that new connections go to, as ``namespace/name``; empty until it is open."""
        return self._dialer.target.key if self._dialer is not None else ""

    async def open(self) -> LocalT_co:
        """Find the pod, connect to it, and listen.

        Returns:
            The local port; those of several ports as a tuple; the path of a Unix socket.

        Raises:
            PortForwardError: If the pod is not running, has no such port, or a local port cannot be bound.
            NotFoundError: If there is no such pod, service or workload.
            StatusError: If the server refuses.
            TransportError: If the connection fails, or the server does not speak WebSockets.
            ClosedError: If it was opened before.
        """
        if self._task is not None or self._dialer is not None:
            raise ClosedError("a port-forward can be opened once; call port_forward again")
        resolver = await self._make_resolver()
        self._title = resolver.title
        target = await resolver.resolve()
        self._dialer = dialer = PodDialer(resolver, target, reconnect=self._reconnect)
        # Before the first tunnel: a port in use is the more frequent error, and costs no request.
        self._listeners = self._bind(target, self._title)
        try:
            spare = await dialer.dial()
        except BaseException:
            self._close_listeners()
            raise
        serving = self._serve(dialer, spare)
        self._task = asyncio.get_running_loop().create_task(serving, name=f"port-forward {self._title}")
        # Not in the coroutine: a task that is cancelled before its first step never enters it.
        self._task.add_done_callback(lambda _: self._release(spare))
        return self._local(self._listeners)

    async def wait(self) -> None:
        """Wait until it is closed, or until its pod is lost.

        Raises:
            PortForwardError: If the pod was deleted, without `reconnect`.
            ClosedError: If it is not open, or its client was closed.
        """
        if self._task is None:
            raise ClosedError("the port-forward is not open; use it in a with block")
        await asyncio.wait([self._task])
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Close the listeners and all connections. Closing twice does nothing."""
        if self._task is None or self._dialer is None:
            return
        try:
            # Tunnels first, so that open connections end cleanly.
            await self._dialer.close()
        finally:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> LocalT_co:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        shown = ", ".join(f"{port.local} -> {port.remote}" for port in self.ports)
        return f"<PortForward {self._title or 'not open'}{f' {shown}' if shown else ''}>"

    async def _serve(self, dialer: PodDialer, spare: PodTunnel) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for index, listener in enumerate(self._listeners):
                    for sock in listener.sockets:
                        group.create_task(self._accept(group, dialer, sock, index))
                group.create_task(dialer.run(group, spare))
        # The first failure has cancelled the others.
        except* MastheadError as failures:
            self._error = failures.exceptions[0]
            _log.warning("%s", self._error)

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()

    def _release(self, spare: PodTunnel) -> None:
        spare.abort()
        self._close_listeners()
        for connection in self._accepted:
            connection.close()

    async def _accept(self, group: asyncio.TaskGroup, dialer: PodDialer, server: socket.socket, index: int) -> None:
        while True:
            try:
                connection = await accept(server)
            except OSError as error:
                # Out of file descriptors, perhaps, which may pass.
                _log.warning("port-forward %s: a connection cannot be accepted: %s", self._title, error)
                await asyncio.sleep(_ACCEPT_PAUSE)
                continue
            self._accepted.add(connection)
            # Beyond the limit, this one waits here, and all others in the backlog.
            await self._limit.acquire()
            group.create_task(self._forward(dialer, connection, index))

    async def _forward(self, dialer: PodDialer, connection: socket.socket, index: int) -> None:
        try:
            tunnel = await dialer.take()
            await forward_socket(tunnel, tunnel.target.ports[index], connection)
        except ClosedError:
            pass  # with the client
        except (MastheadError, OSError) as error:
            _connection_log.warning("%s; the connection is closed", error)
        finally:
            connection.close()
            self._accepted.discard(connection)
            self._limit.release()
