"""Faults of the streams between clients and pods: exec, attach, port-forward, logs and proxies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from masthead_server.fault import Effect
from masthead_server.stream_counters import BodyCounter, ChunkCounter, MessageCounter, StreamHead
from masthead_server.web.frames import Opcode, encode_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.fault import Fault
    from masthead_server.stream_counters import StreamCounter
    from masthead_server.web.connection import HttpConnection

__all__ = ["CONNECTION_EFFECTS", "FaultyTransport"]

CONNECTION_EFFECTS: Final = (
    Effect.DROP_STREAM,
    Effect.SILENCE_STREAM,
    Effect.CLOSE_STREAM,
    Effect.INSERT_MESSAGE,
)
_BETWEEN_MESSAGES: Final = frozenset({Effect.CLOSE_STREAM, Effect.INSERT_MESSAGE})


class FaultyTransport(asyncio.Transport):
    """A client's connection with a fault that becomes due after so many bytes.

    Args:
        transport: The connection.
        protocol: Writes to the connection, and is made to wait.
        fault: The fault.

    Attributes:
        inner: The connection itself.
        is_silent: Whether the connection is silenced.
    """

    def __init__(self, transport: asyncio.Transport, protocol: HttpConnection, fault: Fault) -> None:
        super().__init__()
        self.inner = transport
        self.is_silent = False
        self._protocol = protocol
        self._fault = fault
        self._head = StreamHead()
        self._counter: StreamCounter | None = None
        self._received = BodyCounter(fault.after) if fault.counts_received else None
        self._is_pending = True
        self._is_over = False  # whatever is written from now on is not sent

    def receive(self, data: bytes) -> bytes:
        """Return what the server gets of what the client sends."""
        if self._is_over:
            return b""
        due = self._received.find(data) if self._received is not None and self._is_pending else None
        if due is None:
            return data
        self._inject()
        return data[:due]

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send the bytes before the fault, or all of them if it is not due."""
        if self._is_over:
            return
        view = memoryview(data).cast("B")
        # The fault counts bytes of the body: a head passes untouched.
        start = self._head.take(view)
        due = self._find(view[start:])
        if due is None:
            self.inner.write(data)
            return
        self.inner.write(view[: start + due])
        if self._inject():
            self.inner.write(view[start + due :])

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[Any]]) -> None:
        """Send several pieces."""
        for data in list_of_data:
            self.write(data)

    def _find(self, view: memoryview[int]) -> int | None:
        """Where in the stream's next bytes the fault is due."""
        if not self._head.is_complete or self._received is not None or not self._is_pending:
            return None
        if self._counter is None:
            self._counter = self._make_counter()
        return self._counter.find(view)

    def _make_counter(self) -> StreamCounter:
        after = self._fault.after
        if self._fault.effect in _BETWEEN_MESSAGES and self._head.is_websocket:
            return MessageCounter(after)
        return ChunkCounter(after) if self._head.is_chunked else BodyCounter(after)

    def _inject(self) -> bool:
        """Inject the fault; return whether the stream continues."""
        self._is_pending = False
        effect = self._fault.effect
        if effect is Effect.INSERT_MESSAGE:
            self.inner.write(encode_frame(Opcode.BINARY, self._fault.data))
            return True
        self._is_over = True
        if effect is Effect.SILENCE_STREAM:
            self._silence()
        elif effect is Effect.CLOSE_STREAM and self._head.is_websocket:
            self.inner.write(encode_frame(Opcode.CLOSE, self._fault.data))
            self._end()
        else:
            # Buffered bytes are still sent.
            self.inner.close()
        return False

    def _silence(self) -> None:
        self.is_silent = True
        self.inner.pause_reading()
        # Writers wait from now on, so that nothing piles up behind a silent client.
        if not self._protocol.writing_paused:
            self._protocol.pause_writing()

    def _end(self) -> None:
        """Send nothing more, and let the client close the connection: a reset might destroy what it has not read."""
        # TLS cannot end one direction in asyncio.
        if self.inner.can_write_eof():
            self.inner.write_eof()
        else:
            self.inner.close()

    def close(self) -> None:
        """Close the connection, unless it is silenced."""
        if not self.is_silent:
            self.inner.close()

    def abort(self) -> None:
        """Break the connection."""
        self.inner.abort()

    def is_closing(self) -> bool:
        """Tell whether the connection is closing."""
        return self.inner.is_closing()

    def write_eof(self) -> None:
        """Send nothing more."""
        if not self._is_over:
            self.inner.write_eof()

    def can_write_eof(self) -> bool:
        """Tell whether the connection supports half-close."""
        return self.inner.can_write_eof()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Read again, unless the connection is silenced."""
        if not self.is_silent:
            self.inner.resume_reading()

    def is_reading(self) -> bool:
        """Tell whether the connection is read."""
        return self.inner.is_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - the signature of its base
        """Return information about the connection."""
        return self.inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are still to be sent."""
        return self.inner.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set when a writer has to wait."""
        self.inner.set_write_buffer_limits(high, low)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return what handles the connection."""
        return self.inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set what handles the connection."""
        self.inner.set_protocol(protocol)
