"""The two SPDY streams of a forwarded connection, without I/O.

::

    error stream   our SYN, then our FIN ──>   text, if it fails ──> FIN
    data stream    SYN ──> bytes both ways ──> FIN of ours, FIN of theirs, in any order

The connection is finished when the peer has ended both streams; it has failed if the error stream has text. Data may
follow our SYN immediately: spdystream handles the frames of a stream in order, so that there is no need to wait for its
reply. A stream that is reset without a text is a failure, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from masthead._spdy.events import StreamData, StreamEnded, StreamReplied, StreamReset
from masthead._spdy.session import SpdyLimits, SpdySession

if TYPE_CHECKING:
    from masthead._spdy.events import SpdyEvent

__all__ = ["Finished", "Received", "RemoteEof", "StreamPair", "StreamPairEvent"]

_MAX_ERROR_TEXT: Final = 4096
"""The maximum size of a retained error."""

_LIMITS: Final = SpdyLimits(max_streams=0)
"""A server of Kubernetes opens no streams."""


class Received(msgspec.Struct, frozen=True):
    """Bytes from the port."""

    data: memoryview


class RemoteEof(msgspec.Struct, frozen=True):
    """The port sends nothing more. We still may."""


class Finished(msgspec.Struct, frozen=True):
    """The connection is over.

    Attributes:
        error: Why it has failed; empty if it has not.
    """

    error: str = ""


StreamPairEvent: TypeAlias = Received | RemoteEof | Finished


class StreamPair:
    """One connection to a port, over its own SPDY session.

    Until `open` is called, the session is idle, and only answers pings.
    """

    def __init__(self) -> None:
        self._session = SpdySession(is_client=True, limits=_LIMITS)
        self._error_stream = 0
        self._data_stream = 0
        self._error_text = bytearray()
        self._has_error_ended = False
        self._has_data_ended = False
        self._is_finished = False
        self.is_accepted: bool = False

    def open(self, port: int) -> None:
        """Ask for a connection to a port."""
        # The names are those of the API, and both streams of a connection have the same request.
        headers = {"port": str(port), "requestID": "0"}
        self._error_stream = self._session.open_stream({"streamType": "error", **headers})
        self._session.send_data(self._error_stream, b"", fin=True)
        self._data_stream = self._session.open_stream({"streamType": "data", **headers})

    @property
    def is_writable(self) -> bool:
        """Whether bytes may be sent."""
        return self._session.is_writable(self._data_stream)

    @property
    def unsent(self) -> int:
        """How many bytes are to be sent to the server."""
        return self._session.unsent

    def data_to_send(self, limit: int) -> bytes:
        """Take bytes for the server: whole pieces, until there are `limit` or more of them."""
        return self._session.data_to_send(limit)

    def send(self, data: bytes | memoryview) -> None:
        """Send bytes to the port; they are dropped if it takes no more."""
        if self.is_writable:
            self._session.send_data(self._data_stream, data)

    def send_eof(self) -> None:
        """Say that nothing more is sent. Saying it twice does nothing."""
        if self.is_writable:
            self._session.send_data(self._data_stream, b"", fin=True)

    def receive(self, data: bytes) -> list[StreamPairEvent]:
        """Take bytes of the server, and return what they mean. Nothing follows `Finished`.

        Raises:
            SpdyError: If the server has broken the protocol.
        """
        events: list[StreamPairEvent] = []
        for event in self._session.receive(data):
            if not self._is_finished:
                self._handle(event, events)
        return events

    def connection_ended(self) -> Finished | None:
        """The server has closed the connection; None if the pair was finished before."""
        if self._is_finished:
            return None
        # All bytes have arrived, then.
        return self._finish("" if self._has_data_ended else "the connection to the pod was lost")

    def _handle(self, event: SpdyEvent, events: list[StreamPairEvent]) -> None:
        match event:
            case StreamData(stream_id=stream_id, data=data):
                if stream_id == self._data_stream:
                    events.append(Received(data))
                else:
                    self._error_text += data[: _MAX_ERROR_TEXT - len(self._error_text)]
            case StreamReplied(stream_id=stream_id):
                self.is_accepted |= stream_id == self._data_stream
            case StreamEnded(stream_id=stream_id) if stream_id == self._data_stream:
                self._has_data_ended = True
                events.append(RemoteEof())
                self._finish_if_both_ended(events)
            case StreamReset(stream_id=stream_id) if stream_id == self._data_stream:
                events.append(self._finish("the pod's node has reset the connection"))
            case StreamEnded() | StreamReset():
                self._has_error_ended = True
                self._finish_if_both_ended(events)
            case _:
                pass

    def _finish_if_both_ended(self, events: list[StreamPairEvent]) -> None:
        if self._has_error_ended and (self._has_data_ended or self._error_text):
            events.append(self._finish(""))

    def _finish(self, otherwise: str) -> Finished:
        self._is_finished = True
        return Finished(self._error_text.decode("utf-8", "replace").strip() or otherwise)
