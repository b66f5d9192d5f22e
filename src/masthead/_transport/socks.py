"""The client side of SOCKS5 (RFC 1928, and RFC 1929 for passwords).

Our own, and small: the libraries for it verify the server's certificate against the address and not against
``tls-server-name``, or leak a socket when a connection is cancelled half-way.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import TYPE_CHECKING, Final

from masthead._meta.secret import SecretValue, reveal
from masthead._transport.failures import DialError

if TYPE_CHECKING:
    import socket

    from masthead._transport.proxy import Proxy

__all__ = ["connect_through_socks"]

_VERSION: Final = 5
_PASSWORD_VERSION: Final = 1
_CONNECT: Final = 1
_NO_PASSWORD: Final = 0
_WITH_PASSWORD: Final = 2
_IPV4: Final = 1
_NAME: Final = 3
_IPV6: Final = 4
_ADDRESS_LENGTHS: Final = {_IPV4: 4, _IPV6: 16}
_MAX_LENGTH: Final = 255
_REFUSALS: Final = {
    1: "general failure",
    2: "its rules forbid it",
    3: "the network cannot be reached",
    4: "the host cannot be reached",
    5: "the connection was refused",
    6: "the TTL expired",
    7: "it does not support the command",
    8: "it does not support this type of address",
}


async def connect_through_socks(connection: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Connect a socket to a server through a proxy.

    The proxy resolves the server's name, for ``socks5`` as for ``socks5h``, as in client-go.

    Raises:
        DialError: If the proxy does not connect.
    """
    try:
        await _greet(connection, proxy)
        await _request(connection, proxy, host, port)
    except OSError as error:
        problem = f"the proxy {proxy.place} closed the connection ({error.strerror or 'end of stream'})"
        raise DialError(f"{problem}; check that proxy-url is a SOCKS5 proxy's", error) from None


async def _greet(connection: socket.socket, proxy: Proxy) -> None:
    """Negotiate an authentication method, and authenticate."""
    has_password = bool(proxy.user or proxy.password)
    methods = bytes([_NO_PASSWORD, _WITH_PASSWORD] if has_password else [_NO_PASSWORD])
    await _send(connection, bytes([_VERSION, len(methods)]) + methods)
    version, method = await _receive(connection, 2)
    if version != _VERSION:
        raise DialError(f"the proxy {proxy.place} does not speak SOCKS5; check proxy-url")
    if method == _NO_PASSWORD:
        return
    # Also 0xFF, "no acceptable methods", and a method that was not offered.
    if method != _WITH_PASSWORD or not has_password:
        raise DialError(
            f"the proxy {proxy.place} requires authentication; write proxy-url as socks5://user:password@host:port"
        )
    # RFC 1929 has one byte for each length.
    if max(len(secret.reveal().encode()) for secret in (proxy.user, proxy.password)) > _MAX_LENGTH:
        raise DialError(f"proxy-url's user or password is longer than SOCKS5 allows ({_MAX_LENGTH} bytes)")
    await _send(connection, SecretValue(_password_message(proxy)))
    _, status = await _receive(connection, 2)
    if status != 0:
        raise DialError(f"the proxy {proxy.place} refused proxy-url's user or password")


async def _request(connection: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Request the connection to the server."""
    await _send(connection, bytes([_VERSION, _CONNECT, 0]) + _address(host) + port.to_bytes(2, "big"))
    _, reply, _, kind = await _receive(connection, 4)
    if reply != 0:
        why = _REFUSALS.get(reply, f"reply {reply}")
        raise DialError(f"the proxy {proxy.place} did not connect to {host}:{port}: {why}")
    length = _ADDRESS_LENGTHS.get(kind)
    if length is None:
        (length,) = await _receive(connection, 1)
    await _receive(connection, length + 2)  # the bound address, which is not used


def _address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # Not resolved here: the proxy may know names that this host does not.
        name = host.encode("idna")
        if len(name) > _MAX_LENGTH:
            raise DialError(f"the server's name is longer than SOCKS5 allows ({_MAX_LENGTH} bytes)") from None
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed


def _password_message(proxy: Proxy) -> bytes:
    user, password = proxy.user.reveal().encode(), proxy.password.reveal().encode()
    return bytes([_PASSWORD_VERSION, len(user)]) + user + bytes([len(password)]) + password


async def _send(connection: socket.socket, data: bytes | SecretValue[bytes]) -> None:
    try:
        await asyncio.get_running_loop().sock_sendall(connection, reveal(data))
    except BaseException as error:  # noqa: BLE001 - raised again
        raise error.with_traceback(None) from None  # the loop's own frames hold what it sends


async def _receive(connection: socket.socket, length: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < length:
        # No more than is needed: what follows belongs to the next message, or to TLS.
        piece = await loop.sock_recv(connection, length - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data
