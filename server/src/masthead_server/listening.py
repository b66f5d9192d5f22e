"""The sockets that a server listens on."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from typing import Final

__all__ = ["address_of", "explain_error", "open_sockets"]

_NO_SUCH_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""The errors for an address that the host table has and the machine has not: IPv6 is often disabled."""


def address_of(listening: socket.socket) -> tuple[str, int]:
    """Return the address and the port of a socket."""
    ip, port, *_ = listening.getsockname()
    return str(ip), int(port)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of a host that this machine has, on one port.

    The host is not resolved by the event loop: uvloop does that in threads of libuv, which the process joins
    when it exits; in a forked process, where they do not exist, that is a crash.

    Args:
        host: An address or a name.
        port: The port; 0 for any that is free.

    Raises:
        OSError: If there is no such host, or if the port is taken.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    refusal: OSError | None = None
    sockets: list[socket.socket] = []
    with ExitStack() as undo:
        for family, _, _, _, address in dict.fromkeys(found):
            # Port 0 lets the first address choose a port; the others have to use the same one.
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                bound = socket.create_server((address[0], chosen, *address[2:]), family=family)
            except OSError as error:
                # A name such as localhost may have an IPv6 address on a machine without IPv6.
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                refusal = error
                continue
            sockets.append(undo.enter_context(bound))
        if not sockets:
            raise refusal or OSError(errno.EADDRNOTAVAIL, "the host has no address")
        undo.pop_all()
    return sockets


def explain_error(error: OSError) -> str:
    """The message of an error without the address, which asyncio puts in front."""
    if error.errno is None or isinstance(error, socket.gaierror):  # whose numbers are not the system's
        return error.strerror or str(error)
    return os.strerror(error.errno)
