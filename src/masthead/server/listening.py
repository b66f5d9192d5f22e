"""The sockets that a server listens on."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack
from typing import Final

__all__ = ["listening_sockets"]

_BACKLOG: Final = 128
_NOT_HERE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""How a machine says that it has no such address, though its host table does: IPv6 is often switched off."""


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of a host that this machine has, on one port.

    Looking the host up is not left to the event loop: uvloop does it in threads of libuv, which the process waits for
    when it exits; in one that was forked off, where they do not exist, that is a crash.

    Args:
        host: A number or a name.
        port: The port; 0 for any that is free.

    Raises:
        OSError: if there is no such host, or the port cannot be had.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    refusal: OSError | None = None
    sockets: list[socket.socket] = []
    with ExitStack() as undo:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                bound = socket.create_server(
                    (address[0], chosen, *address[2:]), family=family, backlog=_BACKLOG
                )
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                refusal = error
                continue
            sockets.append(undo.enter_context(bound))
        if not sockets:
            raise refusal or OSError(errno.EADDRNOTAVAIL, "the host has no address")
        undo.pop_all()
    return sockets
