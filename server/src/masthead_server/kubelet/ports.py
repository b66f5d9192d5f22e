"""Listeners on the ports of pods and nodes: ports of this machine, and Python functions."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar, cast

from masthead._module import set_module
from masthead_server.argument_checks import check_flag, check_port
from masthead_server.hosts import is_loopback
from masthead_server.kubelet.handlers import PodPattern, ordinary_errors

if TYPE_CHECKING:
    import ssl

__all__ = ["KUBELET_PORT", "PortAddress", "PortHandler", "PortListener", "PortTarget", "Ports", "check_address"]

PortHandler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]
"""Serves one connection to a port, in the server's event loop; the connection is closed when it returns."""
PortTarget: TypeAlias = int | tuple[str, int] | PortHandler
"""The target of a listener: a port of this machine, a host and a port, or a function."""
ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)

KUBELET_PORT: Final = 10250
"""Where a kubelet serves HTTP."""
_HOST_AND_PORT: Final = 2
_BUFFER: Final = 256 * 1024
"""Bytes that a function may have unread before its peer is paused."""
_log: Final = logging.getLogger("masthead.server.kubelet")


@set_module("masthead.server")
class PortAddress(NamedTuple):
    """A port of a pod, or of a node, which has no namespace."""

    namespace: str
    name: str
    port: int


@set_module("masthead.server")
class PortListener:
    """Something that listens on a port of pods or of a node; `Kubelet.listen` makes one.

    Attributes:
        connections: How many connections it has accepted.
    """

    def __init__(self, owner: Ports, pattern: PodPattern | str, port: int, target: PortTarget) -> None:
        self.connections: int = 0
        self._owner = owner
        self._pattern = pattern
        self._port = port
        self._target = target

    def __repr__(self) -> str:
        pattern = self._pattern
        if isinstance(pattern, PodPattern):
            where = f"{pattern.namespace or '*'}/{pattern.pod or '*'}"
        else:
            where = f"node {pattern}"
        return f"<PortListener {where}:{self._port}>"

    def close(self) -> None:
        """Accept no more connections; open ones continue. Closing twice does nothing."""
        self._owner.discard(self)

    @property
    def precision(self) -> int:
        """Number of specified parts: the most precise listener wins."""
        return self._pattern.precision if isinstance(self._pattern, PodPattern) else 1

    def is_for(self, address: PortAddress) -> bool:
        """Tell whether it listens on a port."""
        if address.port != self._port:
            return False
        if isinstance(self._pattern, str):
            return not address.namespace and address.name == self._pattern
        return (
            bool(address.namespace)
            and self._pattern.namespace in {"", address.namespace}
            and self._pattern.pod in {"", address.name}
        )

    async def connect(self, make_protocol: Callable[[], ProtocolT], tls: ssl.SSLContext | None = None) -> ProtocolT:
        """Connect to what listens.

        Args:
            make_protocol: Makes the protocol of the connection.
            tls: How to speak TLS with it; None for plain TCP.

        Raises:
            OSError: If nothing accepts the connection.
        """
        self.connections += 1
        if callable(self._target):
            return await _connect_to_function(self._target, make_protocol, self._owner.serving, tls, str(self))
        loop = asyncio.get_running_loop()
        # Not "localhost", which may be ::1.
        host, port = ("127.0.0.1", self._target) if isinstance(self._target, int) else self._target
        name = "" if tls else None
        _, protocol = await loop.create_connection(make_protocol, host, port, ssl=tls, server_hostname=name)
        return protocol


class Ports:
    """All listeners of a server.

    Threads: `add` and `discard` may be called in any thread, the rest in the server's.
    """

    def __init__(self) -> None:
        self.serving: set[asyncio.Task[None]] = set()
        """The functions that serve a connection."""
        self._listeners: tuple[PortListener, ...] = ()
        self._lock = threading.Lock()

    def add(
        self, pattern: PodPattern | str, port: int, target: PortTarget, *, allow_remote: bool = False
    ) -> PortListener:
        """Let something listen.

        Args:
            pattern: The pods, or the name of a node.
            port: Their port.
            target: What answers.
            allow_remote: Whether that may be another machine.

        Raises:
            ValueError: If a port does not exist, or if the target is another machine and that is not allowed.
            TypeError: If the target can be none.
        """
        check_port(port)
        _check_target(target, allow_remote=allow_remote)
        made = PortListener(self, pattern, port, target)
        with self._lock:
            # A new tuple: the loop iterates without the lock. In front, because the last one wins.
            self._listeners = (made, *self._listeners)
        return made

    def discard(self, listener: PortListener) -> None:
        """Let a listener accept no more connections."""
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

    def find(self, address: PortAddress) -> PortListener | None:
        """Return what listens on a port; None if nothing does."""
        fitting = [listener for listener in self._listeners if listener.is_for(address)]
        # `max` returns the first of equals.
        return max(fitting, key=lambda listener: listener.precision) if fitting else None

    def stop(self) -> None:
        """Cancel the functions that serve a connection."""
        for task in tuple(self.serving):
            task.cancel()


async def _connect_to_function(
    handle: PortHandler,
    make_protocol: Callable[[], ProtocolT],
    serving: set[asyncio.Task[None]],
    tls: ssl.SSLContext | None,
    name: str,
) -> ProtocolT:
    """Run a function behind one end of a pair of sockets, and connect to the other."""
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(_BUFFER)
    try:
        transport, stream = await _adopt(lambda: asyncio.StreamReaderProtocol(reader), theirs)
    except BaseException:
        ours.close()
        theirs.close()
        raise
    writer = asyncio.StreamWriter(transport, stream, reader, loop)
    # It may outlive its client; whatever still runs when the server stops is cancelled then.
    task = loop.create_task(_serve(handle, reader, writer, name))
    serving.add(task)
    task.add_done_callback(serving.discard)
    try:
        return (await _adopt(make_protocol, ours, tls))[1]
    except BaseException:
        task.cancel()
        ours.close()
        raise


async def _adopt(
    make_protocol: Callable[[], ProtocolT], end: socket.socket, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.Transport, ProtocolT]:
    """Give one of a pair of connected sockets to the event loop."""
    end.setblocking(False)
    loop = asyncio.get_running_loop()
    name = "" if tls else None
    # On Windows, a pair consists of TCP sockets.
    if end.family == getattr(socket, "AF_UNIX", None):
        return await loop.create_unix_connection(make_protocol, sock=end, ssl=tls, server_hostname=name)
    return await loop.create_connection(make_protocol, sock=end, ssl=tls, server_hostname=name)


async def _serve(handle: PortHandler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
    try:
        with ordinary_errors():
            await handle(reader, writer)
    except ConnectionError:
        # A reset, as of a program that crashes.
        writer.transport.abort()
    except Exception:  # noqa: BLE001 - the user's function; its peer gets a broken connection
        _log.exception("the function that serves %s failed", name)
        writer.transport.abort()
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def _check_target(target: PortTarget, *, allow_remote: bool) -> None:
    if not callable(target):
        check_address(target, allow_remote=allow_remote, expected="a port, a host and a port, or a function listens")


def check_address(target: int | tuple[str, int], *, allow_remote: bool, expected: str) -> tuple[str, int]:
    """Return host and port of the address behind a listener, which may be a port of this machine alone.

    Args:
        target: The address.
        allow_remote: Whether it may be another machine.
        expected: What a message about another type begins with.

    Raises:
        TypeError: If it is something else.
        ValueError: If the port does not exist, or if the target is another machine and that is not allowed.
    """
    check_flag("allow_remote", allow_remote)
    pair = ("127.0.0.1", target) if isinstance(target, int) else cast("object", target)
    if not isinstance(pair, tuple) or len(parts := cast("tuple[object, ...]", pair)) != _HOST_AND_PORT:
        raise TypeError(f"{expected}, not {target!r}")
    host, port = parts
    if not isinstance(host, str):
        raise TypeError(f"{expected}, not {target!r}")
    check_port(port)
    # A test must not reach into a network by mistake.
    if not allow_remote and not is_loopback(host):
        raise ValueError(f"{host} is not this machine: pass allow_remote=True to connect to it")
    return host, cast("int", port)
