"""Ways to a server: straight, through an HTTP proxy, through SOCKS5; with TLS and without."""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead._transport.address import bracketed
from masthead._transport.failures import DialError, detail, unreachable
from masthead._transport.socks import connect_through_socks
from masthead._transport.tunnel import Tunnel

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from masthead._transport.address import ServerAddress
    from masthead._transport.connection import Connection
    from masthead._transport.proxy import Proxy
    from masthead._transport.sockets import AddressInfo, SocketTracker

__all__ = ["Dialer"]

_HEAD_START_S: Final = 0.25
"""How long one address is tried before the next one is, too (RFC 8305)."""


class Dialer:
    """Makes connections to one server.

    Args:
        server: Where it is.
        server_name: The name that its certificate must have; empty for the one that it is reached by.
        proxy: Through whom to go, if through anybody.
        sockets: Where sockets come from.
        connect_timeout: For how many seconds it will be waited at the most; whoever dials is to stop it then.
    """

    def __init__(
        self,
        server: ServerAddress,
        server_name: str,
        proxy: Proxy | None,
        sockets: SocketTracker,
        connect_timeout: float,
    ) -> None:
        self._server = server
        self._name = (server_name or server.host).rstrip(".")
        self._proxy = proxy
        self._sockets = sockets
        self._handshake = connect_timeout + 1

    async def dial(self, connection: Connection, agent: str) -> None:
        """Connect, with the TLS settings of the connection, which is open then.

        Args:
            connection: What to open.
            agent: What to tell a proxy that we are; empty for nothing.

        Raises:
            DialError: If there is no way to the server.
        """
        server, proxy = self._server, self._proxy
        context = connection.context if server.is_secure else None
        _check_name(context, self._name, server.place)
        if proxy is None:
            reached = await self._reach(server.host, server.port)
            await self._attach(reached, connection, context, self._name, server.place)
        elif proxy.is_socks:
            reached = await self._reach_proxy(proxy)
            try:
                with _blaming(server.place):
                    await connect_through_socks(reached, proxy, server.host, server.port)
            except BaseException:
                reached.close()
                raise
            await self._attach(reached, connection, context, self._name, server.place)
        else:
            outer = connection.context if proxy.scheme == "https" else None
            _check_name(outer, proxy.host, proxy.place)
            reached = await self._reach_proxy(proxy)
            if context is None:  # then the proxy passes on each request itself
                await self._attach(reached, connection, outer, proxy.host, proxy.place)
            else:
                await self._tunnel(reached, connection, outer, proxy, agent)

    async def _reach_proxy(self, proxy: Proxy) -> socket.socket:
        try:
            return await self._reach(proxy.host, proxy.port)
        except DialError as error:
            cause = error.cause
            if cause is None or isinstance(cause, socket.gaierror):
                raise
        raise DialError(f"the proxy {proxy.place} cannot be reached{detail(cause)}; check proxy-url", cause)

    async def _reach(self, host: str, port: int) -> socket.socket:
        with _blaming(f"{bracketed(host)}:{port}"):
            addresses = _literal(host, port) or await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )
            return await self._race(_mixed(addresses))

    async def _race(self, addresses: Sequence[AddressInfo]) -> socket.socket:
        """Connect to whichever address answers first, with a head start for those that stand first."""
        if len(addresses) == 1:
            return await self._connect(addresses[0])
        won: list[socket.socket] = []
        lost: list[OSError] = []

        async def run(address: AddressInfo) -> None:
            try:
                won.append(await self._connect(address))
            except OSError as error:
                lost.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                running: set[asyncio.Task[None]] = set()
                waiting = iter(addresses)
                while not won:
                    address = next(waiting, None)
                    if address is not None:
                        running.add(group.create_task(run(address)))
                    if not running:
                        break
                    _, running = await asyncio.wait(
                        running,
                        timeout=None if address is None else _HEAD_START_S,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                for task in running:
                    task.cancel()
        except BaseException:
            for each in won:
                each.close()
            raise
        for each in won[1:]:
            each.close()
        if not won:
            raise lost[0]
        return won[0]

    async def _connect(self, address: AddressInfo) -> socket.socket:
        made = self._sockets.open(address)
        try:
            await asyncio.get_running_loop().sock_connect(made, address[-1])
        except BaseException:
            made.close()
            raise
        return made

    async def _attach(
        self,
        reached: socket.socket,
        protocol: asyncio.BaseProtocol,
        context: ssl.SSLContext | None,
        name: str,
        place: str,
    ) -> asyncio.Transport:
        """Hand a socket to the loop, which closes it from then on."""
        with _blaming(place):
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: protocol,
                sock=reached,
                ssl=context,
                server_hostname=name if context is not None else None,
                ssl_handshake_timeout=self._handshake if context is not None else None,
            )
        return transport

    async def _tunnel(
        self,
        reached: socket.socket,
        connection: Connection,
        outer: ssl.SSLContext | None,
        proxy: Proxy,
        agent: str,
    ) -> None:
        """Have an HTTP proxy open a tunnel, and speak TLS with the server inside, perhaps in TLS with the proxy."""
        loop = asyncio.get_running_loop()
        tunnel = Tunnel(loop, proxy)
        transport = await self._attach(reached, tunnel, outer, proxy.host, proxy.place)
        headers = proxy.headers()
        if agent:
            headers["User-Agent"] = agent
        try:
            await tunnel.open(transport, self._server.place, headers)
            assert connection.context is not None
            with _blaming(self._server.place):
                secure = await loop.start_tls(
                    transport,
                    connection,
                    connection.context,
                    server_hostname=self._name,
                    ssl_handshake_timeout=self._handshake,
                )
                # A proxy may hang up right after its yes. Loops do not call that an error, and never tell it later.
                if secure is None or secure.is_closing():
                    raise ConnectionResetError
        except BaseException:
            transport.abort()
            raise
        connection.connection_made(secure)


@contextmanager
def _blaming(place: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise DialError(unreachable(place, error), error) from None
    except ValueError:  # no name is like that: two dots in a row, or too long between them
        raise DialError(
            f"{place} has no name that can be used; check the address, and tls-server-name"
        ) from None


def _check_name(context: ssl.SSLContext | None, name: str, place: str) -> None:
    """Try a server's name out before there is a socket, since no loop closes it over a name that is none."""
    if context is not None:
        with _blaming(place):
            context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)


def _literal(host: str, port: int) -> list[AddressInfo]:
    """The address that needs no looking up."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return []
    if "%" in host:  # its zone does
        return []
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    where = (host, port) if version == 4 else (host, port, 0, 0)
    return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where)]


def _mixed(addresses: Sequence[AddressInfo]) -> list[AddressInfo]:
    """One of each family in turn, so that a family that leads nowhere costs one head start only."""
    families: dict[int, list[AddressInfo]] = {}
    for address in addresses:
        families.setdefault(address[0], []).append(address)
    turns = itertools.zip_longest(*families.values())
    return [address for turn in turns for address in turn if address is not None]
