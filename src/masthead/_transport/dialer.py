"""Connects to a server: directly, through an HTTP proxy or SOCKS5; with and without TLS."""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead._transport.address import add_brackets
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

_ATTEMPT_S: Final = 3.0
"""Seconds after which an unanswered connection attempt is repeated."""
_HEAD_START_S: Final = 0.25
"""How long one address is tried before the next one is tried as well (RFC 8305)."""


class Dialer:
    """Dials connections to one server.

    Args:
        server: The server's address.
        server_name: The name that its certificate must have; empty for the address's host.
        proxy: The proxy; None to connect directly.
        sockets: Opens the sockets.
        connect_timeout: The connect timeout in seconds, which the caller enforces.
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

    async def dial(self, connection: Connection, agent: str, *, is_upgrade: bool = False) -> None:
        """Open a connection, with its TLS context.

        Args:
            connection: The connection to open.
            agent: The ``User-Agent`` for a proxy; empty for none.
            is_upgrade: Whether to tunnel through an HTTP proxy even without TLS.

        Raises:
            DialError: If connecting fails.
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
                with _dial_errors(server.place):
                    await connect_through_socks(reached, proxy, server.host, server.port)
            except BaseException:
                reached.close()
                raise
            await self._attach(reached, connection, context, self._name, server.place)
        else:
            outer = connection.context if proxy.scheme == "https" else None
            _check_name(outer, proxy.host, proxy.place)
            reached = await self._reach_proxy(proxy)
            if context is None and not is_upgrade:  # without TLS, the proxy forwards each request itself
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
        with _dial_errors(f"{add_brackets(host)}:{port}"):
            addresses = _literal(host, port) or await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )
            return await self._race(_interleave(addresses))

    async def _race(self, addresses: Sequence[AddressInfo]) -> socket.socket:
        """Connect to the address that accepts first, with a head start for earlier ones ("happy eyeballs")."""
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
                        # No address follows the last one, so it needs no head start.
                        timeout=None if address is None else _HEAD_START_S,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                for task in running:
                    task.cancel()
        except BaseException:
            # Cancelled after one had connected: its socket has no other owner.
            for connection in won:
                connection.close()
            raise
        # Two can connect in the same turn of the loop.
        for connection in won[1:]:
            connection.close()
        if not won:
            # The first failure is most often that of the address which the resolver prefers.
            raise lost[0]
        return won[0]

    async def _connect(self, address: AddressInfo) -> socket.socket:
        """Connect, until the caller gives up.

        Systems repeat a lost packet after 1, 3, 7 and 15 s. A new attempt begins before these pauses get long, so that
        a network that recovers is noticed within two seconds.
        """
        while True:
            patience = asyncio.timeout(_ATTEMPT_S)
            try:
                async with patience:
                    return await self._connect_once(address)
            except TimeoutError:  # the system's own error for a connection that timed out is one as well
                if not patience.expired():
                    raise

    async def _connect_once(self, address: AddressInfo) -> socket.socket:
        made = self._sockets.open(address)
        try:
            await asyncio.get_running_loop().sock_connect(made, address[-1])
        except BaseException:
            # Also on cancellation, which is how the losers of a race end.
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
        """Hand a socket to the loop, which owns it from then on."""
        with _dial_errors(place):
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: protocol,
                sock=reached,
                ssl=context,
                # asyncio refuses these two without TLS.
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
        """Open a tunnel through an HTTP or HTTPS proxy, and start TLS inside it for a TLS server."""
        loop = asyncio.get_running_loop()
        tunnel = Tunnel(loop, proxy)
        transport = await self._attach(reached, tunnel, outer, proxy.host, proxy.place)
        headers = proxy.headers()
        if agent:
            headers["User-Agent"] = agent
        try:
            await tunnel.open(transport, self._server.place, headers)
            if not self._server.is_secure:
                transport.set_protocol(connection)
                connection.connection_made(transport)
                return
            assert connection.context is not None
            with _dial_errors(self._server.place):
                secure = await loop.start_tls(
                    transport,
                    connection,
                    connection.context,
                    server_hostname=self._name,
                    ssl_handshake_timeout=self._handshake,
                )
                # A proxy may close the connection right after accepting. Loops do not raise that, then or later.
                if secure is None or secure.is_closing():
                    raise ConnectionResetError
        except BaseException:
            transport.abort()
            raise
        connection.connection_made(secure)


@contextmanager
def _dial_errors(place: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise DialError(unreachable(place, error), error) from None
    except ValueError:  # the name cannot be encoded: an empty or overlong label
        raise DialError(f"{place} is not a valid name; check the address, and tls-server-name") from None


def _check_name(context: ssl.SSLContext | None, name: str, place: str) -> None:
    """Check a server's name before there is a socket: with an invalid name, loops would not close it."""
    if context is not None:
        with _dial_errors(place):
            context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)


def _literal(host: str, port: int) -> list[AddressInfo]:
    """The address of a host that is an IP address; empty if it must be resolved."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return []
    if "%" in host:  # its zone must be resolved
        return []
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    where = (host, port) if version == 4 else (host, port, 0, 0)
    return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where)]


def _interleave(addresses: Sequence[AddressInfo]) -> list[AddressInfo]:
    """Interleave the address families, so that an unreachable family costs one head start only."""
    families: dict[int, list[AddressInfo]] = {}
    for address in addresses:
        families.setdefault(address[0], []).append(address)
    # As in RFC 8305: if one address family is broken, the other one's turn comes next.
    turns = itertools.zip_longest(*families.values())
    return [address for turn in turns for address in turn if address is not None]
