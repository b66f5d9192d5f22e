"""Sockets with keepalive, which detect a dead peer."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AddressInfo",
    "HasDescriptor",
    "SocketTracker",
    "has_unread",
    "let_peer_pause",
    "read_by_pausing_peer",
]

AddressInfo: TypeAlias = "tuple[socket.AddressFamily | int, socket.SocketKind | int, int, str, tuple[object, ...]]"
"""An address, as ``getaddrinfo`` returns it."""

# client-go pings an HTTP/2 connection after 30 s without a byte and waits 15 s for the response. HTTP/1.1 has no
# ping, so TCP keepalive does the same; without it, a watch over a dead link would wait for a quarter of an hour.
# Together shorter than the silence limit of watches, so that a dead link is found before a watch is reopened for its
# silence.
_IDLE_S: Final = 10
_INTERVAL_S: Final = 5
_PROBES: Final = 3
_USER_TIMEOUT_MS: Final = (_IDLE_S + _INTERVAL_S * _PROBES) * 1000

_TCP_INFO: Final = struct.Struct("=56xI60xQ16xI")
"""Of Linux's ``struct tcp_info``: the milliseconds since the last acknowledgement, the acknowledged and the unsent
bytes."""
_MAX_PROBE_SECONDS: Final = 150
"""The kernel probes a peer with a closed window at least every two minutes."""

_TURNS: Final = 20
"""The number of loop iterations for closing sockets that were shut down. A handful is enough, with TLS too."""

# By name, since no platform has all of these. Darwin calls the idle time TCP_KEEPALIVE.
_TCP_OPTIONS: Final = {
    "TCP_KEEPIDLE": _IDLE_S,
    "TCP_KEEPALIVE": _IDLE_S,
    "TCP_KEEPINTVL": _INTERVAL_S,
    "TCP_KEEPCNT": _PROBES,
    "TCP_USER_TIMEOUT": _USER_TIMEOUT_MS,
}


class HasDescriptor(Protocol):
    """A socket, or a loop's wrapper of one."""

    def fileno(self) -> int:
        """Its file descriptor."""
        ...


def has_unread(connected: HasDescriptor) -> bool:
    """Whether there is something that the loop has not read yet, data or the peer's close.

    Takes less than a microsecond, with the system call.
    """
    # A socket in memory, which no system call can ask.
    ask: Callable[[], bool] | None = getattr(connected, "has_unread", None)
    if ask is not None:
        return ask()
    if not hasattr(select, "poll"):  # Windows, where select has no limit on descriptors
        return bool(select.select([connected], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(connected.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def let_peer_pause(connected: socket.socket) -> None:
    """Let a peer that is alive leave bytes unread for as long as it likes.

    Linux applies the timeout for unacknowledged bytes to a peer that acknowledges, too, if its window is closed.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        with suppress(OSError, ValueError):  # it is closed already; uvloop raises ValueError
            connected.setsockopt(socket.IPPROTO_TCP, option, 0)


def read_by_pausing_peer(connected: socket.socket) -> int | None:
    """Return how many bytes a live peer has read, if it leaves others unread; None if it does not.

    The unread bytes may hold our ping, so the peer's silence proves nothing. None also if the system does not
    say.
    """
    option = getattr(socket, "TCP_INFO", None)
    if option is None or sys.platform != "linux":
        return None
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, option, _TCP_INFO.size)
    except (OSError, ValueError):
        return None
    if len(info) < _TCP_INFO.size:  # an old kernel
        return None
    silent_ms, acknowledged, unsent = _TCP_INFO.unpack(info)
    return int(acknowledged) if unsent and silent_ms < 1000 * _MAX_PROBE_SECONDS else None


class SocketTracker:
    """Opens the sockets of one transport, and closes all of them in the end."""

    def __init__(self) -> None:
        # In the order of their opening, which a WeakSet would not keep.
        self._opened: WeakKeyDictionary[socket.socket, None] = WeakKeyDictionary()

    def open(self, address: AddressInfo) -> socket.socket:
        """Create a non-blocking, unconnected socket for an address, with keepalive.

        Raises:
            OSError: If the socket cannot be created.
        """
        family, kind, protocol, _, place = address
        made = _open_in_memory(family, place) or socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _TCP_OPTIONS.items():
                option = getattr(socket, name, None)
                # Not every platform has every option.
                if option is not None:
                    made.setsockopt(socket.IPPROTO_TCP, option, value)
        except BaseException:
            # It is not in _opened yet, so it would leak.
            made.close()
            raise
        self._opened[made] = None
        return made

    async def finish(self) -> None:
        """Shut down all sockets that are still open, and let the loop close them.

        An aborted TLS connection lingers until the peer has sent its close, which a hanging server never
        does.
        """
        for opened in self._open():
            with suppress(OSError):  # it was never connected
                opened.shutdown(socket.SHUT_RDWR)
        for _ in range(_TURNS):
            if not self._open():
                return
            await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [opened for opened in self._opened if opened.fileno() >= 0]


def _open_in_memory(family: int, place: tuple[object, ...]) -> socket.socket | None:
    """Return a socket of the event loop's own network; None for an address of the kernel's."""
    # Asked without a loop, too.
    loop = asyncio._get_running_loop()  # noqa: SLF001
    open_socket: Callable[[int, tuple[object, ...]], socket.socket | None] | None
    open_socket = getattr(loop, "open_memory_socket", None)
    return None if open_socket is None else open_socket(family, place)
