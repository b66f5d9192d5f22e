"""The local sockets of a port-forward."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead.errors import PortForwardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._client.portforward.port_specs import ListenAddress

__all__ = ["Listener", "accept", "listen_on_path", "listen_on_port"]

_BACKLOG: Final = 128
_OWNER_ONLY: Final = 0o600
_ATTEMPTS: Final = 10
"""How many free ports are tried, if one is free on some addresses only."""


class Listener:
    """The sockets of one forwarded port.

    Attributes:
        sockets: The sockets, which do not block.
        port: The local port; 0 for a Unix socket.
        addresses: What they are bound to.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        port: int,
        addresses: Sequence[str],
        *,
        path: Path | None = None,
    ) -> None:
        self.sockets = sockets
        self.port = port
        self.addresses = addresses
        self._path = path
        self._inode = path.stat().st_ino if path is not None else 0

    def close(self) -> None:
        """Close the sockets, and remove the file of a Unix socket, unless another one has taken its place."""
        for sock in self.sockets:
            sock.close()
        if self._path is not None:
            with suppress(OSError):
                # Another process may have replaced the socket.
                if self._path.stat().st_ino == self._inode:
                    self._path.unlink()


def listen_on_port(addresses: Sequence[ListenAddress], port: int, title: str) -> Listener:
    """Listen on a port of some addresses; on the same one of all of them, if it is 0.

    differs from client-go: there, a port of ``localhost`` may be in use on one of its two addresses. Whoever connects
    to that one would then reach another program.

    Raises:
        PortForwardError: If an address cannot be bound, or none of the optional ones.
    """
    attempts = _ATTEMPTS if port == 0 else 1
    while True:
        attempts -= 1
        try:
            return _listen_once(addresses, port)
        except _BindError as error:
            # Another free port may be free on all of them.
            if attempts == 0 or error.cause.errno != errno.EADDRINUSE:
                where = f"{error.host} port {port}" if port else error.host
                advice = "choose another local port, or 0 for any free one"
                raise _cannot_listen(title, where, error.cause, advice) from None


class _BindError(Exception):
    def __init__(self, host: str, cause: OSError) -> None:
        super().__init__(host)
        self.host = host
        self.cause = cause


def _listen_once(addresses: Sequence[ListenAddress], port: int) -> Listener:
    sockets: list[socket.socket] = []
    bound: list[str] = []
    failure: _BindError | None = None
    try:
        for address in addresses:
            try:
                sockets.append(_bind(address.host, port))
            except OSError as error:
                failure = _BindError(address.host, error)
                # An optional address may be missing, such as ::1; but a port in use would split clients between two
                # programs.
                if not address.is_optional or error.errno == errno.EADDRINUSE:
                    raise failure from None
            else:
                # A free port, chosen by the first address, must be free on all others.
                port = sockets[-1].getsockname()[1]
                bound.append(address.host)
        if failure is not None and not sockets:
            raise failure
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return Listener(sockets, port, bound)


def listen_on_path(path: str | os.PathLike[str], title: str) -> Listener:
    """Listen on a Unix socket, which only its owner may use.

    Raises:
        PortForwardError: If it cannot be bound: the path exists, or a process listens on it.
    """
    file = Path(path)
    if not hasattr(socket, "AF_UNIX"):
        raise PortForwardError(f"port-forward {title}: there are no Unix sockets on {sys.platform}")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_abandoned(file)
        server.bind(str(file))
        # Nobody can connect before it listens.
        file.chmod(_OWNER_ONLY)
        server.listen(_BACKLOG)
        server.setblocking(False)
        return Listener([server], 0, [str(file)], path=file)
    except OSError as error:
        server.close()
        raise _cannot_listen(title, str(file), error, "choose another path") from None


async def accept(server: socket.socket) -> socket.socket:
    """Accept a connection. Cancelling it loses none.

    Raises:
        OSError: If none can be accepted, such as for lack of file descriptors.
    """
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        return (await loop.sock_accept(server))[0]
    while True:
        with suppress(BlockingIOError, InterruptedError):
            # Not `loop.sock_accept`: a connection that arrives in the moment of a cancellation would never be closed.
            return server.accept()[0]
        readable = loop.create_future()
        loop.add_reader(server, _resolve, readable)
        try:
            await readable
        finally:
            loop.remove_reader(server)


def _resolve(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Or a port could not be used again for minutes.
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Otherwise :: would also take the port of IPv4.
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.bind((host, port))
        server.listen(_BACKLOG)
        server.setblocking(False)
    except BaseException:
        server.close()
        raise
    return server


def _remove_abandoned(file: Path) -> None:
    """Remove the file of a Unix socket on which nothing listens any more."""
    try:
        is_socket = stat.S_ISSOCK(file.stat().st_mode)
    except FileNotFoundError:
        return
    if is_socket:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            # A socket file without a listener is left over from a process that was killed.
            if probe.connect_ex(str(file)) == errno.ECONNREFUSED:
                file.unlink()


def _cannot_listen(title: str, where: str, error: OSError, advice: str) -> PortForwardError:
    hint = f"; {advice}" if error.errno == errno.EADDRINUSE else ""
    return PortForwardError(f"port-forward {title}: cannot listen on {where}: {error.strerror or error}{hint}")
