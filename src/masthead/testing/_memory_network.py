"""Connections within a virtual loop: sockets in memory instead of the kernel's.

`MemorySocket` behaves as a non-blocking TCP socket, so that asyncio's own transports, streams and TLS work on it. Its
bytes arrive immediately and in a fixed order, without a system call. A listener still has a socket of the kernel:
clients of other loops, threads and processes connect to that.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket
import struct
import sys
from collections import deque
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from _typeshed import ReadableBuffer, WriteableBuffer

__all__ = ["FIRST_DESCRIPTOR", "Address", "MemoryListener", "MemoryNetwork", "MemorySocket"]

Address: TypeAlias = "tuple[object, ...]"
"""Host and port, and two more numbers with IPv6."""

FIRST_DESCRIPTOR: Final = 1 << 30
"""The descriptor of the first socket in memory, beyond any of the kernel's."""
_FIRST_PORT: Final = 32_768
"""The first port of connecting sockets."""
_MAX_BUFFERED: Final = 256 * 1024
"""Bytes that a socket buffers until they are read; then its sender has to wait."""
_MAX_BACKLOG: Final = 128
"""Connections that wait to be accepted; further ones wait to connect."""
_TCP_INFO: Final = struct.Struct("=56xI60xQ16xI")
"""Of Linux's ``struct tcp_info``: the milliseconds since the last acknowledgement, the acknowledged and the unsent
bytes."""
_LOOPBACK: Final = ("127.", "::1")
_WILDCARDS: Final = ("0.0.0.0", "::")


class _Stream:
    """One direction of a connection.

    Args:
        sender: The descriptor of the sending socket.
        receiver: The descriptor of the receiving socket.

    Attributes:
        data: Bytes that the receiver has not read.
        sent: The number of bytes that were sent so far.
        is_ended: Whether the sender sends nothing more.
        error: The code of an error that the receiver has not seen yet; 0 for none.
        is_broken: Whether the sender has broken the connection.
        is_abandoned: Whether the receiver is closed.
    """

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.data = bytearray()
        self.sent = 0
        self.is_ended = False
        self.error = 0
        self.is_broken = False
        self.is_abandoned = False

    @property
    def is_readable(self) -> bool:
        """Whether the receiver has something to read: data, the end or an error."""
        return bool(self.data) or self.is_ended

    @property
    def is_full(self) -> bool:
        """Whether the sender has to wait."""
        return len(self.data) >= _MAX_BUFFERED


class MemorySocket:
    """One end of a connection in memory, with the interface of a non-blocking `socket.socket`.

    Args:
        network: Polls the socket.
        address: The own address.
        peer_address: The address of the other end.
        family: The address family.
    """

    type: Final = socket.SOCK_STREAM
    proto: Final = socket.IPPROTO_TCP

    def __init__(self, network: MemoryNetwork, address: Address, peer_address: Address, family: int) -> None:
        self.family = family
        self._network = network
        self._address = address
        self._peer_address = peer_address
        self._fd = network.add(self)
        self._incoming = _Stream(-1, self._fd)
        self._outgoing = _Stream(self._fd, -1)

    def connect_to(self, address: Address) -> MemorySocket:
        """Connect to a listener, and return the end that it accepts."""
        accepted = MemorySocket(self._network, address, self._address, self.family)
        there, back = _Stream(self._fd, accepted.fileno()), _Stream(accepted.fileno(), self._fd)
        self.attach(back, there)
        accepted.attach(there, back)
        return accepted

    def attach(self, incoming: _Stream, outgoing: _Stream) -> None:
        """Set the streams of a new connection."""
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def events(self) -> int:
        """What the socket is ready for, in the terms of selectors."""
        # A sender must not wait for an ended stream: its next call fails.
        is_writable = not self._outgoing.is_full or self._outgoing.is_ended
        return (EVENT_READ if self._incoming.is_readable else 0) | (EVENT_WRITE if is_writable else 0)

    def has_unread(self) -> bool:
        """Return whether data or the end of the connection waits to be read."""
        return self._incoming.is_readable

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return received bytes; empty at the end.

        Raises:
            BlockingIOError: If nothing has arrived.
            ConnectionResetError: If the peer has broken the connection.
        """
        self._check_open()
        incoming = self._incoming
        if not incoming.data:
            # As in TCP, the error comes after the data.
            self._raise_reset()
            if incoming.is_ended:
                return b""
            raise _error(errno.EAGAIN)
        data = bytes(incoming.data[:size])
        if not flags & socket.MSG_PEEK:
            # Before the removal of the bytes: only the sender of a full buffer waits for room.
            if incoming.is_full:
                self._network.touch(incoming.sender)
            del incoming.data[:size]
        return data

    def recv_into(self, buffer: WriteableBuffer, size: int = 0) -> int:
        """Read received bytes into a buffer, and return their number."""
        target = memoryview(buffer).cast("B")
        data = self.recv(size or len(target))
        target[: len(data)] = data
        return len(data)

    def send(self, data: ReadableBuffer) -> int:
        """Send bytes as far as the peer can buffer them, and return their number.

        Raises:
            BlockingIOError: If the buffer is full.
            BrokenPipeError: If nothing can be sent any more.
        """
        self._check_open()
        outgoing = self._outgoing
        self._raise_reset()
        if outgoing.is_ended:
            raise _error(errno.EPIPE)
        view = memoryview(data).cast("B")
        if outgoing.is_abandoned:
            # As in TCP, only the next call fails: the peer answers these bytes with a reset.
            outgoing.is_ended = self._incoming.is_broken = True
            return len(view)
        room = _MAX_BUFFERED - len(outgoing.data)
        if room <= 0:
            raise _error(errno.EAGAIN)
        count = min(room, len(view))
        outgoing.data += view[:count]
        outgoing.sent += count
        self._network.touch(outgoing.receiver)
        return count

    def sendmsg(self, buffers: Iterable[ReadableBuffer]) -> int:
        """Send several buffers as `send` does."""
        return self.send(b"".join(bytes(buffer) for buffer in buffers))

    def shutdown(self, how: int) -> None:
        """End one direction, or both.

        Raises:
            OSError: If the connection is over.
        """
        self._check_open()
        if self._incoming.is_broken or (self._incoming.is_ended and self._outgoing.is_ended):
            raise _error(errno.ENOTCONN)
        if how in {socket.SHUT_RD, socket.SHUT_RDWR}:
            self._incoming.is_ended = True
            self._network.touch(self._fd)
        if how in {socket.SHUT_WR, socket.SHUT_RDWR}:
            self._end_outgoing()

    def close(self) -> None:
        """Close the socket. As in TCP, unread bytes break the connection for the peer."""
        if self._fd < 0:
            return
        self._network.remove(self._fd)
        self._fd = -1
        self._incoming.is_abandoned = True
        if self._incoming.data:
            # A peer that knows of the end reads it again, and no error.
            self._outgoing.error = 0 if self._outgoing.is_ended else errno.ECONNRESET
            self._outgoing.is_broken = self._incoming.is_ended = True
            self._incoming.data.clear()
        self._end_outgoing()

    def _end_outgoing(self) -> None:
        self._outgoing.is_ended = True
        self._network.touch(self._outgoing.receiver)

    def _raise_reset(self) -> None:
        """Raise the error of a broken connection once."""
        code, self._incoming.error = self._incoming.error, 0
        if code:
            raise _error(code)

    def _check_open(self) -> None:
        if self._fd < 0:
            raise _error(errno.EBADF)

    def fileno(self) -> int:
        """Return the descriptor, which only the network knows; -1 when closed."""
        return self._fd

    def getsockname(self) -> Address:
        """Return the own address."""
        return self._address

    def getpeername(self) -> Address:
        """Return the address of the other end."""
        return self._peer_address

    def setblocking(self, flag: bool) -> None:
        """No-op: the socket never blocks."""

    def gettimeout(self) -> float:
        """Return 0: the socket never blocks."""
        return 0.0

    def setsockopt(self, level: int, option: int, value: object) -> None:
        """No-op: options of TCP have no effect in memory."""

    def getsockopt(self, level: int, option: int, size: int = 0) -> int | bytes:
        """Return the state of the connection, in the format of Linux.

        Raises:
            OSError: For all other options.
        """
        if sys.platform == "linux" and (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO):
            # Bytes count as unsent while the peer has no room for them.
            unsent = int(self._outgoing.is_full)
            return _TCP_INFO.pack(0, self._outgoing.sent, unsent)[:size]
        raise _error(errno.ENOPROTOOPT)


class MemoryListener:
    """A listening socket of the kernel that also accepts connections from memory.

    Args:
        network: The network.
        inner: The socket.
    """

    def __init__(self, network: MemoryNetwork, inner: socket.socket) -> None:
        self._network = network
        self._inner = inner
        self.family: int = inner.family
        self.address: Address = inner.getsockname()
        self.descriptor: int = inner.fileno()
        self._backlog: deque[MemorySocket] = deque()
        self._connecting: deque[asyncio.Future[None]] = deque()

    @property
    def is_closed(self) -> bool:
        """Whether the socket is closed, perhaps without `close` of the listener."""
        return self._inner.fileno() < 0

    @property
    def events(self) -> int:
        """What the socket is ready for, in the terms of selectors."""
        return EVENT_READ if self._backlog else 0

    async def connect(self, loop: asyncio.AbstractEventLoop, sock: MemorySocket) -> None:
        """Connect a socket, as soon as the backlog has room.

        Raises:
            ConnectionRefusedError: If the listener is closed.
        """
        # Check again after each wait, because another socket may have taken the room.
        while len(self._backlog) >= _MAX_BACKLOG and not self.is_closed:
            room = loop.create_future()
            self._connecting.append(room)
            await room
        if self.is_closed:
            raise _error(errno.ECONNREFUSED)
        self._backlog.append(sock.connect_to(self.address))
        self._network.touch(self.descriptor)

    def accept(self) -> tuple[MemorySocket | socket.socket, Address]:
        """Accept a connection: those from memory first.

        Raises:
            BlockingIOError: If no client has connected.
        """
        if not self._backlog:
            return self._inner.accept()
        accepted = self._backlog.popleft()
        self._admit()
        return accepted, accepted.getpeername()

    def close(self) -> None:
        """Close the socket, and break the connections of the backlog."""
        self._inner.close()
        self.abandon()

    def abandon(self) -> None:
        """Break the connections of the backlog, because the socket is closed."""
        # First, so that no client finds the listener while its connections break.
        self._network.forget(self)
        while self._backlog:
            self._backlog.popleft().close()
        while self._connecting:
            self._admit()

    def _admit(self) -> None:
        """Let the next socket connect."""
        while self._connecting:
            room = self._connecting.popleft()
            # A cancelled client leaves its future behind, and must not use up the room.
            if not room.done():
                room.set_result(None)
                return

    def fileno(self) -> int:
        """Return the kernel's descriptor; -1 when closed."""
        return self._inner.fileno()

    def listen(self, backlog: int) -> None:
        """Listen for clients of other loops."""
        self._inner.listen(backlog)

    def getsockname(self) -> Address:
        """Return the address."""
        return self.address

    def setblocking(self, flag: bool) -> None:
        """Set whether `accept` waits for clients of other loops."""
        self._inner.setblocking(flag)

    def gettimeout(self) -> float | None:
        """Return the timeout of `accept` for clients of other loops."""
        return self._inner.gettimeout()


class MemoryNetwork:
    """The sockets and listeners of a virtual loop."""

    def __init__(self) -> None:
        self._descriptors = itertools.count(FIRST_DESCRIPTOR)
        self._ports = itertools.cycle(range(_FIRST_PORT, 1 << 16))
        self._sockets: dict[int, MemorySocket | MemoryListener] = {}
        self._listeners: dict[Address, MemoryListener] = {}
        # Ordered, so that events are reported in the order in which they happened.
        self.changed: dict[int, None] = {}
        """Descriptors that may have become ready, in the order of the changes."""

    def __contains__(self, descriptor: int) -> bool:
        """Return whether a descriptor belongs to a socket or a listener of the network."""
        return descriptor in self._sockets

    def touch(self, descriptor: int) -> None:
        """Note a change of a socket."""
        self.changed[descriptor] = None

    def events_of(self, descriptor: int) -> int:
        """Return what a socket is ready for, in the terms of selectors; 0 for a socket of the kernel."""
        found = self._sockets.get(descriptor)
        return 0 if found is None else found.events

    def add(self, sock: MemorySocket) -> int:
        """Add a socket, and return its descriptor."""
        descriptor = next(self._descriptors)
        self._sockets[descriptor] = sock
        return descriptor

    def remove(self, descriptor: int) -> None:
        """Remove a closed socket."""
        self._sockets.pop(descriptor, None)
        self.changed.pop(descriptor, None)

    def listen(self, listening: socket.socket) -> MemoryListener:
        """Return the listener of a listening socket, and register it by its address."""
        known = self._listeners.get(_key(listening.getsockname()))
        # The kernel reuses descriptors and ports, so that both must match.
        if known is not None and known.descriptor == listening.fileno() and not known.is_closed:
            return known
        listener = MemoryListener(self, listening)
        self._listeners[_key(listener.address)] = listener
        self._sockets[listener.descriptor] = listener
        return listener

    def forget(self, listener: MemoryListener) -> None:
        """Remove a closed listener."""
        # A descriptor or an address may belong to another listener by now.
        if self._listeners.get(_key(listener.address)) is listener:
            del self._listeners[_key(listener.address)]
        if self._sockets.get(listener.descriptor) is listener:
            del self._sockets[listener.descriptor]
        self.changed.pop(listener.descriptor, None)

    def find(self, address: Address) -> MemoryListener | None:
        """Return the listener at an address; None if it is elsewhere."""
        host, port = address[:2]
        # A wildcard listener accepts loopback connections as well.
        hosts = (host, *_WILDCARDS) if str(host).startswith(_LOOPBACK) else (host,)
        for candidate in hosts:
            listener = self._listeners.get((candidate, port))
            if listener is not None and not listener.is_closed:
                return listener
            if listener is not None:
                # Its owner has closed the kernel's socket directly.
                listener.abandon()
        return None

    def open(self, family: int, address: Address) -> MemorySocket | None:
        """Return an unconnected socket for an address; None without a listener of this network."""
        if self.find(address) is None:
            return None
        own: Address = (address[0], next(self._ports), *address[2:])
        return MemorySocket(self, own, address, family)

    async def connect(self, loop: asyncio.AbstractEventLoop, sock: MemorySocket, address: Address) -> None:
        """Connect a socket.

        Raises:
            ConnectionRefusedError: If there is no listener any more.
        """
        listener = self.find(address)
        if listener is None:
            raise _error(errno.ECONNREFUSED)
        await listener.connect(loop, sock)


def _key(address: Address) -> Address:
    return address[:2]


def _error(code: int) -> OSError:
    """Return the error of a system call; Python chooses its class by the code."""
    return OSError(code, os.strerror(code))
