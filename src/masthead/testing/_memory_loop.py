"""An event loop whose own connections go through memory."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, cast

from masthead.testing._memory_network import MemoryListener, MemorySocket

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from masthead.testing._memory_network import Address, MemoryNetwork

    class _SelectorLoop(asyncio.SelectorEventLoop):
        """The methods of asyncio's loop that create transports and servers; not in its public interface."""

        def _make_socket_transport(self, sock: object, *args: object, **options: object) -> asyncio.Transport: ...
        def _make_ssl_transport(self, rawsock: object, *args: object, **options: object) -> asyncio.Transport: ...
        def _start_serving(self, factory: object, sock: socket.socket, *args: object, **options: object) -> None: ...
        def _stop_serving(self, sock: socket.socket) -> None: ...
        def _make_self_pipe(self) -> None: ...
        def _close_self_pipe(self) -> None: ...
        async def _connect_sock(
            self, exceptions: list[object], address: AddressInfo, *args: object
        ) -> socket.socket: ...

    AddressInfo = tuple[int, int, int, str, Address]
else:
    _SelectorLoop = asyncio.SelectorEventLoop


class VirtualLoop(_SelectorLoop):
    """Connects sockets of the same loop in memory; all others through the kernel.

    Servers of asyncio are reached in memory, and every client of asyncio uses it. Code that accepts connections itself
    calls `adopt_listener`; code that opens sockets itself calls `open_memory_socket`.

    The public class of this name sets the network before it calls the constructor.
    """

    _network: MemoryNetwork

    def adopt_listener(self, listening: socket.socket) -> socket.socket:
        """Return a listening socket that also accepts connections of this loop; it closes the original."""
        return cast("socket.socket", self._network.listen(listening))

    def open_memory_socket(self, family: int, address: tuple[object, ...]) -> socket.socket | None:
        """Return a socket for `sock_connect` in memory; None if no listener of this loop has the address."""
        return cast("socket.socket | None", self._network.open(family, address))

    async def sock_connect(self, sock: socket.socket, address: tuple[Any, ...] | str | ReadableBuffer) -> None:
        """Connect a socket.

        Raises:
            OSError: If that fails.
        """
        opened: object = sock
        if isinstance(opened, MemorySocket):
            await self._network.connect(self, opened, cast("Address", address))
        else:
            await super().sock_connect(sock, address)

    # The types of asyncio's stub name every field of an address.
    async def getaddrinfo(  # type: ignore[override]
        self,
        host: str | None,
        port: str | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - the name in asyncio
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
        """Return the addresses of a host: without a thread, unless a name server has to be asked."""
        # A numeric lookup of a name fails immediately, without asking a name server.
        numeric = 0 if host == "localhost" else socket.AI_NUMERICHOST
        try:
            found = socket.getaddrinfo(host, port, family, type, proto, flags | numeric)
        except socket.gaierror:
            found = await super().getaddrinfo(host, port, family=family, type=type, proto=proto, flags=flags)
        return cast("list[AddressInfo]", found)

    def _start_serving(self, factory: object, sock: socket.socket, *args: object, **options: object) -> None:
        super()._start_serving(factory, self._adopt(sock), *args, **options)

    def _stop_serving(self, sock: socket.socket) -> None:
        # Before the socket closes and loses its descriptor and address.
        listener = self._adopt(sock)
        super()._stop_serving(sock)
        listener.close()

    def _adopt(self, sock: socket.socket) -> socket.socket:
        # Paths of Unix sockets are no addresses of the network.
        is_adopted = isinstance(cast("object", sock), MemoryListener)
        is_internet = sock.family in {socket.AF_INET, socket.AF_INET6}
        return self.adopt_listener(sock) if is_internet and not is_adopted else sock

    async def _connect_sock(self, exceptions: list[object], address: AddressInfo, *args: object) -> socket.socket:
        opened = self.open_memory_socket(address[0], address[-1])
        if opened is None:
            return await super()._connect_sock(exceptions, address, *args)
        try:
            await self.sock_connect(opened, address[-1])
        except BaseException as error:
            opened.close()
            # asyncio expects a list for each address.
            exceptions.append([error])
            raise
        return opened

    def _make_socket_transport(self, sock: object, *args: object, **options: object) -> asyncio.Transport:
        transport = super()._make_socket_transport(sock, *args, **options)
        if isinstance(sock, MemorySocket):
            _extra_of(transport)["socket"] = sock
        return transport

    def _make_ssl_transport(self, rawsock: object, *args: object, **options: object) -> asyncio.Transport:
        transport = super()._make_ssl_transport(rawsock, *args, **options)
        if isinstance(rawsock, MemorySocket):
            _extra_of(cast("Any", transport)._ssl_protocol)["socket"] = rawsock  # noqa: SLF001 - asyncio has no other way
        return transport


def _extra_of(owner: object) -> dict[str, object]:
    """Return what `get_extra_info` finds: asyncio's wrapper would hide the methods of a socket in memory."""
    return cast("dict[str, object]", cast("Any", owner)._extra)  # noqa: SLF001 - asyncio has no other way
