"""One forwarded connection as an asyncio transport.

::

    protocol <── data_received, eof_received ── StreamPair <── WebSocket.receive      waits while reading is paused
    protocol ── write, write_eof ──> StreamPair ──> WebSocket.send                    pauses writing while it waits
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._client.portforward.stream_pair import Finished, Received, StreamPair
from masthead._errors.base import printable
from masthead.errors import ClosedError, MastheadError, PortForwardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.portforward.resolver import ForwardTarget
    from masthead._client.portforward.stream_pair import StreamPairEvent

__all__ = ["MessageSocket", "PodTunnel"]

_SLICE: Final = 32 * 1024
"""The number of bytes of a message that are parsed in one step."""
_CHUNK: Final = 2**16
"""How many bytes a DATA frame and a message have at most, about."""
_HIGH_WATER: Final = 2**18
"""How many unsent bytes pause the protocol that writes."""
_LOW_WATER: Final = 2**17
"""How many unsent bytes are left when it is resumed."""
_REPLY_SECONDS: Final = 30.0
"""How long the pod's node may take to accept a connection, as in client-go."""
_LINGER_SECONDS: Final = 1.0
"""How long a closed connection waits for the port's own end, so that the last bytes sent are not lost on the way."""

_STREAM_PROTOCOLS: Final = (asyncio.Protocol, asyncio.BufferedProtocol)


class MessageSocket(Protocol):
    """What a tunnel needs of a WebSocket."""

    async def receive(self) -> bytes | None:
        """The next message; None after a normal close."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a message, and wait while the peer reads too slowly."""
        ...

    async def close(self) -> None:
        """Close it politely."""
        ...

    def abort(self) -> None:
        """Drop the connection without flushing."""
        ...


class PodTunnel(asyncio.Transport):
    """A connection to a port of a pod, which has its own WebSocket.

    It is idle until it is attached. Somebody has to `run` it: what it needs lives no longer than that.

    Cancellation:
        Cancelling `run` aborts the connection.

    Args:
        socket: The WebSocket.
        target: The pod.

    Attributes:
        target: The pod.
        error: Why the connection has failed; None if it has not.
    """

    # `loop.start_tls` may put TLS on top.
    _start_tls_compatible = True

    def __init__(self, socket: MessageSocket, target: ForwardTarget) -> None:
        super().__init__()
        self.target = target
        self.error: MastheadError | None = None
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._pair = StreamPair()
        self._protocol: asyncio.BaseProtocol | None = None
        self._port: int | None = None
        self._has_output = asyncio.Event()
        self._can_read = asyncio.Event()
        self._can_read.set()
        self._is_protocol_paused = False
        self._is_closing = False
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_usable(self) -> bool:
        """Whether it can be attached: neither used nor lost."""
        return self._protocol is None and not self.is_closing()

    def attach(self, port: int, protocol: asyncio.BaseProtocol) -> None:
        """Connect to a port, and call the protocol from now on; immediately, if the tunnel was lost."""
        self._port = port
        self._protocol = protocol
        # asyncio requires connection_made before connection_lost.
        if self._is_over:
            protocol.connection_made(self)
            self._loop.call_soon(protocol.connection_lost, self.error)
            return
        self._pair.open(port)
        self._has_output.set()
        self._set_timer(_REPLY_SECONDS, self._on_no_reply)
        protocol.connection_made(self)

    async def dismiss(self) -> None:
        """Close it politely, if it was never attached."""
        if self.is_usable:
            self._is_closing = True
            await self._socket.close()

    async def run(self) -> None:
        """Carry bytes until the connection is over. Failures go to the protocol and `error`."""
        sender = self._loop.create_task(self._send_output(), name=f"port-forward to {self.target.key}: sender")
        try:
            await self._receive_all()
            await self._socket.close()
        except ClosedError:
            if not self._is_closing:  # but the client
                self.error = ClosedError("the client is closed")
        except MastheadError as error:
            self._fail(str(error))
        finally:
            sender.cancel()
            self._socket.abort()
            self._end()
            await asyncio.wait([sender])

    # The transport, as protocols see it:

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, without waiting. The protocol is paused when too many are unsent."""
        if self.is_closing() or not data:
            return
        # A bytearray may change before it is sent.
        whole = memoryview(bytes(data) if isinstance(data, bytearray) else data)
        for start in range(0, len(whole), _CHUNK):
            self._pair.send(whole[start : start + _CHUNK])
        self._has_output.set()
        if self._pair.unsent > _HIGH_WATER and not self._is_protocol_paused and self._protocol is not None:
            self._is_protocol_paused = True
            self._protocol.pause_writing()

    def write_eof(self) -> None:
        """Send nothing more, but go on receiving."""
        if not self.is_closing():
            self._pair.send_eof()
            self._has_output.set()

    def can_write_eof(self) -> bool:
        """Whether the connection can be half-closed."""
        return True

    def pause_reading(self) -> None:
        """Deliver nothing more for now; the pod's node is held up before long."""
        self._can_read.clear()

    def resume_reading(self) -> None:
        """Deliver again."""
        self._can_read.set()

    def is_reading(self) -> bool:
        """Whether bytes are delivered."""
        return self._can_read.is_set()

    def close(self) -> None:
        """Flush, then close the connection. Nothing more is delivered."""
        if self.is_closing():
            return
        if self._protocol is None:
            self.abort()
            return
        self.write_eof()
        self._is_closing = True
        self._can_read.set()
        self._has_output.set()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._is_closing or self._is_over

    def abort(self) -> None:
        """Drop the connection without flushing."""
        self._is_closing = True
        self._socket.abort()
        self._can_read.set()

    def get_write_buffer_size(self) -> int:
        """How many bytes are unsent."""
        return self._pair.unsent

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """At how many unsent bytes writing is resumed, and paused."""
        return _LOW_WATER, _HIGH_WATER

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the limits are fixed."""

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Call another protocol from now on."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol that is called.

        Raises:
            RuntimeError: If the tunnel is not attached.
        """
        if self._protocol is None:
            raise RuntimeError("the tunnel is not attached")
        return self._protocol

    # What runs:

    async def _receive_all(self) -> None:
        while (message := await self._socket.receive()) is not None:
            for start in range(0, len(message), _SLICE):
                if start:
                    await asyncio.sleep(0)  # frames may be small and many: let other tasks run
                for event in self._pair.receive(message[start : start + _SLICE]):
                    self._handle(event)
                    if isinstance(event, Finished):
                        return
            if self._pair.unsent:
                self._has_output.set()
            if self._pair.is_accepted and not self._is_closing:
                self._cancel_timer()
            if not self._can_read.is_set():
                await self._can_read.wait()
        if self._protocol is None:
            self._fail("the server has closed the connection")
        elif (end := self._pair.connection_ended()) is not None:
            self._handle(end)

    def _handle(self, event: StreamPairEvent) -> None:
        if isinstance(event, Finished):
            if event.error:
                self._fail(event.error)
        elif self._is_closing:
            pass  # nothing waits for it any more
        elif isinstance(event, Received):
            _deliver(self._protocol, event.data)
        elif isinstance(self._protocol, _STREAM_PROTOCOLS) and not self._protocol.eof_received():
            self.close()

    async def _send_output(self) -> None:
        # Whatever ends the connection ends the receiver, too, which reports it.
        with suppress(MastheadError):
            while True:
                await self._has_output.wait()
                self._has_output.clear()
                while self._pair.unsent:
                    await self._socket.send(self._pair.data_to_send(_CHUNK))
                    self._resume_protocol()
                if self._is_closing:
                    self._set_timer(_LINGER_SECONDS, self.abort)

    def _resume_protocol(self) -> None:
        if self._is_protocol_paused and self._pair.unsent <= _LOW_WATER and self._protocol is not None:
            self._is_protocol_paused = False
            self._protocol.resume_writing()

    def _on_no_reply(self) -> None:
        self._fail(f"the pod's node has not accepted the connection for {_REPLY_SECONDS:.0f} seconds")
        self.abort()

    def _fail(self, problem: str) -> None:
        if self.error is None:
            pod, port = self.target.key, "" if self._port is None else f", port {self._port}"
            self.error = PortForwardError(
                f"port-forward to pod {pod}{port}: {printable(problem)}", pod=pod, port=self._port
            )

    def _end(self) -> None:
        self._is_over = True
        self._cancel_timer()
        if self._protocol is not None:
            # Not immediately: a protocol does not expect it inside one of its own calls.
            self._loop.call_soon(self._protocol.connection_lost, self.error)

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_later(seconds, callback)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _deliver(protocol: asyncio.BaseProtocol | None, data: memoryview) -> None:
    if isinstance(protocol, asyncio.Protocol):
        # A view is as good as bytes for what we attach: it is written, or appended to a buffer.
        protocol.data_received(cast("bytes", data))
    elif isinstance(protocol, asyncio.BufferedProtocol):
        while data:
            buffer = memoryview(protocol.get_buffer(len(data)))
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            protocol.buffer_updated(size)
            data = data[size:]
