"""Sockets that notice when the other side has gone without a word."""

from __future__ import annotations

import asyncio
import select
import socket
from contextlib import suppress
from typing import Final, Protocol, TypeAlias
from weakref import WeakSet

__all__ = ["AddressInfo", "HasDescriptor", "SocketTracker", "has_news"]

AddressInfo: TypeAlias = (
    "tuple[socket.AddressFamily | int, socket.SocketKind | int, int, str, tuple[object, ...]]"
)
"""An address, as ``getaddrinfo`` gives it."""

# client-go pings an HTTP/2 connection after 30 s without a byte and gives it 15 s to answer. HTTP/1.1 has no ping, so
# the kernel does the same one floor below; else a watch over a dead link would wait for a quarter of an hour.
_IDLE_S: Final = 30
_INTERVAL_S: Final = 15
_PROBES: Final = 3
_UNANSWERED_MS: Final = (_IDLE_S + _INTERVAL_S) * 1000

_TURNS: Final = 20
"""How often the loop may turn until what was cut off is closed. A handful is enough, with TLS too."""

# By name, since each platform knows some of these only. Darwin calls the idle time TCP_KEEPALIVE.
_TCP_OPTIONS: Final = {
    "TCP_KEEPIDLE": _IDLE_S,
    "TCP_KEEPALIVE": _IDLE_S,
    "TCP_KEEPINTVL": _INTERVAL_S,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": _UNANSWERED_MS,
}


class HasDescriptor(Protocol):
    """A socket, or what a loop shows of one."""

    def fileno(self) -> int:
        """Its number."""
        ...


def has_news(connected: HasDescriptor) -> bool:
    """Whether there is something that the loop has not read yet, if only that the other side has hung up.

    Takes less than a microsecond, with the system call.
    """
    if not hasattr(select, "poll"):  # as on Windows, where no number is too high for this
        return bool(select.select([connected], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(connected.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


class SocketTracker:
    """Opens the sockets of one transport, and sees to it that all of them are closed in the end."""

    def __init__(self) -> None:
        self._opened: WeakSet[socket.socket] = WeakSet()

    def open(self, address: AddressInfo) -> socket.socket:
        """Make a non-blocking, unconnected socket for an address, with keepalive on.

        Raises:
            OSError: If there can be no such socket.
        """
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _TCP_OPTIONS.items():
                option = getattr(socket, name, None)
                if option is not None:
                    made.setsockopt(socket.IPPROTO_TCP, option, value)
        except BaseException:
            made.close()
            raise
        self._opened.add(made)
        return made

    async def finish(self) -> None:
        """Cut off every connection that is still there, and let the loop close it.

        A TLS connection that was given up lingers until the other side has said goodbye, which a server that hangs
        never does.
        """
        for each in self._open():
            with suppress(OSError):  # it was never connected
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(_TURNS):
            if not self._open():
                return
            await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._opened if each.fileno() >= 0]
